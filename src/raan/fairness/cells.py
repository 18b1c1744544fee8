"""The (class, attribute) cells of a table: how many rows each holds, and what balancing gives each row."""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

Balance = Literal["group", "sample"]
"""The paper's two outer averages: over cells, Eq. (4), or over samples, Eq. (5)."""


def cell_counts(
    label: Int[np.ndarray, "row"], attribute: Int[np.ndarray, "row"], shape: tuple[int, int] | None = None
) -> Int[np.ndarray, "label group"]:
    """How many rows each (class, attribute) cell holds; unknown attributes (-1) are in none.

    `shape` is how many classes and groups there are, where these rows may lack some.
    """
    known = attribute >= 0
    classes, groups = shape or (int(label.max()) + 1, max(int(attribute.max()) + 1, 1))
    cell = label[known] * groups + attribute[known]
    return np.bincount(cell, minlength=classes * groups).reshape(classes, groups)


def has_neighbours(label: Int[np.ndarray, "row"], attribute: Int[np.ndarray, "row"]) -> Bool[np.ndarray, "row"]:
    """Which rows have a neighbour at all: attribute known, class seen with another attribute value too."""
    shared = (cell_counts(label, attribute) > 0).sum(1) > 1
    return np.asarray(shared[label] & (attribute >= 0))


def independent_totals(counts: Int[np.ndarray, "label group"]) -> Float[np.ndarray, "label group"]:
    """N P(y) P(a): the cell totals under which class and attribute are independent."""
    return np.asarray(counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum())


def even_weights(counts: Int[np.ndarray, "label group"], balance: Balance) -> Float[np.ndarray, "label group"]:
    """The weight of every row of a cell at temperature inf, where anchors share themselves out evenly.

    "sample": each anchor gives 1, Eq. (5). "group": each cell's anchors give the same total, Eq. (4).
    """
    size = counts.astype(np.float64)
    total = size if balance == "sample" else (counts > 0) * size.sum() / max((counts > 0).sum(), 1)
    share = total / np.maximum(size.sum(1, keepdims=True) - size, 1)
    return np.asarray(share.sum(1, keepdims=True) - share)
