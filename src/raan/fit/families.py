"""Kinds of model under FairFrontier, fitted in folds, and the one choice among all of their points."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from raan.errors import in_shell, spell
from raan.fairness.counts import MIN_CHOSEN, cell_counts, effective_weights
from raan.fairness.evidence import support_budget
from raan.fit.rows import Rows
from raan.fitting import fit_weighted
from raan.frontier.decide import Counted, Evaluation, decide
from raan.frontier.estimator import FairFrontier

FOLDS = 3
"""In how many parts rows are left out."""

TIMED = (2_000, 8_000)
"""The rows of the two small fits from which the time of a large one is estimated."""

SEARCH = 4.0
"""Seconds that the search for weights takes, about; it looks at so many rows at most, whatever the table."""

MARGIN = 1.2
"""What is planned beyond what was measured: other programs take their share of the machine."""

MIN_ROWS, MAX_MIN_ROWS = 8_000, 24_000
"""A subsample never has fewer rows than the first, nor so few that a class of a group has fewer than MIN_CHOSEN;
but the last are always enough.
"""

WIDE, WIDE_BINS, LOGIT_VARIANCE = 200, 63, 1.0
"""A table with more numbers of texts and images than this is wide. The time of boosting grows with them and with
the bins of each, so it has fewer; and logistic regression expects logits of this variance, however many they are.
"""


class Kind(NamedTuple):
    """A kind of classifier: what it is called, and how one is made from a seed and the width of the table."""

    title: str
    make: Callable[[int, int], Any]


def _boosting(seed: int, width: int) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(random_state=seed, max_bins=WIDE_BINS if width > WIDE else 255)


def _logistic(seed: int, width: int) -> LogisticRegression:
    # Features are standardised where the table is read.
    return LogisticRegression(max_iter=300, C=LOGIT_VARIANCE / width if width > WIDE else 1.0)


BOOSTING = Kind("gradient boosting", _boosting)
LOGISTIC = Kind("logistic regression", _logistic)


def in_order(rows: Rows) -> tuple[Kind, Kind]:
    """The kinds in the order of fitting; to a wide table, first the one that is far quicker there."""
    return (LOGISTIC, BOOSTING) if rows.width > WIDE else (BOOSTING, LOGISTIC)


@dataclass(frozen=True, eq=False)
class Family:
    """A kind of model fitted in folds, with its posterior on test rows. Its first point is the baseline."""

    title: str
    frontier: FairFrontier
    test: Evaluation

    @property
    def probabilities(self) -> Float[np.ndarray, "row label"]:
        """The probability of each class, of test rows; the same at every point."""
        return np.asarray(self.test.posterior.sum(2))

    def count(self, reference: "Family", points: slice = slice(None)) -> tuple[Counted, Counted]:
        """Count points in cross-validation and on test rows, against a reference's plain model."""
        weights = self.frontier.points_.weights[points]
        pairs = (self.frontier.evaluation_, reference.frontier.evaluation_), (self.test, reference.test)
        held_out, test = (replace(own, reference=other.reference).count(weights) for own, other in pairs)
        return held_out, test


class TradeOff(NamedTuple):
    """A family's points against the plain model that all families are compared with, which is the first point."""

    family: Family
    frontier: FairFrontier  # chooses among these points
    test: Float[np.ndarray, "point label slot prediction"]
    switched: Float[np.ndarray, "point label slot"]  # on test rows

    @property
    def place(self) -> int:
        """The point that the rule takes; 0 where it takes none."""
        return self.frontier.frontier_.chosen_place


def fit_family(kind: Kind, rows: Rows, parameters: dict[str, Any]) -> Family:
    """Fit FairFrontier over the kind to the training rows; `parameters` are those of its rule."""
    estimator = kind.make(rows.seed, rows.width)
    frontier = FairFrontier(estimator, folds=FOLDS, min_count=2, random_state=rows.seed, **parameters)
    training, test = rows.training, rows.test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare groups are noted where the table is read; the choice is made later
        frontier.fit(
            rows.features(training),
            rows.label(training),
            sensitive_features=rows.group_names(training),
            sample_weight=rows.weight(training),
            groups=rows.person(training),
        )
        posterior = frontier.posterior(rows.features(test))
    reference, label, group = decide(posterior, frontier.points_.weights[0]), rows.label(test), rows.group(test)
    cell = label * (len(rows.groups) + 1) + group + 1
    weight = effective_weights(rows.weight(test), rows.person(test), cell)
    return Family(kind.title, frontier, Evaluation(posterior, label, group, reference, weight))


def choose_family(families: Sequence[Family]) -> tuple[Family, TradeOff]:
    """Compare every family with the most accurate plain model, and take the best point by the one rule.

    Families come in the order of preference: a later one's plain model must be more accurate by more than the
    standard error of the difference. Of the points that the families' tests accept, the best for the aim is taken.
    Where there is none, the trade-off is that of the plain model's family, at its first point.
    """
    reference = families[0]
    for family in families[1:]:
        reference = family if _is_more_accurate(family, reference) else reference
    trade_offs = [_compare(family, reference) for family in families]
    own = trade_offs[families.index(reference)]
    fairer = [each for each in trade_offs if each.place]
    return reference, min(fairer, key=_loss) if fairer else own


def _loss(trade_off: TradeOff) -> float:
    """The loss of the aim at the point taken; without an aim, of accuracy."""
    frontier = trade_off.frontier.frontier_
    return float(frontier.rule.goal.loss_of(frontier.chosen.counts))


def _is_more_accurate(family: Family, other: Family) -> bool:
    """Whether a family's baseline is better in cross-validation than another's by more than a standard error."""
    (counts, switched), _ = family.count(other, slice(1))
    (before, _), _ = other.count(other, slice(1))
    currency = other.frontier.frontier_.rule.currency
    return bool(support_budget(counts[0], before[0], switched[0], 0.0, currency) > 1)


def _compare(family: Family, reference: Family) -> TradeOff:
    """The family's points, after the reference's plain model where that is of another family."""
    held_out, test = family.count(reference)
    points = replace(family.frontier.points_, **held_out._asdict())
    if family is not reference:
        first, before = reference.count(reference, slice(1))
        own = points.take(np.zeros(1, np.int64))
        points = replace(own, path=np.array([-1]), **first._asdict()) + points
        test = Counted(*(np.concatenate(pair) for pair in zip(before, test, strict=True)))
    with warnings.catch_warnings(action="ignore"):  # warned of once it is the choice
        return TradeOff(family, family.frontier.with_points(points), test.counts, test.switched)


def choose_with_warnings(frontier: FairFrontier, **options: Any) -> tuple[FairFrontier, tuple[str, ...]]:
    """Another choice, and what it warns of, in the command line's words."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "accuracy_drop=")  # the command line reads points, and checks them
        chosen = frontier.choose(**options)
    texts = (each.message.args[0] if isinstance(each.message, Warning) else each.message for each in warned)
    return chosen, tuple(spell(text, in_shell()) for text in texts)


def estimate_seconds(kind: Kind, rows: Rows) -> Callable[[int], float]:
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
    least = max(MIN_ROWS, min(MAX_MIN_ROWS, MIN_CHOSEN * most // max(int(cells.min()), 1)))
    sizes = np.geomspace(most, min(least, most), 60)
    within = (int(size) for size in sizes if seconds(int(size)) <= budget)
    return rows.few(next(within, int(sizes[-1])))
