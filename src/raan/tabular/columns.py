"""The kinds of column: numbers, words, and what is neither. Each kind knows all that depends on what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
from jaxtyping import Bool, Float, Int

from raan.fairness.groups import UNKNOWN, Codes
from raan.tabular import faults

Type = Literal["number", "category"]

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null")
"""The words that stand for a missing value. "None" is not among them: in many columns it is an answer."""

FEW = 50
"""Numbers of so few values may be codes, in no order, and are looked at as categories too."""

MOSTLY = 0.9
"""A column of words of which at least this share are numbers is a column of numbers with a fault in it."""

Place = Callable[[int], str]  # what a row is called in messages

_BOOLS = {"true": "True", "false": "False"}  # a file's spelling, and Python's


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers; nan where the value is missing."""

    type: ClassVar[Type] = "number"
    values: Float[np.ndarray, "row"]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def missing(self) -> Bool[np.ndarray, "row"]:
        """Whether each row's value is missing."""
        return np.asarray(np.isnan(self.values))

    @property
    def is_empty(self) -> bool:
        """Whether every value is missing."""
        return bool(self.missing.all())

    @property
    def objects(self) -> np.ndarray:
        """The values themselves, so that numbers are sorted as numbers; nan where missing."""
        return self.values.astype(object)

    def take(self, rows: Int[np.ndarray, "kept"]) -> Numbers:
        """The column with these rows only."""
        return Numbers(self.values[rows])

    def settle(self, wanted: Type | None, name: str, table: str, place: Place) -> Plain:
        """The column as wanted, or an error where a number is infinite."""
        infinite = np.isinf(self.values)
        if infinite.any():
            row = int(infinite.argmax())
            raise faults.infinite(place(row), name, self.values[row])
        return self.as_words() if wanted == "category" else self

    def as_words(self) -> Words:
        """The numbers as names of categories, sorted by value."""
        values, place = np.unique(self.values, return_inverse=True)  # nan, if any, is one value and the last
        names = tuple(name_of(value) for value in values[~np.isnan(values)])
        return Words(np.where(place < len(names), place, UNKNOWN).astype(np.int32), names)

    def range(self) -> str:
        """How far the numbers reach, in words."""
        return "" if self.is_empty else f"{np.nanmin(self.values):.4g} to {np.nanmax(self.values):.4g}"

    def absent(self) -> str:
        """How many values are missing, in words."""
        return f"{self.missing.sum():,}"

    def scores(self) -> list[Float[np.ndarray, "row"]]:
        """What may tell rows apart by its size: the number, and whether it is missing."""
        return [self.missing.astype(float), np.nan_to_num(self.values)]

    def categories(self) -> Int[np.ndarray, "row"] | None:
        """Each row's category, counted from 0, where there are few."""
        distinct, place = np.unique(self.values, return_inverse=True)
        return place if len(distinct) <= FEW else None

    def is_identifier(self) -> bool:
        """Whether these are whole numbers that never repeat."""
        whole = np.array_equal(self.values, np.floor(self.values))
        return whole and len(np.unique(self.values)) == len(self.values)

    def keys(self) -> np.ndarray:
        """Values that are the same where rows are the same."""
        return self.values + 0.0  # -0.0 becomes 0.0

    @staticmethod
    def join(parts: Sequence[Plain]) -> Numbers:
        """One column below the other; parts of another kind are empty."""
        values = [part.values if isinstance(part, Numbers) else np.full(len(part), np.nan) for part in parts]
        return Numbers(np.concatenate(values))


@dataclass(frozen=True, eq=False)
class Words(Codes):
    """A column of words: for each row the place of its word among the names; UNKNOWN (-1) where it is missing."""

    type: ClassVar[Type] = "category"

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> Bool[np.ndarray, "row"]:
        """Whether each row's value is missing."""
        return np.asarray(self.codes == UNKNOWN)

    @property
    def is_empty(self) -> bool:
        """Whether every value is missing."""
        return not self.names

    @property
    def objects(self) -> np.ndarray:
        """The words themselves; None where missing."""
        return np.take(np.array([*self.names, None], dtype=object), self.codes)

    def take(self, rows: Int[np.ndarray, "kept"]) -> Words:
        """The column with these rows only."""
        return Words(self.codes[rows], self.names)

    def as_words(self) -> Words:
        """The column itself."""
        return self

    def settle(self, wanted: Type | None, name: str, table: str, place: Place) -> Plain:
        """The column as wanted, or an error where a word should be a number: it is wanted, or nearly all are."""
        if wanted == "category":
            return self
        numbers = self.as_numbers() if wanted else None
        if numbers is not None:
            return numbers.settle(wanted, name, table, place)
        numeric = np.array([number_of(word.replace(",", ".")) is not None for word in self.names], dtype=bool)
        share = numeric[self.codes[~self.missing]].mean() if self.names else 0.0
        if wanted is None and share < MOSTLY:
            return self
        if not numeric.all():
            row, word = self._first(~numeric)
            raise faults.no_number(place(row), name, word, share, demanded=wanted is not None)
        commas = np.array(["," in word for word in self.names], dtype=bool)
        if commas.any():
            row, word = self._first(commas)
            raise faults.comma(place(row), name, word)
        return self

    def as_numbers(self, decimal: str = ".") -> Numbers | None:
        """The numbers that the words spell, if all of them do."""
        values = [number_of(name, decimal) for name in self.names]
        if None in values:
            return None
        return Numbers(np.array([*values, np.nan], dtype=np.float64)[self.codes])  # code -1 is the last: missing

    def range(self) -> str:
        """How many words there are, in words."""
        return f"{len(self.names):,}" if self.names else ""

    def absent(self) -> str:
        """How many values are missing, in words."""
        return f"{self.missing.sum():,}"

    def scores(self) -> list[Float[np.ndarray, "row"]]:
        """What may tell rows apart by its size: whether the word is missing."""
        return [self.missing.astype(float)]

    def categories(self) -> Int[np.ndarray, "row"]:
        """Each row's category, counted from 0; a missing word is one too."""
        return self.codes + 1

    def is_identifier(self) -> bool:
        """Words that hardly repeat are left out before, so there is nothing to suspect here."""
        return False

    def keys(self) -> np.ndarray:
        """Values that are the same where rows are the same."""
        return self.codes

    def _first(self, among: Bool[np.ndarray, "name"]) -> tuple[int, str]:
        """The first row whose word is among these, and the word."""
        row = int(np.append(among, False)[self.codes].argmax())  # code -1 is the last: missing
        return row, self.names[self.codes[row]]

    @staticmethod
    def join(parts: Sequence[Plain]) -> Words:
        """One column below the other, encoded anew; parts of another kind are empty."""
        words = [part if isinstance(part, Words) else encode(np.full(len(part), UNKNOWN), ()) for part in parts]
        offsets = np.cumsum([0, *(len(part.names) for part in words)], dtype=np.int32)
        moved = [
            np.where(part.codes == UNKNOWN, UNKNOWN, part.codes + offset)
            for part, offset in zip(words, offsets[:-1], strict=True)
        ]
        return encode(np.concatenate(moved), (name for part in words for name in part.names))


@dataclass(frozen=True)
class Strange:
    """A column of neither numbers nor words, such as dates: it can be ignored, but not be used."""

    type: str

    def take(self, rows: Int[np.ndarray, "kept"]) -> Strange:
        """The column itself: none of its rows is looked at."""
        return self

    def settle(self, wanted: Type | None, name: str, table: str, place: Place) -> NoReturn:
        """An error that says what it holds."""
        raise faults.strange(table, name, self.type)

    def range(self) -> str:
        """Nothing is known of its values."""
        return ""

    def absent(self) -> str:
        """Nothing is known of its values."""
        return ""


Plain = Numbers | Words
Column = Plain | Strange


def join(parts: Sequence[Plain]) -> Plain | None:
    """One column below the other, or none where they are of several kinds; what is empty is of any."""
    kinds: dict[type[Any], None] = dict.fromkeys(type(part) for part in parts if not part.is_empty)
    if len(kinds) > 1:
        return None
    joined: Plain = next(iter(kinds), Numbers).join(parts)
    return joined


def encode(codes: Int[np.ndarray, "row"], names: Iterable[str], missing: frozenset[str] = frozenset()) -> Words:
    """Codes over the sorted names; those of one name become one, those of a missing value UNKNOWN."""
    old = list(names)
    new = tuple(sorted(set(old) - missing))
    place = {name: code for code, name in enumerate(new)}
    # The last entry is for the code -1, which is missing already.
    lookup = np.array([*(place.get(name, UNKNOWN) for name in old), UNKNOWN], dtype=np.int32)
    return Words(lookup[codes], new)


def name_of(value: object) -> str:
    """The value as text, without space around it; 1.0 is "1", and true, TRUE and True are one."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    text = (value.decode(errors="replace") if isinstance(value, bytes) else str(value)).strip()
    return _BOOLS.get(text.casefold(), text)


def number_of(name: str, decimal: str = ".") -> float | None:
    """The number that a word spells, if it does."""
    if "_" in name or (decimal != "." and "." in name):  # Python's own 1_000 is nobody else's number
        return None
    try:
        return float(name.replace(decimal, "."))
    except ValueError:
        return None
