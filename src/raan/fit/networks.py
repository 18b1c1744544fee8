"""The paper's network on a user's table: plain training, then every setting of every method, in packs.

The one part of `raan fit` that needs torch: it is imported where networks are trained, and nowhere else.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import partial
from itertools import product
from time import monotonic
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.split import Split
from raan.data.table import Table
from raan.estimators.classifier import RAANClassifier
from raan.fit.budget import Costs, Effort, Rates, plan_effort
from raan.fit.clock import Clock
from raan.fit.rows import Rows
from raan.fit.runs import Outcome, Run, Step
from raan.methods.erm import ERM
from raan.methods.method import Scope, alike
from raan.methods.raan import RAAN
from raan.models.model import Model, mlp
from raan.training.evaluate import group_counts
from raan.training.pack import Candidate, run_pack
from raan.training.stages import complete
from raan.training.train import Schedule, State, walk

RATE = 1e-3
"""The learning rate of plain training."""

STEPS = 3
"""Steps that are timed."""

DIALS = ("temperature", "averaging_rate", "strength", "balance")


@dataclass(frozen=True)
class Setting(Candidate):
    """One setting of a method, as the report and the classifier have it."""

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """What makes the setting, in numbers and strings."""
        values = {each.name: getattr(self.method, each.name) for each in fields(cast(Any, self.method))}
        plain = {name: value.value if isinstance(value, Enum) else value for name, value in values.items()}
        return {"learning_rate": self.learning_rate, **plain}

    @property
    def parameters(self) -> dict[str, Any]:
        """The setting as RAANClassifier takes it; plain training is RAAN of strength 0."""
        rates = {"lr": (RATE, self.learning_rate)}
        if not isinstance(self.method, RAAN):
            return {"strength": 0.0, **rates}
        dials = {name: getattr(self.method, name) for name in DIALS}
        return {**dials, "scope": self.method.scope.value, **rates}


def _raan(scope: Scope) -> list[Setting]:
    """RAAN's settings: "group" lifts the worst group, "sample" narrows the gaps between groups."""
    grid = (("group", 1e-3, 0.25), ("group", 1e-4, 0.5), ("sample", 1e-3, 0.25), ("sample", 1e-4, 1.0))
    return [
        Setting(RAAN(strength=strength, balance=cast(Any, balance), scope=scope), rate)
        for balance, rate, strength in grid
    ]


SETTINGS = {
    "Vanilla": [Setting(ERM(), rate) for rate in (3e-3, 1e-3, 3e-4, 1e-4)],
    "RAAN": _raan(Scope.HEAD),
    "RL-RAAN": _raan(Scope.MODEL),
}
"""The same budget for every method, plain training included: four settings each."""


@dataclass(frozen=True, eq=False)
class Ground:
    """What all runs share: the table, its split with a run axis, and the seeds of the starts."""

    table: Table
    split: Split  # [seed, row]
    seeds: tuple[int, ...]

    @classmethod
    def of(cls, table: Table, split: Split, first: int, count: int) -> "Ground":
        """One split for so many starts."""
        rows = Split(*(part.expand(count, -1) for part in split))
        return cls(table, rows, tuple(range(first, first + count)))


class Networks:
    """The networks' methods as steps, planned for the time there is; all start from the same plain training."""

    def __init__(self, rows: Rows, effort: Effort, costs: Costs) -> None:
        self.effort, self.costs = effort, costs
        self.ground = Ground.of(rows.loaded.table, Split.of(rows.split), rows.seed, effort.seeds)
        self._start: Model | None = None

    @classmethod
    def plan(cls, rows: Rows, seconds: float) -> "Networks":
        """The most that can be trained in the time, by what a few steps take."""
        table, split = rows.loaded.table, Split.of(rows.split)
        effort, costs = plan_effort(table.rows, len(split.train), partial(time_steps, table, split), seconds)
        return cls(rows, effort, costs)

    @property
    def steps(self) -> list[Step]:
        """A step for each method; the first has plain training before it."""
        seconds = {name: sum(costs) for name, costs in self.costs.second.items()}
        seconds["Vanilla"] += self.costs.first
        return [Step(name, seconds[name], partial(self.train, name)) for name in SETTINGS]

    def train(self, name: str, clock: Clock) -> Outcome:
        """The runs of a method, pack by pack, as far as the time goes."""
        if self._start is None and clock.left:
            self._start = train_plainly(self.ground, self.effort, clock, self.costs.first)
        runs: list[Run] = []
        for pack, seconds in zip(alike(SETTINGS[name]), self.costs.second[name], strict=True):
            if self._start is not None and clock.left:
                runs += train_pack(name, pack, self._start, self.ground, self.effort, clock, seconds)
        return Outcome(runs, tuple(self._notes(name, runs)))

    def _notes(self, name: str, runs: Sequence[Run]) -> Iterator[str]:
        """What the user should know where runs ended before their time."""
        if not runs:
            yield f"{name} was not trained: the time was over."
            return
        done, planned = min(len(run.step) for run in runs) - 1, self.effort.points - 1
        if done < planned:
            yield f"{name} was stopped at the end of the time, after {done} of {planned} parts."


def train_plainly(ground: Ground, effort: Effort, clock: Clock, seconds: float) -> Model | None:
    """Stage one: the model of each start after cross-entropy; None if the time was over before an epoch was."""
    model = mlp(ground.table).start(ground.table, ground.split.train, ground.seeds)
    each = seconds / (effort.epochs * effort.parts)
    trained = None
    with clock.limit():
        for state in walk(ERM(), model, ground.table, ground.split, ground.seeds, schedule_of(effort)):
            trained = model.at(state.parameters) if state.epoch else None
            clock.tick("plain training", each if state.step else 0.0)
    return trained


class Stop(NamedTuple):
    """Where a pack stands after so many steps, and what it predicts there."""

    step: int
    parameters: Float[Tensor, "run parameter"]
    failed: Int[Tensor, "run"]
    validation: Float[np.ndarray, "run label attribute prediction"]
    test: Float[np.ndarray, "run label attribute prediction"]

    @classmethod
    def of(cls, state: State) -> "Stop":
        """Where a state of training stands."""
        validation, test = state.point.validation_counts, state.point.test_counts
        assert test is not None  # the schedule watches the test rows
        return cls(state.step, state.parameters, state.failed, validation, test)


def train_pack(
    name: str, pack: Sequence[Setting], start: Model, ground: Ground, effort: Effort, clock: Clock, seconds: float
) -> list[Run]:
    """The second stage of a pack of settings, from every start: a run for each, as far as the time went."""
    stops: list[Stop] = []
    each = seconds / (effort.epochs * effort.parts)
    with clock.limit():
        for state in run_pack(pack, start, ground.table, ground.split, ground.seeds, schedule_of(effort)):
            stops.append(Stop.of(state))
            clock.tick(name, each if state.step else 0.0)
    return list(_runs(name, pack, start.repeat(len(pack)), ground.seeds, effort, stops)) if stops else []


def _runs(
    name: str, pack: Sequence[Setting], model: Model, seeds: Sequence[int], effort: Effort, stops: Sequence[Stop]
) -> Iterator[Run]:
    """One run for each setting and start, settings outermost."""
    validation = np.stack([stop.validation for stop in stops], axis=1)
    test = np.stack([stop.test for stop in stops], axis=1)
    for place, (setting, seed) in enumerate(product(pack, seeds)):
        failed = int(stops[-1].failed[place])
        yield Run(
            name,
            seed,
            setting.hyperparameters,
            tuple(stop.step for stop in stops),
            validation[place],
            test[place],
            partial(_classifier, model, stops, place, setting, effort),
            None if failed < 0 else failed,
            "network",
        )


def _classifier(
    model: Model, stops: Sequence[Stop], run: int, setting: Setting, effort: Effort, point: int
) -> RAANClassifier:
    """The classifier of one run at a point; where the head alone was trained, under the encoder it came with."""
    network, epochs = complete(model, stops[point].parameters), (effort.epochs, effort.epochs)
    return RAANClassifier.from_network(
        network, run, epochs=epochs, batch_size=effort.batch_size, **setting.parameters
    )


def schedule_of(effort: Effort) -> Schedule:
    """The effort as the training loop takes it; a pack's rates take the place of the rate."""
    return Schedule(effort.epochs, effort.batch_size, RATE, points_per_epoch=effort.parts, watch_test=True)


def time_steps(table: Table, split: Split, effort: Effort) -> Rates:
    """What steps and looks cost, from a few steps of everything on a few rows."""
    once = replace(effort, epochs=1, parts=1)
    few = _few(table, split, STEPS * effort.batch_size)
    ground = Ground.of(few, Split(*(torch.arange(few.rows),) * 3), 0, effort.seeds)
    start = mlp(few).start(few, ground.split.train, ground.seeds)
    steps = -(-few.rows // effort.batch_size)
    judged = (len(split.validation) + len(split.test)) / few.rows
    train_plainly(ground, once, _endless(), 0)  # the first time pays for much that later ones find there
    plain = _seconds(lambda: train_plainly(ground, once, _endless(), 0)) / steps

    def rates(name: str, pack: Sequence[Setting]) -> tuple[float, float]:
        many, rows = start.repeat(len(pack)), ground.split.test.repeat(len(pack), 1)
        step = _seconds(lambda: train_pack(name, pack, start, ground, once, _endless(), 0)) / steps
        return step, judged * _seconds(lambda: group_counts(many, few, rows))

    second = {name: [rates(name, pack) for pack in alike(several)] for name, several in SETTINGS.items()}
    return Rates((plain, 0.0), second)


def _few(table: Table, split: Split, rows: int) -> Table:
    """The first training rows as a table of their own."""
    kept = split.train[:rows]
    parts = table.features[kept], table.label[kept], table.attribute[kept]
    return Table(*parts, table.class_names, table.attribute_names)


def _endless() -> Clock:
    return Clock(math.inf)


def _seconds(work: Callable[[], object]) -> float:
    begun = monotonic()
    work()
    return monotonic() - begun
