"""Your own table: one call from a frame or a file to rows that can be learnt from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from raan.data.split import Fractions, Sizes, Split
from raan.data.stratified import stratified_split
from raan.data.table import Table
from raan.data.tabular.columns import Plain, Sheet
from raan.data.tabular.description import Described, aligned, describe_columns
from raan.data.tabular.lines import Layout, Progress
from raan.data.tabular.preprocessing import Preprocessing, Rules, fit_columns, warn
from raan.data.tabular.reading import Type, read, settle_types
from raan.data.tabular.suspicions import identifiers, leaks, repeats, tiny_cells
from raan.data.tabular.targets import check_roles, grouped, labelled
from raan.fairness.groups import UNKNOWN, Codes


@dataclass(frozen=True, eq=False)
class Loaded:
    """A table with its split, the preprocessing for new rows, and all that was warned of on the way."""

    table: Table
    split: Split
    preprocessing: Preprocessing
    columns: tuple[Described, ...]
    warnings: tuple[str, ...]

    def describe(self) -> str:
        """What became of each column, then the (class, attribute) cells and the sizes of the split."""
        train, validation, test = (f"{len(part):,}" for part in self.split)
        parts = f"split: {train} rows train, {validation} select (validation), {test} judge (test)"
        return "\n".join([*aligned([Described._fields, *self.columns]), "", self.table.describe(), "", parts])


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
    """The table, split and preprocessing of a frame of pandas or polars, or of a CSV, TSV or Parquet file.

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
    columns = settle_types(sheet, [name for name in sheet.columns if name not in unused], asked)
    parts = stratified_split(classes.codes, groups.codes, sizes, seed)
    encodings, pooled = fit_columns(columns, parts.train.numpy(), rules)
    preprocessing = Preprocessing(encodings, rules.missing)
    table = _table(sheet, preprocessing, columns, classes, groups)
    others = {name: column for name, column in columns.items() if name not in attributes}
    notes = [*whole.notes, *notes, *pooled, *_suspicions(table, others, classes, groups, parts, rules, seed)]
    warn(*notes)
    roles = {**dict.fromkeys(ignore, "ignored"), **dict.fromkeys(attributes, "attribute"), label: "label"}
    codes = {**dict.fromkeys(attributes, groups.names), label: classes.names}
    described = describe_columns(whole, roles, codes, preprocessing)
    return Loaded(table, parts, preprocessing, described, tuple(notes))


def _table(
    sheet: Sheet, preprocessing: Preprocessing, columns: Mapping[str, Plain], classes: Codes, groups: Codes
) -> Table:
    return Table(
        torch.from_numpy(preprocessing.features(columns, sheet.place)),
        torch.from_numpy(classes.codes.astype(np.int64)),
        torch.from_numpy(groups.codes.astype(np.int64)),
        class_names=classes.names,
        attribute_names=groups.names,
        feature_names=preprocessing.feature_names,
        name=sheet.name,
    )


def _suspicions(
    table: Table,
    columns: Mapping[str, Plain],
    classes: Codes,
    groups: Codes,
    parts: Split,
    rules: Rules,
    seed: int,
) -> Iterator[str]:
    """All that looks wrong with the table, in words."""
    unknown = int((table.attribute == UNKNOWN).sum())
    if unknown:
        yield f"the attribute is unknown in {unknown:,} of {table.rows:,} rows: they train, but belong to no group"
    if table.attributes == 1:
        yield f"the attribute has one value only, {groups.names[0]!r}: there are no groups to compare"
    yield from tiny_cells(table, rules.tiny)
    train = parts.train.numpy()
    yield from leaks(columns, classes, "label", train, seed)
    yield from leaks(columns, groups, "attribute", train, seed)
    yield from identifiers(columns)
    yield from repeats({**columns, "the label's": classes, "the attribute's": groups}, parts)
