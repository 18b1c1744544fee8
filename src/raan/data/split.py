"""Training, validation and test rows: as arrays for anyone, as tensors for the engine."""

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
    """The training, validation and test rows of a table, as arrays."""

    train: Int[np.ndarray, "train"]
    validation: Int[np.ndarray, "validation"]
    test: Int[np.ndarray, "test"]


class Split(NamedTuple):
    """The same as tensors, for the engine; the splits of several runs have a leading run axis."""

    train: Int[Tensor, "*run train"]
    validation: Int[Tensor, "*run validation"]
    test: Int[Tensor, "*run test"]

    @classmethod
    def of(cls, parts: Parts) -> Split:
        """Return the parts as tensors."""
        import torch

        return cls(*map(torch.from_numpy, parts))

    def to(self, device: str | torch.device) -> Split:
        """Return the split on a device, which must be that of its table."""
        return Split(*(part.to(device) for part in self))


def split(rows: int, sizes: Sizes | Fractions, seed: int) -> Split:
    """Draw disjoint training, validation and test rows at random, by the seed alone.

    Args:
        rows: the number of rows of the table.
        sizes: numbers of rows (integers) or fractions of them (floats); rows beyond their sum are left out.
        seed: determines the rows.

    Examples:
        >>> from raan.data import split
        >>> [len(part) for part in split(10, (0.5, 0.2, 0.3), seed=0)]
        [5, 2, 3]
    """
    return Split.of(cut(np.random.default_rng(seed).permutation(rows), sizes))


def stratified_split(
    label: Int[np.ndarray, "row"], attribute: Int[np.ndarray, "row"], sizes: Sizes | Fractions, seed: int
) -> Parts:
    """Draw disjoint training, validation and test rows with every (class, attribute) cell in proportion.

    The parts have exactly the requested sizes, and of each cell its share to within a row or two.

    Args:
        label: The class of each row, as codes from 0.
        attribute: The attribute of each row, as codes from 0; rows of unknown attribute (-1) form cells as well.
        sizes: Numbers of rows (integers) or fractions of them (floats); rows beyond their sum are left out.
        seed: Determines the rows.

    Returns:
        The rows of each part.

    Raises:
        ValueError: The sizes are negative, or larger than the table.
    """
    cell = label * (attribute.max() + 2) + attribute + 1
    generator = np.random.default_rng(seed)
    shuffled = generator.permutation(len(cell))
    by_cell = shuffled[np.argsort(cell[shuffled], kind="stable")]
    # Each row gets the quantile of a random place within its cell; sorted by it, the cells interleave.
    count = np.bincount(cell)
    within = np.arange(len(cell)) - np.repeat(np.cumsum(count) - count, count)
    offset = generator.random(len(count))  # without it, the first rows of all cells would be at the front
    quantile = (within + np.repeat(offset, count)) / np.repeat(count, count)
    return cut(by_cell[np.argsort(quantile, kind="stable")], sizes)


def cut(order: Int[np.ndarray, "row"], sizes: Sizes | Fractions) -> Parts:
    """Cut rows in this order into parts of these numbers of rows (integers) or fractions of them (floats).

    Rows beyond the sum of the sizes are left out. Fractions that sum to one use every row.
    """
    rows = len(order)
    ends = list(accumulate(sizes))
    if any(isinstance(size, float) for size in sizes):
        if min(sizes) < 0 or not math.fsum(sizes) <= 1 + 1e-9:
            raise ValueError(f"fractions are {sizes}; expected none negative and a sum of at most 1")
        # Rounding the running sums, not the parts, uses every row exactly once.
        ends = [round(end * rows) for end in ends]
    if min(sizes) < 0:
        raise ValueError(f"sizes are {sizes}; expected numbers of rows that are not negative")
    if ends[-1] > rows:
        raise ValueError(f"sizes {sizes} ask for {ends[-1]:,} rows, but there are {rows:,}")
    first, second, third = map(int, ends)
    return Parts(order[:first], order[first:second], order[second:third])


def stack(splits: Sequence[Split]) -> Split:
    """Gather the splits of several runs into one, with a leading run axis."""
    import torch

    sizes = {tuple(part.shape[-1] for part in each) for each in splits}
    if not sizes:
        raise ValueError("there are no splits to stack; expected one for each run")
    if len(sizes) > 1:
        raise ValueError(f"splits of different sizes cannot share a run axis: {sorted(sizes)}")
    return Split(*(torch.stack(parts) for parts in zip(*splits, strict=True)))
