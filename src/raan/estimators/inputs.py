"""Arguments as they come, read once: arrays, frames, tensors or lists; errors name the argument."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int, Shaped
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data
from torch import Tensor

from raan.errors import InputError
from raan.fairness.groups import UNKNOWN, Codes, encode_attribute
from raan.tables.columns import normalise, type_of

Missing = Literal["ignore", "group", "error"]


def is_mixed(X: Any) -> bool:
    """Whether X is a frame of pandas or polars that holds words, categories or missing values."""
    if not hasattr(X, "columns") or not hasattr(X, "to_numpy") or 0 in X.shape:
        return False
    if len(set(X.columns)) < X.shape[1]:
        return False  # names that are there twice are refused elsewhere
    return not all(_is_complete_number(X[name]) for name in X.columns)


def _is_complete_number(column: Any) -> bool:
    """Whether a column of a frame holds numbers or bools only, and none is missing."""
    series = pd.Series(column.to_numpy()) if not isinstance(column, pd.Series) else column
    if pd.api.types.is_bool_dtype(series.dtype):
        return not series.isna().any()
    is_number = series.dtype != object or not any(isinstance(value, str) for value in series)
    read = normalise(series, ()) if is_number and not isinstance(series.dtype, pd.StringDtype) else series
    return type_of(read) == "number" and not read.isna().any()


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Errors of other libraries from within name the argument first; ours do so by themselves."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:  # torch's are RuntimeErrors
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{argument}: {error}") from error


def as_array(values: Any) -> Any:
    """Tensors as arrays, in the precision nearest to their own; everything else as it is."""
    if not isinstance(values, Tensor):
        return values
    plain = values.detach().cpu()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()


def read_table(estimator: Any, X: Any, *, reset: bool) -> Float[np.ndarray, "row feature"]:
    """Features of a table: float32 as it is, everything else as float64."""
    with naming("X"):
        array: np.ndarray = validate_data(estimator, as_array(X), reset=reset, dtype=[np.float64, np.float32])
    return array


def read_samples(estimator: Any, X: Any, *, reset: bool) -> Shaped[np.ndarray, "row ..."]:
    """Samples of any shape for a module: numbers of any type, never copied, so that a memory map stays on disk.

    Of a frame the names of its columns are remembered and compared; how many numbers a sample has is not.
    """
    with naming("X"):
        array: np.ndarray = validate_data(
            estimator, as_array(X), reset=reset, dtype=None, ensure_2d=False, allow_nd=True
        )
    if array.dtype.kind not in "biuf" or array.ndim < 2 or 0 in array.shape:
        raise ValueError(
            f"X is {array.dtype} of shape {array.shape}; expected numbers [samples, ...], such as images or tokens"
        )
    return array


def read_label(y: Any, rows: int) -> tuple[Shaped[np.ndarray, "label"], Int[np.ndarray, "row"]]:
    """The sorted classes, and for each row its place among them."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    with naming("y"):
        column = column_or_1d(as_array(y), warn=True)
        assert_all_finite(column, input_name="y")
        check_classification_targets(column)
        classes, label = np.unique(column, return_inverse=True)
    check_rows("y", len(column), rows)
    return classes, label.astype(np.int64)


def read_weight(sample_weight: Any, rows: int) -> Float[np.ndarray, "row"] | None:
    """Each row's weight, none negative and the largest 1; None where all weigh the same."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = [sample_weight] * rows
    with naming("sample_weight"):
        weight: np.ndarray = np.asarray(
            check_array(as_array(sample_weight), ensure_2d=False, dtype=np.float64, input_name="sample_weight")
        )
    if weight.ndim != 1:
        raise ValueError(f"sample_weight has shape {weight.shape}; expected one weight a row")
    check_rows("sample_weight", len(weight), rows)
    if (weight < 0).any():
        raise ValueError(f"sample_weight is {weight.min():g} in row {weight.argmin()}; expected none negative")
    if not weight.any():
        raise ValueError("sample_weight is zero in every row; expected a positive weight somewhere")
    scaled: np.ndarray = weight / weight.max()
    return scaled


def read_attribute(sensitive_features: Any, missing: Missing, rows: int) -> Codes:
    """The groups, several columns crossed; rows of unknown attribute as `missing` says."""
    with naming("sensitive_features"):
        codes = encode_attribute(sensitive_features, allow_unknown=missing == "group")
    check_rows("sensitive_features", len(codes.codes), rows)
    unknown = codes.codes == UNKNOWN
    if missing == "ignore" or not unknown.any():
        return codes
    if missing == "error":
        raise ValueError(
            f"sensitive_features is unknown (None or NaN) in {unknown.sum()} of {rows} rows, first in row "
            f'{unknown.argmax()}; missing="ignore" lets these count with their own loss, missing="group" makes '
            "them a group"
        )
    return Codes(np.where(unknown, len(codes.names), codes.codes), (*codes.names, "unknown"))


def check_rows(argument: str, found: int, rows: int) -> None:
    """An error for a column that is not as long as X."""
    if found != rows:
        raise ValueError(f"inconsistent numbers of samples: {argument} has {found}, X has {rows}")
