"""What the doors around any classifier refuse, in words that name the argument, and what they warn of."""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.utils.validation import _num_samples

from raan.errors import InputTypeError, Option
from raan.fairness.groups import is_tensor, keep_judged
from raan.wrap.cells import Cells


def judged_groups(cells: Cells, aim: str, min_count: int) -> Int[np.ndarray, "row"]:
    """The attribute values that the aim is judged by, numbered; UNKNOWN for the others'."""
    names = cells.attribute.names
    judged = keep_judged(cells.attribute, cells.count, min_count)
    if len(judged.names) < 2:
        raise ValueError(
            f"sensitive_features: aim {aim!r} compares groups, and {len(judged.names)} of {len(names)} "
            f"attribute values have {min_count} rows or more of every class; expected two or more. A "
            "smaller min_count would let rarer ones judge"
        )
    rare = [name for name in names if name not in judged.names]
    if rare:
        warnings.warn(
            f"sensitive_features: {', '.join(rare)} are too rare to judge the aim by, with fewer "
            f"than {min_count} rows of some class; they are weighted like all others",
            stacklevel=4,
        )
    return judged.codes


def count_rows(X: Any) -> int:
    """How many rows X has, or an error if it is not a table."""
    if is_tensor(X):
        _check_tensor(X)
    try:
        return int(_num_samples(X))
    except TypeError as error:
        raise TypeError(f"X is not a table: {error}") from error


def _check_tensor(X: Any) -> None:
    """An error for a tensor that estimators of scikit-learn could not read."""
    try:
        np.asarray(X)
    except (RuntimeError, TypeError, ValueError) as error:
        came = f"is a tensor of {str(X.dtype).removeprefix('torch.')} that cannot be read as an array ({error})"
        raise InputTypeError(Option("X"), came, "numbers", "pass X.detach().cpu().float().numpy()") from error


def read_weights(sample_weight: Any, rows: int) -> Float[np.ndarray, "row"] | None:
    """The user's weights as floats, one for each row."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # the last of tensors
        raise TypeError(f"sample_weight cannot be read as numbers: {error}") from error
    if weight.shape != (rows,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; expected ({rows},), one weight for each row of X"
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError("sample_weight holds values that are negative, nan or infinite, or nothing but zeros")
    return weight
