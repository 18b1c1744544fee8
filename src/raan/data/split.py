"""Which rows train, which select, which judge."""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

Sizes = tuple[int, int, int]
Fractions = tuple[float, float, float]


class Split(NamedTuple):
    """The rows of a table that train, that select (validation) and that judge (test)."""

    train: Int[Tensor, "*run train"]
    validation: Int[Tensor, "*run validation"]
    test: Int[Tensor, "*run test"]


def split(rows: int, sizes: Sizes | Fractions, seed: int) -> Split:
    """Draw disjoint train, validation and test rows at random, by the seed alone.

    Sizes are numbers of rows (integers) or fractions of them (floats); rows beyond their sum are left out.
    """
    counts = _fractions_to_sizes(rows, sizes) if any(isinstance(size, float) for size in sizes) else sizes
    _check_sizes(rows, counts)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(rows))
    first, second, third = accumulate(int(count) for count in counts)
    return Split(order[:first], order[first:second], order[second:third])


def stack(splits: Sequence[Split]) -> Split:
    """Gather the splits of several runs into one, with a leading run axis."""
    sizes = [tuple(part.shape[-1] for part in each) for each in splits]
    if not sizes:
        raise ValueError("no splits to stack: give one for each run")
    if len(set(sizes)) > 1:
        raise ValueError(f"splits of different sizes cannot share a run axis: {sorted(set(sizes))}")
    return Split(*(torch.stack(parts) for parts in zip(*splits, strict=True)))


def _fractions_to_sizes(rows: int, fractions: Fractions) -> Sizes:
    """Numbers of rows for the fractions; fractions that sum to one use every row."""
    if min(fractions) < 0 or not math.fsum(fractions) <= 1 + 1e-9:
        raise ValueError(f"fractions are {fractions}, expected none negative and a sum of at most 1")
    # Rounding the running sums, not the parts, never gives a row away or counts it twice.
    first, second, third = (round(edge * rows) for edge in accumulate(fractions))
    return first, second - first, third - second


def _check_sizes(rows: int, sizes: Sizes | Fractions) -> None:
    if min(sizes) < 0:
        raise ValueError(f"sizes are {sizes}, expected numbers of rows that are not negative")
    if sum(sizes) > rows:
        raise ValueError(f"sizes {sizes} ask for {sum(sizes):,} rows, but there are {rows:,}")
