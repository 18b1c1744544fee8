"""The rows of a file of any size, a chunk at a time, as a fitted model needs them."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Float32
from pyarrow.parquet import ParquetFile

from raan.tabular.columns import Column
from raan.tabular.delimited import blocks, place_of
from raan.tabular.frames import column_of, column_of_text
from raan.tabular.lines import Layout, TextFile, header, settle
from raan.tabular.media import Media
from raan.tabular.preprocessing import Preprocessing, Unfamiliar
from raan.tabular.reading import CHUNK, PARQUET, open_parquet
from raan.tabular.sheet import Sheet, check_columns


class Chunk(NamedTuple):
    """Some rows, none if the file has none: each column as it stands there, and what to call a row in messages."""

    batch: pa.RecordBatch
    place: Callable[[int], str]
    done: int  # of the total of the source

    def frame(self, names: Sequence[str]) -> pd.DataFrame:
        """Some columns, as they stand in the file."""
        frame: pd.DataFrame = self.batch.select(list(names)).to_pandas()
        return frame


Chunks = Generator[Chunk, None, None]
"""To be closed by whoever does not read them to the end."""


@dataclass(frozen=True)
class Source:
    """A file to read in chunks: its columns by name, and how much there is of it, in bytes or rows."""

    path: Path
    names: tuple[str, ...]
    total: int
    chunks: Callable[[], Chunks] = field(repr=False)
    decimal: str | None = None  # None where columns have types of their own


def open_source(path: Path, layout: Layout = Layout()) -> Source:
    """The file: a CSV, TSV or Parquet file."""
    path = path.expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: expected a CSV, TSV or Parquet file")
    if path.suffix.lower() in PARQUET:
        return _parquet(path)
    file = settle(path, layout)
    names = tuple(header(file))
    return Source(path, names, file.size, partial(_text_chunks, file, names), file.decimal)


def _text_chunks(file: TextFile, names: tuple[str, ...]) -> Chunks:
    """The rows of a text file, every value a word as it is written: an identifier keeps its leading zeros."""
    rows, read = 0, 0

    def report(done: int) -> None:
        nonlocal read
        read = done

    with closing(blocks(file, names, range(len(names)), report=report, empty=True)) as found:
        for block in found:
            for start in range(0, max(len(block), 1), CHUNK):  # a block without rows is one chunk
                batch = block.slice(start, CHUNK).rename_columns(list(names))
                yield Chunk(batch, partial(place_of, file, rows), read)
                rows += len(batch)


def _parquet(path: Path) -> Source:
    file = open_parquet(path)
    names = tuple(name.strip() for name in file.schema_arrow.names)
    return Source(path, names, file.metadata.num_rows, partial(_parquet_chunks, file, path, names))


def _parquet_chunks(file: ParquetFile, path: Path, names: tuple[str, ...]) -> Chunks:
    done = 0
    none = file.schema_arrow.empty_table().to_batches() or [pa.RecordBatch.from_pylist([], file.schema_arrow)]
    for batch in file.iter_batches(CHUNK) if file.metadata.num_rows else none:
        yield Chunk(batch.rename_columns(list(names)), partial(_row, path, done), done + len(batch))
        done += len(batch)


def _row(path: Path, before: int, row: int) -> str:
    return f"{path}, row {before + row}"


@dataclass
class Features:
    """Chunks as features, by a fitted preprocessing; it counts values that no training row had."""

    preprocessing: Preprocessing
    source: Source
    media: Media = Media()
    unfamiliar: Unfamiliar = field(default_factory=Unfamiliar)

    def __post_init__(self) -> None:
        check_columns(str(self.source.path), self.source.names, self.preprocessing.columns)

    def __call__(self, chunk: Chunk) -> Float32[np.ndarray, "row feature"]:
        """The features of a chunk's rows."""
        columns = {name: self._column(chunk.batch, name) for name in self.preprocessing.columns}
        sheet = Sheet(str(self.source.path), len(chunk.batch), columns, chunk.place)
        settled = self.preprocessing.settle(sheet, self.media.beside(self.source.path))
        self.unfamiliar.add(self.preprocessing.encodings, settled)
        return self.preprocessing.features(settled, chunk.place)

    def _column(self, batch: pa.RecordBatch, name: str) -> Column:
        words, absent = batch.column(batch.schema.get_field_index(name)), frozenset(self.preprocessing.missing)
        if self.source.decimal is None:
            return column_of(words.to_pandas(), absent)
        return column_of_text(words, absent, text=name in self.preprocessing.text, decimal=self.source.decimal)
