"""The lines of a delimited text file, as Python's csv reads them: errors name the line."""

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
LINE = 1 << 20  # characters of a line at most
TABBED = {".tsv", ".tab"}


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
        try:  # codecs such as hex are known by name, but are none of text
            line = io.BytesIO("1\n".encode(self.encoding))
            io.TextIOWrapper(line, self.encoding, errors="surrogateescape").read()
        except (LookupError, ValueError) as error:
            expected = "one of text, such as 'utf-8' or 'latin-1'"
            raise InputError(Option("encoding"), f"is {self.encoding!r}", expected) from error


@dataclass(frozen=True)
class TextFile:
    """A text file whose layout is settled."""

    path: Path
    delimiter: str = ","
    encoding: str = "utf-8-sig"
    decimal: str = "."
    strict: bool = True  # whether quotes where none should be are an error, or taken as they are
    spaced: bool = True  # whether space after a delimiter is dropped

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.path.stat().st_size

    def reader(self, text: Iterator[str]) -> Iterator[list[str]]:
        """The rows that the lines of text hold."""
        return csv.reader(text, delimiter=self.delimiter, skipinitialspace=self.spaced, strict=self.strict)


def settle(path: Path, layout: Layout) -> TextFile:
    """The file with what its layout leaves open: the mark it begins with, and its delimiter."""
    if not path.stat().st_size:
        raise InputError(str(path), "is empty", "a line that names the columns, then one for each row")
    encoding = _encoding(path, layout.encoding)
    suffix = Path(path.stem if path.suffix == ".gz" else path).suffix.lower()
    delimiter = layout.delimiter or ("\t" if suffix in TABBED else _guess(path, encoding))
    return TextFile(path, delimiter, encoding, layout.decimal)


@contextmanager
def open_text(path: Path, encoding: str = "utf-8-sig") -> Iterator[tuple[io.TextIOWrapper, Callable[[], int]]]:
    """The text of the file, unpacked if its name ends in .gz, and a function that gives the bytes read so far."""
    with path.open("rb") as raw:
        body = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
        # Bytes that are no text come through as surrogates, so that their line can be told.
        text = io.TextIOWrapper(body, encoding, errors="surrogateescape", newline="")
        try:
            yield text, raw.tell
        except (UnicodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(str(path), f"cannot be read ({error})", "text") from error


def rows_of(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """Each row, after the number of the line that it begins on; blank lines are skipped."""
    with open_text(file.path, file.encoding) as (text, _):
        lines = _Sound(file, text)
        begin = 1
        try:
            for row in file.reader(lines):
                if len(row) > 1 or any(row):
                    yield begin, row
                begin = lines.number + 1
        except csv.Error as error:
            raise fault(file, begin, f"cannot be read ({error})", "quotes in pairs around values") from error


def header(file: TextFile) -> list[str]:
    """The names of the columns; an empty one is that of a column without a name."""
    line, row = next(rows_of(file), (1, []))
    names = [name.strip() for name in row]
    _check_header(file, line, names)
    return names


def check(file: TextFile, names: Sequence[str], *, empty: bool = False) -> int:
    """Raise an InputError at the first line that is not sound, or if there are no rows and must be; count them."""
    lines = 0
    for line, row in rows_of(file):
        lines += 1
        if len(row) != len(names):
            raise fault(file, line, f"has {len(row)} values", f"{len(names)} ({listed(names)})")
    if lines < 2 and not empty:
        raise InputError(str(file.path), f"names its columns ({listed(names)}) and ends", "rows of values")
    return lines - 1


def line_of(file: TextFile, row: int) -> int:
    """The line that a row begins on, the first row after the header being 0."""
    return next(islice(rows_of(file), row + 1, None))[0]


def fault(file: TextFile, line: int, came: str, expected: str, remedy: str = "") -> InputError:
    """The error for a line of the file."""
    return InputError(f"{file.path}, line {line}", came, expected, remedy)


def read_line(file: TextFile, text: io.TextIOWrapper, number: int | None = None) -> str:
    """The next line, "" at the end; an error for one that is too long, before it fills the memory."""
    line = text.readline(LINE)
    if len(line) == LINE and line[-1] not in "\r\n":
        place = f"{file.path}, a line" if number is None else f"{file.path}, line {number}"
        raise InputError(
            place, f"has more than {LINE:,} characters", "shorter ones", "is the file of another kind?"
        )
    return line


class _Sound:
    """The lines as they come, counted, up to an error at the first that holds what no text holds."""

    def __init__(self, file: TextFile, text: io.TextIOWrapper) -> None:
        self.file, self.text, self.number = file, text, 0

    def __iter__(self) -> "_Sound":
        return self

    def __next__(self) -> str:
        line = read_line(self.file, self.text, self.number + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if "\0" in line:
            remedy = Message("is the file of another kind, or damaged, or in UTF-16 (", _encoded("utf-16"), ")?")
            raise fault(self.file, self.number, "has a NUL byte", "text, which holds none", remedy)
        if not line.isascii() and (byte := _no_text(line)):
            remedy = Message("save the file as UTF-8, or name its encoding, such as ", _encoded("latin-1"))
            expected = self.file.encoding.removesuffix("-sig")
            raise fault(self.file, self.number, f"has the byte {byte}", expected, remedy)
        return line


def _encoded(encoding: str) -> Option:
    return Option("encoding", encoding, python=f"Layout(encoding={encoding!r})")


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
        mark = raw.read(4)
    if mark in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "utf-32"
    if mark[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    return "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding


def _guess(path: Path, encoding: str) -> str:
    """The delimiter that splits the most lines of a sample like its first one; a comma if none does."""
    with open_text(path, encoding) as (text, _):
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
    """Raise an InputError unless the first line can be the names of columns, each of them once."""
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
