"""Which of several points is taken: the one rule of training paths, searches, studies, fits and reports."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from raan.errors import InputError, Option
from raan.fairness.aims import AIMS, Aim, read_aim
from raan.fairness.counts import Counts, resample
from raan.fairness.metrics import Values, accuracy, metrics, worst_group_accuracy

ACCURACY_DROP = 0.005
"""How much accuracy fairness may cost unless somebody says otherwise: half a point, everywhere."""

ALLOWANCES = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.03)
"""Losses of accuracy between which a trade-off is drawn."""

TIE = 0.001
"""Where ties are broken by accuracy: aims that differ by less than this, noise considered, are equally good."""

HAIR = 1e-9
"""Allowances are inclusive; this keeps rounding from deciding."""

REPLICATES = 500
"""Bootstrap samples that measure the noise of an aim."""


Reference = Float[np.ndarray, "*batch label attribute prediction"]
"""The counts of what points are held against; leading axes broadcast against theirs."""


@dataclass(frozen=True)
class Rule:
    """The best point for the aim among those that keep what a reference has, up to an allowance.

    Allowed is a point that loses at most `accuracy_drop` of the reference's accuracy and, with a floor, at most
    `worst_group_drop` of its worst (class, group) accuracy. A point where the aim is undefined is never taken over
    one where it is defined. A gap counts as the root of its square plus that of its standard error, `noise`: gaps
    far above the noise compare as they are, and those within it are nearly alike; else luck with a few rows would
    cost accuracy. Points whose aims differ by at most `tie` are equally good, and the most accurate is taken; with
    None the first of the best is.

    Without an aim the last of the allowed points is taken.
    """

    aim: str | None = "worst_group"
    accuracy_drop: float = ACCURACY_DROP
    worst_group_drop: float | None = None
    noise: float = 0.0
    tie: float | None = None

    def __post_init__(self) -> None:
        """Either spelling of an aim is read; an unknown one, or an allowance that is no share, is an error."""
        if self.aim is not None:
            object.__setattr__(self, "aim", read_aim(self.aim).key)
        for name in ("accuracy_drop", "worst_group_drop"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise InputError(Option(name), f"is {value!r}", "a share from 0 to 1; 0.005 is half a point")

    @property
    def goal(self) -> Aim:
        """The aim itself; the worst group's accuracy for a rule without one, to measure by."""
        return AIMS[self.aim or "worst_group"]

    def judged_by(self, reference: Float[np.ndarray, "label attribute prediction"]) -> "Rule":
        """The rule with the noise that the aim has on the rows of the reference, ties broken by accuracy."""
        losses = self.goal.loss(metrics(resample(reference, REPLICATES, np.random.default_rng(0))))
        known = losses[~np.isnan(losses)]
        return replace(self, noise=float(known.std()) if len(known) else 0.0, tie=TIE)

    def loss(self, counts: Counts) -> Values:
        """How far each point is from the aim, noise considered; nan where that is undefined."""
        loss = self.goal.loss(metrics(counts))
        return loss if self.goal.more_is_better else np.asarray(np.hypot(loss, self.noise))

    def allows(self, counts: Counts, reference: Reference) -> np.ndarray:
        """Whether each point keeps what the reference has, up to the allowances."""
        allowed = accuracy(counts) >= accuracy(reference) - self.accuracy_drop - HAIR
        if self.worst_group_drop is not None:
            floor = worst_group_accuracy(reference) - self.worst_group_drop - HAIR
            # Where the reference's worst group is undefined there is nothing to keep.
            allowed = allowed & ((worst_group_accuracy(counts) >= floor) | np.isnan(floor))
        return np.asarray(allowed)

    def wish(self, counts: Counts, reference: Reference, step: int = 0) -> Values:
        """What makes the smallest number the best point; infinity for one that must not be taken."""
        loss = np.full(accuracy(counts).shape, -float(step)) if self.aim is None else self.loss(counts)
        return np.where(np.isnan(loss) | ~self.allows(counts, reference), np.inf, loss)

    def choose(
        self,
        points: Float[np.ndarray, "point *batch label attribute prediction"],
        reference: Float[np.ndarray, "*batch label attribute prediction"],
        step: Int[np.ndarray, "point"] | None = None,
    ) -> Int[np.ndarray, "*batch"]:
        """The place of the point that is taken; -1 where none is allowed or the aim is defined in none.

        `step` is how late each point is, for rules without an aim; without it, points come in their order.
        """
        wish = self.wish(points, reference)
        if self.aim is None:
            late = np.arange(len(points)) if step is None else step
            wish = np.where(np.isfinite(wish), -late.reshape(-1, *[1] * (wish.ndim - 1)), np.inf)
        best = wish.min(0)
        place = wish.argmin(0)
        if self.tie is not None and self.aim is not None:
            as_good = wish <= best + self.tie
            place = np.where(as_good, accuracy(points), -np.inf).argmax(0)
        return np.where(np.isfinite(best), place, -1)


LAST = Rule(aim=None, accuracy_drop=1.0)
"""The last point, whatever it costs."""
