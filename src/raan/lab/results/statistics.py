"""Statistics over seeds: means, t-intervals and paired t-tests, of numbers and of what a rule selects."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.stats import t as student  # type: ignore[import-untyped]

from raan.fairness.measures import Measure
from raan.lab.results.summary import Choice, Comparison

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


# Of what a rule selects.


def level(choice: Choice, measure: Measure) -> Estimate:
    """Estimate a measure on test rows."""
    return estimate(measure.of(choice.test))


def paired(ours: Choice, theirs: Choice, measure: Callable[[Choice], np.ndarray]) -> Difference:
    """Compare a measure, [seed], over the seeds that both have."""
    common = [seed for seed in ours.seeds if seed in theirs.seeds]
    left, right = (measure(side)[[side.seeds.index(seed) for seed in common]] for side in (ours, theirs))
    return difference(left, right)


def shift(ours: Choice, theirs: Choice, measure: Measure) -> Difference:
    """Compare a measure on test rows."""
    return paired(ours, theirs, lambda choice: measure.of(choice.test))


def lost(comparison: Comparison, choice: Choice, part: str = "test") -> Estimate:
    """Estimate the accuracy that the choice loses against plain training, on "test" or "validation" rows."""
    return paired(comparison.start, choice, lambda each: np.asarray(getattr(each, part).accuracy)).estimate


def against_others(comparison: Comparison, method: str) -> dict[str, Difference]:
    """Compare the method's aim with that of every other."""
    ours = comparison.chosen[method]
    return {
        other: shift(ours, choice, comparison.aim)
        for other, choice in comparison.chosen.items()
        if other != method
    }


def corrected(several: Mapping[str, Difference]) -> dict[str, float]:
    """Return the p-values of several differences, corrected for their number by Holm's rule."""
    return dict(zip(several, holm([each.p_value for each in several.values()]), strict=True))


def best(comparison: Comparison, methods: Sequence[str], part: str = "test") -> str | None:
    """Return the method with the best mean of the aim on "test" or "validation" rows; undefined is never best."""
    aim, chosen = comparison.aim, comparison.chosen
    means = {method: aim.gain(float(aim.of(getattr(chosen[method], part)).mean())) for method in methods}
    defined = {method: mean for method, mean in means.items() if not math.isnan(mean)}
    return max(defined, key=defined.__getitem__) if defined else None


def cell_rows(comparison: Comparison, part: str) -> Float[np.ndarray, "seed label attribute"]:
    """Return the number of "validation" or "test" rows of each class and attribute value, for each seed."""
    paths = next(iter(comparison.methods.values()))
    return np.asarray(getattr(paths, part)[0, 0].sum(-1)[..., :-1])


def group_changes(comparison: Comparison, method: str) -> Iterator[tuple[str, str, Difference]]:
    """Yield each class and attribute value with the change of its accuracy against the baseline."""
    ours, theirs = comparison.chosen[method], comparison.baseline
    for i, label in enumerate(comparison.classes):
        for j, attribute in enumerate(comparison.attributes):
            yield label, attribute, paired(ours, theirs, lambda it: it.group[:, i, j])  # noqa: B023
