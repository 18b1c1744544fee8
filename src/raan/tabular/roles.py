"""Which column is what: the label, the attributes, those to ignore, and what the user says of the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from raan.errors import InputError, InputTypeError, Message, Option
from raan.tabular.columns import Type
from raan.tabular.sheet import Sheet
from raan.tabular.words import listed

Name = str | int | np.integer
"""A column's name; pandas has numbers as well."""


@dataclass(frozen=True)
class Roles:
    """The columns by name: one label, some attributes, those ignored, and the types that are asked for."""

    label: str
    attributes: tuple[str, ...]
    ignore: tuple[str, ...]
    types: Mapping[str, Type]

    @property
    def titles(self) -> dict[str, str]:
        """What the columns that are no features by themselves are called."""
        ignored = dict.fromkeys(self.ignore, "ignored")
        return {**ignored, **dict.fromkeys(self.attributes, "attribute"), self.label: "label"}


def read_types(types: Mapping[Name, Type] | None) -> dict[str, Type]:
    """The types that are asked for, by the columns' names as text."""
    if not isinstance(types, Mapping | None):
        raise InputTypeError(Option("types"), f"is a {type(types).__name__}", "a mapping from columns to types")
    return {_text(name, "types"): kind for name, kind in (types or {}).items()}


def settle_roles(
    sheet: Sheet,
    label: Name,
    attribute: Name | Sequence[Name],
    ignore: Name | Sequence[Name],
    types: Mapping[str, Type],
) -> Roles:
    """The roles, or a ValueError unless each name is a column's, and each column has one role."""
    target, attributes = _text(label, "label"), _texts(attribute, "attribute")
    sheet.check_names([target], "label")
    sheet.check_names(attributes, "attribute")
    ignored = expand(sheet, _texts(ignore, "ignore"), {target, *attributes})
    sheet.check_names(types, "types")
    roles = Roles(target, attributes, ignored, types)
    _check(sheet, roles)
    return roles


def expand(sheet: Sheet, names: Iterable[str], spared: Iterable[str] = ()) -> tuple[str, ...]:
    """The columns to ignore: names as they stand, and shell patterns such as *_id as the columns that they match.

    A pattern does not match the columns that are spared, since they are named otherwise.
    """
    found: list[str] = []
    for name in names:
        if name in sheet.columns or not set("*?[") & set(name):
            sheet.check_names([name], "ignore")
            found.append(name)
            continue
        matched = [column for column in sheet.columns if fnmatchcase(column, name) and column not in spared]
        if not matched:
            raise InputError(
                Option("ignore"),
                f"is the pattern {name!r}, which matches no column of {sheet.name}",
                f"one that does; they are {listed(list(sheet.columns), 20)}",
            )
        found += [column for column in matched if column not in found]
    return tuple(found)


def _check(sheet: Sheet, roles: Roles) -> None:
    named = [roles.label, *roles.attributes, *roles.ignore]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"the column {twice!r}",
            Message("is named twice in ", Option("label"), ", ", Option("attribute"), " and ", Option("ignore")),
            "one role",
        )
    strange = next((kind for kind in roles.types.values() if kind not in ("number", "category")), None)
    if strange is not None:
        raise InputError("types", f"holds {strange!r}", "'number' or 'category'")
    if not roles.attributes or len(named) == len(sheet.columns):
        raise InputError(
            sheet.name,
            f"has {len(sheet.columns):,} columns, of which {len(named):,} are named",
            Message("an ", Option("attribute"), ", and at least one more column to learn from"),
        )


def _texts(names: object, argument: str) -> tuple[str, ...]:
    """One name or several, as text."""
    if isinstance(names, Name):
        return (_text(names, argument),)
    if names is None or not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0:
        return (_text(names, argument),)
    return tuple(_text(name, argument) for name in names)


def _text(name: object, argument: str) -> str:
    """A name as the sheet has it: numbers are written out."""
    if isinstance(name, str):
        return name
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        return str(name)
    expected = "the name of a column"
    raise InputTypeError(Option(argument), f"is {name!r}, of type {type(name).__name__}", expected)
