"""Which of several points is taken: the one rule of training paths, searches, studies, fits and reports."""

import warnings
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Int

from raan.errors import InputError, Option, is_number
from raan.fairness.counts import Counts, resample
from raan.fairness.evidence import GUARDS, GuardLevel, Reference, Switched
from raan.fairness.measures import ACCURACY, MEASURES, Limit, Measure, Strata, read_aim, read_measure
from raan.fairness.metrics import Values, accuracy, group_accuracy, worst_group_accuracy

ACCURACY_DROP = 0.005
"""How much accuracy fairness may cost unless somebody says otherwise: half a point, everywhere."""

CONFIDENCE = 0.9
"""The default confidence with which budget and guard hold on new rows."""

BUDGETS = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04)
"""The accuracy budgets that searches look for, records keep points for, and reports show."""

LARGE_BUDGET = 0.2
"""A larger budget of accuracy than this share is taken for a mistake of unit, with a warning."""

TIE = 0.001
"""Where ties are broken by accuracy: aims that differ by less than this, noise considered, are equally good."""

TOLERANCE = 1e-9
"""Allowances are inclusive; this keeps rounding from deciding."""

REPLICATES = 500
"""Bootstrap samples that measure the noise of an aim."""


@dataclass(frozen=True)
class Rule:
    """The best point for the aim among those that keep what a reference has, up to an accuracy budget.

    Allowed is a point that loses at most `accuracy_drop` of the reference's accuracy and, with a guard, at most
    `worst_group_drop` of its worst (class, group) accuracy. A point where the aim is undefined is never taken over
    one where it is defined. A gap counts as the root of its square plus that of its standard error, `noise`: gaps
    far above the noise compare as they are, and those within it are nearly alike; else luck with a few rows would
    cost accuracy. Points whose aims differ by at most `tie` are equally good, and the most accurate is taken; with
    None the first of the best is.

    Both allowances are kept with `margin` standard errors of the paired difference to spare, where it is known how
    many rows of each cell are right at a point and wrong in the reference, or the reverse (`switched`). `limits`
    are measures with what they may be. FairFrontier chooses by tests (`raan.frontier.choice`),
    for which `margin` is the quantile and `guard` says what `worst_group_drop` protects, and `accuracy_drop` is a
    budget of `performance`; training paths and studies choose by the methods of this class, which know accuracy
    and the guard of the worst cell only. `positive` is the number of the positive class, -1 for the last;
    with `strata` gaps and ratios are those between the groups of a stratum.

    Without an aim the last of the allowed points is taken; for "accuracy" the most accurate.
    """

    aim: str | None = "worst_group"
    accuracy_drop: float = ACCURACY_DROP
    worst_group_drop: float | None = None
    noise: float = 0.0
    tie: float | None = None
    margin: float = 0.0
    limits: tuple[Limit, ...] = ()
    guard: GuardLevel = "worst"
    performance: str = ACCURACY.key
    positive: int = -1
    strata: Strata = ()

    def __post_init__(self) -> None:
        """Either spelling of a measure is read; an unknown one, or a budget that is no share, is an error."""
        performance = read_measure(self.performance, "performance")
        object.__setattr__(self, "performance", performance.key)
        if performance.compares_groups:
            raise InputError(
                Option("performance"), f"is {performance.key!r}, which compares groups", "a measure of all people"
            )
        if self.aim is not None and self.aim != self.performance:
            object.__setattr__(self, "aim", read_aim(self.aim).key)
        if not isinstance(self.guard, str) or self.guard not in GUARDS:
            raise InputError(Option("guard"), f"is {self.guard!r}", f"one of {', '.join(map(repr, GUARDS))}")
        for name in ("accuracy_drop", "worst_group_drop"):
            value, most = getattr(self, name), 1 if name != "accuracy_drop" or performance.unit else np.inf
            optional = name == "worst_group_drop" and value is None
            if not optional and not (is_number(value) and 0 <= value <= most):
                raise InputError(Option(name), f"is {value!r}", "a share from 0 to 1; 0.005 is half a point")

    @property
    def goal(self) -> Measure:
        """The aim itself; the worst group's accuracy for a rule without one, to measure by."""
        return self.currency if self.seeks_performance else self.read(read_aim(self.aim or "worst_group"))

    def read(self, measure: Measure) -> Measure:
        """A measure with the positive class of the rule, between the groups that it compares."""
        return measure.at(self.positive, self.strata)

    @property
    def currency(self) -> Measure:
        """What fairness may cost: accuracy, or another measure of all people."""
        return read_measure(self.performance).at(self.positive)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is reported of a choice: the columns of every table, and what the rule asks for besides."""
        asked = (self.currency, *(() if self.seeks_performance else (self.goal,)))
        several = (*MEASURES, *asked, *(limit.measure for limit in self.limits))
        return tuple({each.metric: self.read(each) for each in several}.values())

    @property
    def seeks_performance(self) -> bool:
        """Whether limits are all that fairness asks for, so that the best performance within them is taken."""
        return self.aim == self.performance

    def with_noise_of(self, reference: Float[np.ndarray, "label attribute prediction"]) -> "Rule":
        """The rule with the noise that the aim has on the rows of the reference, ties broken by accuracy."""
        losses = self.goal.loss_of(resample(reference, REPLICATES, np.random.default_rng(0)))
        known = losses[~np.isnan(losses)]
        return replace(self, noise=float(known.std()) if len(known) else 0.0, tie=TIE)

    def loss(self, counts: Counts) -> Values:
        """How far each point is from the aim, noise considered; nan where that is undefined."""
        loss = self.goal.loss_of(counts)
        return loss if self.goal.more_is_better else np.asarray(np.hypot(loss, self.noise))

    def allows(self, counts: Counts, reference: Reference, switched: Switched | None = None) -> np.ndarray:
        """Whether each point keeps what the reference has, up to the budgets."""
        error, cell_error = (0.0, 0.0) if switched is None else paired_errors(counts, reference, switched)
        least = accuracy(reference) - self.accuracy_drop - TOLERANCE
        allowed = accuracy(counts) - self.margin * error >= least
        if self.worst_group_drop is not None:
            guard = worst_group_accuracy(reference) - self.worst_group_drop - TOLERANCE
            kept = (group_accuracy(counts) - self.margin * cell_error).min((-1, -2)) >= guard
            # Where the reference's worst group is undefined there is nothing to keep.
            allowed = allowed & (kept | np.isnan(guard))
        return np.asarray(allowed)

    def objective(
        self,
        counts: Counts,
        reference: Reference,
        step: int = 0,
        switched: Switched | None = None,
    ) -> Values:
        """What makes the smallest number the best point; infinity for one that must not be taken."""
        loss = np.full(accuracy(counts).shape, -float(step)) if self.aim is None else self.loss(counts)
        return np.where(np.isnan(loss) | ~self.allows(counts, reference, switched), np.inf, loss)

    def choose(
        self,
        points: Float[np.ndarray, "point *batch label attribute prediction"],
        reference: Float[np.ndarray, "*batch label attribute prediction"],
        step: Int[np.ndarray, "point"] | None = None,
        switched: Float[np.ndarray, "point *batch label attribute"] | None = None,
    ) -> Int[np.ndarray, "*batch"]:
        """The place of the point that is taken; -1 where none is allowed or the aim is defined in none.

        `step` is how late each point is, for rules without an aim; without it, points come in their order.
        """
        objective = self.objective(points, reference, switched=switched)
        if self.aim is None:
            late = np.arange(len(points)) if step is None else step
            objective = np.where(np.isfinite(objective), -late.reshape(-1, *[1] * (objective.ndim - 1)), np.inf)
        best = objective.min(0)
        place = objective.argmin(0)
        if self.tie is not None and self.aim is not None:
            as_good = objective <= best + self.tie
            place = np.where(as_good, accuracy(points), -np.inf).argmax(0)
        return np.where(np.isfinite(best), place, -1)


def warn_large_budget(accuracy_drop: float, stacklevel: int = 2) -> None:
    """Warn of a budget that was probably meant in points: 1 allows to lose all of the accuracy."""
    if is_number(accuracy_drop) and LARGE_BUDGET < accuracy_drop <= 1:
        warnings.warn(
            f"accuracy_drop={accuracy_drop:g} allows a loss of {100 * accuracy_drop:g} percentage points of "
            "accuracy. It is a share: 0.01 is one point",
            stacklevel=stacklevel + 1,
        )


def margin_of(confidence: float) -> float:
    """Return the number of standard errors of a one-sided bound at this confidence; 0.5 is none."""
    return NormalDist().inv_cdf(confidence)


def paired_errors(
    counts: Counts, reference: Reference, switched: Switched
) -> tuple[Values, Float[np.ndarray, "*lead label attribute-1"]]:
    """The standard errors of the differences to the reference: of the accuracy, and of each cell's accuracy.

    A row that is right in both or in neither adds nothing, so the errors are those of paired differences.
    """
    rows = counts.sum((-1, -2, -3))
    change = accuracy(counts) - accuracy(reference)
    whole = np.sqrt(np.maximum(switched.sum((-1, -2)) / rows - change**2, 0) / rows)
    size = np.maximum(counts[..., :-1, :].sum(-1), 1)
    moved = group_accuracy(counts) - group_accuracy(reference)
    return np.asarray(whole), np.sqrt(np.maximum(switched[..., :-1] / size - moved**2, 0) / size)


LAST = Rule(aim=None, accuracy_drop=1.0)
"""The last point, whatever it costs."""
