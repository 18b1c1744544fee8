"""The label and the attribute of a user's table, as classes and groups."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from raan.errors import InputError, Message, Option
from raan.fairness.counts import cell_counts
from raan.fairness.groups import UNKNOWN, Codes, cross_codes, keep_judged
from raan.tabular.columns import Numbers, Plain, Type, Words
from raan.tabular.preprocessing import Rules
from raan.tabular.sheet import Sheet
from raan.tabular.words import listed

MANY = 20
"""Numbers of more values are a quantity, and binned; of fewer they are groups as they stand."""

BINS = 3


def as_groups(name: str, column: Plain) -> tuple[Words, str]:
    """The groups of an attribute column, and where it is a quantity that is binned, a note that says so."""
    if not isinstance(column, Numbers):
        return column.as_words(), ""
    known = column.values[~column.missing]
    distinct = len(np.unique(known))
    if distinct <= MANY:
        return column.as_words(), ""
    binned = bin_numbers(column)
    sizes = np.bincount(binned.codes[binned.codes != UNKNOWN], minlength=len(binned.names))
    bins = ", ".join(f"{bin_} ({size:,} rows)" for bin_, size in zip(binned.names, sizes, strict=True))
    return binned, f"the attribute {name!r} has {distinct:,} different numbers, and is binned: {bins}"


def bin_numbers(column: Numbers) -> Words:
    """The numbers by bins of about as many rows each; missing ones stay missing."""
    known = column.values[~column.missing]
    cuts = find_cuts(known)
    codes = np.where(column.missing, UNKNOWN, np.searchsorted(cuts, column.values, side="right"))
    return Words(codes.astype(np.int32), _names(known, cuts))


def find_cuts(values: Float[np.ndarray, "value"]) -> Float[np.ndarray, "cut"]:
    """Where bins begin, the first aside: quantiles at round numbers, as long as no bin is empty."""
    ordered = np.sort(values)
    quantiles = np.quantile(values, np.arange(1, BINS) / BINS)
    for cuts in (np.round(quantiles / (step := _step(values))) * step, np.ceil(quantiles), quantiles):
        _, first = np.unique(np.searchsorted(ordered, cuts), return_index=True)  # one cut of those that part alike
        inside = np.asarray(cuts[first][(cuts[first] > ordered[0]) & (cuts[first] <= ordered[-1])])
        if len(inside) == len(quantiles):
            return inside
    # Most rows have one value, such as 0: what is above it is a bin.
    return inside if len(inside) else np.asarray(np.unique(values)[1:2])


def _step(values: Float[np.ndarray, "value"]) -> float:
    """About a tenth of how far the bulk of the values reaches, as 1, 2 or 5 times a power of ten."""
    low, high = np.quantile(values, [0.05, 0.95])
    width = float(high - low) / 10 or 1.0
    power = 10.0 ** math.floor(math.log10(width))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= 0.7 * width)
    return max(step, 1.0) if _whole(values) else step


def _names(values: Float[np.ndarray, "value"], cuts: Float[np.ndarray, "cut"]) -> tuple[str, ...]:
    """What the bins are called: 17-29, 30-44, 45+ for whole numbers, else by their bounds."""
    if _whole(values) and values.min() >= 0:
        starts = [int(values.min()), *(math.ceil(cut) for cut in cuts)]
        ends = [start - 1 for start in starts[1:]]
        named = [f"{start}-{end}" if end > start else f"{start}" for start, end in zip(starts, ends, strict=False)]
        return *named, f"{starts[-1]}+"
    bounds = [f"{cut:.6g}" for cut in cuts]
    if len(set(bounds)) < len(bounds):
        bounds = [repr(float(cut)) for cut in cuts]
    between = (f"{low} to {high}" for low, high in pairwise(bounds))
    return f"below {bounds[0]}", *between, f"{bounds[-1]} or more"


def _whole(values: Float[np.ndarray, "value"]) -> bool:
    return bool(np.array_equal(values, np.floor(values)))


MANY_CLASSES = 10
"""A label of more classes may be a number, or another column than was meant."""


def labelled(sheet: Sheet, label: str, types: Mapping[str, Type], rules: Rules) -> tuple[Sheet, Words, list[str]]:
    """The rows that have a label, their classes, and what to warn of."""
    column = sheet.settle([label], types)[label]
    if isinstance(column, Numbers):
        _check_whole(sheet, label, column)
    classes = column.as_words()
    _check_count(sheet, f"label {label!r}", classes, fewest=2, most=rules.groups)
    absent = classes.missing
    if not absent.any():
        return sheet, classes, []
    said = f"is missing in {absent.sum():,} of {sheet.rows:,} rows"
    if rules.missing_label == "refuse":
        first = sheet.place(int(absent.argmax()))
        raise InputError(f"the label {label!r}", f"{said}, the first at {first}", "a class in every row")
    kept = sheet.take(np.flatnonzero(~absent))
    return kept, classes.take(np.flatnonzero(~absent)), [f"the label {label!r} {said}, which are dropped"]


def grouped(
    sheet: Sheet, attributes: Sequence[str], types: Mapping[str, Type], rules: Rules
) -> tuple[Codes, list[str]]:
    """The groups by the attribute columns, crossed where several, and what to warn of: numbers that were binned.

    A row is unknown where any of the columns is missing.
    """
    groups: list[Codes] = []
    notes: list[str] = []
    for name, column in sheet.settle(attributes, types).items():
        words, note = as_groups(name, column)
        _check_count(sheet, f"attribute {name!r}", words, fewest=1, most=rules.groups)
        groups.append(words)
        if note:
            keep = Option("category", name, python=f"types={{{name!r}: 'category'}}")
            notes.append(
                Message(f"{note}; cut it beforehand for other bins, or to have a group of each pass ", keep)
            )
    crossed = cross_codes(groups)
    if not crossed.names:
        came = f"is missing in all {sheet.rows:,} rows, in one column or the other"
        raise InputError(Option("attribute"), came, "at least one row where all are known")
    return crossed, notes


def keep_comparable(name: str, label: Codes, attribute: Codes, rows: Int[np.ndarray, "some"], least: int) -> Codes:
    """The groups with so many of the rows in every class, an error where there are not two; others are unknown."""
    shape = len(label.names), len(attribute.names)
    cells = cell_counts(label.codes[rows], attribute.codes[rows], shape)
    judged = keep_judged(attribute, cells, least)
    if len(judged.names) >= 2:
        return judged
    code, group = divmod(int(cells.argmin()), shape[1])
    remedy = "give more rows, or merge rare classes and small groups"
    if len(label.names) > MANY_CLASSES:
        remedy = f"the label has the classes {listed(label.names)}; give one with fewer, or more rows"
    raise InputError(
        f"{name}:",
        f"{len(judged.names)} of {shape[1]} groups have {least} training rows or more of every class; the fewest "
        f"rows, {int(cells.min())}, have the class {label.names[code]!r} and the group {attribute.names[group]!r}",
        f"two groups or more to compare, of {listed(attribute.names)}",
        remedy,
    )


def _check_whole(sheet: Sheet, label: str, column: Numbers) -> None:
    fraction = ~np.isnan(column.values) & (column.values != np.floor(column.values))
    if fraction.any():
        row = int(fraction.argmax())
        raise InputError(
            f"{sheet.place(row)}: the label {label!r}",
            f"is {column.values[row]}",
            "classes, as words or whole numbers",
            "a quantity becomes classes by thresholds",
        )


def _check_count(sheet: Sheet, what: str, column: Words, *, fewest: int, most: int) -> None:
    """Raise a ValueError unless the column has as many values as a label or an attribute can have."""
    count = len(column.names)
    if count < fewest:
        only = f"one value only, {column.names[0]!r}," if count else "no value"
        raise InputError(f"{sheet.name}: the {what}", f"has {only} in {sheet.rows:,} rows", f"{fewest} or more")
    if count > most:
        raise InputError(
            f"{sheet.name}: the {what}",
            f"has {count:,} values",
            f"{most} at most",
            "group them into fewer, or in Python raise the bound by Rules(groups=...)",
        )
