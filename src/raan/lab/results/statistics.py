"""Statistics over seeds: means, standard deviations, t-intervals and paired t-tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import t as student  # type: ignore[import-untyped]

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, the sample standard deviation, and the mean's 95 % t-interval; nan where undefined."""

    mean: float
    deviation: float
    low: float
    high: float
    seeds: int

    @property
    def significant(self) -> bool:
        """Whether the interval excludes zero: for a difference, whether its sign is statistically significant."""
        return self.low > 0 or self.high < 0


def estimate(values: Float[np.ndarray, "seed"]) -> Estimate:
    """Estimate the mean over seeds and its interval; a single seed has neither deviation nor interval."""
    seeds = len(values)
    mean = float(values.mean())
    if seeds < 2:
        return Estimate(mean, math.nan, math.nan, math.nan, seeds)
    deviation = float(values.std(ddof=1))
    half = float(student.ppf((1 + LEVEL) / 2, seeds - 1)) * deviation / math.sqrt(seeds)
    return Estimate(mean, deviation, mean - half, mean + half, seeds)


@dataclass(frozen=True)
class Difference:
    """A difference paired over seeds, and the two-sided p-value of the paired t-test against none."""

    estimate: Estimate
    p_value: float


def difference(ours: Float[np.ndarray, "seed"], theirs: Float[np.ndarray, "seed"]) -> Difference:
    """Compare ours with theirs, seed by seed; a difference of zero in every seed has no p-value."""
    shift = estimate(ours - theirs)
    error = shift.deviation / math.sqrt(shift.seeds) if shift.seeds else math.nan
    if math.isnan(error) or (error == 0 and shift.mean == 0):
        return Difference(shift, math.nan)
    if error == 0:
        return Difference(shift, 0.0)
    return Difference(shift, 2 * float(student.sf(abs(shift.mean) / error, shift.seeds - 1)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number by Holm's step-down rule; an undefined one stays undefined.

    An undefined one, of runs that do not differ at all, counts as a comparison that was made.
    """
    known = [1.0 if math.isnan(p) else p for p in p_values]
    corrected, least = [math.nan] * len(known), 0.0
    for rank, place in enumerate(sorted(range(len(known)), key=known.__getitem__)):
        least = max(least, min(1.0, (len(known) - rank) * known[place]))
        corrected[place] = math.nan if math.isnan(p_values[place]) else least
    return corrected


def summarise(values: Sequence[float], digits: int) -> dict[str, Any]:
    """Round mean, sample standard deviation and the numbers themselves; a single seed has no deviation."""
    deviation = round(stdev(values), digits) if len(values) > 1 else None
    return {
        "mean": round(fmean(values), digits),
        "sd": deviation,
        "values": [round(value, digits) for value in values],
    }
