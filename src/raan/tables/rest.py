"""The rows of a file that were not drawn into memory, block by block, as features, classes and groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from raan.fairness.groups import UNKNOWN, cross_codes, match_names
from raan.tables.columns import Type, as_categories, to_codes
from raan.tables.preprocess import Preprocessing
from raan.tables.read import RawTable, Source, read_weight

if TYPE_CHECKING:
    import pandas as pd


class Block(NamedTuple):
    """Some rows; those without a class of the model are left out.

    `strange` counts the rows by what their class or group is, where the model knows none of the kind.
    """

    features: Float32[np.ndarray, "row feature"]
    label: Int[np.ndarray, "row"]
    group: Int[np.ndarray, "row"]
    weight: Float[np.ndarray, "row"] | None
    strange: Mapping[str, int] = MappingProxyType({})


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
                strange: Counter[str] = Counter()
                label = self._match(table, [self.label], classes, "the class", strange)
                group = self._match(table, self.attributes, groups, "the group", strange)
                known = np.flatnonzero(label != UNKNOWN)
                table = table.take(known)
                weight = read_weight(table, self.weight, allow_zeros=True)
                yield Block(made.encode(table), label[known], group[known], weight, strange)

    def _match(
        self, table: RawTable, columns: Sequence[str], names: Sequence[str], what: str, strange: Counter[str]
    ) -> Int[np.ndarray, "row"]:
        """The codes of columns by the names that a model knows; UNKNOWN for missing ones, and others, counted."""
        several: dict[str, pd.Series] = table.check(columns, self.types)
        found = cross_codes([to_codes(as_categories(column)) for column in several.values()])
        own = match_names(found.names, names)
        if not self.preprocessing.merge_spellings:
            own = [place if name in names else UNKNOWN for place, name in zip(own, found.names, strict=True)]
        rows = np.bincount(found.codes + 1, minlength=len(found.names) + 1)
        for place, name, count in zip(own, found.names, rows[1:].tolist(), strict=True):
            if place == UNKNOWN:
                strange[f"{what} {name!r}"] += count
        if columns == [self.label] and rows[0]:
            strange["no class"] += int(rows[0])
        return np.asarray(np.array([*own, UNKNOWN])[found.codes])
