"""Columns that no model should learn from as they stand: identifiers, dates and times, names and free text."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from raan.errors import InputError, Message, Option
from raan.tabular.columns import MOSTLY, Column, Plain, Strange, Type, Words, number_of
from raan.tabular.sheet import Sheet
from raan.tabular.words import listed

Kind = Literal[
    "identifiers", "dates or times", "free text", "image files", "names or free text", "neither numbers nor words"
]

FEWEST = 20  # rows from which values that never repeat say something
UNIQUE = 0.9  # different values a row, from which they hardly repeat
TEXT = 0.2  # the same, from which many words are names or free text
OFTEN = 10  # rows of a word that repeats; where half of all have such words, they are categories
MANY = 100  # different words; fewer can be categories
NAMES = 20  # different words in a column that is called as one of people's names
SENTENCE = 4  # words a value, on average, from which it is a sentence
NEARLY = 0.95  # the share of different values that must be spelt as dates or addresses
SAMPLE = 500  # different values whose spelling is looked at

_PERSON = {"name", "firstname", "lastname", "fullname", "forename", "surname", "givenname", "familyname"}
_KEYS = {
    "id",
    "uid",
    "uuid",
    "guid",
    "ssn",
    "nr",
    "no",
    "number",
    "key",
    "ref",
    "index",
    "identifier",
    "phone",
    "telephone",
}
_TIMES = {"date", "time", "timestamp", "datetime", "at"}

_CLOCK = r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[ap]\.?m\.?)?( ?(Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_YEAR, _DAY = r"(19|20|21)\d\d", r"(0?[1-9]|[12]\d|3[01])"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATES = (
    rf"{_YEAR}[-/.](0?[1-9]|1[0-2])[-/.]{_DAY}",  # 2020-01-31
    rf"{_YEAR}[-/](0[1-9]|1[0-2])",  # 2020-01
    rf"{_DAY}[-/.]{_DAY}[-/.]({_YEAR}|\d\d)",  # 31/01/2020 and 1/31/20
    rf"{_DAY}[ -]{_MONTH}[ -]({_YEAR}|\d\d)",  # 31 January 2020
    rf"{_MONTH} {_DAY}?,? ?{_YEAR}",  # Jan 31, 2020
)
_DATE = re.compile(rf"({'|'.join(_DATES)})([T ,]+{_CLOCK})?|{_CLOCK}", re.IGNORECASE)
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|https?://\S+", re.IGNORECASE)
_IMAGE = re.compile(r".*\.(jpe?g|png)", re.IGNORECASE)
_UNIX = (1e8, 2e13)  # seconds, or thousandths of them, since 1970: from 1973 on
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def leave_unfit(
    sheet: Sheet,
    names: Sequence[str],
    types: Mapping[str, Type],
    train: Int[np.ndarray, "train"],
    kept: Collection[str] = (),
) -> tuple[dict[str, Plain], dict[str, Kind]]:
    """The columns to learn from, of the types asked for, and those left out with what they look like.

    The training rows alone are looked at; columns that are kept, or of which a type is asked, are not.
    """
    asked = {name: sheet.columns[name].take(train) for name in names if name not in {*types, *kept}}
    unfit = {name: kind for name, column in asked.items() if (kind := look(name, column))}
    left = [name for name in names if name not in unfit]
    if unfit and not left:
        raise InputError(sheet.name, "has no other columns to learn from", "at least one", describe_unfit(unfit))
    return sheet.settle(left, types), unfit


def describe_unfit(found: Mapping[str, Kind]) -> Message:
    """What was left out, by kind, and how to keep one of them."""
    kinds: dict[Kind, list[str]] = {}
    for name, kind in found.items():
        kinds.setdefault(kind, []).append(name)
    said = "; ".join(f"{kind}: {listed(names, 20)}" for kind, names in kinds.items())
    first = next(iter(found))
    return Message(
        f"{len(found):,} column{'s that look' if len(found) > 1 else ' that looks'} unfit to learn from "
        f"{'are' if len(found) > 1 else 'is'} left out ({said}); keep one by ",
        Option("category", first, python=f"types={{{first!r}: 'category'}}"),
        ", or derive numbers or categories from it",
        *_suggest_media(kinds),
    )


def _suggest_media(kinds: Mapping[Kind, Sequence[str]]) -> Iterator[str | Option]:
    """How texts and images are learnt from."""
    told: tuple[tuple[Kind, str, str], ...] = (("free text", "text", "texts"), ("image files", "image", "images"))
    for kind, option, many in told:
        if kind in kinds:
            name = kinds[kind][0]
            yield f"; to learn from {many}, pass "
            yield Option(option, name, python=f"media=Media({option}=({name!r},))")


def look(name: str, column: Column) -> Kind | None:
    """What a column looks like, if it is none of numbers or categories."""
    if isinstance(column, Strange):
        is_time = re.search("date|time|period", column.type, re.IGNORECASE)
        return "dates or times" if is_time else "neither numbers nor words"
    if isinstance(column, Words):
        return _look_at_words(name, column)
    return _look_at_numbers(name, column.values[~column.missing])


def _look_at_numbers(name: str, values: Float[np.ndarray, "value"]) -> Kind | None:
    if len(values) < FEWEST or not (np.isfinite(values).all() and np.array_equal(values, np.floor(values))):
        return None
    distinct = np.unique(values)
    *_, last = ["", *_parts(name)]
    if len(distinct) > NAMES and (_are_days(distinct) or (last in _TIMES and _are_seconds(distinct))):
        return "dates or times"
    share = len(distinct) / len(values)
    by_name = share >= (TEXT if last == "id" else UNIQUE) and last in _KEYS and len(distinct) > MANY
    return "identifiers" if by_name or (share >= UNIQUE and are_counted(values, distinct)) else None


def are_counted(values: Float[np.ndarray, "value"], distinct: Float[np.ndarray, "distinct"]) -> bool:
    """Whether whole numbers repeat so seldom that they must have been given out, one to a row.

    Of numbers drawn from any smooth distribution, about half as many pairs are equal as are neighbours. Incomes
    and weights may all differ as well, but then they are far from one another.
    """
    gaps = np.diff(distinct)
    neighbours = np.count_nonzero(gaps == gaps.min(initial=np.inf))
    expected, repeated = neighbours / 2, len(values) - len(distinct)
    return bool(expected - repeated > 3 * np.sqrt(expected))


def _are_days(distinct: Float[np.ndarray, "distinct"]) -> bool:
    """Whether the numbers are dates written as 20200131."""
    month, day = distinct // 100 % 100, distinct % 100
    inside = (distinct >= 19000101) & (distinct <= 21001231)
    return bool((inside & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _are_seconds(distinct: Float[np.ndarray, "distinct"]) -> bool:
    return bool(distinct[0] >= _UNIX[0] and distinct[-1] <= _UNIX[1])


def _look_at_words(name: str, column: Words) -> Kind | None:
    codes = column.codes[~column.missing]
    used = np.unique(codes)
    few = [column.names[code] for code in used[:: 1 + len(used) // SAMPLE]]
    if len(used) > 1 and _share(_DATE, few) >= NEARLY:
        return "dates or times"
    if len(codes) < FEWEST:
        return None
    if len(used) > NAMES and _share(_IMAGE, few) >= NEARLY:
        return "image files"
    if len(used) > NAMES and _share(_ADDRESS, few) >= NEARLY:
        return "identifiers"
    numbers = [number_of(word.replace(",", ".")) for word in few]
    if len(few) - numbers.count(None) >= MOSTLY * len(few):  # numbers, with a fault or a comma in them
        return _look_at_spelt(name, column)
    return _look_at_text(name, few, np.bincount(codes)[used])


def _look_at_spelt(name: str, column: Words) -> Kind | None:
    """What a column of words looks like that are numbers but for a few."""
    spelt = [number_of(word) for word in column.names]
    values = np.array(spelt, dtype=np.float64)[column.codes[~column.missing]]  # None becomes nan
    return _look_at_numbers(name, values[np.isfinite(values)])


def _look_at_text(name: str, few: Sequence[str], counts: Int[np.ndarray, "distinct"]) -> Kind | None:
    distinct, rows = len(counts), int(counts.sum())
    spaced = np.mean([word.count(" ") for word in few])
    text: Kind = "free text" if spaced >= SENTENCE - 1 else "names or free text"
    if distinct >= UNIQUE * rows:
        return text if spaced >= 0.5 else "identifiers"
    by_name = "".join(_parts(name)) in _PERSON and distinct > NAMES
    seldom = distinct >= TEXT * rows and counts[counts >= OFTEN].sum() < rows / 2
    by_count = distinct > MANY and (seldom or spaced >= SENTENCE - 1)
    return text if by_name or by_count else None


def _share(pattern: re.Pattern[str], words: Sequence[str]) -> float:
    return sum(pattern.fullmatch(word) is not None for word in words) / len(words)


def _parts(name: str) -> list[str]:
    """The words of a column's name: those of userID, user_id and "User ID" are user and id."""
    return [part.lower() for part in _PARTS.findall(name)]
