"""Columns as numbers or as words, whichever library they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from raan.fairness.groups import UNKNOWN, Codes

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null")
"""The words that stand for a missing value. "None" is not among them: in many columns it is an answer."""

_NUMBERS = (int, float, np.integer, np.floating, Decimal)
_WORDS = (str, bytes, bool, np.bool_, *_NUMBERS)
_BOOLS = {"true": "True", "false": "False"}  # a file's spelling, and Python's


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers; nan where the value is missing."""

    values: Float[np.ndarray, "row"]


@dataclass(frozen=True)
class Strange:
    """A column of neither numbers nor words, such as dates: it can be ignored, but not be used."""

    kind: str


Plain = Numbers | Codes
Column = Plain | Strange


@dataclass(frozen=True, eq=False)
class Sheet:
    """Columns of equal length, and what to call the table and its rows in messages."""

    name: str
    rows: int
    columns: dict[str, Column]
    place: Callable[[int], str]  # such as "row 3", or "line 5" of a file
    notes: tuple[str, ...] = ()  # what the user should know of the reading

    def take(self, rows: Int[np.ndarray, "kept"]) -> Sheet:
        """The sheet with these rows only; messages still call them what they were called."""
        columns = {
            name: column if isinstance(column, Strange) else take(column, rows)
            for name, column in self.columns.items()
        }
        return Sheet(self.name, len(rows), columns, lambda row: self.place(int(rows[row])), self.notes)


def column_of(series: pd.Series, missing: frozenset[str]) -> Column:
    """The column that a pandas series holds: numbers by its type, words from text, bools and categories."""
    if isinstance(series.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(series.dtype):
        return _words(series, missing)
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_complex_dtype(series.dtype):
        return Numbers(series.to_numpy(np.float64, na_value=np.nan))
    if series.dtype == object or pd.api.types.is_string_dtype(series.dtype):
        return _words(series, missing)
    return Strange(str(series.dtype))


def _words(series: pd.Series, missing: frozenset[str]) -> Column:
    """Codes of the distinct values; Numbers where a column of objects holds nothing else."""
    try:
        codes, uniques = pd.factorize(series)
    except TypeError:  # lists and other values that have no hash
        return Strange(f"values of type {type(series.dropna().iloc[0]).__name__}")
    values = list(uniques)
    strange = next((value for value in values if not isinstance(value, _WORDS)), None)
    if strange is not None:
        return Strange(f"values of type {type(strange).__name__}")
    if series.dtype == object and values and all(map(_is_number, values)):
        return Numbers(np.array([*map(float, values), np.nan])[codes])  # code -1 is the last: missing
    return encode(codes, map(name_of, values), missing)


def encode(codes: Int[np.ndarray, "row"], names: Iterable[str], missing: frozenset[str] = frozenset()) -> Codes:
    """Codes over the sorted names; those of one name become one, those of a missing value UNKNOWN."""
    old = list(names)
    new = tuple(sorted(set(old) - missing))
    place = {name: code for code, name in enumerate(new)}
    # The last entry is for the code -1, which is missing already.
    lookup = np.array([*(place.get(name, UNKNOWN) for name in old), UNKNOWN], dtype=np.int32)
    return Codes(lookup[codes], new)


def name_of(value: object) -> str:
    """The value as text, without space around it; 1.0 is "1", and true, TRUE and True are one."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    text = (value.decode(errors="replace") if isinstance(value, bytes) else str(value)).strip()
    return _BOOLS.get(text.casefold(), text)


def join(parts: Sequence[Plain]) -> Plain | None:
    """One column below the other, or none where some hold numbers and others words."""
    kinds = {type(part) for part in parts if not is_empty(part)} or {Numbers}
    if kinds == {Numbers}:
        return Numbers(np.concatenate([_as_numbers(part) for part in parts]))
    return _join_words([_as_words(part) for part in parts]) if kinds == {Codes} else None


def _as_numbers(part: Plain) -> Float[np.ndarray, "row"]:
    return part.values if isinstance(part, Numbers) else np.full(len(part.codes), np.nan)


def _as_words(part: Plain) -> Codes:
    return part if isinstance(part, Codes) else Codes(np.full(len(part.values), UNKNOWN, np.int32), ())


def _join_words(parts: Sequence[Codes]) -> Codes:
    """The codes moved to where their names stand among the names of all parts, then encoded anew."""
    offsets = np.cumsum([0, *(len(part.names) for part in parts)], dtype=np.int32)
    moved = [
        np.where(part.codes == UNKNOWN, UNKNOWN, part.codes + offset)
        for part, offset in zip(parts, offsets[:-1], strict=True)
    ]
    return encode(np.concatenate(moved), (name for part in parts for name in part.names))


def is_empty(column: Column) -> bool:
    """Whether every value is missing."""
    if isinstance(column, Numbers):
        return bool(np.isnan(column.values).all())
    return isinstance(column, Codes) and not column.names


def take(column: Plain, rows: Int[np.ndarray, "kept"]) -> Plain:
    """The column with these rows only."""
    if isinstance(column, Numbers):
        return Numbers(column.values[rows])
    return Codes(column.codes[rows], column.names)


def missing_rows(column: Plain) -> Bool[np.ndarray, "row"]:
    """Whether each row's value is missing."""
    return np.asarray(np.isnan(column.values) if isinstance(column, Numbers) else column.codes == UNKNOWN)


def length(column: Plain) -> int:
    """The number of rows."""
    return len(column.values if isinstance(column, Numbers) else column.codes)


def number_of(name: str) -> float | None:
    """The number that a word spells, if it does."""
    try:
        return None if "_" in name else float(name)  # Python's own 1_000 is nobody else's number
    except ValueError:
        return None


def numbers_from_words(column: Codes) -> Numbers | None:
    """The numbers that the words spell, if all of them do."""
    values = [number_of(name) for name in column.names]
    if None in values:
        return None
    return Numbers(np.array([*values, np.nan], dtype=np.float64)[column.codes])  # code -1 is the last: missing


def words_from_numbers(column: Numbers) -> Codes:
    """The numbers as names of categories, sorted by value."""
    values, place = np.unique(column.values, return_inverse=True)  # nan, if any, is one value and the last
    names = tuple(name_of(value) for value in values[~np.isnan(values)])
    return Codes(np.where(place < len(names), place, UNKNOWN).astype(np.int32), names)


def _is_number(value: object) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)
