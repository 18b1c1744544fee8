"""Columns of a table in one of two kinds, numbers and categories, however the table spells them.

A column of numbers is a float64 series, NaN where a value is missing. A column of categories is a categorical
series over sorted strings. Every table passes through `normalise`, whether it trains a model or is to be
predicted, so that one value is read in one way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from pandas.api import types
from pandas.api.types import union_categoricals

from raan.errors import InputError, InputTypeError, Message, Option
from raan.fairness.groups import Codes
from raan.text import unguard_cell

Type = Literal["number", "category"]

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null")
"""The words that mean a missing value. "None" is not among them: in many columns it is an answer."""

MAX_EXACT = 2.0**53
"""The first whole number whose successor is not a float."""

MOSTLY_NUMBERS = 0.9
"""A text column with at least this share of numbers is taken for a column of numbers with a mistake in it."""

Place = Callable[[int], str]
"""What a row is called in messages, such as "people.csv, line 7"."""

_NUMBERS = (int, float, np.integer, np.floating, Decimal)
_VALUES = (str, bytes, bool, np.bool_, *_NUMBERS)
_BOOLS = {"true": "True", "false": "False"}
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")


def type_of(column: pd.Series) -> Type | None:
    """Return the kind of a normalised column; None for a column of dates, lists and the like."""
    if column.dtype == np.float64:
        return "number"
    return "category" if isinstance(column.dtype, pd.CategoricalDtype) else None


def normalise(
    series: pd.Series, missing: Collection[str] = MISSING, *, text: bool = False, decimal: str = "."
) -> pd.Series:
    """Convert a column to numbers or categories; a column of dates, lists and the like is returned unchanged.

    Text is a column of numbers where every value spells one, and of categories otherwise.

    Args:
        series: the column, as pandas has read it or as the user gave it.
        missing: the words that mean a missing value; a number among them means one in columns of numbers, too.
        text: whether numbers are category names too.
        decimal: the decimal mark of numbers that are spelt as text.
    """
    dtype = series.dtype
    exact = text and types.is_integer_dtype(dtype)  # large codes would not survive as floats
    if types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype) and not exact:
        if types.is_complex_dtype(dtype):
            return series
        plain = dtype == np.float64  # of which no copy is made
        values = series.to_numpy() if plain else series.to_numpy(np.float64, na_value=np.nan)
        marks = [number for word in missing if (number := number_of(word)) is not None and number == number]
        if marks:
            values = np.where(np.isin(values, marks), np.nan, values)
        column = pd.Series(values, series.index, name=series.name, copy=False)
        return as_categories(column) if text else column
    explicit = isinstance(dtype, pd.CategoricalDtype)
    words = types.is_bool_dtype(dtype) or types.is_object_dtype(dtype) or types.is_string_dtype(dtype)
    if not (explicit or exact or words):
        return series
    try:
        codes, uniques = pd.factorize(series)
    except TypeError:  # values without a hash, such as lists
        return series
    found = list(uniques)
    if not all(isinstance(value, _VALUES) for value in found):
        return series.astype(object)  # categories that are dates or intervals, too
    names = [name_of(value, decimal) for value in found]
    absent = {name_of(word, decimal) for word in missing}
    if not text and not explicit:
        numbers = [
            np.nan if name in absent else number_of(name, "." if isinstance(value, _NUMBERS) else decimal)
            for name, value in zip(names, found, strict=True)
        ]
        if None not in numbers:
            return pd.Series(
                np.array([*numbers, np.nan], np.float64)[codes], series.index
            )  # code -1 reads the last
    kept = sorted(set(names) - absent)
    place = {name: code for code, name in enumerate(kept)}
    lookup = np.array([*(place.get(name, -1) for name in names), -1])
    return pd.Series(pd.Categorical.from_codes(lookup[codes], _index(kept)), series.index)


def as_categories(column: pd.Series) -> pd.Series:
    """Return a normalised column as categories; numbers are sorted by their values.

    Raises:
        InputError: for numbers so large that as floats they cannot be distinguished from their neighbours.
    """
    if type_of(column) != "number":
        return column
    codes, uniques = pd.factorize(column.to_numpy(), sort=True)
    if len(uniques) and max(-uniques[0], uniques[-1]) >= MAX_EXACT:
        name = str(column.name)
        remedy = Message(
            "pass ",
            Option("category", name, python=f"types={{{name!r}: 'category'}}"),
            ", and as text if some are missing",
        )
        raise InputError(f"the column {name!r}", "has numbers from 2**53 up, which are rounded", "codes", remedy)
    return pd.Series(pd.Categorical.from_codes(codes, _index([name_of(value) for value in uniques])), column.index)


def check_column(column: pd.Series, wanted: Type | None, name: str, place: Place, decimal: str = ".") -> pd.Series:
    """Return a normalised column as the kind that is wanted.

    Args:
        column: the column.
        wanted: its kind; None accepts either, but not text that is mostly numbers.
        name: the column's name.
        place: the name of a row for messages.
        decimal: the decimal mark.

    Raises:
        InputError: for an infinite number, or for text where a number is expected.
        InputTypeError: for a column of neither numbers nor categories.
    """
    kind = type_of(column)
    if kind is None:
        odd = next((type(value).__name__ for value in column.dropna() if not isinstance(value, _VALUES)), None)
        holds = column.dtype if column.dtype != object else f"values of type {odd}"
        raise InputTypeError(
            f"the column {name!r}",
            f"holds {holds}",
            "numbers or words",
            Message("derive a number or a category from it, or leave it out by ", leave_out(name)),
        )
    if kind == "number":
        infinite = np.isinf(column.to_numpy())
        if infinite.any():
            row = int(infinite.argmax())
            raise InputError(f"{place(row)}: the column {name!r}", f"is {column.iloc[row]}", "a number")
        return as_categories(column) if wanted == "category" else column
    if wanted == "category":
        return column
    if wanted == "number":
        numbers = [number_of(word, decimal) for word in column.cat.categories]
        if None not in numbers:
            return pd.Series(np.array([*numbers, np.nan], np.float64)[column.cat.codes], column.index)
    if len(column.cat.categories):
        _refuse_mistakes(column, wanted, name, place, decimal)
    return column


def _refuse_mistakes(column: pd.Series, wanted: Type | None, name: str, place: Place, decimal: str) -> None:
    """Raise an InputError where text stands among numbers that are wanted, or that most values are."""
    words, codes = column.cat.categories, column.cat.codes.to_numpy()
    other, called = (",", "comma") if decimal == "." else (".", "point")
    thousands = re.compile(rf"[+-]?\d{{1,3}}({re.escape(other)}\d{{3}})+({re.escape(decimal)}\d+)?")
    plain = np.array([number_of(word, decimal) is not None for word in words], dtype=bool)
    marked = [thousands.fullmatch(word) or number_of(word.replace(other, decimal), decimal) for word in words]
    marked = np.array([each is not None for each in marked], dtype=bool) & ~plain
    numeric = plain | marked
    share = float(numeric[codes[codes >= 0]].mean())
    if wanted is None and share < MOSTLY_NUMBERS:
        return
    wrong = marked if numeric.all() else ~numeric
    if not wrong.any():
        return
    row = int(np.append(wrong, False)[codes].argmax())
    came = f"is {words[codes[row]]!r}"
    if numeric.all():
        if decimal == ".":
            advice = Message("pass ", Option("decimal", ",", python="Layout(decimal=',')"))
        else:
            advice = Message("leave out ", Option("decimal", decimal, python=f"Layout(decimal={decimal!r})"))
        remedy = Message(
            f"if the {called} marks decimals, ", advice, "; if it separates thousands, write the number without it"
        )
        raise InputError(f"{place(row)}: the column {name!r}", came, f"a number without a {called}", remedy)
    otherwise = Message(
        "count it among the missing values by ",
        Option("missing", words[codes[row]], python="Rules(missing=...)"),
        ", or take the column for a category by ",
        Option("category", name, python=f"types={{{name!r}: 'category'}}"),
    )
    remedy = Message("correct it, or ", otherwise if wanted is None else "leave it empty if it is not known")
    raise InputError(
        f"{place(row)}: the column {name!r}",
        came,
        f"a number, as are {share:.1%} of its values" if share else "a number",
        remedy,
    )


def join(parts: Sequence[pd.Series]) -> pd.Series | None:
    """Concatenate parts of one column; None where some are numbers and others categories."""
    kinds = {type_of(part) for part in parts if not part.isna().all()} or {"number"}
    if kinds == {"number"}:
        values = [part.to_numpy() if type_of(part) == "number" else np.full(len(part), np.nan) for part in parts]
        return pd.Series(np.concatenate(values))
    if kinds != {"category"}:
        return pd.concat(parts, ignore_index=True) if kinds == {None} else None
    whole: Any = union_categoricals([as_categories(part) for part in parts], sort_categories=True)
    return pd.Series(whole)


def to_codes(column: pd.Series) -> Codes:
    """Return a column's categories as codes, -1 where a value is missing, and their names."""
    categories = as_categories(column).cat
    return Codes(categories.codes.to_numpy().astype(np.int32), tuple(categories.categories))


def rank_values(column: pd.Series) -> Int[np.ndarray, "row"]:
    """Return each row's value as a code from 0, where a missing value is a value of its own."""
    if type_of(column) == "number":
        return np.asarray(np.unique(column.to_numpy(), return_inverse=True)[1])
    return column.cat.codes.to_numpy().astype(np.int64) + 1


def known_values(column: pd.Series) -> Float[np.ndarray, "known"]:
    """Return the numbers of a column that are not missing."""
    values = column.to_numpy()
    return np.asarray(values[~np.isnan(values)])


def name_of(value: object, decimal: str = ".") -> str:
    """Return the value as text without surrounding space.

    1.0, "1.0" and 1 are "1", as is "1,0" where the decimal mark is a comma; true, TRUE and True are one.
    """
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    text = unguard_cell((value.decode(errors="replace") if isinstance(value, bytes) else str(value)).strip())
    whole, _, fraction = text.partition(decimal)
    if text.endswith("0") and not fraction.strip("0") and fraction and _WHOLE.fullmatch(whole):
        return whole
    return _BOOLS.get(text.casefold(), text)


def number_of(word: str, decimal: str = ".") -> float | None:
    """Return the number that a word spells, or None."""
    if "_" in word or (decimal != "." and "." in word):  # 1_000 is a number to Python alone
        return None
    try:
        return float(word.replace(decimal, "."))
    except ValueError:
        return None


def leave_out(column: str) -> Option:
    """Return the option that leaves a column out, for messages."""
    return Option("ignore", column, python=f"ignore=[{column!r}]")


def _index(names: Sequence[str]) -> pd.Index:
    return pd.Index(names, dtype=object)
