"""Group fairness metrics, all of them functions of one array of counts.

Undefined is nan, never 0: a rate whose denominator is empty, or smaller than `min_count`, is nan, and so is every
metric that needs it. Every metric takes any leading axes, such as one of runs or of replicates.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from raan.fairness.counts import Counts

__all__ = [
    "NAMES",
    "Metrics",
    "accuracy",
    "attribute_accuracy",
    "demographic_parity_gap",
    "equal_opportunity_gap",
    "equalized_odds_gap",
    "false_positive_rate",
    "group_accuracy",
    "measure",
    "metrics",
    "selection_rate",
    "true_positive_rate",
    "undefined",
    "worst_group_accuracy",
]

PerGroup: TypeAlias = Float[np.ndarray, "*lead attribute-1"]
PerGroupAndClass: TypeAlias = Float[np.ndarray, "*lead attribute-1 label"]
Values: TypeAlias = Float[np.ndarray, "*lead"]


@dataclass(frozen=True, eq=False)  # arrays have no single truth value to compare by
class Metrics:
    """The numbers by which models are compared; the equalized odds gap is the paper's sum.

    Each is a function of this module under the same name.
    """

    accuracy: Values
    demographic_parity_gap: Values
    equalized_odds_gap: Values
    worst_group_accuracy: Values
    equal_opportunity_gap: Values

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> "Metrics":
        """The metrics with each of them changed alike, such as one run of all taken."""
        return Metrics(*(np.asarray(change(getattr(self, name))) for name in NAMES))


NAMES = tuple(field.name for field in fields(Metrics))
"""The metrics, accuracy first."""


def metrics(counts: Counts, *, min_count: int = 1) -> Metrics:
    """All metrics of the counts; a few small operations, quick enough for every step of a path."""
    return Metrics(*(measure(name, counts, min_count=min_count) for name in NAMES))


def measure(name: str, counts: Counts, *, min_count: int = 1) -> Values:
    """One of the metrics, by the name that it has in `Metrics`."""
    return np.asarray(globals()[name](counts, min_count=min_count))


def accuracy(counts: Counts, *, min_count: int = 1) -> Values:
    """The share of samples predicted right, those of unknown attribute included."""
    return _rate(_right(counts).sum((-1, -2)), counts.sum((-1, -2, -3)), min_count)


def attribute_accuracy(counts: Counts, *, min_count: int = 1) -> PerGroup:
    """The share of samples predicted right, for each attribute value."""
    known = _known(counts)
    return _rate(_right(known).sum(-1), known.sum((-1, -3)), min_count)


def group_accuracy(counts: Counts, *, min_count: int = 1) -> Float[np.ndarray, "*lead label attribute-1"]:
    """The share of samples predicted right, for each class and attribute value."""
    return true_positive_rate(counts, min_count=min_count).swapaxes(-1, -2)


def worst_group_accuracy(counts: Counts, *, min_count: int = 1) -> Values:
    """The least accuracy of any class with any attribute value; nan if one of these has no sample."""
    return np.asarray(group_accuracy(counts, min_count=min_count).min((-1, -2)))


def selection_rate(counts: Counts, *, min_count: int = 1) -> PerGroupAndClass:
    """P(prediction = k | attribute), for each attribute value and class k."""
    known = _known(counts)
    return _rate(known.sum(-3), known.sum((-1, -3))[..., None], min_count)


def true_positive_rate(counts: Counts, *, min_count: int = 1) -> PerGroupAndClass:
    """P(prediction = k | label = k, attribute), for each attribute value and class k."""
    known = _known(counts)
    return _rate(_right(known), _of_class(known), min_count)


def false_positive_rate(counts: Counts, *, min_count: int = 1) -> PerGroupAndClass:
    """P(prediction = k | label is not k, attribute), for each attribute value and class k."""
    known = _known(counts)
    of_class = _of_class(known)
    of_others = of_class.sum(-1, keepdims=True) - of_class
    return _rate(known.sum(-3) - _right(known), of_others, min_count)


def demographic_parity_gap(counts: Counts, *, min_count: int = 1) -> Values:
    """The largest difference between two groups in P(prediction = k | attribute), over all classes k."""
    return np.asarray(_spread(selection_rate(counts, min_count=min_count)).max(-1))


def equalized_odds_gap(counts: Counts, aggregate: str = "sum", *, min_count: int = 1) -> Values:
    """The largest gap of two groups in the true and false positive rates, over all classes k.

    For each class against the rest and each pair of groups, the absolute differences of the two rates are
    combined by `aggregate`: "sum" (the paper's), "max" or "mean".
    """
    if not isinstance(aggregate, str) or aggregate not in _AGGREGATES:
        raise ValueError(f"aggregate is {aggregate!r}; expected one of {', '.join(map(repr, _AGGREGATES))}")
    true_positive = true_positive_rate(counts, min_count=min_count)
    false_positive = false_positive_rate(counts, min_count=min_count)
    return np.asarray(_AGGREGATES[aggregate](true_positive, false_positive).max(-1))


def equal_opportunity_gap(counts: Counts, *, min_count: int = 1) -> Values:
    """The largest difference between two groups in the true positive rate; of two classes, the second's alone.

    With more than two classes, the largest over all of them.
    """
    gap = _spread(true_positive_rate(counts, min_count=min_count))
    return np.asarray(gap[..., -1] if counts.shape[-1] == 2 else gap.max(-1))


def undefined(
    counts: Float[np.ndarray, "label attribute prediction"],
    class_names: Sequence[str],
    attribute_names: Sequence[str],
    min_count: int = 1,
) -> tuple[str, ...]:
    """The reasons, in words, why some metric of these counts is nan; empty if all are defined."""
    size = _known(counts).sum(-1)
    reasons = tuple(_shortages(size, class_names, attribute_names, min_count))
    if len(attribute_names) == 1:
        reasons += (f"only one attribute value, {attribute_names[0]!r}, where a gap compares two",)
    return reasons


def _shortages(
    size: Float[np.ndarray, "label group"],
    class_names: Sequence[str],
    attribute_names: Sequence[str],
    min_count: int,
) -> Iterator[str]:
    """A sentence for every attribute value, class and cell too small to measure, the widest ones first."""
    of_attribute, of_class, of_cell = size.sum(0).tolist(), size.sum(1).tolist(), size.tolist()
    for found, attribute in zip(of_attribute, attribute_names, strict=True):
        if found < min_count:
            yield _shortage(found, f"with attribute {attribute!r}", min_count)
    for found, label in zip(of_class, class_names, strict=True):
        if found < min_count:
            yield _shortage(found, f"of class {label!r} with a known attribute", min_count)
    for i, label in enumerate(class_names):
        for j, attribute in enumerate(attribute_names):
            if of_cell[i][j] < min_count <= min(of_class[i], of_attribute[j]):  # else it is listed above
                yield _shortage(of_cell[i][j], f"of class {label!r} with attribute {attribute!r}", min_count)


def _shortage(found: float, which: str, min_count: int) -> str:
    """'no sample of ...', or 'only 3 samples of ...' with the number asked for."""
    if not found:
        return f"no sample {which}"
    return f"only {found:.0f} sample{'s' if found > 1 else ''} {which} (min_count is {min_count})"


def _known(counts: Counts) -> Float[np.ndarray, "*lead label attribute-1 prediction"]:
    """The counts without the samples of unknown attribute."""
    return counts[..., :-1, :]


def _right(counts: Counts) -> Float[np.ndarray, "*lead attribute label"]:
    """The number of samples predicted right, for each attribute and class."""
    return np.diagonal(counts, axis1=-3, axis2=-1)


def _of_class(counts: Counts) -> Float[np.ndarray, "*lead attribute label"]:
    """The number of samples of each attribute and class."""
    return np.asarray(counts.sum(-1).swapaxes(-1, -2))


def _rate(
    numerator: Float[np.ndarray, "*#cell"] | np.floating,
    denominator: Float[np.ndarray, "*#cell"] | np.floating,
    min_count: int,
) -> Float[np.ndarray, "*#cell"]:
    """The quotient, nan where the denominator is too small to be meaningful."""
    denominator = np.asarray(denominator)
    return np.asarray(numerator / np.where(denominator < min_count, np.nan, denominator))


def _spread(rate: Float[np.ndarray, "*lead group label"]) -> Float[np.ndarray, "*lead label"]:
    """The largest difference between two groups; nan if one rate is, or if there are not two groups."""
    if rate.shape[-2] < 2:
        return np.full((*rate.shape[:-2], rate.shape[-1]), np.nan)
    return np.asarray(rate.max(-2) - rate.min(-2))


def _largest_sum(
    true_positive: Float[np.ndarray, "*lead group label"], false_positive: Float[np.ndarray, "*lead group label"]
) -> Float[np.ndarray, "*lead label"]:
    """The largest |t| + |f| over the pairs of groups, t and f being the differences of the two rates.

    |t| + |f| is the larger of |t + f| and |t - f|, so two spreads do, and no pair is ever formed.
    """
    larger = np.maximum(_spread(true_positive + false_positive), _spread(true_positive - false_positive))
    return np.asarray(larger)


_AGGREGATES: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = MappingProxyType(
    {
        "sum": _largest_sum,
        "max": lambda true_positive, false_positive: np.maximum(_spread(true_positive), _spread(false_positive)),
        "mean": lambda true_positive, false_positive: _largest_sum(true_positive, false_positive) / 2,
    }
)
