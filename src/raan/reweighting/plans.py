"""Exact weights with any weight for each (class, group) cell."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.cells import cell_counts
from raan.fairness.groups import UNKNOWN
from raan.reweighting.weights import set_totals, shape_weights

Vectors = Callable[[], Float[np.ndarray, "row dim"]]
"""Makes a vector of numbers for each row."""


class Plan(NamedTuple):
    """The weights that one fit uses: the mean of each cell, None for the plain estimator, and the temperature of
    the shape within cells, inf where they are even.
    """

    cells: Float[np.ndarray, "label group"] | None = None
    temperature: float = math.inf


def weigh_rows(
    plan: Plan, label: Int[np.ndarray, "row"], group: Int[np.ndarray, "row"], vectors: Vectors
) -> Float[np.ndarray, "row"] | None:
    """The weight of each row, 1 where the group is unknown; None for the plain estimator."""
    if plan.cells is None:
        return None
    known, finite = group != UNKNOWN, math.isfinite(plan.temperature)
    shape = shape_weights(vectors(), label, group, "sample", plan.temperature) if finite else known.astype(float)
    totals = plan.cells * cell_counts(label, group, plan.cells.shape)
    return np.where(known, set_totals(shape, label, group, totals), 1)
