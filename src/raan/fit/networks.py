"""The paper's network on a user's table: plain training, then every candidate of every method, in packs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.split import Split
from raan.data.streams import stream
from raan.data.table import Table
from raan.estimators.classifier import RAANClassifier
from raan.fairness.rule import LAST
from raan.fit.clock import Clock, OutOfTime
from raan.fit.estimator import as_estimator
from raan.fit.points import Walk
from raan.methods.erm import ERM
from raan.methods.method import Method, Scope, stack
from raan.models.model import Model, mlp
from raan.study.compare import Candidate
from raan.training.evaluate import embedded
from raan.training.train import Schedule, State, begin, train

RATE = 1e-3
"""The learning rate of plain training."""


@dataclass(frozen=True)
class Effort:
    """How much is trained: so many starts, epochs of each stage, rows in a batch, points of an epoch."""

    seeds: int
    epochs: int
    batch_size: int
    parts: int

    @property
    def schedule(self) -> Schedule:
        """As the training loop takes it; an epoch's parts are trained one by one, so each has one point."""
        return Schedule(self.epochs, self.batch_size, RATE, points_per_epoch=1, watch_test=True)


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

    def times(self, several: int) -> "Ground":
        """The same for as many candidates, candidates outermost."""
        return Ground(self.table, Split(*(part.repeat(several, 1) for part in self.split)), self.seeds * several)


def plain_training(ground: Ground, effort: Effort, clock: Clock, seconds: float) -> Model | None:
    """Stage one: the model of each start after cross-entropy; None if the time was over before an epoch was."""
    model = mlp(ground.table).start(ground.table, ground.split.train, ground.seeds)
    each = seconds / (effort.epochs * effort.parts)
    trained = None
    try:
        for state in _states(ERM(), model, ground, effort):
            trained = model.at(state.parameters) if state.epoch >= effort.parts else None
            clock.tick("plain training", each if state.step else 0.0)
    except OutOfTime:
        pass
    except KeyboardInterrupt:
        clock.interrupt()
    return trained


class Stop(NamedTuple):
    """Where a pack stands after so many steps, and what it predicts there."""

    step: int
    parameters: Float[Tensor, "run parameter"]
    failed: Int[Tensor, "run"]
    validation: Float[np.ndarray, "run label attribute prediction"]
    test: Float[np.ndarray, "run label attribute prediction"]


def walks(
    name: str,
    pack: Sequence[Candidate],
    start: Model,
    ground: Ground,
    effort: Effort,
    clock: Clock,
    seconds: float,
) -> list[Walk]:
    """The second stage of a pack of candidates, from every start: a walk for each, as far as the time went."""
    several = ground.times(len(pack))
    model = start.repeat(len(pack))
    rates = torch.tensor([candidate.learning_rate for candidate in pack]).repeat_interleave(len(ground.seeds))
    method = stack([candidate.method for candidate in pack for _ in ground.seeds])
    trained, seen = model, several
    if pack[0].method.scope is Scope.HEAD:  # a fixed encoder is a table embedded once
        trained, seen = model.without_encoder(), replace(several, table=embedded(model, ground.table))
    stops: list[Stop] = []
    each = seconds / (effort.epochs * effort.parts)
    try:
        for state in _states(method, trained, seen, effort, rates):
            stops.append(_stop(state))
            clock.tick(name, each if state.step else 0.0)
    except OutOfTime:
        pass
    except KeyboardInterrupt:
        clock.interrupt()
    return list(_walks(name, pack, model, several, effort, stops)) if stops else []


def _walks(
    name: str, pack: Sequence[Candidate], model: Model, several: Ground, effort: Effort, stops: Sequence[Stop]
) -> Iterator[Walk]:
    """One walk for each run of the pack."""
    starts = len(several.seeds) // len(pack)
    validation = np.stack([stop.validation for stop in stops], axis=1)
    test = np.stack([stop.test for stop in stops], axis=1)
    for run, seed in enumerate(several.seeds):
        candidate = pack[run // starts]
        failed = int(stops[-1].failed[run])
        yield Walk(
            name,
            seed,
            hyperparameters(candidate),
            tuple(stop.step for stop in stops),
            validation[run],
            test[run],
            partial(_at, model, stops, run, candidate, effort),
            None if failed < 0 else failed,
        )


def hyperparameters(candidate: Candidate) -> dict[str, Any]:
    """What tells a candidate apart, in numbers and strings."""
    values = {name.name: getattr(candidate.method, name.name) for name in fields(cast(Any, candidate.method))}
    plain = {name: value.value if isinstance(value, Enum) else value for name, value in values.items()}
    return {"learning_rate": candidate.learning_rate, **plain}


def _states(
    method: Method, model: Model, ground: Ground, effort: Effort, rates: float | Tensor = RATE
) -> Iterator[State]:
    """The state before the first step, and after each part of each epoch."""
    schedule = replace(effort.schedule, learning_rate=rates)
    state = begin(method, model, ground.table, ground.split, schedule, LAST)
    yield state
    for epoch in range(effort.epochs):
        for part in _dealt(ground, epoch, effort.parts):
            until = replace(schedule, epochs=state.epoch + 1)
            rows = ground.split._replace(train=part)
            state = train(method, model, ground.table, rows, ground.seeds, until, resume=state)
            yield state


def _dealt(ground: Ground, epoch: int, parts: int) -> Sequence[Int[Tensor, "run part"]]:
    """An epoch's training rows, shuffled by each run's seed and cut into parts."""
    rows = ground.split.train.shape[1]
    order = np.stack([stream(seed, "parts", epoch).permutation(rows) for seed in ground.seeds])
    return torch.tensor_split(ground.split.train.gather(1, torch.from_numpy(order)), parts, dim=1)


def _stop(state: State) -> Stop:
    point = state.path.points[-1]
    assert point.test_counts is not None  # the schedule watches the test rows
    return Stop(state.step, state.parameters, state.failed, point.validation_counts, point.test_counts)


def _at(
    model: Model, stops: Sequence[Stop], run: int, candidate: Candidate, effort: Effort, point: int
) -> RAANClassifier:
    """The classifier of one run at a point; where the head alone was trained, under the encoder it came with."""
    parameters = stops[point].parameters
    head_alone = parameters.shape[1] < model.parameters.shape[1]
    network = model.with_head(parameters) if head_alone else model.at(parameters)
    rates = RATE, candidate.learning_rate
    return as_estimator(network, run, candidate.method, rates, effort.epochs, effort.batch_size)
