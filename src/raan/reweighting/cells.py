"""The (class, attribute) cells of the training rows, and exact weights for any totals of theirs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from raan.fairness.cells import Balance, cell_counts, has_neighbours, independent_totals
from raan.fairness.groups import UNKNOWN, Codes, encode_attribute
from raan.reweighting.weights import shape_weights


@dataclass(frozen=True, eq=False)
class Cells:
    """The class and the attribute of each row, as codes."""

    classes: Shaped[np.ndarray, "class"]
    label: Int[np.ndarray, "row"]
    attribute: Codes

    @classmethod
    def of(cls, y: Any, sensitive_features: Any) -> "Cells":
        """The cells of the columns that a user passes; an error names the column that is at fault."""
        classes, label = read_classes(y)
        if len(classes) < 2:
            raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}; expected at least two")
        return cls(classes, label, encode_attribute(sensitive_features))

    @cached_property
    def text(self) -> Shaped[np.ndarray, "row"]:
        """The class of each row as text, so that errors and mappings speak of the user's classes."""
        return np.take([class_name(value) for value in self.classes.tolist()], self.label)

    @cached_property
    def count(self) -> Int[np.ndarray, "label group"]:
        """How many rows each cell holds."""
        return cell_counts(*self.codes)

    @property
    def codes(self) -> tuple[Int[np.ndarray, "row"], Int[np.ndarray, "row"]]:
        """Class and attribute of each row."""
        return self.label, self.attribute.codes


def read_classes(y: Any) -> tuple[Shaped[np.ndarray, "class"], Int[np.ndarray, "row"]]:
    """The classes, sorted, and the number of each row's."""
    try:
        column = column_or_1d(y, warn=True)
        assert_all_finite(column, input_name="y")
        if len(column) and column.dtype.kind == "O":
            _check_known(column)
        check_classification_targets(column)
        classes, label = np.unique(column, return_inverse=True)
    except (TypeError, ValueError) as error:
        raise type(error)(f"y cannot be read as classes: {error}") from error
    if not len(classes):
        raise ValueError("y is empty; expected one class for each row of X")
    return classes, label.astype(np.int64)


def _check_known(column: Shaped[np.ndarray, "row"]) -> None:
    """An error if some row has no class; scikit-learn's own check of objects knows NaN only."""
    unknown = int((encode_attribute(column, argument="y").codes == UNKNOWN).sum())
    if unknown:
        raise ValueError(f"{unknown} of {len(column)} rows have none")


def class_name(value: object) -> str:
    """A class as text; 1.0 is "1"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


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
