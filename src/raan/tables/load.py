"""Load a user's own table: from a frame or a file to features, classes, groups and a split, in one call."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Int

from raan.data.split import Fractions, Parts, Sizes, stratified_split
from raan.errors import InputError, InputTypeError, Message, Option, is_number, is_whole, listed, needing
from raan.fairness.counts import cell_counts
from raan.fairness.groups import UNKNOWN, Codes, cross_codes, keep_large_groups
from raan.tables import checks
from raan.tables.columns import Type, as_categories, known_values, to_codes, type_of
from raan.tables.media import Media, check_media, embed_columns
from raan.tables.preprocess import Column, Drift, Preprocessing, Rules, fit_columns, respell, warn
from raan.tables.read import Layout, Progress, RawTable, concatenate, open_source, read, read_weight
from raan.tables.rest import Rest

if TYPE_CHECKING:
    from raan.data.table import Table

Name = str | int | np.integer
"""A column's name; pandas has numbers as well."""

MIN_ROWS = 100
"""The smallest `max_rows`: fewer rows are not worth a split."""

MANY_CLASSES = 10
"""A label with more classes may be a quantity, or another column than was meant."""

MANY_NUMBERS, BINS = 20, 3
"""An attribute of more different numbers is a quantity, and becomes so many bins."""


class Described(NamedTuple):
    """What a column holds, and what became of it."""

    column: str
    role: str  # label, attribute, feature, ignored, or left out
    type: str
    values: str
    missing: str
    encoded: str


@dataclass(frozen=True, eq=False, repr=False)
class Loaded:
    """Rows to learn from.

    Attributes:
        name: the table's name.
        features: one row of numbers for each row of the table.
        label: the classes.
        attribute: the groups; UNKNOWN (-1) where the attribute is missing.
        split: the rows that train, validate and test.
        preprocessing: how new rows become features.
        columns: what became of each column.
        warnings: all that was warned of.
        embedding_seconds: how long it took to embed texts and images.
        weight: what each row counts; None where all count alike.
        person: whose row it is, as codes; None where each is another's.
        rest: the rows of the file that were not drawn; None where there are none, or where they cannot be read on
            their own.
        strata: the codes of the control columns, and those of the attribute alone; None without control columns.
            With them, `attribute` is crossed.
    """

    name: str
    features: Float32[np.ndarray, "row feature"]
    label: Codes
    attribute: Codes
    split: Parts
    preprocessing: Preprocessing
    columns: tuple[Described, ...]
    warnings: tuple[str, ...]
    embedding_seconds: float = 0.0
    weight: Float[np.ndarray, "row"] | None = None
    person: Int[np.ndarray, "row"] | None = None
    rest: Rest | None = None
    strata: tuple[Codes, Codes] | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.features)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, such as "age" and "job=Clerk"."""
        return self.preprocessing.feature_names

    @property
    def cells(self) -> Int[np.ndarray, "label attribute"]:
        """The number of rows of each (class, attribute) cell; rows of unknown attribute are in none."""
        shape = (len(self.label.names), len(self.attribute.names))
        return cell_counts(self.label.codes, self.attribute.codes, shape)

    @cached_property
    def table(self) -> Table:
        """The rows as tensors, for the training engine; the features are not copied."""
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
        """Return what became of each column, the sizes of the (class, attribute) cells, and of the split."""
        unknown = int((self.attribute.codes == UNKNOWN).sum())
        cells = describe_cells(self.cells, self.label.names, self.attribute.names, unknown)
        train, validation, test = (f"{len(part):,}" for part in self.split)
        parts = f"split: {train} rows train, {validation} validate, {test} test"
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
    weight: Name | None = None,
    person: Name | None = None,
    control: Name | Sequence[Name] = (),
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
    """Load a frame of pandas or polars, or a CSV, TSV or Parquet file.

    Columns are numbers or categories as they look; `describe()` of the result shows it. Those that look like
    identifiers, dates, names or free text are left out, unless `types` or `media` names them. Only training rows
    decide how columns become features. Whatever looks wrong is warned of by a `DataWarning`, and is in `warnings`.

    Args:
        frame: the table.
        label: the column to predict.
        attribute: the column of the groups. Several are crossed; a quantity, such as an age, is binned.
        ignore: columns to leave out, by name or by a pattern such as "*_id".
        weight: a column with what each row counts, such as a survey's weights. It is no feature.
        person: a column that says whose row it is, where people have several: all rows of a person are on one side
            of every split. It is no feature.
        control: columns within whose values groups are compared, such as the kind of job. They are features, too.
        types: "number" or "category" for columns that do not look like what they are.
        keep_attribute: whether the attribute is a feature too.
        test: a second table whose rows are the test rows; the first is then split by the first two sizes.
        sizes: the shares, or numbers, of rows that train, validate and test. The split keeps the proportions of
            the (class, attribute) cells.
        seed: the seed of the split.
        rules: how columns become features, and what is warned of.
        layout: how text files are written.
        media: which columns are texts or images, to be embedded.
        progress: a callback that receives how much of the file is read, and its size.
        max_rows: the number of rows to draw from a larger table; `rest` of the result are the others of a
            Parquet file.

    Returns:
        The rows, their split, and the preprocessing for new rows.

    Raises:
        InputError: for a table, a column or a setting that cannot be used; it says what to do.
    """
    _check_settings(sizes, seed, keep_attribute, rules, layout, media, max_rows)
    if not isinstance(types, Mapping | None):
        raise InputTypeError(Option("types"), f"is a {type(types).__name__}", "a mapping from columns to types")
    asked = {_read_name(name, "types"): kind for name, kind in (types or {}).items()} | media.types
    text = [name for name, kind in asked.items() if kind == "category"]
    options = {"missing": rules.missing, "layout": layout}
    whole = read(frame, text=text, progress=progress, max_rows=max_rows, seed=seed, **options)  # type: ignore[arg-type]
    for option in ("text", "image"):
        whole.check_names(getattr(media, option), option)
    roles = _check_roles(whole, label, attribute, ignore, {"weight": weight, "person": person}, asked)
    target, attributes = next(iter(roles)), [name for name, role in roles.items() if role == "attribute"]
    controls = list(_read_names(control, "control"))
    whole.check_names(controls, "control")
    if twice := next((name for name in controls if name in {target, *attributes}), None):
        raise InputError(Option("control"), f"names {twice!r}, the label or an attribute", "other columns")
    check_media(media, list(roles))
    stacked, apart = whole, 0
    if test is not None:
        words = [name for name in whole.names if type_of(whole.frame[name]) == "category"]
        second = read(test, text=words, argument="test", **options)  # type: ignore[arg-type]
        stacked = concatenate(whole, second, [name for name in whole.names if roles.get(name) != "ignored"])
        apart = len(second.frame)
    named = [target, *attributes, *controls]
    respelt, spelt = respell({name: stacked.frame[name] for name in named}, rules.merge_spellings)
    stacked = replace(stacked, frame=stacked.frame.assign(**respelt)) if rules.merge_spellings else stacked
    table, classes, notes = _read_label(stacked, target, asked, rules)
    apart = int((table.frame.index >= stacked.frame.index[len(stacked.frame) - apart]).sum()) if apart else 0
    if test is not None and not apart:
        raise InputError(Option("test"), "has no row with a label", f"a class in its column {target!r}")
    groups, binned = _read_groups(table, attributes, asked, rules)
    strata = None
    if controls:
        within, more_binned = _read_groups(table, controls, asked, rules)
        binned, strata = [*binned, *more_binned], (within, groups)
        groups = cross_codes(strata)
    weights, persons = read_weight(table, weight), read_person(table, person)
    parts = _split(table, apart, classes, groups, sizes, seed, persons)
    if rules.min_cell_rows:  # before texts and images are embedded, which may take minutes
        training = np.concatenate([parts.train, parts.validation])
        keep_comparable(table.name, classes, groups, training, rules.min_cell_rows)
    unused = {name for name, role in roles.items() if not (keep_attribute and role == "attribute")}
    names = [name for name in table.names if name not in unused]
    columns, unfit = checks.leave_unfit(table, names, asked, parts.train, kept=attributes)
    worded = {name: column for name, column in columns.items() if name not in {*media.types, *attributes}}
    respelt, more = respell(worded, rules.merge_spellings)
    columns |= respelt
    begun = monotonic()
    embedded = embed_columns(columns, media.kinds, media.beside(frame), table.locate)
    embedding = monotonic() - begun
    encodings, pooled = fit_columns(embedded, parts.train, rules)
    preprocessing = Preprocessing(encodings, rules.missing, layout.decimal, rules.merge_spellings)
    titles = {**{name: f"left out ({kind})" for name, kind in unfit.items()}, **roles}
    codes = {**dict.fromkeys(attributes, groups.names), target: classes.names}
    described = tuple(_describe_columns(whole, titles, codes, preprocessing))
    features = preprocessing.features(embedded, table.locate)
    rest = None
    if whole.drawn_of and not (binned or persons is not None or preprocessing.encoders):
        drawn = np.isin(np.arange(whole.drawn_of), whole.frame.index)
        source = open_source(Path(cast(str, frame)), layout)
        counted = None if weight is None else str(weight)
        rest = Rest(source, drawn, target, (*controls, *attributes), asked, counted, preprocessing)
    loaded = Loaded(
        *(table.name, features, classes, groups, parts, preprocessing, described, (), embedding, weights, persons),
        rest,
        strata,
    )
    others = {name: column for name, column in embedded.items() if name not in attributes}
    left_out = [checks.describe_unfit(unfit)] if unfit else []
    misread = checks.find_misread(embedded, whole.padded, parts.train)
    drift = Drift()
    if test is not None:
        drift.add(encodings, {each.column: columns[each.column].take(parts.test) for each in encodings})
    drifted = [f"in the test rows, {note}" for note in drift.notes]
    found = (*spelt, *more, *misread, *pooled, *drifted, *_find_suspicions(loaded, others, rules, seed))
    warnings = (*whole.notes, *notes, *binned, *left_out, *found)
    warn(*warnings)
    return replace(loaded, warnings=warnings)


def _check_settings(
    sizes: object, seed: object, keep_attribute: object, rules: object, layout: object, media: object, most: object
) -> None:
    """Raise an InputTypeError for a setting of another type; the values of the sizes are checked by the split."""
    several = isinstance(sizes, list | tuple | np.ndarray) and len(sizes) == 3
    if not several or not all(map(is_number, cast(Sequence[object], sizes))):
        raise InputTypeError(Option("sizes"), f"is {sizes!r}", "three numbers: shares, or numbers of rows")
    if not is_whole(seed) or cast(int, seed) < 0:
        raise InputTypeError(Option("seed"), f"is {seed!r}", "a whole number from 0")
    if most is not None and not (is_whole(most) and cast(int, most) >= MIN_ROWS):
        raise InputTypeError(Option("max_rows"), f"is {most!r}", f"a whole number from {MIN_ROWS}, or None")
    kinds = ((keep_attribute, bool), (rules, Rules), (layout, Layout), (media, Media))
    for name, (value, kind) in zip(("keep_attribute", "rules", "layout", "media"), kinds, strict=True):
        if not isinstance(value, kind):
            raise InputTypeError(Option(name), f"is a {type(value).__name__}", f"a {kind.__name__}")


# Which column is what.


def _check_roles(
    table: RawTable,
    label: Name,
    attribute: Name | Sequence[Name],
    ignore: Name | Sequence[Name],
    counted: Mapping[str, Name | None],
    types: Mapping[str, Type],
) -> dict[str, str]:
    """Return the role of each column that is not a feature, the label first, or raise an InputError."""
    others = {_read_name(name, role): role for role, name in counted.items() if name is not None}
    for name, role in others.items():
        table.check_names([name], role)
    target, attributes = _read_name(label, "label"), _read_names(attribute, "attribute")
    table.check_names([target], "label")
    table.check_names(attributes, "attribute")
    ignored = table.match(_read_names(ignore, "ignore"), {target, *attributes, *others})
    table.check_names(types, "types")
    named = [target, *attributes, *others, *ignored]
    if len(others) < sum(name is not None for name in counted.values()):
        named += list(others)
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        options = Message(Option("label"), ", ", Option("attribute"), " and ", Option("ignore"))
        raise InputError(f"the column {twice!r}", Message("is named twice in ", options), "one role")
    strange = next((kind for kind in types.values() if kind not in ("number", "category")), None)
    if strange is not None:
        raise InputError("types", f"holds {strange!r}", "'number' or 'category'")
    columns = table.frame.shape[1]
    if not attributes or len(named) == columns:
        expected = Message("an ", Option("attribute"), ", and at least one more column to learn from")
        raise InputError(table.name, f"has {columns:,} columns, of which {len(named):,} are named", expected)
    of_rows = {target: "label", **dict.fromkeys(attributes, "attribute"), **others}
    return {**of_rows, **dict.fromkeys(ignored, "ignored")}


def _read_names(names: object, argument: str) -> tuple[str, ...]:
    if isinstance(names, Name) or not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0:
        return (_read_name(names, argument),)
    return tuple(_read_name(name, argument) for name in names)


def _read_name(name: object, argument: str) -> str:
    """Return a column's name as text; pandas has numbers as names, too."""
    if isinstance(name, str):
        return name
    if is_whole(name):
        return str(name)
    raise InputTypeError(Option(argument), f"is {name!r}, of type {type(name).__name__}", "the name of a column")


# The label and the groups.


def _read_label(
    table: RawTable, label: str, types: Mapping[str, Type], rules: Rules
) -> tuple[RawTable, Codes, list[str]]:
    """Return the rows that have a label, their classes, and what to warn of."""
    column = table.check([label], types)[label]
    if type_of(column) == "number":
        values = column.to_numpy()
        fraction = ~np.isnan(values) & (values != np.floor(values))
        if fraction.any():
            row = int(fraction.argmax())
            raise InputError(
                f"{table.locate(row)}: the label {label!r}",
                f"is {values[row]}",
                "classes, as words or whole numbers",
                "a quantity becomes classes by thresholds",
            )
    classes = to_codes(column)
    _check_count(table, f"label {label!r}", classes, fewest=2, most=rules.groups)
    known = classes.codes != UNKNOWN
    if known.all():
        return table, classes, []
    said = f"is missing in {(~known).sum():,} of {len(known):,} rows"
    if rules.missing_label == "refuse":
        first = table.locate(int(known.argmin()))
        raise InputError(f"the label {label!r}", f"{said}, the first at {first}", "a class in every row")
    kept = Codes(classes.codes[known], classes.names)
    return table.take(np.flatnonzero(known)), kept, [f"the label {label!r} {said}, which are dropped"]


def _read_groups(
    table: RawTable, attributes: Sequence[str], types: Mapping[str, Type], rules: Rules
) -> tuple[Codes, list[str]]:
    """Return the groups, crossed where there are several attributes, and what to warn of."""
    groups: list[Codes] = []
    notes: list[str] = []
    for name, column in table.check(attributes, types).items():
        words, note = as_groups(name, column)
        codes = to_codes(words)
        _check_count(table, f"attribute {name!r}", codes, fewest=1, most=rules.groups)
        groups.append(codes)
        if note:
            keep = Option("category", name, python=f"types={{{name!r}: 'category'}}")
            notes.append(
                Message(f"{note}; cut it beforehand for other bins, or to have a group of each pass ", keep)
            )
    crossed = cross_codes(groups)
    if not crossed.names:
        came = f"is missing in all {len(table.frame):,} rows, in one column or the other"
        raise InputError(Option("attribute"), came, "at least one row where all are known")
    return crossed, notes


def read_person(table: RawTable, name: Name | None) -> Int[np.ndarray, "row"] | None:
    """Return whose row each is, as codes; a row without a name is another's."""
    if name is None:
        return None
    codes = to_codes(as_categories(table.check([str(name)], {str(name): "category"})[str(name)])).codes
    unknown = codes == UNKNOWN
    return np.asarray(np.where(unknown, codes.max() + 1 + np.cumsum(unknown), codes))


def _check_count(table: RawTable, what: str, codes: Codes, *, fewest: int, most: int) -> None:
    """Raise an InputError unless a label or an attribute has an acceptable number of values."""
    count = len(codes.names)
    if count < fewest:
        only = f"one value only, {codes.names[0]!r}," if count else "no value"
        raise InputError(
            f"{table.name}: the {what}", f"has {only} in {len(codes.codes):,} rows", f"{fewest} or more"
        )
    if count > most:
        raise InputError(
            f"{table.name}: the {what}",
            f"has {count:,} values",
            f"{most} at most",
            "group them into fewer, or in Python raise the bound by Rules(groups=...)",
        )


def as_groups(name: str, column: pd.Series) -> tuple[pd.Series, str]:
    """Return the groups of an attribute as categories and, where it is a quantity that is binned, a note."""
    known = known_values(column) if type_of(column) == "number" else np.empty(0)
    distinct = len(np.unique(known))
    if distinct <= MANY_NUMBERS:
        return as_categories(column), ""
    binned = bin_numbers(column)
    sizes = binned.value_counts(sort=False)
    bins = ", ".join(f"{bin_} ({size:,} rows)" for bin_, size in sizes.items())
    return binned, f"the attribute {name!r} has {distinct:,} different numbers, and is binned: {bins}"


def bin_numbers(column: pd.Series) -> pd.Series:
    """Return the numbers in bins of about as many rows each; missing ones stay missing."""
    known = known_values(column)
    cuts = find_cuts(known)
    codes = np.where(column.isna(), UNKNOWN, np.searchsorted(cuts, column.to_numpy(), side="right"))
    names = pd.Index(_name_bins(known, cuts), dtype=object)
    return pd.Series(pd.Categorical.from_codes(codes, names), column.index)


def find_cuts(values: Float[np.ndarray, "value"]) -> Float[np.ndarray, "cut"]:
    """Return where bins begin, the first aside: quantiles at round numbers, as long as no bin is empty."""
    ordered = np.sort(values)
    quantiles = np.quantile(values, np.arange(1, BINS) / BINS)
    step = _round_step(values)
    for cuts in (np.round(quantiles / step) * step, np.ceil(quantiles), quantiles):
        _, first = np.unique(np.searchsorted(ordered, cuts), return_index=True)  # cuts that part rows differently
        inside = np.asarray(cuts[first][(cuts[first] > ordered[0]) & (cuts[first] <= ordered[-1])])
        if len(inside) == len(quantiles):
            return inside
    # Most rows have one value, such as 0: what is above it is a bin.
    return inside if len(inside) else np.asarray(np.unique(values)[1:2])


def _round_step(values: Float[np.ndarray, "value"]) -> float:
    """Return about a tenth of the range of most values, as 1, 2 or 5 times a power of ten."""
    low, high = np.quantile(values, [0.05, 0.95])
    width = float(high - low) / 10 or 1.0
    power = 10.0 ** math.floor(math.log10(width))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= 0.7 * width)
    return max(step, 1.0) if np.array_equal(values, np.floor(values)) else step


def _name_bins(values: Float[np.ndarray, "value"], cuts: Float[np.ndarray, "cut"]) -> tuple[str, ...]:
    """Return the names of bins: 17-29, 30-44, 45+ for whole numbers, otherwise by their bounds."""
    if np.array_equal(values, np.floor(values)) and values.min() >= 0:
        starts = [int(values.min()), *(math.ceil(cut) for cut in cuts)]
        ends = [start - 1 for start in starts[1:]]
        named = [f"{start}-{end}" if end > start else f"{start}" for start, end in zip(starts, ends, strict=False)]
        return *named, f"{starts[-1]}+"
    bounds = [f"{cut:.6g}" for cut in cuts]
    if len(set(bounds)) < len(bounds):
        bounds = [repr(float(cut)) for cut in cuts]
    between = (f"{low} to {high}" for low, high in pairwise(bounds))
    return f"below {bounds[0]}", *between, f"{bounds[-1]} or more"


def keep_comparable(name: str, label: Codes, attribute: Codes, rows: Int[np.ndarray, "some"], least: int) -> Codes:
    """Keep the groups with so many of the rows in every class, and make the others unknown.

    Raises:
        InputError: where fewer than two groups are left.
    """
    shape = len(label.names), len(attribute.names)
    cells = cell_counts(label.codes[rows], attribute.codes[rows], shape)
    kept = keep_large_groups(attribute, cells, least)
    if len(kept.names) >= 2:
        return kept
    code, group = divmod(int(cells.argmin()), shape[1])
    remedy = "give more rows, or merge rare classes and small groups"
    if len(label.names) > MANY_CLASSES:
        remedy = f"the label has the classes {listed(label.names)}; give one with fewer, or more rows"
    raise InputError(
        f"{name}:",
        f"{len(kept.names)} of {shape[1]} groups have {least} training rows or more of every class; the fewest "
        f"rows, {int(cells.min())}, have the class {label.names[code]!r} and the group {attribute.names[group]!r}",
        f"two groups or more to compare, of {listed(attribute.names)}",
        remedy,
    )


def _split(
    table: RawTable,
    apart: int,
    classes: Codes,
    groups: Codes,
    sizes: Sizes | Fractions,
    seed: int,
    person: Int[np.ndarray, "row"] | None,
) -> Parts:
    """Split the rows; those of a second table, which are the last, are the test rows.

    All rows of a person are in one part: persons are split by the class and group of their first row.
    """
    if not apart and person is not None:
        _, place, of_row = np.unique(person, return_index=True, return_inverse=True)
        of_persons = stratified_split(classes.codes[place], groups.codes[place], sizes, seed)
        found = [np.flatnonzero(np.isin(of_row, part)) for part in of_persons]
        return Parts(found[0], found[1], found[2])
    if not apart:
        return stratified_split(classes.codes, groups.codes, sizes, seed)
    first = len(classes.codes) - apart
    train, validation, _ = sizes
    share = train / max(train + validation, 1e-9)
    both = (share, 1 - share, 0.0) if any(isinstance(size, float) for size in sizes) else (train, validation, 0)
    known, attribute = classes.codes[:first], groups.codes[:first]
    new = [name for code, name in enumerate(classes.names) if code not in known]
    if new:
        had = listed([name for name in classes.names if name not in new])
        raise InputError(Option("test"), f"has the class {new[0]!r}", f"those of {table.name}, {had}")
    parts = stratified_split(known, attribute, both, seed)
    return Parts(parts.train, parts.validation, np.arange(first, len(classes.codes)))


# What the user is shown.


def _find_suspicions(loaded: Loaded, columns: Mapping[str, Column], rules: Rules, seed: int) -> Iterator[str]:
    """Return a note on each thing that looks wrong with the table."""
    classes, groups, train = loaded.label, loaded.attribute, loaded.split.train
    unknown = int((groups.codes == UNKNOWN).sum())
    if unknown:
        of_all = f"{unknown:,} of {loaded.rows:,} rows"
        yield f"the attribute is unknown in {of_all}: they train, but belong to no group"
    if len(groups.names) == 1:
        yield f"the attribute has one value only, {groups.names[0]!r}: there are no groups to compare"
    yield from checks.find_tiny_cells(loaded.cells, classes.names, groups.names, rules.tiny)
    leaks = checks.find_leaks(columns, classes, "label", train, seed)
    yield from leaks.values()
    others = {name: column for name, column in columns.items() if name not in leaks}
    yield from checks.find_giveaways(others, classes, train, seed)
    yield from checks.find_leaks(columns, groups, "attribute", train, seed).values()
    yield from checks.find_identifiers(columns)
    yield from checks.find_repeats([*columns.values(), classes, groups], loaded.split)


def _describe_columns(
    table: RawTable, roles: Mapping[str, str], codes: Mapping[str, Sequence[str]], preprocessing: Preprocessing
) -> Iterator[Described]:
    """Describe each column; `roles` are those of columns that are no features, `codes` their values' names."""
    encodings = {encoding.column: encoding for encoding in preprocessing.encodings}
    for name in table.names:
        column = table.frame[name]
        encoding, kind = encodings.get(name), type_of(column)
        values = ""
        if kind == "category":
            values = f"{len(column.cat.categories):,}" if len(column.cat.categories) else ""
        elif kind == "number" and len(known := known_values(column)):
            values = f"{known.min():.4g} to {known.max():.4g}"
        role = [roles[name]] if name in roles else []
        encoded = [listed(codes[name], 4)] if name in codes else []
        yield Described(
            name,
            ", ".join([*role, *(["feature"] if encoding else [])]) or "left out",
            encoding.kind if encoding else kind or str(column.dtype),
            values,
            f"{column.isna().sum():,}" if kind else "",
            "; ".join([*encoded, *([str(encoding)] if encoding else [])]),
        )


def align(lines: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    """Pad the columns of a text table to one width; all but the first to the right if they are numbers."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    pad = [str.ljust, *[str.rjust if numbers else str.ljust] * (len(widths) - 1)]
    padded = ([f(text, width) for f, text, width in zip(pad, line, widths, strict=True)] for line in lines)
    return ["  ".join(line).rstrip() for line in padded]


def describe_cells(
    cells: Int[np.ndarray, "label attribute"], classes: Sequence[str], groups: Sequence[str], unknown: int
) -> list[str]:
    """Return the number of rows of each (class, attribute) cell, and of unknown attribute, as lines of text."""
    counts = [(name, *(f"{count:,}" for count in row)) for name, row in zip(classes, cells.tolist(), strict=True)]
    note = [f"attribute unknown: {unknown:,} rows"] if unknown else []
    return [*align([("", *groups), *counts], numbers=True), *note]
