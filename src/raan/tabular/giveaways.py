"""Columns that give the label away: one, two or three with which a small tree is nearly always right."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from raan.data.streams import stream
from raan.errors import Message
from raan.fairness.groups import Codes
from raan.tabular.columns import Plain, Words
from raan.tabular.words import ignoring

SAMPLE = 10_000  # training rows that are looked at, one half by a tree, the other to judge it
FEWEST = 50  # rows to judge by; fewer are right by luck
RIGHT = 0.95  # the share of rows that is too good to be true
ERRORS = 0.25  # of the errors that the most frequent class makes, how many may be left
TOGETHER = 3  # columns at most
TOLD = 5  # such sets of columns, at most
LEAVES = 16


def giveaways(
    columns: Mapping[str, Plain], label: Codes, rows: Int[np.ndarray, "train"], seed: int
) -> Iterator[Message]:
    """What to warn of where one to three columns nearly give the label away, one set of them after the other."""
    sample = stream(seed, "giveaways").permutation(rows)[:SAMPLE]
    if len(sample) < 2 * FEWEST:
        return
    codes, half = label.codes[sample], len(sample) // 2
    usual = np.bincount(codes[half:]).max() / (len(sample) - half)
    scores = {name: score(column.take(sample), codes[:half]) for name, column in columns.items()}
    for _ in range(TOLD):
        found = _find(scores, codes, usual)
        if found is None:
            return
        yield _describe(*found, usual)
        scores = {name: values for name, values in scores.items() if name not in found[0]}


def score(column: Plain, seen: Int[np.ndarray, "seen"]) -> Float[np.ndarray, "row"]:
    """A number for each row: the column's own, or the mean class of its word in the first rows, which are seen."""
    if not isinstance(column, Words):
        return np.where(column.missing, np.nan_to_num(column.values).min() - 1, column.values)
    place = column.codes + 1  # a missing word is one too
    size, first = len(column.names) + 1, place[: len(seen)]
    count, total = (np.bincount(first, weights=weights, minlength=size) for weights in (None, seen))
    return np.take(np.where(count > 0, total / np.maximum(count, 1), seen.mean()), place)


def _find(
    scores: Mapping[str, Float[np.ndarray, "row"]], codes: Int[np.ndarray, "row"], usual: float
) -> tuple[list[str], float] | None:
    """The fewest columns that make a tree too good to be true, of those it leans on; how often it is right."""
    names = list(scores)
    if not names:
        return None
    right, importance = _judge(scores, names, codes)
    if not _is_too_good(right, usual):
        return None
    ranked = [names[place] for place in np.argsort(-importance, kind="stable") if importance[place] > 0]
    for many in range(1, TOGETHER + 1):
        right, _ = _judge(scores, ranked[:many], codes)
        if _is_too_good(right, usual):
            return ranked[:many], right
    return None


def _is_too_good(right: float, usual: float) -> bool:
    return bool(right >= RIGHT and 1 - right <= ERRORS * (1 - usual))


def _judge(
    scores: Mapping[str, Float[np.ndarray, "row"]], names: Sequence[str], codes: Int[np.ndarray, "row"]
) -> tuple[float, Float[np.ndarray, "name"]]:
    """How often a small tree of these columns, fitted to the first half of the rows, is right on the second."""
    from sklearn.tree import DecisionTreeClassifier

    half = len(codes) // 2
    features = np.stack([scores[name] for name in names], axis=1)
    tree: Any = DecisionTreeClassifier(max_leaf_nodes=LEAVES, min_samples_leaf=5, random_state=0)
    tree.fit(features[:half], codes[:half])
    return float((tree.predict(features[half:]) == codes[half:]).mean()), tree.feature_importances_


def _describe(names: Sequence[str], right: float, usual: float) -> Message:
    alone, give = ("column", "alone gives") if len(names) == 1 else ("columns", "together give")
    called = " and ".join(map(repr, names))
    ways = [part for name in names for part in (" and ", ignoring(name))][1:]
    return Message(
        f"the {alone} {called} {give} the label away: a small tree is right in {right:.1%} of training rows that "
        f"it was not fitted to (the most frequent class in {usual:.1%}). Is that known before the label is? If "
        "not, leave out by ",
        *ways,
    )
