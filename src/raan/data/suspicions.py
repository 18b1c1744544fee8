"""What is wrong with many tables, looked for in this one: leaks, stand-ins, tiny groups, repeated rows."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, UInt64

from raan.data.columns import Numbers, Plain, length, missing_rows, take
from raan.data.lines import listed
from raan.data.split import Split
from raan.data.streams import stream
from raan.data.table import Table
from raan.fairness.groups import UNKNOWN, Codes

SAMPLE = 10_000  # training rows that are looked at for leaks
TELLING = 0.99  # the AUC from which a column by itself gives the label or the attribute away
FEWEST = 10  # rows of a class, and of the others, to judge an AUC by
FEW = 50  # numbers of so few values are looked at as categories too: a code may be in no order
IDENTIFIERS = 100  # rows from which whole numbers that never repeat look like identifiers


def leaks(
    columns: Mapping[str, Plain], target: Codes, what: str, rows: Int[np.ndarray, "train"], seed: int
) -> Iterator[str]:
    """What to warn of where a column alone tells one value of the label or attribute from all others."""
    known = rows[target.codes[rows] != UNKNOWN]
    sample = stream(seed, "leaks").permutation(known)[:SAMPLE]
    codes = target.codes[sample]
    for name, column in columns.items():
        auc = [telling(take(column, sample), codes, value) for value in range(len(target.names))]
        if auc and max(auc) >= TELLING:
            value = target.names[int(np.argmax(auc))]
            yield (
                f"the column {name!r} alone tells the {what} {value!r} from the rest (AUC {max(auc):.3f} on "
                f"{len(sample):,} training rows): {_ADVICE[what]} Leave it out by ignore=[{name!r}]"
            )


_ADVICE = {
    "label": "is it known before the label is? If not, it gives the answer away.",
    "attribute": "it stands in for the attribute, and a model that sees it sees the attribute.",
}


def telling(column: Plain, codes: Int[np.ndarray, "row"], value: int) -> float:
    """The AUC at which the column tells rows of this value from the others; 0.5 if they are too few.

    A number is taken as it stands, and by whether it is missing; a category by how often the value goes
    with it in the first half of the rows, judged on the second, so that rare ones do not tell themselves.
    """
    positive = codes == value
    half = len(codes) // 2
    if min(positive[half:].sum(), (~positive[half:]).sum()) < FEWEST:
        return 0.5
    scores = [missing_rows(column).astype(float)]
    if isinstance(column, Numbers):
        scores.append(np.nan_to_num(column.values))
        distinct, place = np.unique(column.values, return_inverse=True)
        category = place if len(distinct) <= FEW else None
    else:
        category = column.codes + 1
    if category is not None:
        scores.append(_rates(category, positive, half))
    areas = [area_under_curve(score[half:], positive[half:]) for score in scores]
    return max(max(area, 1 - area) for area in areas)


def _rates(
    category: Int[np.ndarray, "row"], positive: Bool[np.ndarray, "row"], half: int
) -> Float[np.ndarray, "row"]:
    """How often each row's category is positive in the first half; as often as all, where it is not there."""
    size = int(category.max()) + 1
    count = np.bincount(category[:half], minlength=size)
    hits = np.bincount(category[:half], weights=positive[:half], minlength=size)
    rate = np.where(count > 0, hits / np.maximum(count, 1), positive[:half].mean())
    return np.take(rate, category)


def area_under_curve(score: Float[np.ndarray, "row"], positive: Bool[np.ndarray, "row"]) -> float:
    """The chance that a positive row scores above another, ties counting half."""
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    positives = int(positive.sum())
    above = rank[positive].sum() - positives * (positives + 1) / 2
    return float(above / (positives * (len(score) - positives)))


def identifiers(columns: Mapping[str, Plain]) -> Iterator[str]:
    """What to warn of where whole numbers never repeat."""
    for name, column in columns.items():
        if not isinstance(column, Numbers) or len(column.values) < IDENTIFIERS:
            continue
        whole = np.array_equal(column.values, np.floor(column.values))
        if whole and len(np.unique(column.values)) == len(column.values):
            yield (
                f"the column {name!r} is a whole number that differs in all {len(column.values):,} rows: "
                f"is it an identifier? Leave it out by ignore=[{name!r}]"
            )


def tiny_cells(table: Table, fewest: int) -> Iterator[str]:
    """What to warn of where a class and an attribute meet in few rows: no metric can be trusted there."""
    cells = table.cells().tolist()
    small = [
        f"{group} with {called} {cells[code][value]:,}"
        for code, called in enumerate(table.class_names)
        for value, group in enumerate(table.attribute_names)
        if cells[code][value] < fewest
    ]
    if small:
        yield (
            f"{len(small)} of {table.classes * table.attributes} (class, attribute) cells have fewer than "
            f"{fewest} rows, too few to judge: {listed(small)}"
        )


def repeats(columns: Mapping[str, Plain], parts: Split) -> Iterator[str]:
    """What to warn of where rows that judge or select are, value for value, also rows that train."""
    rows = _hash(columns)
    train = rows[parts.train.numpy()]
    said = []
    for what, part in (("validation", parts.validation), ("test", parts.test)):
        again = int(pd.Series(rows[part.numpy()]).isin(train).sum())
        if again:
            said.append(f"{again:,} of {len(part):,} {what} rows")
    if said:
        yield f"{' and '.join(said)} repeat a training row in every column: those are not new to a model"


def _hash(columns: Mapping[str, Plain]) -> UInt64[np.ndarray, "row"]:
    """A number for each row, the same for rows that are the same."""
    total = np.zeros(length(next(iter(columns.values()))), dtype=np.uint64)
    for column in columns.values():
        values = column.values + 0.0 if isinstance(column, Numbers) else column.codes  # -0.0 becomes 0.0
        total = total * np.uint64(1_000_003) + pd.util.hash_array(values).astype(np.uint64)
    return total
