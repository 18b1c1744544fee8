"""The label and attribute of the training rows, and batches encoded in the same way."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from raan.fairness.groups import UNKNOWN, Codes, check_lengths, encode_attribute, encode_classes, encode_label

_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")


class Column(nn.Module):
    """The codes of the training rows, moved with the module, and the values they stand for.

    A batch's values are looked up among the training set's: integers as integers, text as text. Where the
    training set's values are not whole numbers (text, bools, crossed columns), integers are taken as codes:
    positions in `names`.
    """

    code: Int[Tensor, "row"]  # narrow: not an index
    value: Int[Tensor, "known"]

    def __init__(self, codes: Codes, read: Callable[[object], Codes]) -> None:
        super().__init__()
        self.names = codes.names
        self.whole = all(_WHOLE.fullmatch(name) for name in codes.names)
        self._read = read
        self.values = tuple(map(int, codes.names)) if self.whole else tuple(range(len(codes.names)))
        # The constructor of the loss is given these again on a resume: they need no place in its state.
        # In few bytes: a training set may have a hundred million rows. (Gloo knows no int16.)
        narrow = np.int8 if len(codes.names) < 2**7 else np.int32
        self.register_buffer("code", torch.from_numpy(codes.codes.astype(narrow)), persistent=False)
        self.register_buffer("value", torch.tensor(self.values), persistent=False)

    def forward(self, values: object) -> Int[Tensor, "row"]:
        """Return the code of each value; UNKNOWN (-1) for one that the training set does not have."""
        if isinstance(values, np.ma.MaskedArray):
            values = values.tolist()  # masked entries become None
        numbers = _as_numbers(values)
        if numbers is None or (numbers.is_floating_point() and not self.whole):
            return self._by_name(values).to(self.value.device)
        match = numbers.to(self.value.device).unsqueeze(-1) == self.value
        return torch.where(match.any(-1), match.int().argmax(-1), UNKNOWN)

    @property
    def codes(self) -> Int[Tensor, "row"]:
        """The codes of all training rows, wide enough to index with."""
        return self.code.long()

    def of(self, row: Int[Tensor, "batch"]) -> Int[Tensor, "batch"]:
        """Return the codes of some training rows."""
        return self.code[row].long()

    def name(self, code: int) -> str:
        """Return the value that a code stands for, as a message writes it."""
        return "unknown" if code == UNKNOWN else repr(self.names[code])

    def _by_name(self, values: object) -> Int[Tensor, "row"]:
        """Return the codes of text, of mixtures and of several columns, through their names."""
        found = self._read(values)
        place = {name: code for code, name in enumerate(self.names)}
        # UNKNOWN (-1) reads the last entry, which is UNKNOWN again.
        translated = np.array([*(place.get(name, UNKNOWN) for name in found.names), UNKNOWN])
        return torch.from_numpy(translated[found.codes])


def check_dense(argument: str, values: object) -> None:
    """Raise an error for a tensor whose values are not all there to be read."""
    if isinstance(values, Tensor) and (values.layout is not torch.strided or values.is_meta):
        kind = "meta" if values.is_meta else "sparse"
        raise TypeError(f"{argument} is a {kind} tensor; expected a dense one, such as {argument}.to_dense()")


def read_label(values: object) -> Codes:
    """Return the classes of a batch."""
    (codes,) = encode_classes(label=values)
    return codes


def read_attribute(values: object) -> Codes:
    """Return the attribute values of a batch, which may all be unknown."""
    table = np.asarray(values.tolist() if isinstance(values, Tensor) else values, dtype=object)
    if not table.ndim:
        raise TypeError(f"sensitive_features is {values!r}; expected one value for each sample")
    # A whole training set of unknown attributes is an error, a batch of them is not.
    return encode_attribute(table, allow_unknown=True)


def _as_numbers(values: object) -> Tensor | None:
    """Return a single column of numbers or bools as a tensor; None if it is something else."""
    if isinstance(values, Tensor):
        return values if values.ndim == 1 else None
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths: whoever reads them by name has words for it
        return None
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        return None
    return torch.tensor(array.astype(np.float64 if array.dtype.kind == "f" else np.int64))


class Batch(NamedTuple):
    """The samples of one call, in codes."""

    label: Int[Tensor, "batch"]
    attribute: Int[Tensor, "batch"]  # -1: unknown
    row: Int[Tensor, "batch"] | None  # in the training set


class TrainingSet(nn.Module):
    """The label and the attribute of every training row; a module only so that they move with the loss."""

    def __init__(self, label: object, sensitive_features: object) -> None:
        super().__init__()
        self.label = Column(encode_label(label), read_label)
        self.attribute = Column(encode_attribute(sensitive_features), read_attribute)
        check_lengths(label=self.label.code, sensitive_features=self.attribute.code)

    def __len__(self) -> int:
        return len(self.label.code)

    def by_cell(
        self, of_row: Float[Tensor, "row"], elsewhere: float
    ) -> Float[Tensor, "label attribute_or_unknown"]:
        """A table of numbers that all rows of a cell share; the last column, -1, is for unknown attributes."""
        shape = len(self.label.names), len(self.attribute.names) + 1
        table = torch.full(shape, elsewhere, dtype=torch.float32)
        table[self.label.codes, self.attribute.codes] = of_row.float()
        return table

    def read(self, label: object, sensitive_features: object, index: object, size: int) -> Batch:
        """Return the batch in codes, or an error that says what is wrong with it.

        What is not given is looked up by the index; what is given must agree with it.
        """
        row = None if index is None else _as_rows(index, size).to(self.label.code.device)
        inside = None if row is None else row.clamp(0, len(self) - 1)
        label_code = _codes(self.label, label, inside, size, "label")
        attribute_code = _codes(self.attribute, sensitive_features, inside, size, "sensitive_features")
        wrong = label_code < 0
        if row is not None and inside is not None:
            wrong = wrong | (row != inside)
            wrong = wrong | (label_code != self.label.of(inside))
            wrong = wrong | (attribute_code != self.attribute.of(inside))
        batch = Batch(label_code, attribute_code, row)
        # All questions in one: a graphics card is waited for once.
        if wrong.any():
            raise ValueError(next(self._complaints(batch)))
        return batch

    def _complaints(self, batch: Batch) -> Iterator[str]:
        """What is wrong with a batch, gravest first; each sentence is true only if those before it are not."""
        if batch.row is not None:
            for at in _positions((batch.row < 0) | (batch.row >= len(self))):
                yield (
                    f"index holds {int(batch.row[at])} at position {at}; "
                    f"expected 0 to {len(self) - 1}, a row of the training set"
                )
        for at in _positions(batch.label < 0):
            known = ", ".join(self.label.names[:20])
            yield f"label at position {at} is not a class of the training set; expected one of {known}"
        assert batch.row is not None  # without an index nothing else can be wrong
        for argument, column, code in (
            ("label", self.label, batch.label),
            ("sensitive_features", self.attribute, batch.attribute),
        ):
            stored = column.of(batch.row)
            for at in _positions(code != stored):
                yield (
                    f"{argument} at position {at} is {column.name(int(code[at]))}, but index names row "
                    f"{int(batch.row[at])} of the training set, where it is {column.name(int(stored[at]))}; "
                    "expected index to count the rows that the loss was built with"
                )


def _codes(
    column: Column, values: object, row: Int[Tensor, "batch"] | None, size: int, argument: str
) -> Int[Tensor, "batch"]:
    """Return the codes of the batch's values, or where there are none, those of its rows."""
    if values is None:
        if row is None:
            raise ValueError(f"{argument} is None; only with an index is it looked up in the training set")
        return column.of(row)
    check_dense(argument, values)
    codes: Tensor = column(values)
    if len(codes) != size:
        raise ValueError(f"{argument} has {len(codes)} rows, embedding has {size}; expected one for each sample")
    return codes


def _as_rows(index: object, size: int) -> Int[Tensor, "batch"]:
    """Return the index as a column of whole numbers, or an error that says what it is instead."""
    check_dense("index", index)
    if isinstance(index, Tensor):
        rows = index
    else:
        try:
            array = np.asarray(index)
        except ValueError as error:
            raise ValueError(f"index cannot be read as an array ({error}); expected one row a sample") from error
        if array.dtype.kind not in "biuf":
            raise TypeError(f"index holds {array.dtype} values; expected integers, the rows in the training set")
        rows = torch.tensor(np.ascontiguousarray(array))
    if rows.dtype == torch.bool or rows.is_floating_point() or rows.is_complex():
        raise TypeError(f"index holds {rows.dtype} values; expected integers, the rows in the training set")
    if rows.shape != (size,):
        raise ValueError(f"index has shape {tuple(rows.shape)}; expected ({size},), one for each row of embedding")
    return rows.long()


def _positions(wrong: Tensor) -> list[int]:
    """Return where the mask is set."""
    found: list[int] = wrong.nonzero().flatten().tolist()
    return found
