"""Families of models under FairFrontier: gradient boosting, and logistic regression."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from raan.fairness.cells import cell_counts
from raan.fit.rows import Rows
from raan.fit.trade_off import Family, Weighted, plain_of
from raan.frontier.decide import Judge
from raan.frontier.estimator import FairFrontier
from raan.wrap.fitting import fit_weighted

FOLDS = 3
"""In how many parts rows are left out."""

TIMED = (2_000, 8_000)
"""The rows of the two small fits from which the time of a large one is told."""

SEARCH = 4.0
"""Seconds that the search for weights takes, about; it looks at so many rows at most, whatever the table."""

MARGIN = 1.2
"""What is planned beyond what was measured: other programs take their share of the machine."""

LEAST_ROWS, LEAST_OF_CELL, MOST_OF_LEAST = 8_000, 20, 24_000
"""To save time never fewer rows are taken than the first, nor so few that a class of a group has fewer than the
second; but the last are always enough.
"""


WIDE, WIDE_BINS, LOGIT_VARIANCE = 200, 63, 1.0
"""A table with more numbers of texts and images than this is wide. The time of boosting grows with them and with
the bins of each, so it has fewer; and logistic regression expects logits of this variance, however many they are.
"""


@dataclass(frozen=True)
class Kind:
    """A kind of classifier: what it is called, and how one is made from a seed and the width of the table."""

    name: str
    title: str
    style: Literal["boosting", "logistic"]
    make: Callable[[int, int], Any]


def _boosting(seed: int, width: int) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(random_state=seed, max_bins=WIDE_BINS if width > WIDE else 255)


def _logistic(seed: int, width: int) -> LogisticRegression:
    # Features are standardised where the table is read.
    return LogisticRegression(max_iter=300, C=LOGIT_VARIANCE / width if width > WIDE else 1.0)


BOOSTING = Kind("Boosting", "gradient boosting", "boosting", _boosting)
LOGISTIC = Kind("Logistic", "logistic regression", "logistic", _logistic)


def in_order(rows: Rows) -> tuple[Kind, Kind]:
    """The kinds in the order of fitting; to a wide table, first the one that is far quicker there."""
    return (LOGISTIC, BOOSTING) if rows.width > WIDE else (BOOSTING, LOGISTIC)


def fit_family(kind: Kind, rows: Rows, wish: dict[str, Any]) -> Family:
    """FairFrontier over the kind, fitted to the training rows in folds; `wish` are the parameters of its rule."""
    estimator = kind.make(rows.seed, rows.width)
    frontier = FairFrontier(estimator, folds=FOLDS, min_count=2, random_state=rows.seed, **wish)
    training, test = rows.training, rows.test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare groups are noted where the table is read; the choice is made later
        frontier.fit(rows.features(training), rows.label(training), sensitive_features=rows.group_names(training))
        posterior = frontier.posterior(rows.features(test))
    last_word = Judge(posterior, rows.label(test), rows.group(test), np.zeros(len(test), np.int64), 1)
    weights = frontier.tried_.weights
    return Family(
        kind.name,
        kind.title,
        frontier,
        Weighted(frontier.judge_, weights),
        Weighted(last_word, weights),
        plain=lambda: plain_of(frontier),
        at=lambda point: None,
        probabilities=lambda point: np.asarray(posterior.sum(2)),
        style=kind.style,
    )


def tell_seconds(kind: Kind, rows: Rows) -> Callable[[int], float]:
    """About how long the family takes on so many training rows and all test rows, by what two small fits take."""
    small = [rows.few(size) for size in TIMED]
    fits, asks = zip(*(_time(kind, each) for each in small), strict=True)
    sizes = [len(each.training) for each in small]
    growing = max((fits[1] - fits[0]) / max(sizes[1] - sizes[0], 1), 0.1 * fits[1] / sizes[1])
    fixed = max(fits[1] - growing * sizes[1], 0.0)
    asked = asks[1] / sizes[1]
    # Within each class a model of the attribute: together they see each row once, as the model of the class does.
    classes, groups = (1 if len(names) == 2 else len(names) for names in (rows.classes, rows.groups))
    models = classes + len(rows.classes) * groups

    def seconds(size: int) -> float:
        seen = size * (FOLDS - 1) / FOLDS
        fit = fixed * models + growing * seen * (classes + groups)
        ask = asked * models * (size / FOLDS + len(rows.test))
        search = SEARCH * (min(size, 30_000) / 30_000 + size / 1_000_000)
        return float(MARGIN * (FOLDS * (fit + ask) + search))

    return seconds


def _time(kind: Kind, rows: Rows) -> tuple[float, float]:
    """Seconds of one plain fit to the rows, and of asking it for their probabilities."""
    estimator = kind.make(rows.seed, rows.width)
    features, label = rows.features(rows.training), rows.label(rows.training)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = monotonic()
        fitted = fit_weighted(estimator, features, label, None)
        between = monotonic()
        fitted.predict_proba(features)
    return between - begun, monotonic() - between


def fit_in_time(seconds: Callable[[int], float], rows: Rows, budget: float) -> Rows:
    """The rows, or as many of them as can be learnt from within the budget, and never very few."""
    most = len(rows.training)
    if seconds(most) <= budget:
        return rows
    cells = cell_counts(rows.label(rows.training), rows.group(rows.training))
    least = max(LEAST_ROWS, min(MOST_OF_LEAST, LEAST_OF_CELL * most // max(int(cells.min()), 1)))
    sizes = np.geomspace(most, min(least, most), 60)
    within = (int(size) for size in sizes if seconds(int(size)) <= budget)
    return rows.few(next(within, int(sizes[-1])))
