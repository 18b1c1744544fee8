"""Your own table: one call from a frame or a file to rows that can be learnt from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, cast

import numpy as np
from jaxtyping import Float32, Int

from raan.data.split import Fractions, Parts, Sizes, stratified_split
from raan.errors import InputError, InputTypeError, Option, is_number, is_whole, needing
from raan.fairness.counts import cell_counts
from raan.fairness.groups import UNKNOWN, Codes
from raan.tabular.columns import Plain, Type, Words
from raan.tabular.description import Described, describe_columns
from raan.tabular.giveaways import giveaways
from raan.tabular.lines import Layout, Progress
from raan.tabular.media import Media, check_media, embed_columns
from raan.tabular.preprocessing import Preprocessing, Rules, fit_columns, warn
from raan.tabular.reading import read
from raan.tabular.roles import Name, Roles, read_types, settle_roles
from raan.tabular.sheet import Sheet, stack
from raan.tabular.suspicions import find_leaks, identifiers, repeats, tiny_cells
from raan.tabular.targets import grouped, keep_comparable, labelled
from raan.tabular.unfit import describe_unfit, leave_unfit
from raan.tabular.words import align, describe_cells, listed

if TYPE_CHECKING:
    from raan.data.table import Table

LEAST_ROWS = 100
"""Fewer rows are not worth a split."""


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
    embedding_seconds: float = 0.0  # that texts and images took

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
        shape = (len(self.label.names), len(self.attribute.names))
        return cell_counts(self.label.codes, self.attribute.codes, shape)

    @cached_property
    def table(self) -> Table:
        """The rows as tensors, as the engine takes them; the features are not copied."""
        with needing("a table of tensors"):
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
    label: Name,
    attribute: Name | Sequence[Name],
    *,
    ignore: Name | Sequence[Name] = (),
    types: Mapping[Name, Type] | None = None,
    keep_attribute: bool = False,
    test: object = None,
    sizes: Sizes | Fractions = (0.6, 0.2, 0.2),
    seed: int = 0,
    rules: Rules = Rules(),
    layout: Layout = Layout(),
    media: Media = Media(),
    progress: Progress | None = None,
    max_rows: int | None = None,
) -> Loaded:
    """The rows, split and preprocessing of a frame of pandas or polars, or of a CSV, TSV or Parquet file.

    The label and the attribute are columns by name; several attribute columns are crossed, and one of many
    numbers, such as an age, is binned. They are no features, unless `keep_attribute` makes the attribute one; nor
    are the columns to `ignore`, by name or by a pattern such as "*_id". Other columns are numbers or categories as
    they look, or as `types` says; `describe()` shows it. Those that look like identifiers, dates, names or free
    text are left out, unless `types` names them, or `media` as texts or images, which are embedded. The split is
    random by the seed, each (class, attribute) cell in proportion, and its training rows alone decide how columns
    become features. With `test`, another frame or file of the same columns, all its rows are the test rows, and
    those of the first are split in the proportion of the first two sizes. Of more than `max_rows` rows so many are
    drawn by the seed; of a Parquet file whose rows do not fit into memory, as many as do. Whatever looks wrong is
    warned of, and kept in `warnings`.
    """
    _check_settings(sizes, seed, keep_attribute, rules, layout, media)
    _check_rows(max_rows)
    asked = read_types(types) | media.types
    text = [name for name, kind in asked.items() if kind == "category"]
    whole = read(
        frame, missing=rules.missing, text=text, layout=layout, progress=progress, max_rows=max_rows, seed=seed
    )
    for option in ("text", "image"):
        whole.check_names(getattr(media, option), option)
    roles = settle_roles(whole, label, attribute, ignore, asked)
    check_media(media, [roles.label, *roles.attributes, *roles.ignore])
    stacked = whole if test is None else _with_test(whole, test, roles, rules, layout)
    sheet, classes, notes = labelled(stacked, roles.label, asked, rules)
    if stacked.apart and not sheet.apart:
        raise InputError(Option("test"), "has no row with a label", f"a class in its column {roles.label!r}")
    groups, binned = grouped(sheet, roles.attributes, asked, rules)
    parts = _split(sheet, classes, groups, sizes, seed)
    if rules.judged:  # before texts and images are embedded, which may take minutes
        judging = np.concatenate([parts.train, parts.validation])
        keep_comparable(sheet.name, classes, groups, judging, rules.judged)
    unused = {roles.label, *roles.ignore, *(() if keep_attribute else roles.attributes)}
    names = [name for name in sheet.columns if name not in unused]
    columns, unfit = leave_unfit(sheet, names, asked, parts.train, kept=roles.attributes)
    begun = monotonic()
    columns = embed_columns(columns, media.kinds, media.beside(frame), sheet.place)
    embedding = monotonic() - begun
    encodings, pooled = fit_columns(columns, parts.train, rules)
    preprocessing = Preprocessing(encodings, rules.missing)
    titles = {**{name: f"left out ({kind})" for name, kind in unfit.items()}, **roles.titles}
    codes = {**dict.fromkeys(roles.attributes, groups.names), roles.label: classes.names}
    described = describe_columns(whole, titles, codes, preprocessing)
    features = preprocessing.features(columns, sheet.place)
    loaded = Loaded(sheet.name, features, classes, groups, parts, preprocessing, described, (), embedding)
    others = {name: column for name, column in columns.items() if name not in roles.attributes}
    left_out = [describe_unfit(unfit)] if unfit else []
    suspicions = _suspicions(loaded, others, rules, seed)
    warnings = (*whole.notes, *notes, *binned, *left_out, *pooled, *suspicions)
    warn(*warnings)
    return replace(loaded, warnings=warnings)


def _check_rows(max_rows: object) -> None:
    """An error for anything but a number of rows that can be split, or None."""
    if max_rows is not None and not (is_whole(max_rows) and cast(int, max_rows) >= LEAST_ROWS):
        raise InputTypeError(Option("max_rows"), f"is {max_rows!r}", f"a whole number from {LEAST_ROWS}, or None")


def _check_settings(
    sizes: object, seed: object, keep_attribute: object, rules: object, layout: object, media: object
) -> None:
    """An error for a setting of another kind; the values of the sizes are the split's to judge."""
    several = isinstance(sizes, list | tuple | np.ndarray) and len(sizes) == 3
    if not several or not all(map(is_number, cast(Sequence[object], sizes))):
        raise InputTypeError(Option("sizes"), f"is {sizes!r}", "three numbers: shares, or numbers of rows")
    if not is_whole(seed) or cast(int, seed) < 0:
        raise InputTypeError(Option("seed"), f"is {seed!r}", "a whole number from 0")
    kinds = (
        *(("keep_attribute", keep_attribute, bool), ("rules", rules, Rules)),
        *(("layout", layout, Layout), ("media", media, Media)),
    )
    for name, value, kind in kinds:
        if not isinstance(value, kind):
            raise InputTypeError(Option(name), f"is a {type(value).__name__}", f"a {kind.__name__}")


def _with_test(whole: Sheet, test: object, roles: Roles, rules: Rules, layout: Layout) -> Sheet:
    """The sheet with the rows of the second table below."""
    words = [name for name, column in whole.columns.items() if column.type == "category"]
    second = read(test, missing=rules.missing, text=words, layout=layout, argument="test")
    return stack(whole, second, [name for name in whole.columns if name not in roles.ignore])


def _split(sheet: Sheet, classes: Words, groups: Codes, sizes: Sizes | Fractions, seed: int) -> Parts:
    """The rows that train, select and judge; those of a second table judge."""
    if not sheet.apart:
        return stratified_split(classes.codes, groups.codes, sizes, seed)
    first = sheet.rows - sheet.apart
    train, validation, _ = sizes
    share = train / max(train + validation, 1e-9)
    both = (share, 1 - share, 0.0) if any(isinstance(size, float) for size in sizes) else (train, validation, 0)
    known, attribute = classes.codes[:first], groups.codes[:first]
    new = [name for code, name in enumerate(classes.names) if code not in known]
    if new:
        had = listed([name for name in classes.names if name not in new])
        raise InputError(Option("test"), f"has the class {new[0]!r}", f"those of {sheet.name}, {had}")
    parts = stratified_split(known, attribute, both, seed)
    return Parts(parts.train, parts.validation, np.arange(first, sheet.rows))


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
    told = find_leaks(columns, classes, "label", train, seed)
    yield from told.values()
    untold = {name: column for name, column in columns.items() if name not in told}
    yield from giveaways(untold, classes, train, seed)
    yield from find_leaks(columns, groups, "attribute", train, seed).values()
    yield from identifiers(columns)
    targets = [Words(each.codes, each.names) for each in (classes, groups)]
    yield from repeats([*columns.values(), *targets], loaded.split)
