"""A column of the training set, and how the values of a batch are looked up in it."""

import re
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from raan.fairness.groups import UNKNOWN, Codes, encode_attribute, encode_classes

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
        """The code of each value; UNKNOWN (-1) for one that the training set does not have."""
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
        """The codes of some training rows."""
        return self.code[row].long()

    def name(self, code: int) -> str:
        """The value that a code stands for, as a message writes it."""
        return "unknown" if code == UNKNOWN else repr(self.names[code])

    def _by_name(self, values: object) -> Int[Tensor, "row"]:
        """The codes of text, of mixtures and of several columns, through their names."""
        found = self._read(values)
        place = {name: code for code, name in enumerate(self.names)}
        # UNKNOWN (-1) reads the last entry, which is UNKNOWN again.
        translated = np.array([*(place.get(name, UNKNOWN) for name in found.names), UNKNOWN])
        return torch.from_numpy(translated[found.codes])


def check_dense(argument: str, values: object) -> None:
    """An error for a tensor whose values are not all there to be read."""
    if isinstance(values, Tensor) and (values.layout is not torch.strided or values.is_meta):
        kind = "meta" if values.is_meta else "sparse"
        raise TypeError(f"{argument} is a {kind} tensor; expected a dense one, such as {argument}.to_dense()")


def read_label(values: object) -> Codes:
    """The classes of a batch."""
    (codes,) = encode_classes(label=values)
    return codes


def read_attribute(values: object) -> Codes:
    """The attribute values of a batch, which may all be unknown."""
    table = np.asarray(values.tolist() if isinstance(values, Tensor) else values, dtype=object)
    if not table.ndim:
        raise TypeError(f"sensitive_features is {values!r}; expected one value for each sample")
    # A whole training set of unknown attributes is an error, a batch of them is not.
    return encode_attribute(table, allow_unknown=True)


def _as_numbers(values: object) -> Tensor | None:
    """A single column of numbers or bools as a tensor; None if it is something else."""
    if isinstance(values, Tensor):
        return values if values.ndim == 1 else None
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths: whoever reads them by name has words for it
        return None
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        return None
    return torch.tensor(array.astype(np.float64 if array.dtype.kind == "f" else np.int64))
