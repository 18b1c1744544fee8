"""Fairness metrics of predictions, in scikit-learn's argument order, for its scorers and fairlearn's frames.

    from sklearn.metrics import make_scorer
    fair = make_scorer(equalized_odds_gap, greater_is_better=False).set_score_request(sensitive_features=True)

Classes and attributes are columns of any kind; several columns of attributes are crossed, and samples of unknown
attribute (None, NaN) count in the accuracy only. Classes that differ only in spelling (1 and True, yes and Yes)
are one. Undefined is nan, with a warning that says why, never 0.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from raan import fairness
from raan.errors import is_number
from raan.fairness.groups import (
    check_common,
    check_lengths,
    check_order,
    check_size,
    encode_attribute,
    match_classes,
)

__all__ = [
    "UndefinedMetricWarning",
    "accuracy",
    "demographic_parity_gap",
    "equal_opportunity_gap",
    "equalized_odds_gap",
    "worst_group_accuracy",
]


class UndefinedMetricWarning(UserWarning):
    """A metric is nan, for the reason given."""


def accuracy(y_true: object, y_pred: object, *, sensitive_features: object = None) -> float:
    """The share of samples predicted right. The sensitive features make no difference to it."""
    check_order(y_true=y_true, y_pred=y_pred)
    label, prediction, _ = match_classes(y_true, y_pred)
    check_lengths(y_true=label.codes, y_pred=prediction.codes)
    check_common(label, prediction)
    return float((label.codes == prediction.codes).mean())


def demographic_parity_gap(
    y_true: object, y_pred: object, *, sensitive_features: object, min_count: int = 1
) -> float:
    """The largest difference between two groups in the share predicted as a class, over all classes.

    With `min_count`, groups of fewer samples than that make it undefined.
    """
    return _measure(fairness.demographic_parity_gap, y_true, y_pred, sensitive_features, min_count)


def equalized_odds_gap(
    y_true: object,
    y_pred: object,
    *,
    sensitive_features: object,
    aggregate: str = "sum",
    min_count: int = 1,
) -> float:
    """The largest gap between two groups in the true and false positive rates, over all classes.

    The two absolute differences are combined by `aggregate`: "sum" is the paper's, "max" is fairlearn's
    equalized_odds_difference, "mean" is half the sum. With `min_count`, rates over fewer samples than that make it
    undefined.
    """
    return _measure(
        fairness.equalized_odds_gap, y_true, y_pred, sensitive_features, min_count, aggregate=aggregate
    )


def equal_opportunity_gap(
    y_true: object, y_pred: object, *, sensitive_features: object, min_count: int = 1
) -> float:
    """The largest difference between two groups in the true positive rate of the second class.

    With more than two classes it is the largest over all of them. With `min_count`, rates over fewer samples than
    that make it undefined.
    """
    return _measure(fairness.equal_opportunity_gap, y_true, y_pred, sensitive_features, min_count)


def worst_group_accuracy(
    y_true: object, y_pred: object, *, sensitive_features: object, min_count: int = 1
) -> float:
    """The least accuracy of any class with any attribute value.

    With `min_count`, a class with fewer samples than that of some attribute value makes it undefined.
    """
    return _measure(fairness.worst_group_accuracy, y_true, y_pred, sensitive_features, min_count)


def _measure(
    metric: Callable[..., np.ndarray],
    y_true: object,
    y_pred: object,
    sensitive_features: object,
    min_count: int,
    **options: Any,
) -> float:
    """A metric of counts, of columns; if it is undefined a warning says why."""
    if not is_number(min_count) or not min_count >= 1:
        raise ValueError(f"min_count is {min_count!r}; expected at least 1")
    check_order(y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features)
    label, prediction, _ = match_classes(y_true, y_pred)
    attribute = encode_attribute(sensitive_features)
    check_lengths(y_true=label.codes, y_pred=prediction.codes, sensitive_features=attribute.codes)
    check_common(label, prediction)
    check_size(len(label.names), len(attribute.names))
    counts = fairness.count(
        label.codes,
        attribute.codes,
        prediction.codes,
        classes=len(label.names),
        attributes=len(attribute.names),
    )
    value = float(metric(counts, min_count=min_count, **options))
    if math.isnan(value):
        reasons = fairness.undefined(counts, label.names, attribute.names, min_count)
        if len(label.names) == 1:
            reasons += (f"only one class, {label.names[0]!r}, in y_true and y_pred",)
        warnings.warn(f"{metric.__name__} is nan: {'; '.join(reasons)}", UndefinedMetricWarning, stacklevel=3)
    return value
