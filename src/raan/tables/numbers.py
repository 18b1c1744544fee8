"""Lines and columns of numbers from the CSV files of data sets, or an error that names the line and the column."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from raan.errors import InputError, listed
from raan.tables.columns import number_of
from raan.tables.read import TextFile

Columns = dict[str, Float[np.ndarray, "row"]]


def read_numbers(path: Path, columns: Sequence[str]) -> Columns:
    """The columns named, of a CSV file whose every value is a finite number; it may be gzipped."""
    lines = csv_lines(path)
    _, header = next(lines)
    check_header(path, header, columns)
    rows = [[number(path, line, *cell) for cell in zip(header, values, strict=True)] for line, values in lines]
    if not rows:
        raise InputError(str(path), "has a header and ends", "rows of numbers")
    table = np.array(rows)
    return {column: table[:, header.index(column)] for column in columns}


def csv_lines(path: Path, *, strict: bool = True) -> Iterator[tuple[int, list[str]]]:
    """The number and the values of each line, the header's first, all of them as many as the header's.

    Quotes that stand where they should not are an error if strict, and else taken as they are.
    """
    file = TextFile(path, strict=strict, strip=False)
    lines = file.lines()
    first, header = next(lines, (1, []))
    yield first, header
    for line, values in lines:
        if len(values) != len(header):
            raise file.fault(line, f"has {len(values)} values", f"{len(header)} as in the header")
        yield line, values


def number(path: Path, line: int, column: str, value: str) -> float:
    """The value as a finite number."""
    found = number_of(value)
    if found is None or not math.isfinite(found):
        raise InputError(f"{path}, line {line}: {column}", f"is {value!r}", "a number")
    return found


def check_header(path: Path, found: Sequence[str], expected: Sequence[str]) -> None:
    """Refuse a file that lacks any of the columns."""
    lacking = [column for column in expected if column not in found]
    if lacking:
        came = f"lacks {len(lacking)} of {len(expected)} columns ({listed(lacking, 5)})"
        raise InputError(str(path), came, f"them among its {len(found)} ({listed(found, 5)})")
