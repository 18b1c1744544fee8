"""Confidence intervals by the bootstrap over counts."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval; nan where it is undefined."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """'85.3% [84.9, 85.7]', of fixed width so that columns of them align."""
        if math.isnan(self.value):
            return "undefined"
        if math.isnan(self.low):
            return f"{_percent(self.value)}% [no interval]"
        return f"{_percent(self.value)}% [{_percent(self.low)}, {_percent(self.high)}]"


def _percent(value: float) -> str:
    """In percent, with a zero that has no sign: a loss of -0.0 reads as if it were a gain."""
    return f"{round(100 * value, 1) + 0.0:5.1f}"


def interval(
    values: Float[np.ndarray, "replicate *cell"], confidence: float
) -> tuple[Float[np.ndarray, "*cell"], Float[np.ndarray, "*cell"]]:
    """The percentile interval over the replicates in which the value is defined.

    It is nan where more than half of the replicates are undefined: what is left says little.
    """
    tail = (1 - confidence) / 2
    unknown = np.isnan(values)
    some = np.where(unknown.all(0), 0.0, values)  # numpy warns of a column of nan alone
    bounds = np.nanquantile(some, [tail, 1 - tail], axis=0)
    low, high = np.where(unknown.mean(0) > 0.5, np.nan, bounds)
    return np.asarray(low), np.asarray(high)


def estimate(
    metric: Callable[..., np.ndarray],
    counts: Float[np.ndarray, "label attribute prediction"],
    replicates: Float[np.ndarray, "replicate label attribute prediction"],
    *,
    confidence: float,
    min_count: int = 1,
) -> Float[np.ndarray, "*cell 3"]:
    """The metric's value, low and high along the last axis; all three nan where the value is undefined.

    Whether a denominator reaches `min_count` is a question to the data, not to each replicate: a group of
    exactly that size would else be undefined in half of them.
    """
    return bracket(metric(counts, min_count=min_count), metric(replicates), confidence)


def bracket(
    value: Float[np.ndarray, "*cell"], replicates: Float[np.ndarray, "replicate *cell"], confidence: float
) -> Float[np.ndarray, "*cell 3"]:
    """The value between the low and high of its replicates, along the last axis: value, low, high."""
    low, high = interval(replicates, confidence)
    return np.where(np.isnan(value)[..., None], np.nan, np.stack([value, low, high], axis=-1))
