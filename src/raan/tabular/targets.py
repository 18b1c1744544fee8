"""The label and the attribute of a user's table, as classes and groups."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int

from raan.errors import InputError, Message, Option
from raan.fairness.cells import cell_counts
from raan.fairness.groups import Codes, cross_codes, keep_judged
from raan.tabular.bins import as_groups
from raan.tabular.columns import Numbers, Type, Words
from raan.tabular.preprocessing import Rules
from raan.tabular.sheet import Sheet
from raan.tabular.words import listed

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
