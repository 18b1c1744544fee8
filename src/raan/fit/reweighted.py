"""AANReweighting over gradient boosting on a user's table: weights and threshold, as the time allows."""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from raan.fairness.frontier import Frontier, Point
from raan.fairness.rule import ALLOWANCES, Rule
from raan.fit.boosting import Plain, boosting
from raan.fit.clock import Clock
from raan.fit.rows import Rows
from raan.fit.runs import Outcome, Run, Step
from raan.reweighting.embedding import embed
from raan.reweighting.estimator import AANReweighting
from raan.reweighting.plans import Plan, weigh_rows
from raan.wrap.cells import Cells
from raan.wrap.fitting import fit_weighted

METHOD = "AANReweighting"

FOLDS, PLANS = 3, 7
"""The folds of a search, and about how many weights it judges: a fit for each fold."""

FIXED, GROWING = 0.25, 0.65
"""What a fit of the search costs, of one on all training rows: whatever its rows, and in proportion to them."""

LEAST_ROWS, MOST_LOCAL_ROWS = 1_000, 30_000
"""A search on fewer rows than the first says little; neighbours among more than the second take too long."""

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


def plan_reweighting(plain: Plain, rule: Rule, seconds: float) -> Step:
    """The most thorough search for weights that the time allows, or the given weights if it allows none."""
    search = plan_search(plain, seconds)

    def train(clock: Clock) -> Outcome:
        run = fit_given(plain, clock) if search is None else fit_searched(plain, search, rule, clock)
        if run is None:
            return Outcome((), (f"{METHOD} was not trained: the time was over. Give more --minutes.",))
        return Outcome((run,), tuple(_notes(plain, search, run)))

    return Step(METHOD, len(GIVEN) * plain.seconds if search is None else search.seconds, train)


def plan_search(plain: Plain, seconds: float) -> Search | None:
    """The most thorough search that the time allows; None if it allows none that would show anything.

    Where all training rows are too many, quicker boosting stands in for the one that will be fitted.
    """
    whole = len(plain.rows.split.train)
    least = min(LEAST_ROWS, whole)
    for share in (1.0, 0.4):
        pace = PLANS * FOLDS * plain.seconds * share
        rows = int(min(whole, MOST_LOCAL_ROWS, (seconds / pace - FIXED) / GROWING * whole))
        if rows >= (min(whole, MOST_LOCAL_ROWS) if share == 1 else least):
            quick = {"max_iter": 40, "learning_rate": 0.2} if share < 1 else {}
            estimator = boosting(plain.rows.seed).set_params(**quick)
            return Search(rows, estimator, pace * (FIXED + GROWING * rows / whole))
    return None


def _notes(plain: Plain, search: Search | None, run: Run) -> Iterator[str]:
    """What was done in less than full, to save time."""
    whole = len(plain.rows.split.train)
    if search is None:
        yield (
            f"{METHOD}'s weights were not searched for, to save time: {len(run.step) - 1} given ones were tried. "
            "Give more --minutes for the search."
        )
    elif search.rows < whole or search.estimator.max_iter < plain.model.estimator.max_iter:
        yield (
            f"{METHOD}'s weights were searched for on {search.rows:,} of {whole:,} training rows and with "
            f"{search.estimator.max_iter} rounds of boosting, to save time; its models were then fitted in full."
        )


def fit_searched(plain: Plain, search: Search, rule: Rule, clock: Clock) -> Run | None:
    """The run from plain boosting along what AANReweighting's search found; None if that did not end in time.

    The weights and thresholds are searched for on the first of the training rows, which a split has in proportion,
    and the points are then fitted on all of them.
    """
    fitted, frontier = [plain.model], None
    with clock.limit(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown attributes and rare groups were noted where the table was read
        frontier = _search(plain.rows, search, rule, clock)
        for model in _fit_points(plain.rows, list(_points_of(frontier, plain.rows)), clock):
            fitted.append(model)
    if frontier is None:
        return None
    return _run(plain.rows, fitted, {"aim": rule.aim, **_describe(frontier.chosen)})


def fit_given(plain: Plain, clock: Clock) -> Run | None:
    """The run from plain boosting along given weights, not searched for: a fit each, and no threshold."""
    rows, fitted = plain.rows, [plain.model]
    train = rows.split.train
    with clock.limit(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for balance, strength in GIVEN:
            clock.tick(METHOD)
            model = AANReweighting(boosting(rows.seed), temperature=math.inf, balance=balance, strength=strength)
            model.fit(rows.features(train), rows.label(train), sensitive_features=rows.groups(train))
            model.sample_weight_ = None  # as many numbers as there are rows
            fitted.append(model)
    return _run(rows, fitted, {"balance": "given", "temperature": "inf"}) if len(fitted) > 1 else None


def _search(rows: Rows, search: Search, rule: Rule, clock: Clock) -> Frontier:
    """Everything that AANReweighting tries; each set of weights that it judges is a tick of the clock."""
    train = rows.split.train[: search.rows]
    smallest = int(rows.loaded.cells.min() * search.rows // rows.loaded.rows)
    model = AANReweighting(
        search.estimator,
        aim=rule.aim,
        accuracy_drop=rule.accuracy_drop,
        folds=FOLDS,
        min_count=max(2, min(20, smallest)),
        random_state=rows.seed,
        verbose=lambda done, most: clock.tick(METHOD, search.seconds / (PLANS * FOLDS) if done else 0.0),
    )
    model.fit(rows.features(train), rows.label(train), sensitive_features=rows.groups(train))
    return model.frontier_


def _describe(point: Point) -> dict[str, str]:
    """The weights and the threshold of a point, for the records."""
    return {name: str(value) for name, value in point.what.items() if name != "fit"}


def _plan(point: Point) -> Plan:
    """The weights that a point of the search was fitted with."""
    weights = [value for name, value in point.what.items() if name.startswith("weight of ")]
    return Plan(np.reshape(weights, (2, -1)), point.temperature)


def _run(rows: Rows, fitted: Sequence[AANReweighting], hyperparameters: dict[str, Any]) -> Run:
    validation, test = zip(*(rows.judge(model.predict) for model in fitted), strict=True)
    return Run(
        METHOD,
        rows.seed,
        hyperparameters,
        tuple(range(len(fitted))),
        np.stack(validation),
        np.stack(test),
        lambda point: fitted[point],
    )


def _points_of(frontier: Frontier, rows: Rows) -> Iterator[Point]:
    """The best point for the user's allowance, then for others, each once, the plain one left out."""
    local = len(rows.split.train) <= MOST_LOCAL_ROWS
    usable = [place for place, point in enumerate(frontier) if local or not math.isfinite(point.temperature)]
    rules = (frontier.rule, *(replace(frontier.rule, accuracy_drop=drop) for drop in ALLOWANCES))
    counts, switched = frontier.counts[usable], None if frontier.switched is None else frontier.switched[usable]
    best = (int(rule.choose(counts, frontier.plain.counts, switched=switched)) for rule in rules)
    yield from (frontier[usable[place]] for place in dict.fromkeys(best) if place > 0)


def _fit_points(rows: Rows, points: Sequence[Point], clock: Clock) -> Iterator[AANReweighting]:
    """Each point fitted on all training rows; points of the same weights share a fit."""
    estimator, train = boosting(rows.seed), rows.split.train
    features, label = rows.features(train), rows.label(train)
    cells = Cells.of(label, rows.groups(train))
    vectors = partial(embed, features, None, len(label))
    fits: dict[int, Any] = {}
    for point in points:
        if point.fit not in fits:
            clock.tick(METHOD)
            weight = weigh_rows(_plan(point), *cells.codes, vectors) if point.fit else None
            fits[point.fit] = fit_weighted(estimator, features, label, weight)
        yield AANReweighting.from_fitted(estimator, fits[point.fit], point.threshold)
