"""Checks of a user's table: columns unfit to learn from, leaks, identifiers, tiny groups, repeated rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from raan.data.split import Parts
from raan.data.streams import stream
from raan.errors import InputError, Message, Option, listed
from raan.fairness.groups import UNKNOWN, Codes
from raan.tables.columns import MOSTLY_NUMBERS, Type, known_values, leave_out, number_of, rank_values, type_of
from raan.tables.media import Vectors
from raan.tables.read import RawTable

if TYPE_CHECKING:
    from raan.tables.preprocess import Column

# Columns that no model should learn from as they are.

Unfit = Literal[
    "identifiers", "dates or times", "free text", "image files", "names or free text", "neither numbers nor words"
]

MIN_VALUES = 20  # rows from which values that never repeat mean something
UNIQUE = 0.9  # distinct values per row from which values hardly repeat
TEXT = 0.2  # distinct values per row from which many words are names or free text
FREQUENT = 10  # rows of a word that repeats; where half of all rows have such words, they are categories
MANY = 100  # distinct words; fewer can be categories
NAMES = 20  # distinct words in a column that is called as people's names are
SENTENCE = 4  # words per value, in the mean, from which a value is a sentence
NEARLY_ALL = 0.95  # the share of distinct values that must be spelt as dates or addresses
SAMPLED_VALUES = 500  # distinct values whose spelling is looked at

_PERSON = {"name", "firstname", "lastname", "fullname", "forename", "surname", "givenname", "familyname"}
_KEYS = {"id", "uid", "uuid", "guid", "ssn", "nr", "no", "number", "key", "ref", "index"}
_KEYS |= {"identifier", "phone", "telephone"}
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
_UNIX = (1e8, 2e13)  # seconds or milliseconds since 1970, from 1973 on
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def leave_unfit(
    table: RawTable,
    names: Sequence[str],
    types: Mapping[str, Type],
    train: Int[np.ndarray, "train"],
    kept: Collection[str] = (),
) -> tuple[dict[str, pd.Series], dict[str, Unfit]]:
    """Return the columns to learn from, of the types asked for, and what those left out look like.

    Only training rows are looked at. Columns that are kept, or whose type is asked for, are not looked at.
    """
    unfit = {}
    for name in names:
        if name not in {*types, *kept} and (kind := find_unfit(name, table.frame[name].take(train))):
            unfit[name] = kind
    left = [name for name in names if name not in unfit]
    if unfit and not left:
        raise InputError(table.name, "has no other columns to learn from", "at least one", describe_unfit(unfit))
    return table.check(left, types), unfit


def describe_unfit(found: Mapping[str, Unfit]) -> Message:
    """Return a note on what was left out, by kind, and how to keep a column."""
    kinds: dict[str, list[str]] = {}
    for name, kind in found.items():
        kinds.setdefault(kind, []).append(name)
    said = "; ".join(f"{kind}: {listed(names, 20)}" for kind, names in kinds.items())
    first = next(iter(found))
    advice: list[str | Option] = []
    for kind, option, many in (("free text", "text", "texts"), ("image files", "image", "images")):
        if kind in kinds:
            name = kinds[kind][0]
            advice += [f"; to learn from {many}, pass "]
            advice += [Option(option, name, python=f"media=Media({option}=({name!r},))")]
    return Message(
        f"{len(found):,} column{'s that look' if len(found) > 1 else ' that looks'} unfit to learn from "
        f"{'are' if len(found) > 1 else 'is'} left out ({said}); keep one by ",
        Option("category", first, python=f"types={{{first!r}: 'category'}}"),
        ", or derive numbers or categories from it",
        *advice,
    )


def find_unfit(name: str, column: pd.Series) -> Unfit | None:
    """Return what a column looks like, if it is fit for neither numbers nor categories."""
    kind = type_of(column)
    if kind == "number":
        return _find_unfit_numbers(name, known_values(column))
    if kind == "category":
        return _find_unfit_words(name, column)
    known = column.dropna()
    holds = str(column.dtype) if column.dtype != object or known.empty else type(known.iloc[0]).__name__
    is_time = re.search("date|time|period", holds, re.IGNORECASE)
    return "dates or times" if is_time else "neither numbers nor words"


def _find_unfit_numbers(name: str, values: Float[np.ndarray, "value"]) -> Unfit | None:
    if len(values) < MIN_VALUES or not (np.isfinite(values).all() and np.array_equal(values, np.floor(values))):
        return None
    distinct = np.unique(values)
    *_, last = ["", *_split_name(name)]
    month, day = distinct // 100 % 100, distinct % 100
    as_days = (
        (distinct >= 19000101) & (distinct <= 21001231) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    )
    as_seconds = last in _TIMES and distinct[0] >= _UNIX[0] and distinct[-1] <= _UNIX[1]
    if len(distinct) > NAMES and (as_days.all() or as_seconds):
        return "dates or times"
    share = len(distinct) / len(values)
    by_name = share >= (TEXT if last == "id" else UNIQUE) and last in _KEYS and len(distinct) > MANY
    return "identifiers" if by_name or (share >= UNIQUE and are_serial(values, distinct)) else None


def are_serial(values: Float[np.ndarray, "value"], distinct: Float[np.ndarray, "distinct"]) -> bool:
    """Return whether whole numbers repeat so seldom that they must have been assigned, one to a row.

    Of numbers drawn from a smooth distribution, about half as many pairs are equal as are neighbours. Incomes may
    all differ as well, but then they are far from one another.
    """
    gaps = np.diff(distinct)
    neighbours = np.count_nonzero(gaps == gaps.min(initial=np.inf))
    expected, repeated = neighbours / 2, len(values) - len(distinct)
    return bool(expected - repeated > 3 * np.sqrt(expected))


def _find_unfit_words(name: str, column: pd.Series) -> Unfit | None:
    words, codes = column.cat.categories, column.cat.codes.to_numpy()
    used, counts = np.unique(codes[codes >= 0], return_counts=True)
    few = [words[code] for code in used[:: 1 + len(used) // SAMPLED_VALUES]]

    def spelt(pattern: re.Pattern[str]) -> bool:
        return sum(pattern.fullmatch(word) is not None for word in few) >= NEARLY_ALL * len(few)

    if len(used) > 1 and spelt(_DATE):
        return "dates or times"
    rows = int(counts.sum())
    if rows < MIN_VALUES:
        return None
    if len(used) > NAMES and spelt(_IMAGE):
        return "image files"
    if len(used) > NAMES and spelt(_ADDRESS):
        return "identifiers"
    numbers = [number_of(word.replace(",", ".")) for word in few]
    if len(few) - numbers.count(None) >= MOSTLY_NUMBERS * len(few):  # numbers with a mistake or a comma
        values = np.array([number_of(word) for word in words], dtype=np.float64)[codes[codes >= 0]]
        return _find_unfit_numbers(name, values[np.isfinite(values)])
    spaces = np.mean([word.count(" ") for word in few])
    text: Unfit = "free text" if spaces >= SENTENCE - 1 else "names or free text"
    if len(used) >= UNIQUE * rows:
        return text if spaces >= 0.5 else "identifiers"
    by_name = "".join(_split_name(name)) in _PERSON and len(used) > NAMES
    seldom = len(used) >= TEXT * rows and counts[counts >= FREQUENT].sum() < rows / 2
    by_count = len(used) > MANY and (seldom or spaces >= SENTENCE - 1)
    return text if by_name or by_count else None


def _split_name(name: str) -> list[str]:
    """Return the words of a column's name: those of userID, user_id and "User ID" are user and id."""
    return [part.lower() for part in _PARTS.findall(name)]


# Columns that give the label or the attribute away.

SAMPLED_ROWS = 10_000  # training rows that are looked at
LEAK = 0.99  # the AUC from which a column alone gives the label or the attribute away
MIN_AUC_ROWS = 10  # rows of a value, and of the others, for an AUC
FEW_NUMBERS = 50  # numbers with so few values may be codes, and are looked at as categories too

_ADVICE = {
    "label": "is it known before the label is? If not, it gives the answer away.",
    "attribute": "it is a proxy of the attribute, and a model that sees it sees the attribute.",
}


def find_leaks(
    columns: Mapping[str, Column], target: Codes, what: str, rows: Int[np.ndarray, "train"], seed: int
) -> dict[str, Message]:
    """Return a note for each column that alone separates one value of the label or attribute from all others."""
    known = rows[target.codes[rows] != UNKNOWN]
    sample = stream(seed, "leaks").permutation(known)[:SAMPLED_ROWS]
    found = {}
    for name, column in columns.items():
        auc = measure_leak(_words_of(column).take(sample), target.codes[sample], len(target.names))
        if auc.max() >= LEAK:
            found[name] = Message(
                f"the column {name!r} alone tells the {what} {target.names[auc.argmax()]!r} from the rest "
                f"(AUC {auc.max():.3f} on {len(sample):,} training rows): {_ADVICE[what]} Leave it out by ",
                leave_out(name),
            )
    return found


def measure_leak(column: pd.Series, codes: Int[np.ndarray, "row"], values: int) -> Float[np.ndarray, "value"]:
    """Return the AUC at which the column alone separates the rows of each value from the others.

    A number is taken as it is, and by whether it is missing. A category is taken by how often the value occurs
    with it in the first half of the rows, evaluated on the second, so that rare categories do not predict their
    own label.
    """
    half = len(codes) // 2
    seen, held = codes[:half], codes[half:]
    scores = [column.isna().to_numpy().astype(float)[half:]]
    if type_of(column) == "number":
        scores.append(np.nan_to_num(column.to_numpy())[half:])
    category = rank_values(column)
    if type_of(column) == "category" or category.max(initial=0) < FEW_NUMBERS:
        size = int(category.max(initial=0)) + 1
        count = np.bincount(category[:half], minlength=size)
        for value in range(values):
            hits = np.bincount(category[:half], weights=seen == value, minlength=size)
            rates = np.where(count > 0, hits / np.maximum(count, 1), (seen == value).mean())
            scores.append(rates[category[half:]])
    areas = [areas_under_curve(score, held, values) for score in scores]
    return np.asarray(np.max([np.maximum(area, 1 - area) for area in areas], axis=0))


def areas_under_curve(
    score: Float[np.ndarray, "row"], codes: Int[np.ndarray, "row"], values: int
) -> Float[np.ndarray, "value"]:
    """Return, for each value, the probability that a row with it scores above another row, ties counting half.

    It is 0.5 where there are too few of either.
    """
    _, place, ties = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(ties) - (ties - 1) / 2)[place]
    count = np.bincount(codes, minlength=values)
    above = np.bincount(codes, weights=rank, minlength=values) - count * (count + 1) / 2
    pairs = count * (len(codes) - count)
    enough = np.minimum(count, len(codes) - count) >= MIN_AUC_ROWS
    return np.where(enough, above / np.maximum(pairs, 1), 0.5)


MIN_TREE_ROWS = 50  # rows to evaluate a tree on
RIGHT = 0.95  # the share of correct predictions that is too good to be true
ERRORS_LEFT = 0.25  # of the errors of the most frequent class
MAX_TOGETHER = 3  # columns of a set that gives the label away
MAX_SETS = 5  # of such columns


def find_giveaways(
    columns: Mapping[str, Column], label: Codes, rows: Int[np.ndarray, "train"], seed: int
) -> Iterator[Message]:
    """Return a note for each set of one to three columns by which a small tree predicts nearly all labels."""
    sample = stream(seed, "giveaways").permutation(rows)[:SAMPLED_ROWS]
    if len(sample) < 2 * MIN_TREE_ROWS:
        return
    from sklearn.tree import DecisionTreeClassifier

    codes, half = label.codes[sample], len(sample) // 2
    usual = np.bincount(codes[half:]).max() / (len(sample) - half)
    scores = {name: score_values(_words_of(each).take(sample), codes[:half]) for name, each in columns.items()}

    def evaluate(names: Sequence[str]) -> tuple[float, Any]:
        features = np.stack([scores[name] for name in names], axis=1)
        tree: Any = DecisionTreeClassifier(max_leaf_nodes=16, min_samples_leaf=5, random_state=0)
        tree.fit(features[:half], codes[:half])
        right = float((tree.predict(features[half:]) == codes[half:]).mean())
        return right, tree.feature_importances_

    def too_good(right: float) -> bool:
        return bool(right >= RIGHT and 1 - right <= ERRORS_LEFT * (1 - usual))

    for _ in range(MAX_SETS):
        names = list(scores)
        right, importance = evaluate(names) if names else (0.0, np.empty(0))
        if not too_good(right):
            return
        ranked = [names[place] for place in np.argsort(-importance, kind="stable") if importance[place] > 0]
        sets = [(ranked[:many], evaluate(ranked[:many])[0]) for many in range(1, MAX_TOGETHER + 1)]
        found, right = next(((few, right) for few, right in sets if too_good(right)), (None, 0.0))
        if found is None:
            return
        which, give = ("column", "alone gives") if len(found) == 1 else ("columns", "together give")
        yield Message(
            f"the {which} {' and '.join(map(repr, found))} {give} the label away: a small tree is right in "
            f"{right:.1%} of training rows that it was not fitted to (the most frequent class in {usual:.1%}). Is "
            "that known before the label is? If not, leave out by ",
            *[part for name in found for part in (" and ", leave_out(name))][1:],
        )
        scores = {name: values for name, values in scores.items() if name not in found}


def score_values(column: pd.Series, seen: Int[np.ndarray, "seen"]) -> Float[np.ndarray, "row"]:
    """Return a number for each row: its own, or the mean class of its category in the first rows."""
    if type_of(column) == "number":
        values = column.to_numpy()
        return np.where(np.isnan(values), np.nan_to_num(values).min() - 1, values)
    place = rank_values(column)
    size, first = len(column.cat.categories) + 1, place[: len(seen)]
    count, total = (np.bincount(first, weights=weights, minlength=size) for weights in (None, seen))
    return np.take(np.where(count > 0, total / np.maximum(count, 1), seen.mean()), place)


# Columns that may not be what they are read as.

NINES = {float(sign * (10**digits - 1)) for sign in (1, -1) for digits in range(3, 7)}  # 999, -9999, ...
ABSURD = 1000  # widths of the other numbers' range by which a number is certainly not one of them

_UNITS = re.compile(r"[+-]?[$€£¥]?\s?[+-]?\d[\d.,' ]*\s?(%|‰|°C?|[$€£¥]|k|K|M|kg|cm|km|EUR|USD|GBP)?")


def find_misread(
    columns: Mapping[str, Column], padded: Mapping[str, str], train: Int[np.ndarray, "train"]
) -> Iterator[str]:
    """Return a note on each column whose values may mean something else than what they are read as.

    These are codes with leading zeros, numbers with a sign or a unit, and numbers that mean a missing value.
    """
    for name, column in columns.items():
        if isinstance(column, Vectors):
            continue
        if name in padded and type_of(column) == "number":
            yield Message(
                f"the column {name!r} is read as numbers, and has some with leading zeros, such as "
                f"{padded[name]!r}; if they are codes, pass ",
                Option("category", name, python=f"types={{{name!r}: 'category'}}"),
            )
        rows = column.take(train[:SAMPLED_ROWS])
        if type_of(column) == "category":
            words = list(rows.cat.categories[:SAMPLED_VALUES])
            units = [word for word in words if _UNITS.fullmatch(word) and number_of(word) is None]
            if len(units) > 1 and len(units) >= MOSTLY_NUMBERS * len(words):
                yield (
                    f"the column {name!r} is read as categories, and has numbers with signs, such as "
                    f"{units[0]!r}; write the numbers alone to have them read as numbers"
                )
        elif len(values := np.unique(known_values(rows))) > 2:
            for value, rest in ((values[0], values[1:]), (values[-1], values[:-1])):
                gap, width = np.min(np.abs(rest - value)), rest[-1] - rest[0]
                if gap > ABSURD * width or (value in NINES and gap > width):
                    word = f"{value:.10g}"
                    yield Message(
                        f"the column {name!r} has the number {word} in {int((rows == value).sum()):,} of "
                        f"{len(rows):,} training rows, far from the others ({rest[0]:.6g} to {rest[-1]:.6g}); if "
                        "it means a missing value, pass ",
                        Option("missing", word, python=f"Rules(missing=(*MISSING, {word!r}))"),
                    )


# Rows.

MIN_IDENTIFIERS = 100  # rows from which whole numbers that never repeat look like identifiers


def find_identifiers(columns: Mapping[str, Column]) -> Iterator[str]:
    """Return a note on whole numbers that never repeat, though they may be a quantity."""
    found = []
    for name, column in columns.items():
        if isinstance(column, Vectors) or type_of(column) != "number" or len(column) < MIN_IDENTIFIERS:
            continue
        values = column.to_numpy()
        if np.array_equal(values, np.floor(values)) and column.is_unique:
            found.append(name)
            rows = len(column)
    if found:
        which = f"the column {found[0]!r} is a whole number that differs"
        if len(found) > 1:
            which = f"the columns {listed(list(map(repr, found)))} are whole numbers that differ"
        asked = "is it an identifier? Leave it" if len(found) == 1 else "is one an identifier? Leave it"
        yield Message(f"{which} in all {rows:,} rows: {asked} out by ", leave_out(found[0]))


def find_tiny_cells(
    cells: Int[np.ndarray, "label attribute"], classes: Sequence[str], groups: Sequence[str], least: int
) -> Iterator[str]:
    """Return a note on (class, attribute) cells with too few rows for any metric."""
    small = [
        f"{groups[value]} with {classes[code]} {cells[code, value]:,}"
        for code, value in np.argwhere(cells < least)
    ]
    if small:
        yield (
            f"{len(small)} of {cells.size} (class, attribute) cells have fewer than {least} rows, too few to "
            f"evaluate: {listed(small)}"
        )


def find_repeats(columns: Sequence[pd.Series | Vectors | Codes], parts: Parts) -> Iterator[str]:
    """Return a note on validation and test rows that are, value for value, also training rows."""
    rows = np.zeros(1, dtype=np.uint64)
    for column in columns:
        if isinstance(column, Codes):
            keys = column.codes
        else:
            words = _words_of(column)
            keys = words.to_numpy() + 0.0 if type_of(words) == "number" else words.cat.codes.to_numpy()  # no -0.0
        rows = rows * np.uint64(1_000_003) + pd.util.hash_array(np.asarray(keys)).astype(np.uint64)
    train = rows[parts.train]
    said = []
    for what, part in (("validation", parts.validation), ("test", parts.test)):
        again = int(pd.Series(rows[part]).isin(train).sum())
        if again:
            said.append(f"{again:,} of {len(part):,} {what} rows")
    if said:
        yield f"{' and '.join(said)} repeat a training row in every column: a model has seen those before"


def _words_of(column: Column) -> pd.Series:
    return column.words if isinstance(column, Vectors) else column
