"""Predictions for a file of any size: read, predicted and written a chunk at a time, in the order of its rows."""

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
from pandas.api import types
from pyarrow.parquet import ParquetWriter, read_schema

from raan.errors import InputError, Option
from raan.fit.classifier import TableClassifier
from raan.io import load
from raan.io.files import inside, write_whole
from raan.tables.media import Media
from raan.tables.preprocess import Drift
from raan.tables.read import PARQUET, TABBED, TEXTS, RawTable, Source, check_columns
from raan.text import guard_cell, replace_controls

Write = Callable[[pd.DataFrame], None]

PREDICTION = "prediction"

WRITTEN = TEXTS | PARQUET
"""How the name of a file that is written may end; without an end it is a CSV file."""


def predict_file(
    model: TableClassifier,
    source: Source,
    kept: Sequence[str],
    write: Write,
    report: Callable[[int, int], None] = lambda done, rows: None,
    media: Media = Media(),
) -> Drift:
    """Write the kept columns, the prediction and the probability of each class of every row.

    Args:
        model: the classifier.
        source: the file to predict.
        kept: the columns to write as they are.
        write: receives the frames to write.
        report: receives how much of the source's total is done, and how many rows.
        media: where images are.

    Returns:
        The number of rows, and how they differ from the training rows.
    """
    preprocessing, names = model.preprocessing, [probability(name) for name in model.class_names]
    check_columns(str(source.path), source.names, kept, "to pass through")
    if clash := {*kept} & {PREDICTION, *names}:
        came = f"has a column {min(clash)!r}, which is what is written"
        raise InputError(str(source.path), came, "another name", "rename it")
    check_columns(str(source.path), source.names, preprocessing.columns)
    columns = [name for name in source.names if name in {*kept, *preprocessing.columns}]
    drift, missing, beside = Drift(), preprocessing.missing, media.beside(source.path)
    with closing(source.read(columns, preprocessing.text, kept, missing)) as chunks:
        for chunk in chunks:
            found = {PREDICTION: np.array([], dtype=object), **dict.fromkeys(names, np.array([], dtype=float))}
            if len(chunk.frame):
                read = source.normalise(chunk, preprocessing.columns, preprocessing.text, missing)
                table = RawTable(str(source.path), read, source.place, decimal=source.decimal)
                features = preprocessing.encode(table, beside, drift)
                decided, of_class = model.predict_both(features)
                found = {PREDICTION: decided, **dict(zip(names, of_class.T, strict=True))}
            write(pd.concat([chunk.frame[list(kept)].reset_index(drop=True), pd.DataFrame(found)], axis=1))
            report(chunk.done, drift.rows)
    return drift


def keep_columns(source: Source, named: Sequence[str] | None) -> list[str]:
    """Return the columns to pass through, each once; None stands for all."""
    return [name for name in source.names if name] if named is None else list(dict.fromkeys(named))


def find_model(folder: Path) -> Path:
    """Return the folder of a model: the one that `raan fit` wrote has it in the folder `model`."""
    inner = inside(folder, "model")
    return inner if inner.is_dir() else folder


def load_model(folder: Path) -> TableClassifier:
    """Load the model of a folder of `raan fit`, or of the folder `model` within it."""
    model = load(find_model(folder))
    if not isinstance(model, TableClassifier):
        raise ValueError(
            f"{folder} holds a {type(model).__name__}, which knows of features, not of columns; expected what "
            "`raan fit` wrote. In Python raan.load(...).predict(X) takes features"
        )
    return model


def probability(name: str) -> str:
    """The name of the column that holds a class's probability."""
    return f"probability_{name}"


@contextmanager
def open_writer(out: Path, data: Path) -> Iterator[Write]:
    """Give what writes frames below one another into a CSV, TSV or Parquet file; "-" is standard output.

    The file is there once it is whole; a crash leaves what was there before. The data themselves are not written
    over.
    """
    if str(out) == "-":
        yield TextWriter(sys.stdout, ",")
        return
    suffix = out.suffix.lower()
    if suffix and suffix not in WRITTEN:
        raise InputError(Option("out"), f"ends in {out.suffix!r}", ".csv, .tsv or .parquet")
    if out.exists() and out.samefile(data):
        raise ValueError(f"{out} is the data themselves, which the predictions would replace: name another file")
    with write_whole(out) as part:
        if suffix in PARQUET:
            with _parquet(part, data) as write:
                yield write
        else:
            with part.open("w", encoding="utf-8", newline="") as stream:
                yield TextWriter(stream, "\t" if suffix in TABBED else ",")


class TextWriter:
    """Write frames below one another as delimited text that neither a spreadsheet nor a terminal executes.

    Text that begins as a formula does gets an apostrophe, which raan's own reading takes away again. Control
    characters are replaced, and `notes` counts the cells.
    """

    def __init__(self, stream: Any, delimiter: str) -> None:
        self.stream, self.delimiter, self.begun, self.replaced = stream, delimiter, False, 0

    def __call__(self, frame: pd.DataFrame) -> None:
        """Write the rows of a frame, after its columns' names if it is the first."""
        cells = {name: self._make_harmless(column) for name, column in frame.items()}
        names = [guard_cell(replace_controls(str(name))) for name in frame.columns]
        returns = any(isinstance(cell, str) and "\r" in cell for column in cells.values() for cell in column)
        pd.DataFrame(cells).to_csv(
            self.stream,
            sep=self.delimiter,
            index=False,
            header=False if self.begun else names,
            lineterminator="\n",
            quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL,  # the latter overlooks carriage returns
        )
        self.begun = True

    def _make_harmless(self, column: pd.Series) -> Any:
        if types.is_numeric_dtype(column.dtype):
            return column
        words = column.astype(object)
        safe = [guard_cell(replace_controls(word)) if isinstance(word, str) else word for word in words]
        self.replaced += sum(
            "\ufffd" in new and "\ufffd" not in old
            for old, new in zip(words, safe, strict=True)
            if isinstance(old, str)
        )
        return pd.Series(safe, column.index, dtype=object)

    @property
    def notes(self) -> list[str]:
        """Return a note on the cells that are not written as they were."""
        return note_replaced(self.replaced)


def note_replaced(cells: int) -> list[str]:
    """Return a note on so many cells that are not written as they were."""
    said = f"{cells:,} cells have control characters, which are written as U+FFFD; a Parquet file would keep them"
    return [said] if cells else []


@contextmanager
def _parquet(part: Path, data: Path) -> Iterator[Write]:
    """Frames as row groups of one file, of the types that the first one has.

    A column of which the first one has no value is of the type that it has in the data.
    """
    writer: Any = None

    def complete(schema: pyarrow.Schema) -> pyarrow.Schema:
        own = read_schema(data) if data.suffix.lower() in PARQUET else ()
        known = {each.name.strip(): each.type for each in own}
        unknown = {each.name for each in schema if pyarrow.types.is_null(each.type)}
        types = {each.name: known.get(each.name, pyarrow.string()) for each in schema if each.name in unknown}
        return pyarrow.schema([pyarrow.field(each.name, types.get(each.name, each.type)) for each in schema])

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        if writer is None:
            schema = pyarrow.Schema.from_pandas(frame, preserve_index=False)
            writer = ParquetWriter(part, complete(schema))
        writer.write_table(pyarrow.Table.from_pandas(frame, schema=writer.schema, preserve_index=False))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
