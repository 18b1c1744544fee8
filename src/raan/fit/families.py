"""Kinds of model under FairFrontier, fitted in folds, and the one choice among all of their points."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from raan.errors import in_shell, spell
from raan.fairness.counts import MIN_CHOSEN, effective_weights
from raan.fairness.evidence import support_budget
from raan.fit.rows import Rows
from raan.fitting import fit_weighted, in_threads
from raan.frontier.decide import Counted, Evaluation, decide
from raan.frontier.estimator import FairFrontier
from raan.frontier.posterior import soften
from raan.frontier.sketch import hash_rows
from raan.frontier.tally import Tally, tally_rows
from raan.tables.rest import Block

FOLDS = 3
"""In how many parts rows are left out."""

TIMED = 32_000
"""Rows of the larger one of two fits by which the time of a large one is estimated; half of a small table."""

SMALL = 2_000
"""Training rows of a table whose fits are not timed."""

SEARCH, COUNT = 1.0, 1e-5
"""Seconds that planning takes, whatever the number of rows, and that counting a row takes, about."""

MARGIN = 1.2
"""What is planned beyond what was measured: other programs take their share of the machine."""

MIN_ROWS, MAX_SHARE = 5_000, 0.75
"""Fewer rows are never learnt from, and at most this share of them where the others evaluate."""

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
        """Count points on held-out rows and on test rows, against a reference's plain model."""
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


def fit_family(kind: Kind, rows: Rows, parameters: dict[str, Any], train_size: int | None = None) -> Family:
    """Fit FairFrontier over the kind; `parameters` are those of its rule.

    Without `train_size` the training rows are evaluated in folds. With it, so many of them train one posterior,
    and the others evaluate it.
    """
    frontier = FairFrontier(
        kind.make(rows.seed, rows.width),
        folds=FOLDS,
        train_size=train_size,
        min_count=2,
        random_state=rows.seed,
        **parameters,
    )
    training, test = rows.training, rows.test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare groups are noted where the table is read; the choice is made later
        frontier.fit(
            rows.features(training),
            rows.label(training),
            sensitive_features=rows.sensitive_features(training),
            control_features=rows.control_features(training),
            sample_weight=rows.weight(training),
            groups=rows.person(training),
        )
        posterior = frontier.posterior(rows.features(test))
    reference, label, group = decide(posterior, frontier.points_.weights[0]), rows.label(test), rows.group(test)
    cell = label * (len(rows.groups) + 1) + group + 1
    weight = effective_weights(rows.weight(test), rows.person(test), cell)
    return Family(kind.title, frontier, Evaluation(posterior, label, group, reference, weight))


def count_rest(best: TradeOff, rows: Rows, blocks: Iterable[Block]) -> TradeOff:
    """Evaluate the only family on further rows, together with the training rows that evaluated it before."""
    frontier = best.frontier
    raw = rows.weight(rows.training[frontier.held_])  # not yet scaled by the effective sample size
    before = tally_rows(frontier, replace(frontier.evaluation_, weight=raw), None)  # it has their fingerprints

    def tally(block: Block) -> Tally:
        posterior = frontier.posterior(block.features)
        reference = decide(posterior, frontier.points_.weights[0])
        evaluation = Evaluation(posterior, block.label, block.group, reference, block.weight)
        return tally_rows(frontier, evaluation, hash_rows(block.features, block.label))

    found = reduce(add, in_threads(tally, blocks), before)
    with warnings.catch_warnings(action="ignore"):  # warned of once it is the choice
        return best._replace(frontier=frontier.with_tally(found))


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
    """Whether a family's baseline is better on held-out rows than another's by more than a standard error."""
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


class Pace(NamedTuple):
    """How long a kind of model takes, by what two small fits took.

    Attributes:
        fixed: the seconds of a fit of no rows.
        learning: the seconds that a row adds to it.
        asking: the seconds of a row's posterior.
        test: the number of test rows, which every model is asked for.
    """

    fixed: float
    learning: float
    asking: float
    test: int

    @classmethod
    def measure(cls, kind: Kind, rows: Rows) -> Pace:
        """Fit the kind to some of the training rows, and to four times as many."""
        most = min(len(rows.training) // 2, TIMED)
        several = [rows.few(size) for size in (most // 4, most)]
        _time(kind, several[0])  # the first fit pays for threads and caches
        sizes = [len(each.training) for each in several]
        fits, asks = zip(*(_time(kind, each) for each in several), strict=True)
        learning = max((fits[1] - fits[0]) / max(sizes[1] - sizes[0], 1), 0.1 * fits[1] / sizes[1])
        return cls(max(fits[1] - learning * sizes[1], 0.0), learning, asks[1] / sizes[1], len(rows.test))

    def in_folds(self, rows: int) -> float:
        """The seconds that so many rows take in folds."""
        fit = FOLDS * (self.fixed + self.learning * rows * (FOLDS - 1) / FOLDS)
        return MARGIN * (fit + self.asking * (rows + FOLDS * self.test) + COUNT * rows + SEARCH)

    def held_out(self, learnt: int, evaluated: int) -> float:
        """The seconds that one posterior takes which so many rows train and evaluate."""
        fit = self.fixed + self.learning * learnt
        return MARGIN * (fit + (self.asking + COUNT) * (evaluated + self.test) + SEARCH)

    def find_train_size(self, rows: int, seconds: float) -> int:
        """The most rows that can train one posterior, which all others evaluate, within so many seconds."""
        sizes = np.geomspace(MAX_SHARE * rows, min(MIN_ROWS, MAX_SHARE * rows), 60).astype(int).tolist()
        return int(next((size for size in sizes if self.held_out(size, rows - size) <= seconds), sizes[-1]))


def _time(kind: Kind, rows: Rows) -> tuple[float, float]:
    """Seconds of fitting a posterior to the rows, and of asking it for theirs.

    One model of the group stands for those within each class, which together are fitted to as many rows.
    """
    estimator = kind.make(rows.seed, rows.width)
    features, label, group = (take(rows.training) for take in (rows.features, rows.label, rows.group))
    frequent = np.flatnonzero(np.bincount(group + 1) >= MIN_CHOSEN)
    target = np.where(np.isin(group + 1, frequent), group, group[np.isin(group + 1, frequent).argmax()])
    begun = monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        of_class = fit_weighted(estimator, features, label, None)
        of_group = fit_weighted(soften(estimator), features, target, None) if np.ptp(target) else of_class
    between = monotonic()
    for model in (of_class, *[of_group] * len(rows.classes)):
        model.predict_proba(features)
    return between - begun, monotonic() - between
