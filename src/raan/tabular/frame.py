"""Your own table: one call from a frame or a file to rows that can be learnt from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32, Int

from raan.data.split import Fractions, Parts, Sizes
from raan.data.stratified import stratified_split
from raan.fairness.groups import UNKNOWN, Codes
from raan.tabular.columns import Plain, Type, Words
from raan.tabular.description import Described, describe_columns
from raan.tabular.lines import Layout, Progress
from raan.tabular.preprocessing import Preprocessing, Rules, fit_columns, warn
from raan.tabular.reading import read
from raan.tabular.suspicions import identifiers, leaks, repeats, tiny_cells
from raan.tabular.targets import check_roles, grouped, labelled
from raan.tabular.words import align, describe_cells

if TYPE_CHECKING:
    from raan.data.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Loaded:
    """Rows to learn from, their split, the preprocessing for new rows, and all that was warned of on the way."""

    name: str
    features: Float32[np.ndarray, "row feature"]
    label: Codes
    attribute: Codes  # UNKNOWN (-1) where it is missing
    split: Parts
    preprocessing: Preprocessing
    columns: tuple[Described, ...]
    warnings: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.features)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the features are called, such as "age" and "job=Clerk"."""
        return self.preprocessing.feature_names

    @property
    def cells(self) -> Int[np.ndarray, "label attribute"]:
        """How many rows each (class, attribute) cell has; rows of unknown attribute are in none."""
        known = self.attribute.codes != UNKNOWN
        shape = (len(self.label.names), len(self.attribute.names))
        cells = np.zeros(shape, dtype=np.int64)
        np.add.at(cells, (self.label.codes[known], self.attribute.codes[known]), 1)
        return cells

    @cached_property
    def table(self) -> Table:
        """The rows as tensors, as the engine takes them; the features are not copied."""
        import torch

        from raan.data.table import Table

        return Table.of(
            torch.from_numpy(self.features),
            self.label.codes,
            self.attribute.codes,
            class_names=self.label.names,
            attribute_names=self.attribute.names,
            feature_names=self.feature_names,
            name=self.name,
        )

    def describe(self) -> str:
        """What became of each column, then the (class, attribute) cells and the sizes of the split."""
        unknown = int((self.attribute.codes == UNKNOWN).sum())
        cells = describe_cells(self.cells, self.label.names, self.attribute.names, unknown)
        train, validation, test = (f"{len(part):,}" for part in self.split)
        parts = f"split: {train} rows train, {validation} select (validation), {test} judge (test)"
        return "\n".join([*align([Described._fields, *self.columns]), "", self._size(), *cells, "", parts])

    def __repr__(self) -> str:
        groups = len(self.attribute.names)
        return f"Loaded({self._size()}, {len(self.label.names)} classes, {groups} attribute values)"

    def _size(self) -> str:
        return f"{self.name}: {self.rows:,} rows × {len(self.feature_names):,} features"


def from_frame(
    frame: object,
    label: str,
    attribute: str | Sequence[str],
    *,
    ignore: Sequence[str] = (),
    types: Mapping[str, Type] | None = None,
    keep_attribute: bool = False,
    sizes: Sizes | Fractions = (0.6, 0.2, 0.2),
    seed: int = 0,
    rules: Rules = Rules(),
    layout: Layout = Layout(),
    progress: Progress | None = None,
) -> Loaded:
    """The rows, split and preprocessing of a frame of pandas or polars, or of a CSV, TSV or Parquet file.

    The label and the attribute are columns by name; several attribute columns are crossed. They are no
    features, unless `keep_attribute` makes the attribute one; nor are the columns to `ignore`. Other
    columns are numbers or categories as they look, or as `types` says; `describe()` shows it. The split is
    random by the seed, each (class, attribute) cell in proportion, and its training rows alone decide how
    columns become features. Whatever looks wrong is warned of, and kept in `warnings`.
    """
    asked = dict(types or {})
    attributes = (attribute,) if isinstance(attribute, str) else tuple(attribute)
    text = [name for name, kind in asked.items() if kind == "category"]
    whole = read(frame, missing=rules.missing, text=text, layout=layout, progress=progress)
    check_roles(whole, label, attributes, ignore, asked)
    sheet, classes, notes = labelled(whole, label, asked, rules)
    groups = grouped(sheet, attributes, asked, rules)
    unused = {label, *ignore, *(() if keep_attribute else attributes)}
    columns = sheet.settle([name for name in sheet.columns if name not in unused], asked)
    parts = stratified_split(classes.codes, groups.codes, sizes, seed)
    encodings, pooled = fit_columns(columns, parts.train, rules)
    preprocessing = Preprocessing(encodings, rules.missing)
    roles = {**dict.fromkeys(ignore, "ignored"), **dict.fromkeys(attributes, "attribute"), label: "label"}
    codes = {**dict.fromkeys(attributes, groups.names), label: classes.names}
    described = describe_columns(whole, roles, codes, preprocessing)
    features = preprocessing.features(columns, sheet.place)
    loaded = Loaded(sheet.name, features, classes, groups, parts, preprocessing, described, ())
    others = {name: column for name, column in columns.items() if name not in attributes}
    warnings = (*whole.notes, *notes, *pooled, *_suspicions(loaded, others, rules, seed))
    warn(*warnings)
    return replace(loaded, warnings=warnings)


def _suspicions(loaded: Loaded, columns: Mapping[str, Plain], rules: Rules, seed: int) -> Iterator[str]:
    """All that looks wrong with the table, in words."""
    classes, groups, train = loaded.label, loaded.attribute, loaded.split.train
    unknown = int((groups.codes == UNKNOWN).sum())
    if unknown:
        of_all = f"{unknown:,} of {loaded.rows:,} rows"
        yield f"the attribute is unknown in {of_all}: they train, but belong to no group"
    if len(groups.names) == 1:
        yield f"the attribute has one value only, {groups.names[0]!r}: there are no groups to compare"
    yield from tiny_cells(loaded.cells, classes.names, groups.names, rules.tiny)
    yield from leaks(columns, classes, "label", train, seed)
    yield from leaks(columns, groups, "attribute", train, seed)
    yield from identifiers(columns)
    targets = [Words(each.codes, each.names) for each in (classes, groups)]
    yield from repeats([*columns.values(), *targets], loaded.split)
