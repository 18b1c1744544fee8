"""Columns of equal length, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from raan.errors import InputError, Option
from raan.tabular.columns import Column, Plain, Strange, Type, join
from raan.tabular.words import listed, nearest


@dataclass(frozen=True, eq=False)
class Sheet:
    """Columns of equal length, and what to call the table and its rows in messages."""

    name: str
    rows: int
    columns: dict[str, Column]
    place: Callable[[int], str]  # such as "row 3", or "line 5" of a file
    notes: tuple[str, ...] = ()  # what the user should know of the reading
    apart: int = 0  # so many of the last rows are from a second table

    def take(self, rows: Int[np.ndarray, "kept"]) -> Sheet:
        """The sheet with these rows only; messages still call them what they were called."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        apart = int(np.count_nonzero(rows >= self.rows - self.apart))
        return Sheet(self.name, len(rows), columns, lambda row: self.place(int(rows[row])), self.notes, apart)

    def settle(self, names: Collection[str], types: Mapping[str, Type]) -> dict[str, Plain]:
        """These columns, each of the type asked for; those of which nothing is asked must be plain."""
        return {name: self.columns[name].settle(types.get(name), name, self.name, self.place) for name in names}

    def check_names(self, names: Collection[str], argument: str) -> None:
        """Raise an InputError at the first name that is no column's, with the nearest that is one."""
        for name in names:
            if name not in self.columns:
                near = nearest(name, list(self.columns))
                raise InputError(
                    Option(argument),
                    f"names the column {name!r}, which {self.name} does not have",
                    f"one of {listed(list(self.columns), 20)}",
                    f"is it {near!r}?" if near else "",
                )

    def check_columns(self, columns: Collection[str]) -> None:
        """Raise an InputError that names every column that is lacking, with the nearest one that is there."""
        check_columns(self.name, list(self.columns), columns)


def stack(first: Sheet, second: Sheet, names: Collection[str]) -> Sheet:
    """These columns of the first sheet, of the kinds that they have there, and below them those of the second."""
    check_columns(second.name, list(second.columns), names, f"of {first.name} that are not ignored")

    def place(row: int) -> str:
        return first.place(row) if row < first.rows else second.place(row - first.rows)

    columns = {name: _below(name, first.columns[name], second) for name in names}
    return Sheet(first.name, first.rows + second.rows, columns, place, first.notes, second.rows)


def _below(name: str, above: Column, second: Sheet) -> Column:
    """One column with the second sheet's below it."""
    if isinstance(above, Strange):
        return above
    below = second.settle([name], {} if above.is_empty else {name: above.type})[name]
    return join([above, below]) or above


def check_columns(
    name: str, found: Collection[str], columns: Collection[str], which: str = "that the model was fitted to"
) -> None:
    """Raise an InputError that names every column that is not found, with the nearest one that is."""
    lacking = [column for column in columns if column not in found]
    if lacking:
        near = [(column, nearest(column, list(found))) for column in lacking]
        expected = [f"{column!r}{f' (it has {like!r})' if like else ''}" for column, like in near]
        came = f"lacks {len(lacking)} of the {len(columns)} columns {which}"
        raise InputError(name, came, listed(expected))
