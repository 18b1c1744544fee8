"""Exact weights with any weight for each (class, group) cell."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.cells import cell_counts
from raan.fairness.groups import UNKNOWN
from raan.reweighting.weights import set_totals, shape_weights


class Plan(NamedTuple):
    """The weights that one fit uses: the mean of each cell, None for the plain estimator, and the temperature of
    the shape within cells.
    """

    cells: Float[np.ndarray, "label group"] | None = None
    temperature: float = math.inf


RowWeights = Callable[[Plan], Float[np.ndarray, "row"] | None]
"""Makes the weights of rows by a plan."""


class PlannedWeights:
    """The weights of rows by any plan. Shapes are computed once for each temperature."""

    def __init__(
        self,
        label: Int[np.ndarray, "row"],
        group: Int[np.ndarray, "row"],
        embed: Callable[[], Float[np.ndarray, "row dim"]],
    ) -> None:
        self._codes = label, group
        self._embed = embed
        self._shapes: dict[float, Float[np.ndarray, "row"]] = {}
        self._count = cell_counts(label, group)
        self._known = group != UNKNOWN

    @cached_property
    def _embedding(self) -> Float[np.ndarray, "row dim"]:
        """The rows' vectors, made when the first plan with a finite temperature asks for them."""
        return np.ascontiguousarray(self._embed())

    def __call__(self, plan: Plan) -> Float[np.ndarray, "row"] | None:
        """The weight of each row, 1 where the group is unknown; None for the plain estimator."""
        if plan.cells is None:
            return None
        weight = set_totals(self._shape(plan.temperature), *self._codes, plan.cells * self._count)
        return np.where(self._known, weight, 1)

    def _shape(self, temperature: float) -> Float[np.ndarray, "row"]:
        """The paper's weights, Eq. (5); at temperature inf they are even within cells."""
        if math.isinf(temperature):
            return self._known.astype(np.float64)
        if temperature not in self._shapes:
            self._shapes[temperature] = shape_weights(self._embedding, *self._codes, "sample", temperature)
        return self._shapes[temperature]
