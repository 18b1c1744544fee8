"""The paper's network on a user's table: plain training, then every setting of every method, in packs.

Networks are fitted in folds like every family: the folds are the runs of a pack, each with rows of its own, and a
point is judged by decisions on rows that its fold's network has not seen. The one part of `raan fit` that needs
torch: it is imported where networks are trained, and nowhere else.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import partial
from time import monotonic
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.split import Split
from raan.data.table import Table
from raan.estimators.classifier import RAANClassifier
from raan.fit.averaged import AveragedNetworks
from raan.fit.budget import Effort, Rates, plan_effort
from raan.fit.clock import Clock
from raan.fit.families import FOLDS
from raan.fit.rows import Rows
from raan.fit.trade_off import Family, Given
from raan.frontier.estimator import PARTS, FairFrontier
from raan.frontier.search import Tried
from raan.methods.erm import ERM
from raan.methods.method import Scope, alike
from raan.methods.raan import RAAN
from raan.models.model import Model, mlp
from raan.models.outputs import outputs, predictions
from raan.training.pack import Candidate, run_pack
from raan.training.stages import complete
from raan.training.train import Schedule, walk
from raan.wrap.fitting import stratified_folds

RATE = 1e-3
"""The learning rate of plain training."""

STEPS = 3
"""Steps that are timed."""

FEW, CHUNK = 8, 20_000
"""Rows that the engine looks at along the way, and test rows that are looked at at a time."""

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
    """What all runs share: the training rows as a table, each fold's rows that train and that are left out."""

    table: Table
    train: Int[Tensor, "fold row"]
    held: Int[Tensor, "fold left"]  # the last row twice where a fold has one fewer
    test: Table
    seeds: tuple[int, ...]

    @classmethod
    def of(cls, rows: Rows) -> "Ground":
        """The folds of the training rows, each cell's rows dealt out evenly."""
        label, group = rows.label(rows.training), rows.group(rows.training)
        fold = stratified_folds(label * (len(rows.groups) + 1) + group + 1, FOLDS, rows.seed)
        kept = [np.flatnonzero(fold != left_out) for left_out in range(FOLDS)]
        held = [np.flatnonzero(fold == left_out) for left_out in range(FOLDS)]
        fewest, most = min(map(len, kept)), max(map(len, held))
        train = np.stack([each[:fewest] for each in kept])
        padded = np.stack([np.append(each, each[-1:])[:most] for each in held])
        seeds = tuple(range(rows.seed, rows.seed + FOLDS))
        tables = (_table(rows, places) for places in (rows.training, rows.test))
        return cls(next(tables), torch.from_numpy(train), torch.from_numpy(padded), next(tables), seeds)

    @property
    def split(self) -> Split:
        """As the engine takes it: what it looks at along the way is not what judges, so a few rows will do."""
        return Split(self.train, self.held[:, :FEW], self.held[:, :FEW])


def _table(rows: Rows, places: Int[np.ndarray, "row"]) -> Table:
    return Table.of(
        torch.from_numpy(rows.features(places)),
        rows.label(places),
        rows.group(places),
        class_names=rows.classes,
        attribute_names=rows.groups,
    )


class Stop(NamedTuple):
    """Where a pack stands after so many steps, and what it decides there: runs are settings times folds."""

    step: int
    parameters: Float[Tensor, "run parameter"]
    held_out: Int[np.ndarray, "setting row"]
    test: Int[np.ndarray, "setting judged"]


class Point(NamedTuple):
    """One setting of one method at a stop, and the pack that it is of."""

    method: str
    setting: Setting
    place: int  # of the setting in its pack
    stop: Stop
    start: Model  # of the pack's runs


def fit_networks(rows: Rows, wish: dict[str, Any], clock: Clock) -> tuple[list[Family], list[str]]:
    """The networks as a family, as far as the time goes; none if it is over before plain training is."""
    ground = Ground.of(rows)
    effort, costs = plan_effort(ground.train.shape[1], partial(time_steps, ground), clock.left)
    clock.plan(clock.done + costs.total)
    points: list[Point] = []
    notes = []
    start = train_plainly(ground, effort, clock, costs.first)
    for name, several in SETTINGS.items():
        before = len(points)
        for pack, seconds in zip(alike(several), costs.second[name], strict=True):
            if start is not None and clock.left:
                points += train_pack(name, pack, start, ground, effort, clock, seconds)
        notes += list(_note(name, points[before:], effort))
    plain = [point for point in points if point.method == "Vanilla"]
    return ([_family(rows, ground, wish, effort, points)], notes) if plain else ([], notes)


def _note(name: str, points: Sequence[Point], effort: Effort) -> Iterator[str]:
    """What the user should know where a method ended before its time."""
    if not points:
        yield f"{name} was not trained: the time was over."
        return
    done, planned = len({point.stop.step for point in points}), effort.points - 1
    if done < planned:
        yield f"{name} was stopped at the end of the time, after {done} of {planned} parts."


def _family(rows: Rows, ground: Ground, wish: dict[str, Any], effort: Effort, points: Sequence[Point]) -> Family:
    """The most accurate point of plain training, then all of the methods that know of groups.

    Among points of plain training, a better one for the aim is so by luck: nothing made it fairer.
    """
    label = rows.label(rows.training)
    plain = max(
        (point for point in points if point.method == "Vanilla"),
        key=lambda point: float(np.mean(point.stop.held_out[point.place] == label)),
    )
    ordered = [plain, *(point for point in points if point.method != "Vanilla")]
    held = Given(
        np.stack([point.stop.held_out[point.place] for point in ordered]),
        label,
        rows.group(rows.training),
        stratified_folds(label * (len(rows.groups) + 1) + rows.group(rows.training) + 1, PARTS, rows.seed),
        PARTS,
        (len(rows.classes), len(rows.groups)),
    )
    test = Given(
        np.stack([point.stop.test[point.place] for point in ordered]),
        rows.label(rows.test),
        rows.group(rows.test),
        np.zeros(len(rows.test), np.int64),
        1,
        held.shape,
    )

    def classifier(point: int) -> AveragedNetworks:
        return _classifier(ordered[point], effort)

    return Family(
        "Vanilla",
        "networks",
        _chooser(rows, wish, held),
        held,
        test,
        plain=lambda: classifier(0),
        at=classifier,
        probabilities=lambda point: classifier(point).predict_proba(rows.features(rows.test)),
        style="network",
        steps=tuple((point.method, point.setting.hyperparameters, point.stop.step) for point in ordered),
    )


def _chooser(rows: Rows, wish: dict[str, Any], held: Given) -> FairFrontier:
    """What chooses among the points: they are given, so that weights say nothing."""
    frontier = FairFrontier(None, random_state=rows.seed, **wish)
    frontier.classes_, frontier.groups_, frontier.models_ = np.arange(len(rows.classes)), rows.groups, []
    weights = np.ones((len(held.decided), *held.shape))
    frontier.tried_ = Tried(weights, *held.against(held.plain))
    return frontier


def _classifier(point: Point, effort: Effort) -> AveragedNetworks:
    """The networks of all folds at a point; where the head alone was trained, under the encoder it came with."""
    network, epochs = complete(point.start, point.stop.parameters), (effort.epochs, effort.epochs)
    settings = {"epochs": epochs, "batch_size": effort.batch_size, **point.setting.parameters}
    runs = range(FOLDS * point.place, FOLDS * (point.place + 1))
    return AveragedNetworks(tuple(RAANClassifier.from_network(network, run, **settings) for run in runs))


def train_plainly(ground: Ground, effort: Effort, clock: Clock, seconds: float) -> Model | None:
    """Stage one: each fold's model after cross-entropy; None if the time was over before an epoch was."""
    model = mlp(ground.table).start(ground.table, ground.train, ground.seeds)
    each = seconds / (effort.epochs * effort.parts)
    trained = None
    with clock.limit():
        for state in walk(ERM(), model, ground.table, ground.split, ground.seeds, schedule_of(effort)):
            trained = model.at(state.parameters) if state.epoch else None
            clock.tick("plain training", each if state.step else 0.0)
    return trained


def train_pack(
    name: str, pack: Sequence[Setting], start: Model, ground: Ground, effort: Effort, clock: Clock, seconds: float
) -> list[Point]:
    """The second stage of a pack of settings in all folds: a point for each setting and stop, as time allows."""
    many, stops = start.repeat(len(pack)), []
    each = seconds / (effort.epochs * effort.parts)
    with clock.limit():
        for state in run_pack(pack, start, ground.table, ground.split, ground.seeds, schedule_of(effort)):
            if state.step:  # before the first step all settings are where plain training ended
                model = complete(many, state.parameters)
                stops.append(Stop(state.step, state.parameters, *look(model, ground, len(pack))))
            clock.tick(name, each if state.step else 0.0)
    return [Point(name, setting, place, stop, many) for place, setting in enumerate(pack) for stop in stops]


def look(model: Model, ground: Ground, settings: int) -> tuple[np.ndarray, np.ndarray]:
    """Each setting's decisions: on training rows by the fold that left the row out, on test rows by all folds."""
    held = ground.held.repeat(settings, 1)
    said = predictions(model, ground.table, held).numpy(force=True).reshape(settings, FOLDS, -1)
    decided = np.zeros((settings, ground.table.rows), np.int8)
    decided[:, ground.held.numpy()] = said
    return decided, _average(model, ground.test, settings)


@torch.no_grad()
def _average(model: Model, table: Table, settings: int) -> Int[np.ndarray, "setting row"]:
    """The likeliest class of all rows by the mean probability over the folds."""
    parts = []
    for rows in torch.split(torch.arange(table.rows), CHUNK):
        logit = outputs(model, table, rows.expand(settings * FOLDS, -1)).logit
        mean = logit.double().softmax(-1).reshape(settings, FOLDS, len(rows), -1).mean(1)
        parts.append(mean.argmax(-1).to(torch.int8).numpy(force=True))
    return np.concatenate(parts, axis=1)


def schedule_of(effort: Effort) -> Schedule:
    """The effort as the training loop takes it; a pack's rates take the place of the rate."""
    return Schedule(effort.epochs, effort.batch_size, RATE, points_per_epoch=effort.parts)


def time_steps(ground: Ground, effort: Effort) -> Rates:
    """What steps and looks cost, from a few steps of everything on a few rows."""
    once = replace(effort, epochs=1, parts=1)
    few = _few(ground, STEPS * effort.batch_size)
    start = mlp(few.table).start(few.table, few.train, few.seeds)
    steps = -(-few.train.shape[1] // effort.batch_size)
    judged = (ground.held.shape[1] + ground.test.rows) / (few.held.shape[1] + few.test.rows)
    train_plainly(few, once, _endless(), 0)  # the first time pays for much that later ones find there
    plain = _seconds(lambda: train_plainly(few, once, _endless(), 0)) / steps

    def rates(name: str, pack: Sequence[Setting]) -> tuple[float, float]:
        step = _seconds(lambda: train_pack(name, pack, start, few, once, _endless(), 0)) / steps
        return step, judged * _seconds(lambda: look(start.repeat(len(pack)), few, len(pack)))

    second = {name: [rates(name, pack) for pack in alike(several)] for name, several in SETTINGS.items()}
    return Rates((plain, 0.0), second)


def _few(ground: Ground, size: int) -> Ground:
    """The first rows as a ground of their own, on which all folds train and judge."""
    rows = torch.arange(min(size, ground.table.rows)).expand(FOLDS, -1)
    table = _first(ground.table, rows.shape[1])
    return Ground(table, rows, rows, _first(ground.test, rows.shape[1]), ground.seeds)


def _first(table: Table, size: int) -> Table:
    parts = table.features[:size], table.label[:size], table.attribute[:size]
    return Table(*parts, table.class_names, table.attribute_names)


def _endless() -> Clock:
    return Clock(math.inf)


def _seconds(work: Callable[[], object]) -> float:
    begun = monotonic()
    work()
    return monotonic() - begun
