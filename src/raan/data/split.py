"""Which rows train, which select, which judge: as arrays for anyone, as tensors for the engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Int

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Sizes = tuple[int, int, int]
Fractions = tuple[float, float, float]


class Parts(NamedTuple):
    """The rows of a table that train, that select (validation) and that judge (test), as arrays."""

    train: Int[np.ndarray, "train"]
    validation: Int[np.ndarray, "validation"]
    test: Int[np.ndarray, "test"]


class Split(NamedTuple):
    """The same as tensors, as the engine takes them; several runs' have a leading run axis."""

    train: Int[Tensor, "*run train"]
    validation: Int[Tensor, "*run validation"]
    test: Int[Tensor, "*run test"]

    @classmethod
    def of(cls, parts: Parts) -> Split:
        """The parts as tensors."""
        import torch

        return cls(*map(torch.from_numpy, parts))

    def to(self, device: str | torch.device) -> Split:
        """The split on a device; the engine wants it on its table's."""
        return Split(*(part.to(device) for part in self))


def cut(order: Int[np.ndarray, "row"], sizes: Sizes | Fractions) -> Parts:
    """The rows in this order, cut into parts of these numbers of rows (integers) or fractions of them (floats).

    Rows beyond the sum of the sizes are left out.
    """
    rows = len(order)
    counts = _fractions_to_sizes(rows, sizes) if any(isinstance(size, float) for size in sizes) else sizes
    _check_sizes(rows, counts)
    first, second, third = accumulate(int(count) for count in counts)
    return Parts(order[:first], order[first:second], order[second:third])


def split(rows: int, sizes: Sizes | Fractions, seed: int) -> Split:
    """Draw disjoint train, validation and test rows at random, by the seed alone.

    Sizes are numbers of rows (integers) or fractions of them (floats); rows beyond their sum are left out.
    """
    return Split.of(cut(np.random.default_rng(seed).permutation(rows), sizes))


def stack(splits: Sequence[Split]) -> Split:
    """Gather the splits of several runs into one, with a leading run axis."""
    import torch

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
