"""Predictions for a file of any size: read, predicted and written a chunk at a time, in the order of its rows."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
from pyarrow.parquet import ParquetWriter

from raan.errors import InputError, Option, listed, nearest
from raan.fit.classifier import TableClassifier
from raan.io.files import write_whole
from raan.tables.media import Media
from raan.tables.preprocess import Drift
from raan.tables.read import PARQUET, TEXTS, RawTable, Source, check_columns

Write = Callable[[pd.DataFrame], None]

PREDICTION = "prediction"

WRITTEN = TEXTS | PARQUET
"""How the name of a file that is written may end; without an end it is a CSV file."""


def predict_file(
    model: TableClassifier,
    source: Source,
    kept: Sequence[str],
    write: Write,
    report: Callable[[int], None] = lambda done: None,
    media: Media = Media(),
) -> tuple[int, list[str]]:
    """Write the kept columns, the prediction and the probability of each class of every row.

    Args:
        model: the classifier.
        source: the file to predict.
        kept: the columns to write as they are.
        write: receives the frames to write.
        report: receives how much of the source's total is done.
        media: where images are.

    Returns:
        The number of rows, and what to warn of.
    """
    preprocessing, names = model.preprocessing, [probability(name) for name in model.class_names]
    _check_kept(source, kept, [PREDICTION, *names])
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
                found = {PREDICTION: model.predict_features(features)}
                found |= dict(zip(names, model.probabilities(features).T, strict=True))
            write(pd.concat([chunk.frame[list(kept)].reset_index(drop=True), pd.DataFrame(found)], axis=1))
            report(chunk.done)
    return drift.rows, list(drift.notes())


def probability(name: str) -> str:
    """The name of the column that holds a class's probability."""
    return f"probability_{name}"


def _check_kept(source: Source, kept: Sequence[str], added: Sequence[str]) -> None:
    """Raise a ValueError for a column to keep that is not there, or is called as one that is added."""
    for name in kept:
        if name not in source.names:
            near = nearest(name, list(source.names))
            raise ValueError(
                f"{source.path} has no column {name!r} to pass through.{f' Is it {near!r}?' if near else ''} Its "
                f"columns are {listed(source.names, 20)}"
            )
        if name in added:
            raise ValueError(f"{source.path} has a column {name!r}, which is what is written: rename it")


@contextmanager
def open_writer(out: Path, data: Path) -> Iterator[Write]:
    """Something that writes frames below one another into a CSV, TSV or Parquet file; "-" is standard output.

    The file is there once it is whole; a crash leaves what was there before. The data themselves are not written
    over.
    """
    if str(out) == "-":
        yield _text(sys.stdout, ",")
        return
    suffix = out.suffix.lower()
    if suffix and suffix not in WRITTEN:
        raise InputError(Option("out"), f"ends in {out.suffix!r}", ".csv, .tsv or .parquet")
    if out.exists() and out.samefile(data):
        raise ValueError(f"{out} is the data themselves, which the predictions would replace: name another file")
    with write_whole(out) as part, _parquet(part) if suffix in PARQUET else _delimited(part, suffix) as write:
        yield write


@contextmanager
def _delimited(part: Path, suffix: str) -> Iterator[Write]:
    with part.open("w", encoding="utf-8", newline="") as stream:
        yield _text(stream, "\t" if suffix in (".tsv", ".tab") else ",")


def _text(stream: Any, delimiter: str) -> Write:
    begun = False

    def write(frame: pd.DataFrame) -> None:
        nonlocal begun
        frame.to_csv(stream, sep=delimiter, index=False, header=not begun, lineterminator="\n")
        begun = True

    return write


@contextmanager
def _parquet(part: Path) -> Iterator[Write]:
    """Frames as row groups of one file, of the types that the first one has."""
    writer: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        schema = None if writer is None else writer.schema
        table = pyarrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        writer = writer or ParquetWriter(part, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
