"""AANReweighting over gradient boosting on a user's table: weights and threshold, as the time allows."""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from raan.fairness.frontier import Frontier, Point
from raan.fairness.rule import ALLOWANCES
from raan.fit.boosting import Plain, Rows, as_fitted
from raan.fit.clock import Clock, OutOfTime
from raan.fit.points import Walk
from raan.reweighting.cells import Cells, Plan, PlannedWeights
from raan.reweighting.embedding import embed
from raan.reweighting.estimator import AANReweighting
from raan.reweighting.fitting import fit_weighted

FOLDS = 3
FITS = 28 * FOLDS
"""About how many fits a search takes."""

FIXED, GROWING = 0.25, 0.65
"""What a fit of the search costs, of one on all training rows: whatever its rows, and in proportion to them."""

LEAST_ROWS, MOST_LOCAL_ROWS = 1_000, 30_000
"""A search on fewer rows than the first tells little; neighbours among more than the second take too long."""

GIVEN = (
    ("independence", 1.0),
    ("group", 0.25),
    ("sample", 0.5),
    ("independence", 0.5),
    ("group", 1.0),
    ("sample", 1.0),
)
"""The balances and strengths that are tried where there is no time to search."""


@dataclass(frozen=True)
class Search:
    """How AANReweighting searches: on so many training rows, with which classifier, in about what time."""

    rows: int
    estimator: HistGradientBoostingClassifier
    seconds: float


def affordable_search(plain: Plain, seconds: float) -> Search | None:
    """The most thorough search that the time allows; None if it allows none that would tell anything.

    Where all training rows are too many, quicker boosting stands in for the one that will be fitted.
    """
    whole = len(plain.rows.split.train)
    least = min(LEAST_ROWS, whole)
    for share in (1.0, 0.4):
        pace = FITS * plain.seconds * share
        rows = int(min(whole, MOST_LOCAL_ROWS, (seconds / pace - FIXED) / GROWING * whole))
        if rows >= (min(whole, MOST_LOCAL_ROWS) if share == 1 else least):
            quick = {"max_iter": 40, "learning_rate": 0.2} if share < 1 else {}
            estimator = plain.rows.estimator.set_params(**quick)
            return Search(rows, estimator, pace * (FIXED + GROWING * rows / whole))
    return None


def searched(plain: Plain, search: Search, aim: str, accuracy_drop: float, clock: Clock) -> Walk | None:
    """The walk from plain boosting along AANReweighting's path; None if the search did not end in time.

    The weights and thresholds are searched for on the first of the training rows, which a split has in proportion,
    and the points are then fitted on all of them.
    """
    fitted = [plain.model]
    path = None
    with _as_far_as_the_time_goes(clock):
        path = _path(plain.rows, search, aim, accuracy_drop, clock)
        for model in _fit_points(plain.rows, list(_points_of(path, accuracy_drop, plain.rows)), clock):
            fitted.append(model)
    return None if path is None else _walk(plain.rows, fitted, {"aim": aim, **_said(path.chosen)})


def given(plain: Plain, clock: Clock) -> Walk | None:
    """The walk from plain boosting along given weights, not searched for: a fit each, and no threshold."""
    rows, fitted = plain.rows, [plain.model]
    train = rows.split.train
    with _as_far_as_the_time_goes(clock):
        for balance, strength in GIVEN:
            clock.tick("AANReweighting")
            model = AANReweighting(rows.estimator, temperature=math.inf, balance=balance, strength=strength)
            model.fit(rows.features(train), rows.label(train), sensitive_features=rows.groups(train))
            model.sample_weight_ = None
            fitted.append(model)
    return _walk(rows, fitted, {"balance": "given", "temperature": "inf"}) if len(fitted) > 1 else None


@contextmanager
def _as_far_as_the_time_goes(clock: Clock) -> Iterator[None]:
    """Work that ends at the end of the time, or when the user interrupts it; and warns of nothing.

    What there is to warn of, unknown attributes and rare groups, has been told where the table was read.
    """
    with warnings.catch_warnings(), suppress(OutOfTime):
        warnings.simplefilter("ignore")
        try:
            yield
        except KeyboardInterrupt:
            clock.interrupt()


def _path(rows: Rows, search: Search, aim: str, accuracy_drop: float, clock: Clock) -> Frontier:
    """Everything that AANReweighting tries."""
    train = rows.split.train[: search.rows]
    smallest = int(rows.table.cells().min() * search.rows // rows.table.rows)
    model = AANReweighting(
        _watched(search.estimator, clock, search.seconds / FITS),
        aim=aim,
        accuracy_drop=accuracy_drop,
        folds=FOLDS,
        min_count=max(2, min(20, smallest)),
        random_state=rows.seed,
    )
    model.fit(rows.features(train), rows.label(train), sensitive_features=rows.groups(train))
    return model.frontier_


def _said(point: Point) -> dict[str, str]:
    """The weights and the threshold of a point, for the records."""
    values = {"exponents": _plan(point).exponents, "temperature": point.temperature, "threshold": point.threshold}
    return {"balance": point.balance, **{name: str(value) for name, value in values.items()}}


def _plan(point: Point) -> Plan:
    """The weights that a point of the search was fitted with."""
    exponents = (value for name, value in point.what.items() if name.startswith("exponent of "))
    return Plan(point.balance, tuple(each for each in exponents if each is not None), point.temperature)


def _walk(rows: Rows, fitted: Sequence[AANReweighting], hyperparameters: dict[str, Any]) -> Walk:
    validation, test = zip(*map(rows.judge, fitted), strict=True)
    return Walk(
        "AANReweighting",
        rows.seed,
        hyperparameters,
        tuple(range(len(fitted))),
        np.stack(validation),
        np.stack(test),
        lambda point: fitted[point],
    )


def _points_of(path: Frontier, accuracy_drop: float, rows: Rows) -> Iterator[Point]:
    """The path's best point for the user's allowance, then for others, each once, the plain one left out."""
    local = len(rows.split.train) <= MOST_LOCAL_ROWS
    usable = [place for place, point in enumerate(path) if local or not math.isfinite(point.temperature)]
    rules = (replace(path.rule, accuracy_drop=drop) for drop in (accuracy_drop, *ALLOWANCES))
    best = (int(rule.choose(path.counts[usable], path.plain.counts)) for rule in rules)
    yield from (path[usable[place]] for place in dict.fromkeys(best) if place > 0)


def _fit_points(rows: Rows, points: Sequence[Point], clock: Clock) -> Iterator[AANReweighting]:
    """Each point fitted on all training rows; points of the same weights share a fit."""
    train = rows.split.train
    features, label = rows.features(train), rows.label(train)
    weights = PlannedWeights(Cells.of(label, rows.groups(train)), partial(embed, features, None, len(label)))
    fits: dict[Any, Any] = {}
    for point in points:
        plan = _plan(point)
        if plan not in fits:
            clock.tick("AANReweighting")
            fits[plan] = fit_weighted(rows.estimator, features, label, weights(plan))
        yield as_fitted(rows.estimator, fits[plan], point.threshold)


def _watched(estimator: HistGradientBoostingClassifier, clock: Clock, seconds: float) -> Any:
    """The estimator, whose every fit tells the clock, and stops where the time is over."""
    tick: Callable[[], None] = partial(clock.tick, "AANReweighting", seconds)

    class Watched(HistGradientBoostingClassifier):  # type: ignore[misc]
        def fit(self, *arguments: Any, **named: Any) -> Any:
            tick()
            return super().fit(*arguments, **named)

    return Watched(**estimator.get_params())
