"""What a study needs to know of a data set: how it is loaded, and which rows train, select and test."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import csv

from raan.data.split import Split, split, stack
from raan.data.table import Table

Options = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, and each seed's training, validation and test rows."""

    table: Table
    split: Split  # with a run axis: one split for each seed
    seeds: tuple[int, ...]

    @property
    def hash(self) -> str:
        """A hash of the features, labels and attributes."""
        digest = hashlib.sha256()
        for part in (self.table.features, self.table.label, self.table.attribute):
            digest.update(part.contiguous().numpy(force=True).tobytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class DataSet:
    """A data set that a study can name: its loader, and the options that the loader takes.

    If each seed has a table of its own, such as environments drawn anew, seeds cannot share a pack.
    """

    load: Callable[[Options, Sequence[int]], Problem]
    options: tuple[str, ...]
    own_tables: bool = False
    required: tuple[str, ...] = ()  # of the options


def split_at_random(
    load: Callable[..., Table], sizes: Sequence[float]
) -> Callable[[Options, Sequence[int]], Problem]:
    """Return a loader of one table with a random split for each seed; the option "sizes" replaces the sizes."""

    def load_problem(options: Options, seeds: Sequence[int]) -> Problem:
        table = load(**leave_out(options, "sizes"))
        first, second, third = options.get("sizes", sizes)
        parts = [split(table.rows, (first, second, third), seed) for seed in seeds]
        return Problem(table, stack(parts), tuple(seeds))

    return load_problem


def leave_out(options: Options, *names: str) -> dict[str, Any]:
    """Return the options without those named."""
    return {key: value for key, value in options.items() if key not in names}


def read_csv(
    path: Path, numbers: Sequence[str], text: str | None = None, missing: Sequence[str] = ()
) -> pd.DataFrame:
    """Read columns of numbers, and one of texts, from a CSV file that may be gzipped.

    Args:
        path: the file; its first line names the columns.
        numbers: the columns of numbers, read as float64.
        text: the column of texts, taken literally: "NA" is a text.
        missing: the words for a missing number, which becomes nan.

    Raises:
        ValueError: for a file that lacks a column, or has a line of another length or something else for a number.
    """
    wanted = [*numbers, *([] if text is None else [text])]
    try:
        check_columns(path, column_names(path), wanted)
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(use_threads=False),  # so that errors state the row
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                include_columns=wanted,
                column_types={name: pa.string() if name == text else pa.float64() for name in wanted},
                null_values=list(missing),
            ),
        )
    except (pa.ArrowException, OSError, EOFError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    frame: pd.DataFrame = table.to_pandas()
    return frame


def column_names(path: Path) -> list[str]:
    """Read the names of the columns in the first line of a CSV file; an empty file has none."""
    return [str(name) for name in pd.read_csv(path, nrows=0).columns] if path.stat().st_size else []


def check_columns(path: Path, found: Sequence[str], expected: Sequence[str]) -> None:
    """Raise a ValueError that names the columns which the file lacks."""
    lacking = [column for column in expected if column not in found]
    if lacking:
        raise ValueError(
            f"{path} lacks {len(lacking)} of {len(expected)} columns ({', '.join(lacking[:5])}); "
            f"it has {len(found)} ({', '.join(found[:5])}, ...)"
        )
