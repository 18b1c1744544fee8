"""How well a classifier serves the groups of a sensitive attribute, with confidence intervals."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from raan.errors import InputError, Message, Option
from raan.fairness.bootstrap import Estimate, estimate
from raan.fairness.counts import Counts, count, resample
from raan.fairness.findings import Audit, Cell, Group, Rates
from raan.fairness.groups import Codes, check_lengths, encode_attribute, encode_classes
from raan.fairness.metrics import (
    NAMES,
    attribute_accuracy,
    false_positive_rate,
    group_accuracy,
    metrics,
    selection_rate,
    true_positive_rate,
    undefined,
)

Metric: TypeAlias = Callable[..., np.ndarray]
Measure: TypeAlias = Callable[[Metric], np.ndarray]

MOST_UNSEEN = 20
"""Classes that may be predicted and never be true."""


def audit(
    y_true: object,
    y_pred: object,
    sensitive_features: object,
    *,
    confidence: float = 0.95,
    replicates: int = 1000,
    min_count: int = 1,
    random_state: int | np.random.Generator | None = 0,
) -> Audit:
    """Measure how predictions serve the groups of the sensitive features.

    A class that is predicted but never true is legal: the metrics that need samples of it are undefined.
    So are, with `min_count`, the rates over fewer samples than that. Undefined is nan, with the reason.
    """
    _check_options(confidence, replicates, min_count)
    label, prediction, attribute = _encode(y_true, y_pred, sensitive_features)
    return audit_counts(
        count(label.codes, attribute.codes, prediction.codes, len(label.names), len(attribute.names)),
        label.names,
        attribute.names,
        confidence=confidence,
        replicates=replicates,
        min_count=min_count,
        random_state=random_state,
    )


def audit_counts(
    counts: Float[np.ndarray, "label attribute prediction"],
    class_names: Sequence[str],
    attribute_names: Sequence[str],
    *,
    confidence: float = 0.95,
    replicates: int = 1000,
    min_count: int = 1,
    random_state: int | np.random.Generator | None = 0,
) -> Audit:
    """The audit of predictions that are counted already, as by `raan.fairness.count`.

    The attribute axis has one slot more than there are names: the last is of unknown attribute.
    """
    _check_options(confidence, replicates, min_count)
    classes, groups = tuple(class_names), tuple(attribute_names)
    if counts.shape != (len(classes), len(groups) + 1, len(classes)):
        raise InputError(
            "counts",
            f"has shape {counts.shape}",
            f"({len(classes)}, {len(groups) + 1}, {len(classes)}) for {len(classes)} classes and {len(groups)} "
            "attribute values",
        )
    resampled = resample(counts, replicates, np.random.default_rng(random_state))
    measure = partial(estimate, counts=counts, replicates=resampled, confidence=confidence, min_count=min_count)
    return Audit(
        count=int(counts.sum()),
        unknown=int(counts[:, -1].sum()),
        confidence=confidence,
        overall={name: Estimate(*measure(partial(_metric, name)).tolist()) for name in NAMES},
        groups=_groups(measure, counts, classes, groups),
        cells=_cells(measure, counts, classes, groups),
        undefined=undefined(counts, classes, groups, min_count=min_count),
    )


def _metric(name: str, counts: Counts, *, min_count: int = 1) -> np.ndarray:
    """One of the metrics of the whole."""
    value: np.ndarray = getattr(metrics(counts, min_count=min_count), name)
    return value


def _check_options(confidence: float, replicates: int, min_count: int) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}: expected a share between 0 and 1, such as 0.95")
    if replicates < 1:
        raise ValueError(f"replicates is {replicates}: expected at least 1; 1000 give steady intervals")
    if min_count < 1:
        raise ValueError(f"min_count is {min_count}: expected at least 1")


def _encode(y_true: object, y_pred: object, sensitive_features: object) -> tuple[Codes, Codes, Codes]:
    """The columns as codes, equally long; classes are numbered over the union of labels and predictions."""
    label, prediction = encode_classes(y_true=y_true, y_pred=y_pred)
    attribute = encode_attribute(sensitive_features)
    check_lengths(y_true=label.codes, y_pred=prediction.codes, sensitive_features=attribute.codes)
    if len(label.names) < 2:
        both = Message(Option("y_true"), " and ", Option("y_pred"))
        raise InputError(both, f"hold one class only, {label.names[0]!r}", "at least two")
    _check_classes(label, prediction)
    return label, prediction, attribute


def _check_classes(label: Codes, prediction: Codes) -> None:
    """Raise a ValueError for predictions that look like probabilities or scores: each would be a class."""
    unseen = [label.names[code] for code in np.setdiff1d(prediction.codes, label.codes)]
    if len(unseen) > MOST_UNSEEN or any(map(_is_share, unseen)):
        more = f"holds {unseen[0]!r} and {len(unseen) - 1:,} more values that "
        raise InputError(
            Option("y_pred"),
            Message(more, Option("y_true"), " never has"),
            "classes",
            "are these probabilities or scores? Cut them at a threshold first",
        )


def _is_share(name: str) -> bool:
    """Whether the name is that of a number strictly between 0 and 1."""
    try:
        return 0 < float(name) < 1
    except ValueError:
        return False


def _cells(
    measure: Measure,
    counts: Float[np.ndarray, "label attribute prediction"],
    class_names: tuple[str, ...],
    attribute_names: tuple[str, ...],
) -> tuple[Cell, ...]:
    """One row for each class and attribute value."""
    size = counts.sum(-1).astype(np.int64).tolist()
    measured = measure(group_accuracy).tolist()
    return tuple(
        Cell(label, group, size[i][j], Estimate(*measured[i][j]))
        for i, label in enumerate(class_names)
        for j, group in enumerate(attribute_names)
    )


def _groups(
    measure: Measure,
    counts: Float[np.ndarray, "label attribute prediction"],
    class_names: tuple[str, ...],
    attribute_names: tuple[str, ...],
) -> tuple[Group, ...]:
    """One row for each attribute value."""
    size = counts.sum((0, 2)).astype(np.int64).tolist()
    measured = measure(attribute_accuracy).tolist()
    rates = np.stack([measure(rate) for rate in (selection_rate, true_positive_rate, false_positive_rate)], 2)
    return tuple(
        Group(name, size[j], Estimate(*measured[j]), _rates(rates[j], class_names))
        for j, name in enumerate(attribute_names)
    )


def _rates(rates: Float[np.ndarray, "label 3 3"], class_names: tuple[str, ...]) -> tuple[Rates, ...]:
    """The selection, true and false positive rate of every class; of two classes the last one says it all."""
    named = list(zip(class_names, rates.tolist(), strict=True))
    shown = named[-1:] if len(named) == 2 else named
    return tuple(Rates(label, *(Estimate(*bounds) for bounds in of_class)) for label, of_class in shown)
