"""A frame of pandas or polars, or a file of CSV, TSV or Parquet, as columns."""

import os
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.parquet import ParquetFile

from raan.errors import InputError, InputTypeError
from raan.tabular.columns import MISSING
from raan.tabular.delimited import read_delimited
from raan.tabular.frames import column_of
from raan.tabular.lines import Layout, Progress
from raan.tabular.sheet import Sheet

TEXTS = {".csv", ".tsv", ".tab", ".txt", ".data"}  # and these with .gz behind
PARQUET = {".parquet", ".pq"}

CHUNK = 20_000
"""Rows that are in memory at a time, where not all are."""

VALUE = 40
"""Bytes that a value may take until a model is fitted to the table: as read, as features, in copies of them."""


def read(
    frame: object,
    *,
    missing: Collection[str] = MISSING,
    text: Collection[str] = (),
    layout: Layout = Layout(),
    progress: Progress | None = None,
    argument: str = "frame",
    max_rows: int | None = None,
    seed: int = 0,
) -> Sheet:
    """The columns of a frame or file. Of a text file, the columns named in `text` are read as words.

    Of more than `max_rows` rows so many are drawn, by the seed. A Parquet file is then read some rows at a time,
    as it is when it has more rows than fit into memory.
    """
    sheet = _read(frame, missing, text, layout, progress, max_rows, seed, argument)
    if max_rows is None or sheet.rows <= max_rows:
        return sheet
    drawn = np.sort(np.random.default_rng(seed).choice(sheet.rows, max_rows, replace=False, shuffle=False))
    return replace(sheet.take(drawn), notes=(*sheet.notes, _say_drawn(sheet.name, sheet.rows, max_rows)))


def _read(
    frame: object,
    missing: Collection[str],
    text: Collection[str],
    layout: Layout,
    progress: Progress | None,
    max_rows: int | None,
    seed: int,
    argument: str,
) -> Sheet:
    """The columns, all rows of them unless they can be left out in reading."""
    if not isinstance(frame, str | os.PathLike):
        return _sheet(_pandas(frame, argument), argument, missing)
    path = Path(frame).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: expected a CSV, TSV or Parquet file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] and suffixes[-1] in PARQUET:
        return _read_parquet(path, missing, progress, max_rows, seed)
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


def open_parquet(path: Path) -> ParquetFile:
    """The file, mapped into memory: else arrow holds a whole group of rows, which may be all of the file."""
    try:
        return ParquetFile(path, memory_map=True)
    except (ValueError, OSError) as error:  # those of pyarrow are among them
        raise InputError(str(path), f"cannot be read ({error})", "a Parquet file") from error


def _read_parquet(
    path: Path, missing: Collection[str], progress: Progress | None, max_rows: int | None, seed: int
) -> Sheet:
    """The columns of a Parquet file, which carry their types with them."""
    file = open_parquet(path)
    rows = file.metadata.num_rows
    most = most_rows(len(file.schema_arrow.names)) if max_rows is None else max_rows
    if rows > most:
        return _draw_parquet(path, file, missing, progress, most, seed)
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except (ValueError, OSError) as error:
        raise InputError(str(path), f"cannot be read ({error})", "a Parquet file") from error
    if progress:
        progress(path.stat().st_size, path.stat().st_size)
    return _sheet(frame, path.name, missing)


def most_rows(columns: int) -> int:
    """How many rows half of this machine's memory holds; without end where that is not told."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not a Unix
        return sys.maxsize
    return max(memory // 2 // (VALUE * max(columns, 1)), 1)


def _draw_parquet(
    path: Path, file: ParquetFile, missing: Collection[str], progress: Progress | None, most: int, seed: int
) -> Sheet:
    """So many rows of the file, each as likely as any other, in their order; the others are let go as read."""
    rng, rows, size = np.random.default_rng(seed), file.metadata.num_rows, path.stat().st_size
    kept, places, done, lacking = list[pa.RecordBatch](), list[np.ndarray](), 0, most
    try:
        for batch in file.iter_batches(CHUNK):
            count = int(rng.hypergeometric(lacking, rows - done - lacking, len(batch)))
            drawn = np.sort(rng.choice(len(batch), count, replace=False, shuffle=False))
            kept.append(batch.take(pa.array(drawn)))
            places.append(done + drawn)
            done, lacking = done + len(batch), lacking - count
            if progress:
                progress(size * done // rows, size)
        frame = pa.Table.from_batches(kept, file.schema_arrow).to_pandas()
    except (ValueError, OSError) as error:
        raise InputError(str(path), f"cannot be read ({error})", "a Parquet file") from error
    kept.clear()
    pa.default_memory_pool().release_unused()
    sheet, place = _sheet(frame, path.name, missing), np.concatenate(places)
    notes = (_say_drawn(path.name, rows, most),)
    return replace(sheet, place=lambda row: f"{path.name}, row {place[row]}", notes=notes)


def _say_drawn(name: str, rows: int, drawn: int) -> str:
    return f"{name} has {rows:,} rows; {drawn:,} of them, drawn at random by the seed, are all that is used"
