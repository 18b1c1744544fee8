"""Predictions as counts: how many samples of each class and attribute value were predicted as each class.

Every metric, rule and interval is a function of these small arrays. Their attribute axis has one slot more than
there are attribute values: the last one holds the samples of unknown attribute, which count in the accuracy and
nowhere else. Any leading axes may stand before the three: points, runs, replicates.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

MIN_MEASURED = 10
"""A group with fewer samples of some class is left out of the gaps and the worst group of an audit."""

MIN_CHOSEN = 30
"""A group with fewer rows of some class takes no part in a choice; rates over fewer are marked as uncertain."""

Counts: TypeAlias = Float[np.ndarray, "*lead label attribute prediction"]


def count(
    label: Int[np.ndarray, "*#lead sample"],
    attribute: Int[np.ndarray, "*#lead sample"],
    prediction: Int[np.ndarray, "*#lead sample"],
    classes: int,
    attributes: int,
    weight: Float[np.ndarray, "sample"] | None = None,
) -> Float[np.ndarray, "*#lead label attribute prediction"]:
    """The number of samples of each (label, attribute, prediction); leading axes broadcast.

    Labels and predictions are codes below `classes`, attributes codes below `attributes` or -1 (unknown). Each
    sample counts 1, or its `weight`.
    """
    slots = attributes + 1
    # The remainder sends -1 to the last slot, as an index would.
    cell = (label.astype(np.int64) * slots + attribute % slots) * classes + prediction
    lead, cells = cell.shape[:-1], classes * slots * classes
    runs = int(np.prod(lead))
    first_cell = (np.arange(runs) * cells).reshape(*lead, 1)
    every = None if weight is None else np.broadcast_to(weight, cell.shape).ravel()
    flat = np.bincount((cell + first_cell).ravel(), every, minlength=runs * cells)
    return flat.reshape(*lead, classes, slots, classes).astype(np.float64)


def effective_weights(
    weight: Float[np.ndarray, "row"] | None,
    person: Int[np.ndarray, "row"] | None,
    cell: Int[np.ndarray, "row"],
) -> Float[np.ndarray, "row"] | None:
    """Scale weights so that no cell of rows counts for more than its effective sample size.

    Rows with unequal weights, and several rows of one person, say less than as many rows of their own: a cell is
    worth (sum of w)^2 / (sum over persons of (sum of w)^2) rows (Kish). One factor for all rows keeps the shares
    as they are; it is the smallest of those that the cells and the whole ask for, so that no error is too small.

    Args:
        weight: what each row counts; 1 by default.
        person: whose row it is, as codes; each row another's by default.
        cell: the cell of each row, as codes.

    Returns:
        The weights; None where all rows count 1.
    """
    if weight is None and person is None:
        return None
    weight = np.ones(len(cell)) if weight is None else weight / weight.max()  # squares neither vanish nor overflow
    person = np.arange(len(cell)) if person is None else person

    def add_up(part: Int[np.ndarray, "row"]) -> tuple[np.ndarray, np.ndarray]:
        pairs, pair = np.unique(np.stack([part, person]), axis=1, return_inverse=True)
        of_person = np.bincount(pair.ravel(), weight)
        return np.bincount(pairs[0], of_person), np.bincount(pairs[0], of_person**2)

    _, part = np.unique(cell, return_inverse=True)
    return np.asarray(weight * min(find_factor(*add_up(part)), find_factor(*add_up(np.zeros_like(part)))))


def find_factor(total: Float[np.ndarray, "*cell"], squares: Float[np.ndarray, "*cell"]) -> float:
    """The factor for weights by which no cell counts for more than its effective sample size.

    Args:
        total: the sum of the weights of each cell.
        squares: the sum of their squares.
    """
    return float((total[squares > 0] / squares[squares > 0]).min())


def resample(
    counts: Float[np.ndarray, "label attribute prediction"], replicates: int, rng: np.random.Generator
) -> Float[np.ndarray, "{replicates} label attribute prediction"]:
    """Counts of bootstrap samples, each of as many rows as the counts hold.

    Drawing n rows with replacement and counting them is drawing a multinomial over the cells of the counts, so a
    replicate costs as much as there are cells, and no row is ever touched.
    """
    flat = counts.astype(np.float64).ravel()
    rows = flat.sum()
    drawn = rng.multinomial(int(rows), flat / max(rows, 1), size=replicates)
    return drawn.astype(np.float64).reshape(replicates, *counts.shape)


def resample_pair(
    first: Float[np.ndarray, "label attribute prediction"],
    second: Float[np.ndarray, "label attribute prediction"],
    switched: Float[np.ndarray, "label attribute"],
    replicates: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of bootstrap samples of two models that decided the same rows.

    With two classes, how many rows of each cell are right in one model only determines how often both are right:
    rows are drawn with both decisions, and the difference of the models is as noisy as it really is. With more
    classes the two are drawn separately, which makes the difference noisier than it is.
    """
    rng = np.random.default_rng(0)
    if len(first) != 2:
        return resample(first, replicates, rng), resample(second, replicates, rng)
    right, other = (np.stack([each[k, :, k] for k in range(2)]) for each in (first, second))
    both = (right + other - switched) / 2
    size = first.sum(-1)
    joint = np.stack([both, right - both, other - both, size - right - other + both], axis=-1)
    drawn = resample(np.maximum(joint, 0), replicates, rng)
    return tuple(_of_right(drawn[..., 0] + drawn[..., place], drawn.sum(-1)) for place in (1, 2))  # type: ignore[return-value]


def _of_right(right: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Counts of two classes from how many of each cell are right, [replicate, label, attribute, prediction]."""
    wrong = size - right
    return np.stack([np.stack([right[:, 0], wrong[:, 0]], -1), np.stack([wrong[:, 1], right[:, 1]], -1)], axis=1)


Balance = Literal["group", "sample"]
"""The paper's two outer averages: over cells, Eq. (4), or over samples, Eq. (5)."""


def cell_counts(
    label: Int[np.ndarray, "row"], attribute: Int[np.ndarray, "row"], shape: tuple[int, int] | None = None
) -> Int[np.ndarray, "label group"]:
    """How many rows each (class, attribute) cell holds; unknown attributes (-1) are in none.

    `shape` is how many classes and groups there are, where these rows may lack some.
    """
    known = attribute >= 0
    classes, groups = shape or (int(label.max()) + 1, max(int(attribute.max()) + 1, 1))
    cell = label[known] * groups + attribute[known]
    return np.bincount(cell, minlength=classes * groups).reshape(classes, groups)


def has_neighbours(label: Int[np.ndarray, "row"], attribute: Int[np.ndarray, "row"]) -> Bool[np.ndarray, "row"]:
    """Which rows have a neighbour at all: attribute known, class seen with another attribute value too."""
    shared = (cell_counts(label, attribute) > 0).sum(1) > 1
    return np.asarray(shared[label] & (attribute >= 0))


def independent_totals(counts: Int[np.ndarray, "label group"]) -> Float[np.ndarray, "label group"]:
    """N P(y) P(a): the cell totals under which class and attribute are independent."""
    return np.asarray(counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum())


def even_weights(counts: Int[np.ndarray, "label group"], balance: Balance) -> Float[np.ndarray, "label group"]:
    """The weight of every row of a cell at temperature inf, where anchors share themselves out evenly.

    "sample": each anchor gives 1, Eq. (5). "group": each cell's anchors give the same total, Eq. (4).
    """
    size = counts.astype(np.float64)
    total = size if balance == "sample" else (counts > 0) * size.sum() / max((counts > 0).sum(), 1)
    share = total / np.maximum(size.sum(1, keepdims=True) - size, 1)
    return np.asarray(share.sum(1, keepdims=True) - share)


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval; nan where it is undefined."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """'85.3% [84.9, 85.7]', of fixed width so that columns of them align."""
        if math.isnan(self.value):
            return "undefined"
        if math.isnan(self.low):
            return f"{_percent(self.value)}% [no interval]"
        return f"{_percent(self.value)}% [{_percent(self.low)}, {_percent(self.high)}]"

    def as_number(self) -> str:
        """'0.853 [0.849, 0.857]', for what is no share."""
        if math.isnan(self.value):
            return "undefined"
        return f"{self.value:.3f}" + ("" if math.isnan(self.low) else f" [{self.low:.3f}, {self.high:.3f}]")


def _percent(value: float) -> str:
    """In percent, with a zero that has no sign: a loss of -0.0 reads as if it were a gain."""
    return f"{round(100 * value, 1) + 0.0:5.1f}"


def interval(
    values: Float[np.ndarray, "replicate *cell"], confidence: float
) -> tuple[Float[np.ndarray, "*cell"], Float[np.ndarray, "*cell"]]:
    """The percentile interval over the replicates in which the value is defined.

    It is nan where more than half of the replicates are undefined: what is left says little.
    """
    tail = (1 - confidence) / 2
    unknown = np.isnan(values)
    some = np.where(unknown.all(0), 0.0, values)  # numpy warns of a column of nan alone
    bounds = np.nanquantile(some, [tail, 1 - tail], axis=0)
    low, high = np.where(unknown.mean(0) > 0.5, np.nan, bounds)
    return np.asarray(low), np.asarray(high)


def estimate(
    metric: Callable[..., np.ndarray],
    counts: Float[np.ndarray, "label attribute prediction"],
    replicates: Float[np.ndarray, "replicate label attribute prediction"],
    *,
    confidence: float,
    min_count: int = 1,
) -> Float[np.ndarray, "*cell 3"]:
    """The metric's value, low and high along the last axis; all three nan where the value is undefined.

    Whether a denominator reaches `min_count` is a question to the data, not to each replicate: a group of
    exactly that size would else be undefined in half of them.
    """
    return bracket(metric(counts, min_count=min_count), metric(replicates), confidence)


def bracket(
    value: Float[np.ndarray, "*cell"], replicates: Float[np.ndarray, "replicate *cell"], confidence: float
) -> Float[np.ndarray, "*cell 3"]:
    """The value between the low and high of its replicates, along the last axis: value, low, high."""
    low, high = interval(replicates, confidence)
    return np.where(np.isnan(value)[..., None], np.nan, np.stack([value, low, high], axis=-1))
