"""Delimited text (CSV, TSV) as columns: read by arrow, a block at a time.

Arrow is quick, but lenient with quotes (one that is never closed ends with the file), and counts rows, not lines.
So from the first quote on it is given what Python's csv has read, strictly; and whatever it refuses is looked for
line by line.
"""

import csv
import io
import re
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

from raan.errors import InputError
from raan.tabular.columns import Plain, join
from raan.tabular.frames import column_of_text
from raan.tabular.lines import Layout, Progress, TextFile, check, header, line_of, open_text, read_line, settle
from raan.tabular.sheet import Sheet

BLOCK = 1 << 20
"""Bytes that arrow reads at a time; a line must fit into it."""

ROWS = 5_000
"""Rows with quotes that are looked at in one go."""


def read_delimited(
    path: Path,
    layout: Layout,
    missing: Collection[str],
    *,
    text: Collection[str] = (),
    progress: Progress | None = None,
) -> Sheet:
    """The columns of a text file whose first line names them; those named in `text` are read as words."""
    file = settle(path, layout)
    names = header(file)
    named = {name: place for place, name in enumerate(names) if name}
    columns = _read(file, names, named, missing, text, lambda done: progress and progress(done, file.size))
    notes = tuple(
        f"column {place} of {path.name} has no name and is left out; name it in the first line to use it"
        for place, name in enumerate(names, 1)
        if not name
    )
    rows = len(next(iter(columns.values())))
    return Sheet(path.name, rows, {**columns}, partial(place_of, file, 0), notes)


def _read(
    file: TextFile,
    names: Sequence[str],
    named: Mapping[str, int],
    missing: Collection[str],
    text: Collection[str],
    report: Callable[[int], object],
) -> dict[str, Plain]:
    """The named columns; those that are numbers up to some block, and words there, are read again as words."""
    parts: dict[str, list[Plain]] = {name: [] for name in named}
    absent, wordy = frozenset(missing), {*text}
    with closing(blocks(file, names, [*named.values()], missing=missing, report=report)) as found:
        for block in found:
            for name, words in zip(named, block.columns, strict=True):
                column = column_of_text(words, absent, text=name in wordy, decimal=file.decimal)
                parts[name].append(column)
                if column.type == "category":
                    wordy.add(name)
    joined = {name: join(parts.pop(name)) for name in named}
    pa.default_memory_pool().release_unused()  # the features will need it
    mixed = {name: named[name] for name, column in joined.items() if column is None}
    again = _read(file, names, mixed, missing, mixed, lambda done: None) if mixed else {}
    return {name: again[name] if column is None else column for name, column in joined.items()}


def blocks(
    file: TextFile,
    names: Sequence[str],
    places: Sequence[int],
    *,
    missing: Collection[str] = (),
    report: Callable[[int], object] = lambda done: None,
    empty: bool = False,
) -> Generator[pa.RecordBatch, None, None]:
    """The columns at these places as words, so many rows at a time; null where a word stands for a missing value.

    It is reported how many bytes have been read. That there is no row is an error, unless files may be empty:
    then there is one block without rows. Whoever does not read to the end closes it.
    """
    called = [str(place) for place in range(len(names))]  # names may be empty
    readers: list[Any] = []
    streams: list[_Stream] = []
    with open_text(file.path, file.encoding) as (text, done):
        try:
            streams.append(_Stream(_pieces(file, text)))
            readers.append(
                open_csv(
                    streams[0],
                    ReadOptions(column_names=called, block_size=BLOCK),
                    ParseOptions(delimiter=_delimiter(file), newlines_in_values=True),
                    ConvertOptions(
                        column_types=dict.fromkeys(called, pa.string()),
                        include_columns=[called[place] for place in places],
                        null_values=list(missing),
                        strings_can_be_null=bool(missing),
                    ),
                )
            )
            yield from _reported(readers, lambda: report(done()))
        except (ValueError, csv.Error) as error:  # those of arrow are among them; that there is no row is one
            if check(file, names, empty=empty) == 0:
                yield pa.RecordBatch.from_pydict({called[place]: pa.array([], pa.string()) for place in places})
                return
            raise InputError(str(file.path), f"cannot be read ({error})", "rows of values") from error
        finally:
            # Its thread calls Python, and ends when nobody has the reader any more. An interruption keeps what its
            # frames hold up to the end of the interpreter, which such a thread does not survive.
            readers.clear()
            for stream in streams:
                stream.end()
    report(file.size)


def place_of(file: TextFile, before: int, row: int) -> str:
    """What a row is called in messages, `before` rows standing above the first."""
    return f"{file.path}, line {line_of(file, before + row)}"


def _reported(readers: Sequence[Any], report: Callable[[], object]) -> Iterator[pa.RecordBatch]:
    """The blocks of the one reader that have rows, one at least; each is reported once it is done with."""
    rows = 0
    while (block := next(readers[0], None)) is not None:
        rows += len(block)
        if len(block):
            yield block
        report()
    if not rows:
        raise ValueError("no rows")


def _delimiter(file: TextFile) -> str:
    """What separates the values that arrow is given: a byte."""
    return file.delimiter if file.delimiter.isascii() else ","


def _pieces(file: TextFile, text: io.TextIOWrapper) -> Iterator[str]:
    """The lines after the header, many at a time, without space that begins a line or a value."""
    following = partial(read_line, file, text)
    next(row for row in file.reader(iter(following, "")) if len(row) > 1 or any(row))
    space = re.compile(rf"(^|[\r\n{re.escape(file.delimiter)}]) +")
    while piece := text.read(BLOCK):
        piece += following()
        if '"' in piece or not file.delimiter.isascii():
            yield from _quoted(file, chain(io.StringIO(piece, newline=""), iter(following, "")))
            return
        yield space.sub(r"\1", piece) if _is_spaced(file, piece) else piece


def _quoted(file: TextFile, lines: Iterator[str]) -> Iterator[str]:
    """The lines once Python's csv has read them, strictly; written anew where arrow would read them otherwise."""
    taken: list[str] = []

    def take() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    reader = file.reader(take())
    while widths := list(map(len, islice(reader, ROWS))):
        piece = "".join(taken)
        taken.clear()
        alike = file.delimiter.isascii() and min(widths) > 1 and not _is_spaced(file, piece)
        yield piece if alike else _rewritten(file, piece)


def _rewritten(file: TextFile, piece: str) -> str:
    """The rows of the piece without space at the beginning of values, and without blank ones."""
    out, rows = io.StringIO(), file.reader(io.StringIO(piece, newline=""))
    csv.writer(out, delimiter=_delimiter(file)).writerows(row for row in rows if len(row) > 1 or any(row))
    return out.getvalue()


def _is_spaced(file: TextFile, piece: str) -> bool:
    """Whether a line or a value may begin with space; quicker than to search for it."""
    return piece.startswith(" ") or any(f"{mark} " in piece for mark in ("\r", "\n", file.delimiter))


class _Stream:
    """Pieces of text as a stream of bytes that arrow can read."""

    closed = False

    def __init__(self, pieces: Iterator[str]) -> None:
        self.pieces, self.rest = pieces, b""
        self.busy, self.ended = Lock(), False

    def end(self) -> None:
        """Have no more to give, once arrow's thread is done with what it reads: it must not outlive Python."""
        self.ended = True
        with self.busy:
            self.rest = b""

    def read(self, size: int) -> bytes:
        with self.busy:
            return b"" if self.ended else self._read(size)

    def _read(self, size: int) -> bytes:
        while not self.ended and len(self.rest) < size and (piece := next(self.pieces, None)) is not None:
            if "\0" in piece:
                raise ValueError("a NUL byte")
            self.rest += piece.encode()
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def close(self) -> None:
        self.closed = True
