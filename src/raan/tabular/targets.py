"""The label and the attribute of a user's table, as classes and groups."""

from collections.abc import Mapping, Sequence

import numpy as np

from raan.errors import InputError, Message, Option
from raan.fairness.groups import Codes, encode_attribute
from raan.tabular.columns import Numbers, Type, Words
from raan.tabular.preprocessing import Rules
from raan.tabular.sheet import Sheet


def check_roles(
    sheet: Sheet, label: str, attributes: Sequence[str], ignore: Sequence[str], types: Mapping[str, Type]
) -> None:
    """Raise a ValueError unless each name is a column's, and each column has one role."""
    for argument, names in {"label": [label], "attribute": attributes, "ignore": ignore, "types": types}.items():
        sheet.check_names(names, argument)
    named = [label, *attributes, *ignore]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"the column {twice!r}",
            Message("is named twice in ", Option("label"), ", ", Option("attribute"), " and ", Option("ignore")),
            "one role",
        )
    strange = next((kind for kind in types.values() if kind not in ("number", "category")), None)
    if strange is not None:
        raise InputError("types", f"holds {strange!r}", "'number' or 'category'")
    if not attributes or len(named) == len(sheet.columns):
        raise InputError(
            sheet.name,
            f"has {len(sheet.columns):,} columns, of which {len(named):,} are named",
            Message("an ", Option("attribute"), ", and at least one more column to learn from"),
        )


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


def grouped(sheet: Sheet, attributes: Sequence[str], types: Mapping[str, Type], rules: Rules) -> Codes:
    """The groups by the attribute columns, crossed where several; unknown where any of them is missing."""
    columns = sheet.settle(attributes, types)
    for name, column in columns.items():
        _check_count(sheet, f"attribute {name!r}", column.as_words(), fewest=1, most=rules.groups)
    values = np.stack([columns[name].objects for name in attributes], axis=1)
    return encode_attribute(values, argument="attribute")


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
