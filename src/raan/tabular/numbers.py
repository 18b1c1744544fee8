"""Lines and columns of numbers from a CSV file, or an error that names the line and the column."""

import csv
import gzip
import math
import zlib
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path

import numpy as np
from jaxtyping import Float

Columns = dict[str, Float[np.ndarray, "row"]]

UNREADABLE = (UnicodeDecodeError, gzip.BadGzipFile, zlib.error, EOFError, csv.Error)


def read_numbers(path: Path, columns: Sequence[str]) -> Columns:
    """The columns named, of a CSV file whose every value is a finite number; it may be gzipped."""
    lines = csv_lines(path)
    _, header = next(lines)
    check_header(path, header, columns)
    rows = [_row(path, line, header, values) for line, values in lines]
    if not rows:
        raise ValueError(f"{path} has a header and no rows")
    table = np.array(rows)
    return {column: table[:, header.index(column)] for column in columns}


def csv_lines(path: Path, *, strict: bool = True) -> Iterator[tuple[int, list[str]]]:
    """The number and the values of each line, the header's first, all of them as many as the header's.

    Quotes that stand where they should not are an error if strict, and else taken as they are.
    """
    try:
        with open_text(path) as stream:
            reader = csv.reader(stream, strict=strict)
            header = next(reader, [])
            yield 1, header
            for values in reader:
                if len(values) != len(header):
                    raise ValueError(
                        f"{path}, line {reader.line_num}: {len(values)} values, "
                        f"expected {len(header)} as in the header"
                    )
                yield reader.line_num, values
    except UNREADABLE as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}") from error


def _row(path: Path, line: int, header: Sequence[str], values: Sequence[str]) -> list[float]:
    """The values of a line as finite numbers; looked at one by one only if something is wrong."""
    try:
        row = list(map(float, values))
    except ValueError:
        row = [math.nan]
    if all(map(math.isfinite, row)):
        return row
    return [number(path, line, *cell) for cell in zip(header, values, strict=True)]


def number(path: Path, line: int, column: str, value: str) -> float:
    """The value as a finite number."""
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"{path}, line {line}: {column} is {value!r}, expected a number")
    return found


def open_text(path: Path) -> TextIOWrapper:
    """The file as text, unpacked if its name ends in .gz."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def check_header(path: Path, found: Sequence[str], expected: Sequence[str]) -> None:
    """Refuse a file that lacks any of the columns."""
    missing = [column for column in expected if column not in found]
    if missing:
        raise ValueError(
            f"{path} lacks {len(missing)} of {len(expected)} columns ({_some(missing)}); "
            f"it has {len(found)} ({_some(found)})"
        )


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
