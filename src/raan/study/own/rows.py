"""The rows of a file of any size, a chunk at a time, as a fitted model needs them."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32

from raan.errors import InputError, MissingExtra
from raan.fairness.groups import Codes
from raan.tabular.columns import Plain, length
from raan.tabular.encoding import OneHot
from raan.tabular.lines import Layout, TextFile, check, line_of, opened, settle
from raan.tabular.preprocessing import UNFAMILIAR, Preprocessing
from raan.tabular.reading import PARQUET, read, settle_types
from raan.tabular.words import listed, nearest

CHUNK = 20_000
"""Rows that are in memory at a time."""


class Chunk(NamedTuple):
    """Some rows, each column as it stands in the file, and what to call one of them in messages."""

    frame: pd.DataFrame
    place: Callable[[int], str]


@dataclass(frozen=True)
class Source:
    """A file to read in chunks: its columns by name, and how many rows it has."""

    path: Path
    names: tuple[str, ...]
    rows: int
    decimal: str
    chunks: Callable[[], Iterator[Chunk]] = field(repr=False)


def open_source(path: Path, layout: Layout = Layout()) -> Source:
    """The file, its lines found sound: a row too short or too long is told by its line."""
    path = path.expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: expected a CSV, TSV or Parquet file")
    if path.suffix.lower() in PARQUET:
        return _parquet(path)
    file = settle(path, layout)
    names, rows = check(file, lambda done: None)
    return Source(path, tuple(names), rows, file.decimal, partial(_text_chunks, file, names))


def _text_chunks(file: TextFile, names: Collection[str]) -> Iterator[Chunk]:
    """The rows of a text file, every value a word as it is written: an identifier keeps its leading zeros."""
    with opened(file.path, file.encoding) as (stream, _):
        chunks = pd.read_csv(
            stream,
            sep=file.delimiter,
            header=0,
            names=list(names),
            index_col=False,
            dtype=str,
            keep_default_na=False,
            na_filter=False,
            skipinitialspace=True,
            chunksize=CHUNK,
        )
        done = 0
        for frame in chunks:
            yield Chunk(frame, partial(_line, file, done))
            done += len(frame)


def _line(file: TextFile, before: int, row: int) -> str:
    return f"{file.path}, line {line_of(file, before + row)}"


def _parquet(path: Path) -> Source:
    try:
        from pyarrow import ArrowInvalid  # type: ignore[import-untyped]
        from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("reading Parquet", "parquet") from error
    try:
        file = ParquetFile(path)
    except ArrowInvalid as error:
        raise InputError(str(path), f"cannot be read ({error})", "a Parquet file") from error
    names = tuple(name.strip() for name in file.schema_arrow.names)
    return Source(path, names, file.metadata.num_rows, ".", partial(_parquet_chunks, file, path, names))


def _parquet_chunks(file: Any, path: Path, names: tuple[str, ...]) -> Iterator[Chunk]:
    done = 0
    for batch in file.iter_batches(CHUNK):
        frame = batch.to_pandas()
        frame.columns = pd.Index(names)
        yield Chunk(frame, partial(_row, path, done))
        done += len(frame)


def _row(path: Path, before: int, row: int) -> str:
    return f"{path}, row {before + row}"


@dataclass
class Features:
    """Chunks as features, by a fitted preprocessing; it counts values that no training row had."""

    preprocessing: Preprocessing
    decimal: str = "."
    rows: int = 0
    unfamiliar: dict[str, int] = field(default_factory=dict)

    def check(self, source: Source) -> None:
        """Raise a ValueError that names every column that is lacking, with the nearest one that is there."""
        lacking = [name for name in self.preprocessing.columns if name not in source.names]
        near = [(name, nearest(name, list(source.names))) for name in lacking]
        if lacking:
            said = [f"{name!r}{f' (it has {like!r})' if like else ''}" for name, like in near]
            raise InputError(
                str(source.path),
                f"lacks {len(lacking)} of the {len(self.preprocessing.columns)} columns that the model was fitted "
                "to",
                listed(said),
            )

    def __call__(self, chunk: Chunk) -> Float32[np.ndarray, "row feature"]:
        """The features of a chunk's rows."""
        preprocessing = self.preprocessing
        types = {encoding.column: encoding.takes for encoding in preprocessing.encodings}
        frame = pd.DataFrame(
            {
                name: self._numbers(chunk.frame[name]) if kind == "number" else chunk.frame[name]
                for name, kind in types.items()
            }
        )
        sheet = replace(read(frame, missing=preprocessing.missing), place=chunk.place)
        columns = settle_types(sheet, preprocessing.columns, types)
        self._count(columns)
        return preprocessing.features(columns, chunk.place)

    def warnings(self) -> Iterator[str]:
        """What to warn of once all chunks are through."""
        for name, count in self.unfamiliar.items():
            if count > UNFAMILIAR * self.rows:
                yield (
                    f"the column {name!r} has a category that no training row had in {count:,} of {self.rows:,} "
                    "rows: the model knows nothing of it there"
                )

    def _numbers(self, column: pd.Series) -> pd.Series:
        """A column of words as numbers where all are numbers or missing; else as it is, for the error to come."""
        if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
            return column
        words = column.astype(str).str.strip()
        absent = words.isin(self.preprocessing.missing) | column.isna()
        dotted = words if self.decimal == "." else words.str.replace(self.decimal, ".", regex=False)
        numbers = pd.to_numeric(dotted, errors="coerce")
        return column if (numbers.isna() & ~absent).any() else numbers.mask(absent)

    def _count(self, columns: dict[str, Plain]) -> None:
        for encoding in self.preprocessing.encodings:
            column = columns[encoding.column]
            if isinstance(encoding, OneHot) and isinstance(column, Codes):
                found = self.unfamiliar.get(encoding.column, 0) + len(encoding.unfamiliar(column))
                self.unfamiliar[encoding.column] = found
        self.rows += length(columns[self.preprocessing.columns[0]])
