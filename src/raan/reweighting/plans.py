"""Exact weights for any totals of the (class, attribute) cells."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from raan.fairness.cells import Balance, has_neighbours, independent_totals
from raan.reweighting.weights import shape_weights
from raan.wrap.cells import Cells

PlanBalance = Literal["plain", "exponents", "group", "sample"]


class Plan(NamedTuple):
    """The weights that one fit of a search uses: the totals of the cells, and the temperature of their shape.

    "exponents" is n_cell (P(y) P(a) / P(y, a))^s with an exponent s for each class: 0 leaves a class as it is, 1
    makes its attribute values as frequent as they are in all rows, more goes beyond.
    """

    balance: PlanBalance
    exponents: tuple[float, ...] = ()
    temperature: float = math.inf


class PlannedWeights:
    """Weights for any plan. Shapes are computed once for each temperature; a new total only rescales a cell."""

    def __init__(self, cells: Cells, embed: Callable[[], Float[np.ndarray, "row dim"]]) -> None:
        self._cells = cells
        self._embed = embed
        self._shapes: dict[tuple[Balance, float], Float[np.ndarray, "row"]] = {}
        self._anchored = has_neighbours(*cells.codes)

    @cached_property
    def _embedding(self) -> Float[np.ndarray, "row dim"]:
        """The rows' vectors, made when the first plan with a finite temperature asks for them."""
        return np.ascontiguousarray(self._embed())

    def __call__(self, plan: Plan) -> Float[np.ndarray, "row"] | None:
        """The weight of each row, 1 where it has no possible neighbour; None for the plain estimator."""
        if plan.balance == "plain":
            return None
        weight = self._shape("group" if plan.balance == "group" else "sample", plan.temperature)
        if plan.balance == "exponents":
            weight = weight * self._scale(weight, plan.exponents)[self._cells.label, self._cells.attribute.codes]
        return np.where(self._anchored, weight, 1)

    def _shape(self, balance: Balance, temperature: float) -> Float[np.ndarray, "row"]:
        """The paper's weights, Eq. (4) or (5); at temperature inf they are even within cells, and quickly had."""
        key = balance, temperature
        if key not in self._shapes:
            vectors = self._embedding if math.isfinite(temperature) else None
            self._shapes[key] = shape_weights(vectors, *self._cells.codes, balance, temperature)
        return self._shapes[key]

    def _scale(
        self, weight: Float[np.ndarray, "row"], exponents: tuple[float, ...]
    ) -> Float[np.ndarray, "label attribute"]:
        """The factor that gives each cell its total by the exponents."""
        present = np.zeros(self._cells.count.shape)
        known = self._anchored
        np.add.at(present, (self._cells.label[known], self._cells.attribute.codes[known]), weight[known])
        totals = np.where(present > 0, self._totals(exponents), 0)
        totals *= known.sum() / max(totals.sum(), 1)
        return np.divide(totals, present, out=np.ones_like(present), where=present > 0)

    def _totals(self, exponents: tuple[float, ...]) -> Float[np.ndarray, "label attribute"]:
        """The totals n_cell (P(y) P(a) / P(y, a))^s; 0 for an empty cell."""
        count = self._cells.count.astype(np.float64)
        independent = independent_totals(self._cells.count)
        ratio = np.divide(independent, count, out=np.zeros_like(count), where=count > 0)
        return np.where(count > 0, count * ratio ** np.array(exponents)[:, None], 0)
