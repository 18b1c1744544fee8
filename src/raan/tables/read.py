"""Read tables: delimited text and Parquet files by pandas and pyarrow, in chunks, and frames of pandas or polars.

Training and prediction read a table by the same code: a `Source` gives the chunks of a file, and
`raan.tables.columns.normalise` turns the columns of a chunk, or of a frame, into numbers and categories.

pandas accepts some malformed text in silence: rows with too few values, text after a closing quote, NUL bytes. So
what it parses is scanned on the way, and a file that looks suspicious, or that pandas refuses, is read once more
by Python's strict csv module, whose errors name the line.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Float, Int
from pyarrow.parquet import ParquetFile

from raan.errors import InputError, InputTypeError, Message, Option, listed, nearest
from raan.tables.columns import MISSING, Place, Type, check_column, join, normalise, type_of
from raan.text import unguard_cell

Progress = Callable[[int, int | None], None]
"""A callback that receives how much is done, and the total where it is known."""

TEXTS = {".csv", ".tsv", ".tab", ".txt", ".data"}  # also with .gz
PARQUET = {".parquet", ".pq"}
TABBED = {".tsv", ".tab"}
DELIMITERS = ",;\t|"

CHUNK = 10_000  # rows: the models of more rows at once would take up to three times as long, out of the cache
_NULLABLE: dict[pa.DataType, Any] = {  # whole numbers stay whole where some are missing
    getattr(pa, f"{sign.lower()}int{bits}")(): getattr(pd, f"{sign}Int{bits}Dtype")()
    for sign in ("", "U")
    for bits in (8, 16, 32, 64)
}
HEAD = 1_000  # rows in which numbers with leading zeros are looked for
_PADDED = re.compile(r"0\d+")
_INDEX = re.compile(r"__index_level_\d+__")  # a column in which pandas keeps an index without a name
_SURROGATES = re.compile("[\ud800-\udfff]")  # bytes that cannot be decoded come as these
SEPARATOR = "\x1f"  # what a delimiter outside of ASCII is replaced with: pandas does not take it

SAMPLE = 1 << 16  # characters from which the delimiter is guessed
MAX_LINE = 1 << 20  # characters
BYTES_PER_VALUE = 40  # what a value takes while a table is prepared, to see how many rows fit into memory


@dataclass(frozen=True)
class Layout:
    """How a text file is written.

    A byte order mark at the beginning of a file overrides `encoding`.

    Attributes:
        delimiter: the character between values; None takes a tab for .tsv files and guesses otherwise.
        encoding: the encoding of the text.
        decimal: the decimal mark, also of numbers that are text in a frame or a Parquet file.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."

    def __post_init__(self) -> None:
        for what, mark in (("delimiter", self.delimiter), ("decimal", self.decimal)):
            if mark is not None and len(mark) != 1:
                raise InputError(Option(what), f"is {mark!r}", "one character")
        if self.decimal.isalnum() or self.decimal in "+-_ \t":
            raise InputError(Option("decimal"), f"is {self.decimal!r}", "'.' or ','")
        try:  # codecs such as hex are known by name, but do not decode to text
            line = io.BytesIO("1\n".encode(self.encoding))
            io.TextIOWrapper(line, self.encoding, errors="surrogateescape").read()
        except (LookupError, ValueError) as error:
            expected = "a text encoding, such as 'utf-8' or 'latin-1'"
            raise InputError(Option("encoding"), f"is {self.encoding!r}", expected) from error


@dataclass(frozen=True, eq=False)
class RawTable:
    """Normalised columns, with the names of the table and of its rows for messages.

    The index of `frame` is the position of each row in the table as it was read, which `place` takes.
    """

    name: str
    frame: pd.DataFrame
    place: Place
    notes: tuple[str, ...] = ()
    decimal: str = "."
    padded: Mapping[str, str] = field(default_factory=dict)  # a number with leading zeros of each such column
    drawn_of: int = 0  # the rows of the file that these were drawn from, chunk by chunk; 0 if they were not

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [str(name) for name in self.frame.columns]

    def locate(self, row: int) -> str:
        """Return the name of a row, such as "people.csv, line 7"."""
        return self.place(int(self.frame.index[row]))

    def take(self, rows: Int[np.ndarray, "kept"]) -> RawTable:
        """Return the table with these rows only."""
        return replace(self, frame=self.frame.take(rows))

    def check(self, names: Collection[str], types: Mapping[str, Type]) -> dict[str, pd.Series]:
        """Return these columns, each as the type that is asked for; see `check_column`."""
        return {
            name: check_column(self.frame[name], types.get(name), name, self.locate, self.decimal)
            for name in names
        }

    def check_names(self, names: Collection[str], argument: str) -> None:
        """Raise an InputError at the first name that is not a column's, with the nearest one that is."""
        columns = self.names
        for name in names:
            if name not in columns:
                near = nearest(name, columns)
                raise InputError(
                    Option(argument),
                    f"names the column {name!r}, which {self.name} does not have",
                    f"one of {listed(columns, 20)}",
                    f"is it {near!r}?" if near else "",
                )

    def match(self, patterns: Iterable[str], spared: Collection[str] = ()) -> tuple[str, ...]:
        """Return the columns to ignore, by name or by patterns such as *_id, which match no spared column."""
        columns = self.names
        found: list[str] = []
        for name in patterns:
            if name in columns or not set("*?[") & set(name):
                self.check_names([name], "ignore")
                found.append(name)
                continue
            matched = [column for column in columns if fnmatchcase(column, name) and column not in spared]
            if not matched:
                came = f"is the pattern {name!r}, which matches no column of {self.name}"
                raise InputError(Option("ignore"), came, f"one that does; they are {listed(columns, 20)}")
            found += [column for column in matched if column not in found]
        return tuple(found)


def check_columns(
    name: str, found: Sequence[str], columns: Collection[str], which: str = "that the model was fitted to"
) -> None:
    """Raise an InputError that names every column that is not found, with the nearest one that is."""
    lacking = [column for column in columns if column not in found]
    if lacking:
        near = [(column, nearest(column, found)) for column in lacking]
        expected = [f"{column!r}{f' (it has {like!r})' if like else ''}" for column, like in near]
        raise InputError(name, f"lacks {len(lacking)} of the {len(columns)} columns {which}", listed(expected))


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
) -> RawTable:
    """Read a frame or file.

    Args:
        frame: a DataFrame of pandas or polars, or the path of a CSV, TSV or Parquet file.
        missing: the words that mean a missing value.
        text: the columns whose numbers are category names.
        layout: how a text file is written.
        progress: a callback for long files.
        argument: the name of the frame in messages.
        max_rows: the number of rows to draw from a larger table; a Parquet file that does not fit into memory is
            sampled in any case.
        seed: the seed of that draw.
    """
    if isinstance(frame, str | os.PathLike):
        return _read_file(open_source(Path(frame), layout), missing, text, progress, max_rows, seed)
    whole: Any = frame
    if not isinstance(frame, pd.DataFrame):
        if not (hasattr(frame, "to_numpy") and hasattr(frame, "columns")):
            expected = "a DataFrame of pandas or polars (collect a lazy one first), or the path of a CSV, TSV or "
            raise InputTypeError(argument, f"is a {type(frame).__name__}", f"{expected}Parquet file")
        whole = pd.DataFrame({name: whole[name].to_numpy() for name in whole.columns})  # polars is not imported
    names = _check_names(argument, [str(column) for column in whole.columns])
    if whole.empty:
        raise InputError(argument, f"has {len(whole)} rows and {len(names)} columns", "at least one of each")
    columns = {
        name: normalise(whole.iloc[:, place], missing, text=name in text, decimal=layout.decimal)
        for place, name in enumerate(names)
    }
    normalised = pd.DataFrame({name: column.reset_index(drop=True) for name, column in columns.items()})
    padded = _find_padded({name: whole.iloc[:HEAD, place] for place, name in enumerate(names)})
    table = RawTable(argument, normalised, lambda row: f"{argument}, row {row}", (), layout.decimal, padded)
    return _draw(table, max_rows, seed)


def read_weight(
    table: RawTable, name: str | int | np.integer | None, *, allow_zeros: bool = False
) -> Float[np.ndarray, "row"] | None:
    """Return what each row counts; that all rows count nothing is allowed of a part of a table only."""
    if name is None:
        return None
    column = table.check([str(name)], {str(name): "number"})[str(name)]
    weight = column.to_numpy(dtype=np.float64)
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any() or not (allow_zeros or weight.any()):
        row = int(wrong.argmax())
        where = f"{table.locate(row)}: the weight {name!r}"
        raise InputError(where, f"is {weight[row]:g}", "numbers from 0 up, not all of them 0")
    return weight


def _check_names(name: str, columns: Sequence[str]) -> list[str]:
    """Return the names without surrounding space; an InputError if two are then the same."""
    stripped = [column.strip() for column in columns]
    twice = next((column for column, count in Counter(stripped).items() if column and count > 1), None)
    if twice is not None:
        came = f"has {stripped.count(twice)} columns called {twice!r}"
        raise InputError(name, came, "one", "rename all but one")
    return stripped


def _find_padded(head: Mapping[str, Iterable[object]]) -> dict[str, str]:
    """Return a number with leading zeros, such as 00123, from each column that has one in its first rows."""
    words = {name: (word.strip() for word in column if isinstance(word, str)) for name, column in head.items()}
    found = {name: next(filter(_PADDED.fullmatch, column), "") for name, column in words.items()}
    return {name: word for name, word in found.items() if word}


def _draw(table: RawTable, most: int | None, seed: int) -> RawTable:
    """Draw so many rows of a larger table, with a note."""
    rows = len(table.frame)
    if most is None or rows <= most:
        return table
    drawn = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False, shuffle=False))
    return replace(table.take(drawn), notes=(*table.notes, _note_drawn(table.name, rows, most)))


def _note_drawn(name: str, rows: int, drawn: int) -> str:
    return f"{name} has {rows:,} rows; {drawn:,} of them, drawn at random by the seed, are read into memory"


class Chunk(NamedTuple):
    """Some rows of a file: columns as pandas has read them, indexed by their position in the file."""

    frame: pd.DataFrame
    done: int  # of the source's total


Chunks = Generator[Chunk, None, None]
"""Chunks of a file, which stays open until they are read to the end or closed."""


@dataclass(frozen=True)
class Source:
    """A file to be read in chunks.

    Attributes:
        path: the file.
        names: its columns.
        total: its size, in bytes of text or rows of Parquet.
        place: the name of a row for messages.
        read: gives the chunks. Its arguments are the columns to read, those of them that are text, those that are
            kept as they are written, and the words that mean a missing value.
        read_head: gives the first rows of each column, as they are written.
        rows: the number of rows, where it is known beforehand.
        decimal: the decimal mark of numbers that are spelt as text.
    """

    path: Path
    names: tuple[str, ...]
    total: int
    place: Place
    read: Callable[[Sequence[str], Collection[str], Collection[str], Collection[str]], Chunks] = field(repr=False)
    read_head: Callable[[], Mapping[str, Iterable[object]]] = field(repr=False)
    rows: int | None = None
    decimal: str = "."

    def normalise(
        self, chunk: Chunk, columns: Sequence[str], text: Collection[str], missing: Collection[str]
    ) -> pd.DataFrame:
        """Return columns of a chunk as numbers and categories."""
        found = {
            name: normalise(chunk.frame[name], missing, text=name in text, decimal=self.decimal)
            for name in columns
        }
        return pd.DataFrame(found, copy=False)


def open_source(path: Path, layout: Layout = Layout()) -> Source:
    """Open a CSV, TSV or Parquet file."""
    path = path.expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file; expected a CSV, TSV or Parquet file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] and suffixes[-1] in PARQUET:
        return _open_parquet(path, layout.decimal)
    if not TEXTS.intersection(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:]):
        raise InputError(str(path), f"ends in {path.suffix!r}", f"one of {', '.join(sorted(TEXTS | PARQUET))}")
    return _open_text(path, layout)


def _read_file(
    source: Source,
    missing: Collection[str],
    text: Collection[str],
    progress: Progress | None,
    max_rows: int | None,
    seed: int,
) -> RawTable:
    """Read all rows of a file, or a sample drawn chunk by chunk where their number is known and too large."""
    named = [name for name in source.names if name]
    most = min(count_rows_in_memory(len(named)), sys.maxsize if max_rows is None else max_rows)
    sampled = source.rows is not None and source.rows > most
    rng, lacking, left = np.random.default_rng(seed), most, source.rows or 0
    padded = _find_padded(source.read_head())
    parts: dict[str, list[pd.Series]] = {name: [] for name in named}
    index = []
    for chunk in source.read(named, text, (), missing):
        frame = chunk.frame
        if sampled:
            count = int(rng.hypergeometric(lacking, left - lacking, len(frame)))
            left, lacking = left - len(frame), lacking - count
            frame = frame.take(np.sort(rng.choice(len(frame), count, replace=False, shuffle=False)))
        index.append(frame.index.to_numpy())
        read = source.normalise(Chunk(frame, chunk.done), named, text, missing)
        for name in named:
            parts[name].append(read[name])
        if progress:
            progress(chunk.done, source.total)
    columns = {name: join(parts.pop(name)) for name in named}
    mixed = [name for name, column in columns.items() if column is None]
    if mixed and not sampled:  # numbers in some chunks, words in others: keep the numbers as they are written
        for name in mixed:
            again = source.read([name], [name], (), missing)
            columns[name] = join([source.normalise(chunk, [name], [name], missing)[name] for chunk in again])
    elif mixed:
        raise InputError(str(source.path), f"has numbers and words in the column {mixed[0]!r}", "one or the other")
    rows = np.concatenate(index)
    if not len(rows):
        raise InputError(str(source.path), f"names its columns ({listed(named)}) and ends", "rows of values")
    notes = [
        f"column {place} of {source.path.name} has no name and is left out; name it in the first line to use it"
        for place, name in enumerate(source.names, 1)
        if not name
    ]
    if sampled:
        notes.append(_note_drawn(source.path.name, source.rows or 0, most))
    frame = pd.DataFrame(columns, copy=False).set_axis(rows)
    drawn_of = source.rows or 0 if sampled else 0
    table = RawTable(source.path.name, frame, source.place, tuple(notes), source.decimal, padded, drawn_of)
    return table if sampled else _draw(table, max_rows, seed)


def count_rows_in_memory(columns: int) -> int:
    """Return how many rows half of this machine's memory holds; without limit where its size is unknown."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not a Unix
        return sys.maxsize
    return max(memory // 2 // (BYTES_PER_VALUE * max(columns, 1)), 1)


def _open_parquet(path: Path, decimal: str) -> Source:
    """Open a Parquet file, mapped into memory: otherwise arrow holds a whole row group."""
    try:
        file = ParquetFile(path, memory_map=True)
    except (ValueError, OSError) as error:  # those of pyarrow are among them
        raise InputError(str(path), f"cannot be read ({error})", "a Parquet file") from error
    named = ["" if _INDEX.fullmatch(name) else name for name in file.schema_arrow.names]
    names = tuple(_check_names(str(path), named))
    rows = file.metadata.num_rows

    def read(
        columns: Sequence[str], text: Collection[str], kept: Collection[str], missing: Collection[str]
    ) -> Chunks:
        places = [names.index(name) for name in columns]
        done = 0
        try:
            batches = file.iter_batches(CHUNK) if rows else [pa.RecordBatch.from_pylist([], file.schema_arrow)]
            for batch in batches:
                frame = batch.select(places).to_pandas(
                    split_blocks=True, types_mapper=_NULLABLE.get, ignore_metadata=True
                )
                del batch
                frame = frame.set_axis(list(columns), axis=1).set_axis(range(done, done + len(frame)))
                done += len(frame)
                yield Chunk(frame, done)
        except (ValueError, OSError) as error:
            raise InputError(str(path), f"cannot be read ({error})", "a Parquet file") from error

    def read_head() -> Mapping[str, Iterable[object]]:
        with suppress(ValueError, OSError, StopIteration):  # a damaged file is refused when it is read
            batch = next(file.iter_batches(HEAD))
            return {name: batch.column(place).to_pylist() for place, name in enumerate(names) if name}
        return {}

    return Source(path, names, rows, lambda row: f"{path.name}, row {row}", read, read_head, rows, decimal)


@dataclass(frozen=True)
class TextFile:
    """A text file, its delimiter and its encoding."""

    path: Path
    delimiter: str = ","
    encoding: str = "utf-8-sig"

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """Parse the file: each row with the number of the line that it begins on; blank lines are skipped.

        Raises:
            InputError: at the first line that holds a NUL byte, bytes of another encoding, or misplaced quotes, or
                that is longer than `MAX_LINE` characters.
        """
        begin = 1
        with open_text(self.path, self.encoding) as (text, _):
            csv.field_size_limit(MAX_LINE)
            checked = self._check_lines(text)
            rows = csv.reader(checked, delimiter=self.delimiter, skipinitialspace=True, strict=True)
            try:
                for row in rows:
                    if len(row) > 1 or any(value.strip() for value in row):
                        yield begin, row
                    begin = rows.line_num + 1
            except csv.Error as error:
                raise self.fault(begin, f"cannot be read ({error})", "quotes in pairs around values") from error

    def _check_lines(self, text: io.TextIOWrapper) -> Iterator[str]:
        """Give the lines of a text, up to an error at the first that no text file has."""
        for number, line in enumerate(iter(partial(text.readline, MAX_LINE), ""), 1):
            if len(line) == MAX_LINE and line[-1] not in "\r\n":
                came = f"has more than {MAX_LINE:,} characters"
                raise self.fault(number, came, "shorter ones", "is the file of another kind?")
            if "\0" in line:
                option = Option("encoding", "utf-16", python="Layout(encoding='utf-16')")
                remedy = Message("is the file of another kind, or damaged, or in UTF-16 (", option, ")?")
                raise self.fault(number, "has a NUL byte", "text, which holds none", remedy)
            if found := _SURROGATES.search(line):
                option = Option("encoding", "latin-1", python="Layout(encoding='latin-1')")
                remedy = Message("save the file as UTF-8, or name its encoding, such as ", option)
                byte = hex(ord(found[0]) - 0xDC00)
                raise self.fault(number, f"has the byte {byte}", self.encoding.removesuffix("-sig"), remedy)
            yield line

    def check_rows(self, names: Sequence[str]) -> None:
        """Raise an InputError at the first row that is malformed or has another number of values."""
        for line, row in self.lines():
            if len(row) != len(names):
                raise self.fault(line, f"has {len(row)} values", f"{len(names)} ({listed(names)})")

    def fault(self, line: int, came: str, expected: str, remedy: str = "") -> InputError:
        """Return the error for a line."""
        return InputError(f"{self.path}, line {line}", came, expected, remedy)


@contextmanager
def open_text(path: Path, encoding: str = "utf-8-sig") -> Iterator[tuple[io.TextIOWrapper, Callable[[], int]]]:
    """Open a text file, unpacked if it ends in .gz; with it comes a function that gives the bytes read so far."""
    with path.open("rb") as raw:
        body = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
        text = io.TextIOWrapper(body, encoding, errors="surrogateescape", newline="")
        try:
            yield text, raw.tell
        except (UnicodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(str(path), f"cannot be read ({error})", "text") from error


def _open_text(path: Path, layout: Layout) -> Source:
    """Open a text file: find its encoding, its delimiter and the names of its columns."""
    if not path.stat().st_size:
        raise InputError(str(path), "is empty", "a line that names the columns, then one for each row")
    with path.open("rb") as raw:
        mark = raw.read(4)
    encoding = "utf-8-sig" if layout.encoding.lower() in ("utf-8", "utf8") else layout.encoding
    if mark in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        encoding = "utf-32"
    elif mark[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    suffix = Path(path.stem if path.suffix == ".gz" else path).suffix.lower()
    delimiter = layout.delimiter or ("\t" if suffix in TABBED else _guess_delimiter(path, encoding))
    file = TextFile(path, delimiter, encoding)
    names = tuple(_read_header(file))

    def place(row: int) -> str:
        return f"{path.name}, line {next(islice(file.lines(), row + 1, None))[0]}"

    def read(
        columns: Sequence[str], text: Collection[str], kept: Collection[str], missing: Collection[str]
    ) -> Chunks:
        return _read_chunks(file, names, columns, text, kept, missing, layout.decimal)

    def read_head() -> Mapping[str, Iterable[object]]:
        rows = [row for _, row in islice(file.lines(), 1, HEAD + 1) if len(row) == len(names)]
        return {name: [row[place] for row in rows] for place, name in enumerate(names) if name}

    return Source(path, names, path.stat().st_size, place, read, read_head, decimal=layout.decimal)


def _read_header(file: TextFile) -> list[str]:
    """Return the names of the columns; an InputError unless the first line can be names, each of them once."""
    line, row = next(file.lines(), (1, []))
    names = [unguard_cell(name.strip()) for name in row]
    if not any(names):
        raise file.fault(line, "has no names of columns", "them on the first line that is not blank")
    other = next((each for each in DELIMITERS if each != file.delimiter and each in names[0]), None)
    if len(names) == 1 and other:
        found = f"has one column only, {names[0]!r}, by the delimiter {file.delimiter!r}"
        option = Option("delimiter", other, python=f"Layout(delimiter={other!r})")
        raise file.fault(line, found, "several", Message(f"is it {other!r}? Then pass ", option))
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        places = " and ".join(str(place) for place, name in enumerate(names, 1) if name == twice[0])
        raise file.fault(line, f"gives the name {twice[0]!r} to columns {places}", "one", "rename all but one")
    return names


def _guess_delimiter(path: Path, encoding: str) -> str:
    """Return the delimiter by which most lines of a sample are as wide as the first; a comma if none is."""
    with open_text(path, encoding) as (text, _):
        sample = text.read(SAMPLE)
    lines = sample.splitlines(keepends=True)
    lines = lines[:-1] if len(sample) == SAMPLE and len(lines) > 1 else lines  # the last may be cut

    def agreement(delimiter: str) -> tuple[float, int]:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if row]
        except csv.Error:
            return 0.0, 0
        return (widths.count(widths[0]) / len(widths), widths[0]) if widths and widths[0] > 1 else (0.0, 0)

    return max(DELIMITERS, key=agreement)


def _read_chunks(
    file: TextFile,
    names: Sequence[str],
    columns: Sequence[str],
    text: Collection[str],
    kept: Collection[str],
    missing: Collection[str],
    decimal: str,
) -> Chunks:
    """Parse a text file with pandas, and check what pandas does not; one empty chunk if there are no rows.

    Columns that are kept are text as it is written; words for missing values are left to `normalise` there.
    """
    called = {name: str(place) for place, name in enumerate(names)}  # names may be empty
    wanted = [called[name] for name in columns]
    with open_text(file.path, file.encoding) as (stream, done), warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.ParserWarning)  # too many values, which the scan sees
        scan = _Scan(file, stream, len(names) - 1)
        try:
            parsed = pd.read_csv(  # type: ignore[call-overload]
                scan,
                sep=file.delimiter if file.delimiter.isascii() else SEPARATOR,
                header=0,
                names=[str(place) for place in range(len(names))],
                usecols=wanted,
                index_col=False,
                dtype={called[name]: str for name in columns if name in text or name in kept},
                keep_default_na=False,
                na_values={called[name]: [] if name in kept else list(missing) for name in columns},
                decimal=decimal,
                skipinitialspace=True,
                chunksize=CHUNK,
                low_memory=False,
                encoding_errors="surrogateescape",
            )
            for frame in parsed:
                frame = frame[wanted].set_axis(list(columns), axis=1)
                for name in kept:
                    if frame[name].str.startswith("'").any():
                        frame[name] = frame[name].map(unguard_cell)
                yield Chunk(frame, done())
        except (ValueError, OverflowError) as error:  # those of pandas are among them
            if isinstance(error, InputError):
                raise
            file.check_rows(names)
            raise InputError(str(file.path), f"cannot be read ({error})", "rows of values") from error
        if scan.suspicious or scan.is_uneven([scan.begun]):
            file.check_rows(names)


class _Scan:
    """Text on its way to pandas, scanned for what pandas accepts in silence."""

    def __init__(self, file: TextFile, text: io.TextIOWrapper, delimiters: int) -> None:
        self.file, self.text = file, text
        self.delimiters = delimiters  # outside quotes, in every row
        self.begun = ""  # what was read of the last row, outside quotes
        self.suspicious = False  # whether text follows a closing quote, or a row has other delimiters
        self.quoted = False  # whether a quote is open at the end of what was read
        self.closed = False  # whether what was read ends with a closing quote
        self.length = 0  # characters since the last end of a line

    def __iter__(self) -> Iterator[str]:
        return iter(self.text)

    def read(self, size: int = -1) -> str:
        """Return so many characters of the text."""
        text = self.text.read(size)
        pieces = text.split('"')
        outside = pieces[self.quoted :: 2]
        ends = self.file.delimiter + "\r\n "
        after = outside if self.quoted or self.closed else outside[1:]
        self.suspicious = self.suspicious or any(piece and piece[0] not in ends for piece in after)
        rows = (self.begun + "".join(outside)).replace("\r", "\n").split("\n")
        self.begun = rows.pop()
        self.suspicious = self.suspicious or self.is_uneven(rows)
        self.quoted ^= len(pieces) % 2 == 0
        self.closed = text.endswith('"') and not self.quoted
        last = max(text.rfind("\n"), text.rfind("\r"))
        self.length = len(text) - last - 1 if last >= 0 else self.length + len(text)
        if "\0" in text or self.length > MAX_LINE or (not text.isascii() and _SURROGATES.search(text)):
            for _ in self.file.lines():  # the line with the fault raises an error
                pass
        return text if self.file.delimiter.isascii() else text.replace(self.file.delimiter, SEPARATOR)

    def is_uneven(self, rows: Iterable[str]) -> bool:
        """Return whether some row, given as its text outside quotes, has another number of delimiters."""
        mark, expected = self.file.delimiter, self.delimiters
        return any(row.count(mark) != expected for row in rows if row and not row.isspace())


def concatenate(first: RawTable, second: RawTable, names: Collection[str]) -> RawTable:
    """Return these columns of the first table, of the types that they have there, with the second's rows below."""
    check_columns(second.name, second.names, names, f"of {first.name} that are not ignored")
    columns = {}
    for name in names:
        above, wanted = first.frame[name], type_of(first.frame[name])
        below = second.frame[name]
        if wanted is not None:
            below = second.check([name], {} if above.isna().all() else {name: wanted})[name]
        joined = join([above, below])
        columns[name] = pd.concat([above, below], ignore_index=True) if joined is None else joined
    offset = int(first.frame.index.max()) + 1
    index = np.concatenate([first.frame.index, offset + second.frame.index])

    def place(row: int) -> str:
        return first.place(row) if row < offset else second.place(row - offset)

    return replace(first, frame=pd.DataFrame(columns).set_axis(index), place=place)
