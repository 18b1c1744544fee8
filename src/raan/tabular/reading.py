"""A frame of pandas or polars, or a file of CSV, TSV or Parquet, as columns."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool

from raan.errors import InputError, InputTypeError, Message, MissingExtra, Option
from raan.fairness.groups import UNKNOWN, Codes
from raan.tabular.columns import (
    MISSING,
    Column,
    Numbers,
    Plain,
    Sheet,
    Strange,
    column_of,
    number_of,
    numbers_from_words,
    words_from_numbers,
)
from raan.tabular.delimited import read_delimited
from raan.tabular.lines import Layout, Progress
from raan.tabular.words import ignoring, listed, nearest

Type = Literal["number", "category"]

TEXTS = {".csv", ".tsv", ".tab", ".txt", ".data"}  # and these with .gz behind
PARQUET = {".parquet", ".pq"}
MOSTLY = 0.9
"""A column of words of which at least this share are numbers is a column of numbers with a fault in it."""


def read(
    frame: object,
    *,
    missing: Collection[str] = MISSING,
    text: Collection[str] = (),
    layout: Layout = Layout(),
    progress: Progress | None = None,
) -> Sheet:
    """The columns of a frame or file. Of a text file, the columns named in `text` are read as words."""
    if not isinstance(frame, str | os.PathLike):
        return _sheet(_pandas(frame), "frame", missing)
    path = Path(frame).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: expected a CSV, TSV or Parquet file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] and suffixes[-1] in PARQUET:
        return _read_parquet(path, missing, progress)
    if TEXTS.intersection(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:]):
        return read_delimited(path, layout, missing, text=text, progress=progress)
    raise InputError(str(path), f"ends in {path.suffix!r}", f"one of {', '.join(sorted(TEXTS | PARQUET))}")


def settle_types(sheet: Sheet, names: Collection[str], types: Mapping[str, Type]) -> dict[str, Plain]:
    """These columns, each of the type asked for; those of which nothing is asked must be plain."""
    return {name: _settle(sheet, name, sheet.columns[name], types.get(name)) for name in names}


def check_names(sheet: Sheet, names: Collection[str], argument: str) -> None:
    """Raise a ValueError at the first name that is no column's, with the nearest that is one."""
    for name in names:
        if name not in sheet.columns:
            near = nearest(name, list(sheet.columns))
            raise InputError(
                Option(argument),
                f"names the column {name!r}, which {sheet.name} does not have",
                f"one of {listed(list(sheet.columns), 20)}",
                f"is it {near!r}?" if near else "",
            )


def _pandas(frame: object) -> pd.DataFrame:
    """The frame in pandas; one of polars, which is not imported, column by column through numpy."""
    if isinstance(frame, pd.DataFrame):
        return frame
    if not (hasattr(frame, "to_numpy") and hasattr(frame, "columns")):
        raise InputTypeError(
            "frame",
            f"is a {type(frame).__name__}",
            "a DataFrame of pandas or polars (collect a lazy one first), or the path of a CSV, TSV or Parquet "
            "file",
        )
    columns: Any = frame
    return pd.DataFrame({name: columns[name].to_numpy() for name in columns.columns})


def _sheet(frame: pd.DataFrame, name: str, missing: Collection[str]) -> Sheet:
    names = [str(column).strip() for column in frame.columns]
    twice = next((column for column in names if names.count(column) > 1), None)
    if twice is not None:
        raise InputError(name, f"has {names.count(twice)} columns called {twice!r}", "one", "rename all but one")
    if frame.empty:
        raise InputError(name, f"has {len(frame)} rows and {len(names)} columns", "at least one of each")
    tokens = frozenset(missing)
    columns = {column: column_of(frame.iloc[:, place], tokens) for place, column in enumerate(names)}
    return Sheet(name, len(frame), columns, lambda row: f"{name}, row {row}")


def _read_parquet(path: Path, missing: Collection[str], progress: Progress | None) -> Sheet:
    """The columns of a Parquet file, which carry their types with them."""
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except ImportError as error:
        raise MissingExtra("reading Parquet", "parquet") from error
    except (ValueError, OSError) as error:  # those of pyarrow are among them
        raise InputError(str(path), f"cannot be read ({error})", "a Parquet file") from error
    if progress:
        progress(path.stat().st_size, path.stat().st_size)
    return _sheet(frame, path.name, missing)


def _settle(sheet: Sheet, name: str, column: Column, wanted: Type | None) -> Plain:
    """The column as numbers or words, as wanted, or an error that says what stands in the way."""
    if isinstance(column, Strange):
        raise InputTypeError(
            f"{sheet.name}: the column {name!r}",
            f"holds {column.kind}",
            "numbers or words",
            Message("derive a number or a category from it, or leave it out by ", ignoring(name)),
        )
    if isinstance(column, Codes) and wanted != "category":
        numbers = numbers_from_words(column) if wanted == "number" else None
        if numbers is None:
            _check_words(sheet, name, column, wanted)
        column = column if numbers is None else numbers
    if isinstance(column, Numbers):
        _check_finite(sheet, name, column)
        return words_from_numbers(column) if wanted == "category" else column
    return column


def _check_finite(sheet: Sheet, name: str, column: Numbers) -> None:
    infinite = np.isinf(column.values)
    if infinite.any():
        row = int(infinite.argmax())
        raise InputError(f"{sheet.place(row)}: the column {name!r}", f"is {column.values[row]}", "a number")


def _check_words(sheet: Sheet, name: str, column: Codes, wanted: Type | None) -> None:
    """Raise a ValueError where the words should be numbers: they are wanted, or nearly all words are."""
    numeric = np.array([number_of(word.replace(",", ".")) is not None for word in column.names], dtype=bool)
    share = numeric[column.codes[column.codes != UNKNOWN]].mean() if column.names else 0.0
    if wanted is None and share < MOSTLY:
        return
    if not numeric.all():
        row, word = _first(column, ~numeric)
        # Where numbers are demanded, as by a fitted preprocessing, there are no rules left to change.
        otherwise = Message(
            "count it among the missing values by ",
            Option("missing", word, python="Rules(missing=...)"),
            ", or take the column for a category by ",
            Option("category", name, python=f"types={{{name!r}: 'category'}}"),
        )
        raise InputError(
            f"{sheet.place(row)}: the column {name!r}",
            f"is {word!r}",
            f"a number, as are {share:.1%} of its values",
            Message("correct it, or ", "leave it empty if it is not known" if wanted else otherwise),
        )
    commas = np.array(["," in word for word in column.names], dtype=bool)
    if commas.any():
        row, word = _first(column, commas)
        raise InputError(
            f"{sheet.place(row)}: the column {name!r}",
            f"is {word!r}",
            "a number without a comma",
            Message(
                "if it marks decimals, pass ",
                Option("decimal", ",", python="Layout(decimal=',')"),
                "; if thousands, write the number without it",
            ),
        )


def _first(column: Codes, among: Bool[np.ndarray, "name"]) -> tuple[int, str]:
    """The first row whose word is among these, and the word."""
    row = int(np.append(among, False)[column.codes].argmax())  # code -1 is the last: missing
    return row, column.names[column.codes[row]]
