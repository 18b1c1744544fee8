"""Delimited text (CSV, TSV) as columns: its lines are checked, then read in chunks."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from raan.errors import InputError
from raan.fairness.groups import Codes
from raan.tabular.columns import Plain, Sheet, Strange, column_of, join, length, numbers_from_words
from raan.tabular.lines import Layout, Progress, TextFile, check, line_of, opened, settle

CHUNK = 100_000  # rows


def read_delimited(
    path: Path,
    layout: Layout,
    missing: Collection[str],
    *,
    text: Collection[str] = (),
    progress: Progress | None = None,
) -> Sheet:
    """The columns of a text file whose first line names them; those named in `text` are read as words.

    The file is gone through twice, which is what the progress counts: its lines are checked, since pandas
    would fill rows that are too short, and then read.
    """
    file = settle(path, layout)
    tell = progress or (lambda done, total: None)
    names, rows = check(file, lambda done: tell(done, 2 * file.size))
    named = {name: place for place, name in enumerate(names) if name}
    columns = _read(file, len(names), named, missing, text, lambda done: tell(file.size + done, 2 * file.size))
    _check_rows(file, rows, columns)
    notes = tuple(
        f"column {place} of {path.name} has no name and is left out; name it in the first line to use it"
        for place, name in enumerate(names, 1)
        if not name
    )
    return Sheet(path.name, rows, {**columns}, partial(_place, file), notes)


def _read(
    file: TextFile,
    width: int,
    named: Mapping[str, int],
    missing: Collection[str],
    text: Collection[str],
    told: Callable[[int], None],
) -> dict[str, Plain]:
    """The named columns; where a chunk holds numbers and another words, all are read again as words."""
    parts: dict[str, list[Plain]] = {name: [] for name in named}
    for chunk in _chunks(file, width, missing, [named[name] for name in named if name in text], told):
        for name, place in named.items():
            column = column_of(chunk[place], frozenset(missing))
            assert not isinstance(column, Strange)  # text holds numbers and words only
            parts[name].append(column)
    joined = {name: join(parts.pop(name)) for name in named}
    mixed = {name: named[name] for name, column in joined.items() if column is None}
    again = _read(file, width, mixed, missing, mixed, lambda done: None) if mixed else {}
    columns = {name: again[name] if column is None else column for name, column in joined.items()}
    return {name: column if name in text else _plain(column) for name, column in columns.items()}


def _chunks(
    file: TextFile, width: int, missing: Collection[str], text: Collection[int], told: Callable[[int], None]
) -> Iterator[pd.DataFrame]:
    """The file as pandas reads it, so many rows at a time."""
    with opened(file.path, file.encoding) as (stream, done):
        chunks = pd.read_csv(
            stream,
            sep=file.delimiter,
            decimal=file.decimal,
            header=0,
            names=range(width),
            index_col=False,
            dtype=dict.fromkeys(text, str),
            keep_default_na=False,
            na_values=list(missing),
            skipinitialspace=True,
            low_memory=False,  # it would settle types by parts of a chunk
            chunksize=CHUNK,
        )
        for chunk in chunks:
            yield chunk
            told(done())


def _plain(column: Plain) -> Plain:
    """Numbers, where every word spells one: space around them made them words to pandas."""
    numbers = numbers_from_words(column) if isinstance(column, Codes) and column.names else None
    return column if numbers is None else numbers


def _check_rows(file: TextFile, rows: int, columns: Mapping[str, Plain]) -> None:
    """Raise a ValueError where pandas and the check of the lines do not see the same rows."""
    read = {length(column) for column in columns.values()}
    if read != {rows}:
        raise InputError(str(file.path), f"has {rows:,} rows by its lines, but {read} as read", "quotes in pairs")


def _place(file: TextFile, row: int) -> str:
    return f"{file.path}, line {line_of(file, row)}"
