"""The lines of a text file, each checked: what is wrong with a CSV is told by file, line and column."""

import codecs
import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from raan.errors import InputError, Message, Option
from raan.tabular.words import listed

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all where known

SAMPLE = 1 << 16  # characters to guess the delimiter from
DELIMITERS = ",;\t|"
TABBED = {".tsv", ".tab"}
EVERY = 50_000  # rows between two reports of progress


@dataclass(frozen=True)
class Layout:
    """How a text file is written. Without a delimiter, a tab is taken in .tsv, and elsewhere it is guessed.

    Of files in UTF-8 and UTF-16 that begin with a byte order mark, the mark is dropped.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."

    def __post_init__(self) -> None:
        for what, mark in (("delimiter", self.delimiter), ("decimal", self.decimal)):
            if mark is not None and len(mark) != 1:
                raise InputError(Option(what), f"is {mark!r}", "one character")
        try:
            codecs.lookup(self.encoding)
        except LookupError as error:
            expected = "one such as 'utf-8', 'latin-1'"
            raise InputError(Option("encoding"), f"is {self.encoding!r}", expected) from error


@dataclass(frozen=True)
class TextFile:
    """A text file whose layout is settled, and its size in bytes."""

    path: Path
    delimiter: str
    encoding: str
    decimal: str
    size: int


def settle(path: Path, layout: Layout) -> TextFile:
    """The file with what its layout leaves open: the mark it begins with, and its delimiter."""
    size = path.stat().st_size
    if not size:
        raise InputError(str(path), "is empty", "a line that names the columns, then one for each row")
    encoding = _encoding(path, layout.encoding)
    suffix = Path(path.stem if path.suffix == ".gz" else path).suffix.lower()
    delimiter = layout.delimiter or ("\t" if suffix in TABBED else _guess(path, encoding))
    return TextFile(path, delimiter, encoding, layout.decimal, size)


@contextmanager
def opened(path: Path, encoding: str) -> Iterator[tuple[io.TextIOWrapper, Callable[[], int]]]:
    """The text of the file, and a function that says how many of its bytes have been read."""
    with path.open("rb") as raw:
        body = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
        # Bytes that are no text come through as surrogates, so that their line can be told.
        text = io.TextIOWrapper(body, encoding, errors="surrogateescape", newline="")
        try:
            yield text, raw.tell
        except (UnicodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(str(path), f"cannot be read ({error})", "text") from error


def check(file: TextFile, told: Callable[[int], None]) -> tuple[list[str], int]:
    """The names of the columns and the number of rows, after every line has been found sound."""
    lines = rows_of(file, told)
    first, header = next(lines, (1, []))
    names = [name.strip() for name in header]
    _check_header(file, first, names)
    rows = 0
    for line, row in lines:
        if len(row) != len(names):
            raise fault(file, line, f"has {len(row)} values", f"{len(names)} ({listed(names)})")
        rows += 1
    if not rows:
        raise InputError(str(file.path), f"names its columns ({listed(names)}) and ends", "rows of values")
    return names, rows


def rows_of(file: TextFile, told: Callable[[int], None] = lambda done: None) -> Iterator[tuple[int, list[str]]]:
    """Each row, after the number of the line that it begins on; blank lines are skipped."""
    with opened(file.path, file.encoding) as (text, done):
        reader = csv.reader(_sound(file, text), delimiter=file.delimiter, skipinitialspace=True, strict=True)
        begin = 1
        try:
            for count, row in enumerate(reader, 1):
                if len(row) > 1 or any(row):
                    yield begin, row
                begin = reader.line_num + 1
                if count % EVERY == 0:
                    told(done())
        except csv.Error as error:
            raise fault(
                file, begin, f"cannot be read ({error})", "values in pairs of quotes, or in none"
            ) from error


def line_of(file: TextFile, row: int) -> int:
    """The line that a row begins on, the first row after the header being 0."""
    return next(islice(rows_of(file), row + 1, None))[0]


def _sound(file: TextFile, text: io.TextIOWrapper) -> Iterator[str]:
    """The lines as they come, or an error at the first that holds what no text holds."""
    for number, line in enumerate(text, 1):
        if "\0" in line:
            remedy = Message("is the file of another kind, or damaged, or in UTF-16 (", _encoded("utf-16"), ")?")
            raise fault(file, number, "has a NUL byte", "text, which holds none", remedy)
        if not line.isascii() and (byte := _no_text(line)):
            remedy = Message("save the file as UTF-8, or name its encoding, such as ", _encoded("latin-1"))
            raise fault(file, number, f"has the byte {byte}", file.encoding.removesuffix("-sig"), remedy)
        yield line


def _no_text(line: str) -> str | None:
    """The first byte that could not be decoded, if any."""
    try:
        line.encode()
    except UnicodeEncodeError as error:
        return hex(ord(line[error.start]) - 0xDC00)
    return None


def _encoding(path: Path, encoding: str) -> str:
    """The encoding, by the mark that the file begins with where there is one."""
    with path.open("rb") as raw:
        mark = raw.read(2)
    if mark in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    return "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding


def _guess(path: Path, encoding: str) -> str:
    """The delimiter that splits the most lines of a sample like its first one; a comma if none does."""
    with opened(path, encoding) as (text, _):
        sample = text.read(SAMPLE)
    lines = sample.splitlines(keepends=True)
    lines = lines[:-1] if len(sample) == SAMPLE and len(lines) > 1 else lines  # the last may be cut
    return max(DELIMITERS, key=lambda delimiter: _agreement(lines, delimiter))


def _agreement(lines: Sequence[str], delimiter: str) -> tuple[float, int]:
    """The share of the rows that are as wide as the first, and how wide it is."""
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if row]
    except csv.Error:
        return 0.0, 0
    return (widths.count(widths[0]) / len(widths), widths[0]) if widths and widths[0] > 1 else (0.0, 0)


def _check_header(file: TextFile, line: int, names: Sequence[str]) -> None:
    """Raise a ValueError unless the first line can be the names of columns, each of them once."""
    if not any(names):
        raise fault(file, line, "has no names of columns", "them on the first line that is not blank")
    other = next((d for d in DELIMITERS if d != file.delimiter and d in names[0]), None)
    if len(names) == 1 and other:
        found = f"has one column only, {names[0]!r}, by the delimiter {file.delimiter!r}"
        option = Option("delimiter", other, python=f"Layout(delimiter={other!r})")
        raise fault(file, line, found, "several", Message(f"is it {other!r}? Then pass ", option))
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        places = " and ".join(str(place) for place, name in enumerate(names, 1) if name == twice[0])
        raise fault(file, line, f"gives the name {twice[0]!r} to columns {places}", "one", "rename all but one")


def fault(file: TextFile, line: int, came: str, expected: str, remedy: str = "") -> InputError:
    """The error for a line of the file."""
    return InputError(f"{file.path}, line {line}", came, expected, remedy)


def _encoded(encoding: str) -> Option:
    return Option("encoding", encoding, python=f"Layout(encoding={encoding!r})")
