"""The classes and the attribute of the rows that a user passes, as codes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from raan.fairness.cells import cell_counts
from raan.fairness.groups import UNKNOWN, Codes, encode_attribute


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
    except (TypeError, ValueError, RuntimeError) as error:  # torch's are RuntimeErrors
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"y cannot be read as classes: {error}") from error
    if not len(classes):
        raise ValueError("y is empty; expected one class for each row of X")
    return classes, label.astype(np.int64)


def _check_known(column: Shaped[np.ndarray, "row"]) -> None:
    """An error if some row has no class; scikit-learn's own check of objects knows NaN only."""
    codes = encode_attribute(column, argument="y", allow_unknown=True, allow_quantity=True).codes
    unknown = int((codes == UNKNOWN).sum())
    if unknown:
        raise ValueError(f"{unknown} of {len(column)} rows have none")


def class_name(value: object) -> str:
    """A class as text; 1.0 is "1"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
