"""A split in which every (class, attribute) cell has its share of each part."""

import numpy as np
from jaxtyping import Int

from raan.data.split import Fractions, Parts, Sizes, cut


def stratified_split(
    label: Int[np.ndarray, "row"], attribute: Int[np.ndarray, "row"], sizes: Sizes | Fractions, seed: int
) -> Parts:
    """Draw disjoint train, validation and test rows, every cell in proportion, by the seed alone.

    The parts have exactly the sizes asked for, and of each cell its share to within a row or two. Rows of
    unknown attribute make cells as well.
    """
    cell = label * (attribute.max() + 2) + attribute + 1
    return cut(_evenly(cell, np.random.default_rng(seed)), sizes)


def _evenly(cell: Int[np.ndarray, "row"], generator: np.random.Generator) -> Int[np.ndarray, "row"]:
    """The rows in a random order in which any stretch holds each cell in proportion.

    Each row gets the quantile of a random place within its cell; sorted by it, the cells interleave.
    """
    shuffled = generator.permutation(len(cell))
    by_cell = shuffled[np.argsort(cell[shuffled], kind="stable")]
    count = np.bincount(cell)
    within = np.arange(len(cell)) - np.repeat(np.cumsum(count) - count, count)
    # Without the offset, the first rows of all cells would be at the front.
    offset = generator.random(len(count))
    quantile = (within + np.repeat(offset, count)) / np.repeat(count, count)
    return by_cell[np.argsort(quantile, kind="stable")]
