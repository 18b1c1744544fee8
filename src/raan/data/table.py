"""Rows to learn from, checked once, when the table is made."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from torch import Tensor

from raan.tables.load import describe_cells

UNKNOWN = -1  # the attribute of a row whose attribute is not known
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows to learn from: features, label, attribute (-1 where unknown) and their names.

    The features have a leading run axis once each run has embedded them with its own encoder; the label and the
    attribute of a row are the same in every run. The environment (0, 1, ...) is the condition under which a row
    was collected, where that is known.

    Args:
        features: The features, [row, feature], or [run, row, feature] once they are embedded.
        label: The class of each row, as codes from 0.
        attribute: The attribute of each row, as codes from 0; -1 where it is unknown.
        class_names: The name of each class.
        attribute_names: The name of each attribute value.
        feature_names: The name of each feature; () if they have none.
        name: The name of the table in messages.
        environment: The environment of each row, as codes from 0, if there are environments.

    Raises:
        TypeError: if a column is not a tensor of the right type; `Table.of` converts.
        ValueError: if the columns have different lengths, features are not finite, codes have no name, or all
            labels are equal.
    """

    features: Float[Tensor, "*run row feature"]
    label: Int[Tensor, "row"]
    attribute: Int[Tensor, "row"]
    class_names: tuple[str, ...]
    attribute_names: tuple[str, ...]
    feature_names: tuple[str, ...] = ()
    name: str = "table"
    environment: Int[Tensor, "row"] | None = None

    def __post_init__(self) -> None:
        self._check_features()
        self._check_codes("label", self.label, 0, len(self.class_names), self.class_names)
        self._check_codes("attribute", self.attribute, UNKNOWN, len(self.attribute_names), self.attribute_names)
        if self.environment is not None:
            self._check_codes("environment", self.environment, 0, None)
        only = int(self.label[0])
        if bool((self.label == only).all()):
            raise ValueError(f"every label is {only} ({self.class_names[only]}); expected at least two classes")

    @classmethod
    def of(
        cls,
        features: ArrayLike | Tensor,
        label: ArrayLike | Tensor,
        attribute: ArrayLike | Tensor | None = None,
        *,
        class_names: tuple[str, ...] = (),
        attribute_names: tuple[str, ...] = (),
        feature_names: tuple[str, ...] = (),
        name: str = "table",
        environment: ArrayLike | Tensor | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Table:
        """Make a table of arrays, tensors or lists.

        Args:
            features: a matrix of numbers.
            label: 0, 1, ..., in any numeric type.
            attribute: 0, 1, ..., in any numeric type; -1 and nan mean unknown. Without it, every row's is unknown.
            class_names: by default the labels as words.
            attribute_names: by default the attributes as words.
            feature_names: none by default.
            name: what the table is called in messages.
            environment: 0, 1, ..., if there are environments.
            dtype: the type of the features.

        Returns:
            The table, checked.

        Examples:
            >>> from raan.data import Table
            >>> Table.of([[0.1], [0.2], [0.3]], [0, 1, 1], [0, 0, 1]).cells().tolist()
            [[1, 0], [1, 1]]
        """
        if isinstance(features, Tensor):
            matrix = features.to(dtype)
        else:  # torch.tensor copies: unlike torch.from_numpy, it takes read-only arrays as well
            matrix = torch.tensor(_array("features", features), dtype=dtype)
        classes = _codes("label", label)
        groups = torch.full_like(classes, UNKNOWN) if attribute is None else _codes("attribute", attribute)
        return cls(
            matrix,
            classes,
            groups,
            class_names or _number_names("label", classes),
            attribute_names or _number_names("attribute", groups),
            feature_names,
            name,
            None if environment is None else _codes("environment", environment),
        )

    def to(self, device: str | torch.device) -> Table:
        """Return the table on a device, where the engine then computes."""
        columns = {name: getattr(self, name) for name in ("features", "label", "attribute", "environment")}
        return replace(self, **{name: each.to(device) for name, each in columns.items() if each is not None})

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.label)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.class_names)

    @property
    def attributes(self) -> int:
        """The number of values that the attribute takes, without unknown."""
        return len(self.attribute_names)

    def cells(self) -> Int[Tensor, "label attribute"]:
        """Count the rows of each (class, attribute) cell; rows of unknown attribute are in none."""
        known = self.attribute != UNKNOWN
        cell = self.label[known].long() * self.attributes + self.attribute[known]
        return cell.bincount(minlength=self.classes * self.attributes).reshape(self.classes, self.attributes)

    def describe(self) -> str:
        """Describe the size of the table and of its (class, attribute) cells, over several lines."""
        unknown = int((self.attribute == UNKNOWN).sum())
        cells = self.cells().numpy(force=True)
        return "\n".join([self._size(), *describe_cells(cells, self.class_names, self.attribute_names, unknown)])

    def __repr__(self) -> str:
        return f"Table({self._size()}, {self.classes} classes, {self.attributes} attribute values)"

    def _size(self) -> str:
        runs = "".join(f"{count:,} runs × " for count in self.features.shape[:-2])
        return f"{self.name}: {runs}{self.rows:,} rows × {self.features.shape[-1]:,} features"

    def _check_features(self) -> None:
        """Check the features' type, shape, names and values."""
        features = self.features
        if not isinstance(features, Tensor) or not features.is_floating_point():
            raise TypeError("features are not a floating-point torch.Tensor; Table.of converts")
        if features.ndim < 2:
            raise ValueError(f"features have shape {tuple(features.shape)}; expected (rows, features)")
        if features.numel() == 0:
            raise ValueError(f"the table is empty: features have shape {tuple(features.shape)}")
        if self.feature_names and len(self.feature_names) != features.shape[-1]:
            raise ValueError(
                f"feature_names has {len(self.feature_names):,} names for {features.shape[-1]:,} features"
            )
        if features.sum().isfinite():  # checking each value takes more memory than the features
            return
        bad = ~features.isfinite()
        if bad.any():
            where = tuple(bad.nonzero()[0].tolist())
            name = f" ({self.feature_names[where[-1]]})" if self.feature_names else ""
            raise ValueError(
                f"features have {int(bad.sum()):,} values that are nan or infinite, the first "
                f"({features[where].item()}) in row {where[-2]}, column {where[-1]}{name}; impute or drop them"
            )

    def _check_codes(
        self, what: str, codes: Tensor, lowest: int, end: int | None, names: tuple[str, ...] = ()
    ) -> None:
        """Check a column of codes: one signed integer for each row, from the lowest to below the end."""
        if not isinstance(codes, Tensor) or codes.dtype not in INTEGERS:
            found = codes.dtype if isinstance(codes, Tensor) else type(codes).__name__
            raise TypeError(f"{what} is {found}; expected a tensor of a signed integer type; Table.of converts")
        rows = self.features.shape[-2]
        if codes.shape != (rows,):
            raise ValueError(
                f"{what} has shape {tuple(codes.shape)}; expected one number for each of {rows:,} rows"
            )
        outside = codes.long() < lowest
        if end is not None:
            outside |= codes.long() >= end
        if outside.any():
            row = int(outside.int().argmax())
            expected = "0, 1, ..." if end is None else f"{lowest} to {end - 1} ({', '.join(names[:8])})"
            raise ValueError(f"{what} is {int(codes[row])} in row {row}; expected {expected}")


def _array(what: str, values: ArrayLike | Tensor) -> np.ndarray:
    """Return the values as an array of numbers."""
    array = values.numpy(force=True) if isinstance(values, Tensor) else np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{what} has values of type {array.dtype}; expected numbers, such as those of "
            "numpy.unique(values, return_inverse=True)"
        )
    return array


def _codes(what: str, values: ArrayLike | Tensor) -> Int[Tensor, "row"]:
    """Return the values as int64 if they are whole numbers; of an attribute, nan is unknown."""
    array = _array(what, values).astype(np.float64)
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {array.shape}; expected one number for each row")
    if what == "attribute":
        array = np.where(np.isnan(array), UNKNOWN, array)
    fraction = ~np.isfinite(array) | (array != np.floor(array))
    if fraction.any():
        row = int(fraction.argmax())
        raise ValueError(f"{what} is {array[row]} in row {row}; expected whole numbers from 0")
    return torch.from_numpy(array.astype(np.int64))


def _number_names(what: str, codes: Int[Tensor, "row"]) -> tuple[str, ...]:
    """Return the names "0", "1", ... up to the largest code."""
    largest = int(codes.max()) if len(codes) else UNKNOWN
    # Identifiers that are passed by mistake would otherwise make millions of names.
    if largest >= max(2, len(codes)):
        raise ValueError(
            f"{what} has the value {largest:,} among {len(codes):,} rows; expected 0, 1, ..., or names for all"
        )
    return tuple(str(code) for code in range(largest + 1))
