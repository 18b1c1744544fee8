"""A frame of pandas or polars, or a file of CSV, TSV or Parquet, as columns."""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from raan.errors import InputError, InputTypeError
from raan.tabular.columns import MISSING
from raan.tabular.delimited import read_delimited
from raan.tabular.frames import column_of
from raan.tabular.lines import Layout, Progress
from raan.tabular.sheet import Sheet

TEXTS = {".csv", ".tsv", ".tab", ".txt", ".data"}  # and these with .gz behind
PARQUET = {".parquet", ".pq"}


def read(
    frame: object,
    *,
    missing: Collection[str] = MISSING,
    text: Collection[str] = (),
    layout: Layout = Layout(),
    progress: Progress | None = None,
    argument: str = "frame",
) -> Sheet:
    """The columns of a frame or file. Of a text file, the columns named in `text` are read as words."""
    if not isinstance(frame, str | os.PathLike):
        return _sheet(_pandas(frame, argument), argument, missing)
    path = Path(frame).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: expected a CSV, TSV or Parquet file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] and suffixes[-1] in PARQUET:
        return _read_parquet(path, missing, progress)
    if TEXTS.intersection(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:]):
        return read_delimited(path, layout, missing, text=text, progress=progress)
    raise InputError(str(path), f"ends in {path.suffix!r}", f"one of {', '.join(sorted(TEXTS | PARQUET))}")


def _pandas(frame: object, argument: str) -> pd.DataFrame:
    """The frame in pandas; one of polars, which is not imported, column by column through numpy."""
    if isinstance(frame, pd.DataFrame):
        return frame
    if not (hasattr(frame, "to_numpy") and hasattr(frame, "columns")):
        raise InputTypeError(
            argument,
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
    except (ValueError, OSError) as error:  # those of pyarrow are among them
        raise InputError(str(path), f"cannot be read ({error})", "a Parquet file") from error
    if progress:
        progress(path.stat().st_size, path.stat().st_size)
    return _sheet(frame, path.name, missing)
