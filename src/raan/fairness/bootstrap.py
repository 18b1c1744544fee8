"""Confidence intervals by the bootstrap over counts.

Drawing n rows with replacement and counting them is drawing a multinomial over the cells of the counts.
So a replicate costs as much as there are cells, and no row is ever touched.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


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
            return f"{100 * self.value:5.1f}% [no interval]"
        return f"{100 * self.value:5.1f}% [{100 * self.low:5.1f}, {100 * self.high:5.1f}]"


def resample(
    counts: Float[Tensor, "label attribute prediction"], replicates: int, rng: np.random.Generator
) -> Float[Tensor, "{replicates} label attribute prediction"]:
    """Counts of bootstrap samples, each of as many rows as the counts hold."""
    flat = counts.double().flatten().numpy()
    rows = flat.sum()
    drawn = rng.multinomial(int(rows), flat / max(rows, 1), size=replicates)
    return torch.from_numpy(drawn).double().view(replicates, *counts.shape)


def interval(
    values: Float[Tensor, "replicate *cell"], confidence: float
) -> tuple[Float[Tensor, "*cell"], Float[Tensor, "*cell"]]:
    """The percentile interval over the replicates in which the value is defined.

    It is nan where more than half of the replicates are undefined: what is left says little.
    """
    tail = (1 - confidence) / 2
    bounds = torch.nanquantile(values, values.new_tensor([tail, 1 - tail]), dim=0)
    low, high = bounds.masked_fill(values.isnan().double().mean(0) > 0.5, torch.nan)
    return low, high


def estimate(
    metric: Callable[..., Tensor],
    counts: Float[Tensor, "label attribute prediction"],
    replicates: Float[Tensor, "replicate label attribute prediction"],
    *,
    confidence: float,
    min_count: int = 1,
) -> Float[Tensor, "*cell 3"]:
    """The metric's value, low and high along the last axis; all three nan where the value is undefined.

    Whether a denominator reaches `min_count` is a question to the data, not to each replicate: a group of
    exactly that size would else be undefined in half of them.
    """
    value = metric(counts, min_count=min_count)
    low, high = interval(metric(replicates), confidence)
    return torch.stack([value, low, high], dim=-1).masked_fill(value.isnan().unsqueeze(-1), torch.nan)
