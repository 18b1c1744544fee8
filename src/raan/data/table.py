"""Rows to learn from, checked once, where they enter."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from torch import Tensor

from raan.tables.load import describe_cells

UNKNOWN = -1  # the attribute of a row whose attribute nobody knows
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows to learn from: features, label, attribute (-1 where unknown) and what they are called.

    The features have a leading run axis once each run has embedded them with its own encoder; the label
    and the attribute of a row are the same in every run. An environment (0, 1, ...) states under which
    conditions a row was collected, where that is known.
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
        _check_tensors(self)
        _check_lengths(self)
        _check_finite(self)
        _check_codes("label", self.label, self.class_names, lowest=0)
        _check_codes("attribute", self.attribute, self.attribute_names, lowest=UNKNOWN)
        _check_classes(self)
        _check_environment(self)

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
        """A table from arrays, tensors or lists; what has no name is called by its number.

        The label is 0, 1, ..., in any numeric type. So is the attribute, where -1 and nan mean unknown;
        without an attribute every row's is unknown.
        """
        classes = _whole("label", label)
        groups = torch.full_like(classes, UNKNOWN) if attribute is None else _whole("attribute", attribute)
        return cls(
            _matrix(features, dtype),
            classes,
            groups,
            class_names or _count_out("label", classes),
            attribute_names or _count_out("attribute", groups),
            feature_names,
            name,
            None if environment is None else _whole("environment", environment),
        )

    def to(self, device: str | torch.device) -> Table:
        """The table on a device: where it is, everything is that the engine makes of it."""
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
        """The number of values that the attribute takes, unknown not counted."""
        return len(self.attribute_names)

    def cells(self) -> Int[Tensor, "label attribute"]:
        """Count the rows of each (class, attribute) cell; rows of unknown attribute are in none."""
        known = self.attribute != UNKNOWN
        cell = self.label[known].long() * self.attributes + self.attribute[known]
        return cell.bincount(minlength=self.classes * self.attributes).reshape(self.classes, self.attributes)

    def describe(self) -> str:
        """The size of the table and of its (class, attribute) cells, over several lines."""
        unknown = int((self.attribute == UNKNOWN).sum())
        cells = self.cells().numpy(force=True)
        return "\n".join([self._size(), *describe_cells(cells, self.class_names, self.attribute_names, unknown)])

    def __repr__(self) -> str:
        return f"Table({self._size()}, {self.classes} classes, {self.attributes} attribute values)"

    def _size(self) -> str:
        runs = "".join(f"{count:,} runs × " for count in self.features.shape[:-2])
        return f"{self.name}: {runs}{self.rows:,} rows × {self.features.shape[-1]:,} features"


def _matrix(values: ArrayLike | Tensor, dtype: torch.dtype) -> Tensor:
    """The features as a tensor, whatever held them."""
    if isinstance(values, Tensor):
        return values.to(dtype)
    # torch.tensor copies: it takes arrays that are read only, such as memory-mapped ones, as well.
    return torch.tensor(_array("features", values), dtype=dtype)


def _whole(what: str, values: ArrayLike | Tensor) -> Int[Tensor, "row"]:
    """The values as int64, if they are whole numbers; nan is unknown where the attribute is meant."""
    array = _array(what, values).astype(np.float64)
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {array.shape}, expected one number for each row")
    if what == "attribute":
        array = np.where(np.isnan(array), UNKNOWN, array)
    fraction = ~np.isfinite(array) | (array != np.floor(array))
    if fraction.any():
        row = int(fraction.argmax())
        raise ValueError(f"{what} is {array[row]} in row {row}, expected whole numbers from 0")
    return torch.from_numpy(array.astype(np.int64))


def _array(what: str, values: ArrayLike | Tensor) -> np.ndarray:
    """The values as an array of numbers."""
    array = values.numpy(force=True) if isinstance(values, Tensor) else np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{what} holds values of type {array.dtype}, expected numbers: number the categories, "
            "for instance by numpy.unique(values, return_inverse=True)"
        )
    return array


def _count_out(what: str, codes: Int[Tensor, "row"]) -> tuple[str, ...]:
    """The names "0", "1", ... up to the largest code."""
    largest = int(codes.max()) if len(codes) else UNKNOWN
    # Identifiers given by mistake would otherwise make millions of names.
    if largest >= max(2, len(codes)):
        raise ValueError(
            f"{what} holds {largest:,} among {len(codes):,} rows, expected values counted 0, 1, ...: "
            "number them anew, or name them all"
        )
    return tuple(str(code) for code in range(largest + 1))


def _check_tensors(table: Table) -> None:
    for what in ("features", "label", "attribute"):
        value = getattr(table, what)
        if not isinstance(value, Tensor):
            raise TypeError(f"{what} is a {type(value).__name__}, expected a torch.Tensor: Table.of converts")
    if not table.features.is_floating_point():
        raise TypeError(f"features are {table.features.dtype}, expected floating point: Table.of converts")
    if table.features.ndim < 2:
        shape = tuple(table.features.shape)
        raise ValueError(f"features have shape {shape}, expected (rows, features) after any run axis")


def _check_lengths(table: Table) -> None:
    lengths = {
        "features": table.features.shape[-2],
        "label": table.label.numel(),
        "attribute": table.attribute.numel(),
    }
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{what} {length:,}" for what, length in lengths.items())
        raise ValueError(f"the numbers of rows differ: {listed}")
    if table.features.numel() == 0:
        raise ValueError(f"the table is empty: features have shape {tuple(table.features.shape)}")
    width = table.features.shape[-1]
    if table.feature_names and len(table.feature_names) != width:
        raise ValueError(f"feature_names has {len(table.feature_names):,} names for {width:,} features")


def _check_finite(table: Table) -> None:
    if table.features.sum().isfinite():  # looking at each value takes more memory than the features
        return
    bad = ~table.features.isfinite()
    if not bad.any():
        return
    where = tuple(bad.nonzero()[0].tolist())
    row, column = where[-2:]
    called = f" ({table.feature_names[column]})" if table.feature_names else ""
    raise ValueError(
        f"features hold {int(bad.sum()):,} values that are nan or infinite, the first "
        f"({table.features[where].item()}) in row {row}, column {column}{called}: impute or drop them"
    )


def _check_codes(what: str, codes: Tensor, names: tuple[str, ...], lowest: int) -> None:
    if codes.dtype not in INTEGERS:
        raise TypeError(f"{what} is {codes.dtype}, expected a signed integer type: Table.of converts")
    if codes.ndim != 1:
        raise ValueError(f"{what} has shape {tuple(codes.shape)}, expected one number for each row")
    outside = (codes.long() < lowest) | (codes.long() >= len(names))
    if outside.any():
        row = int(outside.int().argmax())
        raise ValueError(
            f"{what} is {int(codes[row])} in row {row}, expected {lowest} to {len(names) - 1}: "
            f"{len(names)} are named ({', '.join(names[:8])}{', ...' if len(names) > 8 else ''})"
        )


def _check_classes(table: Table) -> None:
    only = int(table.label[0])
    if bool((table.label == only).all()):
        raise ValueError(
            f"every label is {only} ({table.class_names[only]}), expected at least two classes to tell apart"
        )


def _check_environment(table: Table) -> None:
    if table.environment is None:
        return
    if table.environment.dtype not in INTEGERS:
        raise TypeError(f"environment is {table.environment.dtype}, expected a signed integer type")
    if table.environment.shape != table.label.shape:
        shape = tuple(table.environment.shape)
        raise ValueError(f"environment has shape {shape}, expected one number for each of {table.rows:,} rows")
    if bool((table.environment < 0).any()):
        row = int((table.environment < 0).int().argmax())
        raise ValueError(f"environment is {int(table.environment[row])} in row {row}, expected 0, 1, ...")
