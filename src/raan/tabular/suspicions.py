"""What is wrong with many tables, looked for in this one: leaks, stand-ins, tiny groups, repeated rows."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, UInt64

from raan.data.split import Parts
from raan.data.streams import stream
from raan.errors import Message
from raan.fairness.groups import UNKNOWN, Codes
from raan.tabular.columns import Plain
from raan.tabular.words import ignoring, listed

SAMPLE = 10_000  # training rows that are looked at for leaks
TELLING = 0.99  # the AUC from which a column by itself gives the label or the attribute away
FEWEST = 10  # rows of a class, and of the others, to judge an AUC by
IDENTIFIERS = 100  # rows from which whole numbers that never repeat look like identifiers


def find_leaks(
    columns: Mapping[str, Plain], target: Codes, what: str, rows: Int[np.ndarray, "train"], seed: int
) -> dict[str, Message]:
    """What to warn of, by column, where one alone tells one value of the label or attribute from all others."""
    known = rows[target.codes[rows] != UNKNOWN]
    sample = stream(seed, "leaks").permutation(known)[:SAMPLE]
    found = {}
    for name, column in columns.items():
        auc = telling(column.take(sample), target.codes[sample], len(target.names))
        if auc.max() >= TELLING:
            found[name] = Message(
                f"the column {name!r} alone tells the {what} {target.names[auc.argmax()]!r} from the rest "
                f"(AUC {auc.max():.3f} on {len(sample):,} training rows): {_ADVICE[what]} Leave it out by ",
                ignoring(name),
            )
    return found


_ADVICE = {
    "label": "is it known before the label is? If not, it gives the answer away.",
    "attribute": "it stands in for the attribute, and a model that sees it sees the attribute.",
}


def telling(column: Plain, codes: Int[np.ndarray, "row"], values: int) -> Float[np.ndarray, "value"]:
    """The AUC at which the column alone tells the rows of each value from the others.

    A number is taken as it stands, and by whether it is missing; a category by how often the value goes
    with it in the first half of the rows, judged on the second, so that rare ones do not tell themselves.
    """
    half = len(codes) // 2
    seen, judged = codes[:half], codes[half:]
    areas = [areas_under_curve(score[half:], judged, values) for score in column.scores()]
    category = column.categories()
    if category is not None:
        for value in range(values):
            score = _rates(category[:half], seen == value, category[half:])
            areas.append(areas_under_curve(score, judged, values))
    return np.asarray(np.max([np.maximum(area, 1 - area) for area in areas], axis=0))


def _rates(
    category: Int[np.ndarray, "seen"], positive: Bool[np.ndarray, "seen"], asked: Int[np.ndarray, "asked"]
) -> Float[np.ndarray, "asked"]:
    """How often each category asked for is positive; as often as all are, where it was not seen."""
    size = int(max(category.max(initial=0), asked.max(initial=0))) + 1
    count = np.bincount(category, minlength=size)
    hits = np.bincount(category, weights=positive, minlength=size)
    return np.take(np.where(count > 0, hits / np.maximum(count, 1), positive.mean()), asked)


def areas_under_curve(
    score: Float[np.ndarray, "row"], codes: Int[np.ndarray, "row"], values: int
) -> Float[np.ndarray, "value"]:
    """For each value, the chance that a row of it scores above another row, ties counting half.

    It is 0.5 where there are too few of either to say.
    """
    _, place, ties = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(ties) - (ties - 1) / 2)[place]
    count = np.bincount(codes, minlength=values)
    above = np.bincount(codes, weights=rank, minlength=values) - count * (count + 1) / 2
    pairs = count * (len(codes) - count)
    enough = np.minimum(count, len(codes) - count) >= FEWEST
    return np.where(enough, above / np.maximum(pairs, 1), 0.5)


def identifiers(columns: Mapping[str, Plain]) -> Iterator[str]:
    """What to warn of where whole numbers never repeat, though they may be a quantity."""
    found = {name: len(column) for name, column in columns.items() if column.is_identifier()}
    found = {name: rows for name, rows in found.items() if rows >= IDENTIFIERS}
    if not found:
        return
    first, rows = next(iter(found.items()))
    which = f"the column {first!r} is a whole number that differs"
    if len(found) > 1:
        which = f"the columns {listed(list(map(repr, found)))} are whole numbers that differ"
    asked = "is it an identifier? Leave it" if len(found) == 1 else "is one an identifier? Leave it"
    yield Message(f"{which} in all {rows:,} rows: {asked} out by ", ignoring(first))


def tiny_cells(
    cells: Int[np.ndarray, "label attribute"], classes: Sequence[str], groups: Sequence[str], fewest: int
) -> Iterator[str]:
    """What to warn of where a class and an attribute meet in few rows: no metric can be trusted there."""
    small = [
        f"{groups[value]} with {classes[code]} {cells[code, value]:,}"
        for code, value in np.argwhere(cells < fewest)
    ]
    if small:
        yield (
            f"{len(small)} of {cells.size} (class, attribute) cells have fewer than "
            f"{fewest} rows, too few to judge: {listed(small)}"
        )


def repeats(columns: Sequence[Plain], parts: Parts) -> Iterator[str]:
    """What to warn of where rows that judge or select are, value for value, also rows that train."""
    rows = _hash(columns)
    train = rows[parts.train]
    said = []
    for what, part in (("validation", parts.validation), ("test", parts.test)):
        again = int(pd.Series(rows[part]).isin(train).sum())
        if again:
            said.append(f"{again:,} of {len(part):,} {what} rows")
    if said:
        yield f"{' and '.join(said)} repeat a training row in every column: a model has seen those before"


def _hash(columns: Sequence[Plain]) -> UInt64[np.ndarray, "row"]:
    """A number for each row, the same for rows that are the same."""
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        total = total * np.uint64(1_000_003) + pd.util.hash_array(column.keys()).astype(np.uint64)
    return total
