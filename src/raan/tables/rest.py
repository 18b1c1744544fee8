"""The rows of a file that were not drawn into memory, block by block, as features, classes and groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from raan.fairness.groups import UNKNOWN, Codes, cross_codes, match_names
from raan.tables.columns import Type, as_categories, to_codes
from raan.tables.preprocess import Preprocessing
from raan.tables.read import RawTable, Source, read_weight

if TYPE_CHECKING:
    import pandas as pd


class Block(NamedTuple):
    """Some rows; those without a class of the model are left out."""

    features: Float32[np.ndarray, "row feature"]
    label: Int[np.ndarray, "row"]
    group: Int[np.ndarray, "row"]
    weight: Float[np.ndarray, "row"] | None


@dataclass(frozen=True, eq=False)
class Rest:
    """The rows of a file that were not drawn, and which of its columns are what.

    Attributes:
        source: the file.
        drawn: which of its rows were drawn.
        label: the column of the classes.
        attributes: the columns of the groups.
        types: the columns that were said to be numbers or categories.
        weight: the column of what each row counts.
        preprocessing: how columns become features.
    """

    source: Source
    drawn: Bool[np.ndarray, "row"]
    label: str
    attributes: tuple[str, ...]
    types: Mapping[str, Type]
    weight: str | None
    preprocessing: Preprocessing

    @property
    def rows(self) -> int:
        """The number of rows that were not drawn."""
        return int((~self.drawn).sum())

    def blocks(
        self, classes: Sequence[str], groups: Sequence[str], part: tuple[float, float] = (0.0, 1.0), seed: int = 0
    ) -> Iterator[Block]:
        """Give the rows with their classes and groups as codes.

        Every row has a random number from 0 to 1 by the seed; those are given whose number is in the part.
        """
        made, missing = self.preprocessing, self.preprocessing.missing
        counted = [] if self.weight is None else [self.weight]
        columns = list(dict.fromkeys([*made.columns, self.label, *self.attributes, *counted]))
        text = {*made.text, *(name for name, kind in self.types.items() if kind == "category")}
        wanted = ~self.drawn
        if part != (0.0, 1.0):
            place = np.random.default_rng(seed).random(len(wanted))
            wanted &= (part[0] <= place) & (place < part[1])
        with closing(self.source.read(columns, text, (), missing)) as chunks:
            for chunk in chunks:
                kept = chunk._replace(frame=chunk.frame[wanted[chunk.frame.index]])
                read = self.source.normalise(kept, columns, text, missing)
                table = RawTable(str(self.source.path), read, self.source.place, decimal=self.source.decimal)
                label = _match(self._codes(table, [self.label]), classes)
                known = np.flatnonzero(label != UNKNOWN)
                if len(known):
                    table, label = table.take(known), label[known]
                    group = _match(self._codes(table, self.attributes), groups)
                    weight = read_weight(table, self.weight)
                    yield Block(made.encode(table), label, group, weight)

    def _codes(self, table: RawTable, names: Sequence[str]) -> Codes:
        columns: dict[str, pd.Series] = table.check(names, self.types)
        return cross_codes([to_codes(as_categories(column)) for column in columns.values()])


def _match(found: Codes, names: Sequence[str]) -> Int[np.ndarray, "row"]:
    """The codes of a column by the names that a model knows; UNKNOWN for other values and missing ones."""
    return np.asarray(np.array([*match_names(found.names, names), UNKNOWN])[found.codes])
