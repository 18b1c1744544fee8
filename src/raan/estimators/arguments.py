"""Read the parameters and the arguments of `RAANClassifier.fit`; errors name the parameter or argument."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int, Shaped
from sklearn.utils.validation import validate_data
from torch import Tensor, nn

from raan.data.table import Table
from raan.errors import InputError, InputTypeError, Option, is_number
from raan.estimators.network import Front, TrainingRows, divide, front_of
from raan.fairness.counts import has_neighbours
from raan.fairness.groups import (
    UNKNOWN,
    Codes,
    check_lengths,
    check_order,
    check_unmasked,
    encode_attribute,
    read_weights,
    warn_of_values,
)
from raan.fairness.measures import read_aim
from raan.fitting import read_classes
from raan.models.modules import fixed
from raan.tables.columns import normalise, type_of
from raan.tables.preprocess import Preprocessing

Missing = Literal["ignore", "group", "error"]

PRECISIONS = {None: None, "bf16": torch.bfloat16}

MAX_WIDTH = 2**20
"""A wider layer would not fit into memory."""


@dataclass(frozen=True)
class Settings:
    """Those parameters that may be written in more than one way, in one of them."""

    hidden: tuple[int, ...]
    head: tuple[int, ...]
    epochs: tuple[int | None, int | None]  # of each stage; None: as many as the table needs
    learning_rates: tuple[float, float]  # of each stage
    seed: int
    device: torch.device
    precision: torch.dtype | None  # of products and convolutions; None: that of the numbers themselves


class FitData(NamedTuple):
    """What a fit is made from."""

    classes: Shaped[np.ndarray, "label"]
    groups: tuple[str, ...]  # () where there is nothing to debias
    encoder: nn.Module | None
    preprocessing: Preprocessing | None
    front: Front
    rows: TrainingRows


# Parameters.


def read_settings(estimator: Any, *, validated: bool = False) -> Settings:
    """Validate the parameters of a classifier and return those that have several notations.

    Args:
        estimator: The classifier. Its `_parameter_constraints` are checked by scikit-learn.
        validated: Whether validation rows are given, so that none have to be split off.
    """
    estimator._validate_params()
    if estimator.aim is not None:
        read_aim(estimator.aim)
        if not estimator.validation_fraction and not validated:
            raise ValueError(
                "validation_fraction is 0, but an aim is chosen on validation rows; aim=None needs none"
            )
    epochs = (None, None) if estimator.epochs == "auto" else _read_pair("epochs", estimator.epochs, Integral)
    first, second = _read_pair("lr", estimator.lr, Real)
    return Settings(
        _read_widths("hidden_layer_sizes", estimator.hidden_layer_sizes),
        _read_widths("head_layer_sizes", estimator.head_layer_sizes),
        epochs,
        (float(first), float(second)),
        _read_seed(estimator.random_state),
        _read_device(estimator.device, estimator.encoder),
        PRECISIONS[estimator.precision],
    )


def _read_widths(name: str, value: Any) -> tuple[int, ...]:
    """Return the widths of layers, which are one number or several."""
    widths = np.ravel(value).tolist() if isinstance(value, np.ndarray) else value
    widths = tuple(widths) if isinstance(widths, tuple | list) else (widths,)
    if not all(isinstance(width, Integral) and 1 <= int(width) <= MAX_WIDTH for width in widths):
        raise ValueError(
            f"{name} is {value!r}; expected whole numbers from 1 to {MAX_WIDTH:,}, one for each layer"
        )
    return tuple(map(int, widths))


def _read_pair(name: str, value: Any, kind: Any) -> tuple[Any, Any]:
    """Return a value for each of the two stages, from one for both or from one for each."""
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(pair) != 2 or not all(isinstance(each, kind) and 0 < each < np.inf for each in pair):
        raise ValueError(f"{name} is {value!r}; expected a positive number, or a pair of them, one for each stage")
    return pair[0], pair[1]


def _read_seed(random_state: Any) -> int:
    """Return the seed that everything is drawn from; numpy's global state is neither read nor changed."""
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(np.random.default_rng(random_state).integers(2**31))


def _read_device(device: Any, encoder: nn.Module | None) -> torch.device:
    """Return where training and embedding happen; "auto" is a GPU if there is one and an encoder to run on it."""
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if encoder is not None and torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(1, device=found)
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        came = f"is {device!r}, which torch cannot use here ({str(error).splitlines()[0]})"
        raise InputError(Option("device"), came, 'one that it can, such as "cpu", or "auto"') from error
    return found


# Arguments of `fit`.


def prepare(
    estimator: Any,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    validation: Any,
    settings: Settings,
) -> FitData:
    """Return the rows as codes and features on the device, divided into training and validation rows."""
    check_order(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
    mixed = estimator.encoder is None and is_mixed(X)
    X = X if mixed else read_samples(estimator, X, estimator.encoder, reset=True)
    with naming("y"):
        classes, label = read_classes(as_array(y))
    check_lengths(X=X, y=label)
    with naming("sample_weight"):
        weights = as_array(sample_weight)
    weight = read_weights(np.full(len(X), weights) if is_number(weights) else weights, len(X))
    if weight is not None:
        weight /= weight.max()
    kept = np.arange(len(X)) if weight is None else np.flatnonzero(weight)
    present = np.unique(label[kept])
    if len(present) < 2:
        raise ValueError(
            f"y holds one class only, {classes[present[0]]!r}, where sample_weight is above 0; expected two"
        )
    groups = None
    if sensitive_features is None:
        warnings.warn("sensitive_features is None: plain training (ERM), nothing is debiased", stacklevel=3)
    else:
        groups = read_attribute(sensitive_features, estimator.missing)
        check_lengths(X=X, sensitive_features=groups.codes)
        if not has_neighbours(label[kept], groups.codes[kept]).any():
            groups = None
            warnings.warn(
                "sensitive_features takes one value only in every class of y, so no sample has neighbours: plain "
                "training (ERM), nothing is debiased",
                stacklevel=3,
            )
    attribute = np.full(len(label), UNKNOWN) if groups is None else groups.codes
    held = validation is not None and groups is not None
    fraction = 0.0 if groups is None or held else float(estimator.validation_fraction)
    split = divide(label, attribute, kept, fraction, settings.seed)

    preprocessing = None
    if mixed:
        validate_data(estimator, X, skip_check_array=True)  # remembers the names of the columns
        with naming("X"):
            preprocessing = Preprocessing.fit(X, split.train[0].numpy(), argument="X")
    encoder = None if estimator.encoder is None else fixed(estimator.encoder).to(settings.device)

    def front(samples: Shaped[np.ndarray, "row ..."]) -> Front:
        return front_of(samples, encoder, estimator.scope, settings.hidden, settings.precision)

    before = front(X if preprocessing is None else preprocessing.transform(X))
    if held and groups is not None:
        more, more_label, more_attribute = _read_validation(validation, classes, groups, estimator.missing)
        with naming("validation"):
            below = front(new_samples(estimator, more, encoder, preprocessing)).features
        before = before._replace(features=torch.cat([before.features, below.to(before.features)]))
        split = split._replace(validation=torch.arange(len(label), len(before.features)).unsqueeze(0))
        label, attribute = np.append(label, more_label), np.append(attribute, more_attribute)
        if weight is not None:
            weight = np.append(weight, np.ones(len(more_label)))  # those of validation rows are not looked at
    names = () if groups is None else groups.names
    codes = torch.from_numpy(label), torch.from_numpy(attribute).long()
    table = Table(before.features, *codes, tuple(map(str, classes)), names or ("unknown",)).to(settings.device)
    weights = None if weight is None else torch.from_numpy(weight).to(settings.device)
    rows = TrainingRows(table, split.to(settings.device), weights)
    return FitData(classes, names, encoder, preprocessing, before, rows)


def _read_validation(
    validation: Any, classes: Shaped[np.ndarray, "label"], groups: Codes, missing: Missing
) -> tuple[Any, Int[np.ndarray, "row"], Int[np.ndarray, "row"]]:
    """Return validation rows with label and attribute in the codes of the training rows."""
    if not isinstance(validation, tuple | list) or len(validation) != 3:
        size = f" of {len(validation)}" if isinstance(validation, tuple | list) else ""
        came = f"is a {type(validation).__name__}{size}"
        expected = "a tuple of three: X, y and sensitive_features of validation rows"
        raise InputTypeError(Option("validation"), came, expected)
    X, y, sensitive_features = validation
    check_order(X=X, y=y, sensitive_features=sensitive_features)
    with naming("validation"):
        known, label = read_classes(as_array(y))
        found = read_attribute(sensitive_features, missing)
        check_lengths(X=X, y=label, sensitive_features=found.codes)
    of_class = {value: place for place, value in enumerate(classes.tolist())}
    of_group = {name: place for place, name in enumerate(groups.names)}
    new = [repr(value) for value in known.tolist() if value not in of_class]
    new += [repr(name) for name in found.names if name not in of_group]
    if new:
        raise InputError(Option("validation"), f"has {new[0]}, which no training row has", "their values only")
    code = np.array([*(of_group[name] for name in found.names), UNKNOWN])[found.codes]  # -1 reads the last
    return X, np.array([of_class[value] for value in known.tolist()])[label], code


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Put the name of the argument before errors that do not begin with it."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:  # torch's are RuntimeErrors
        if str(error).startswith(argument):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{argument}: {error}") from error


def is_mixed(X: Any) -> bool:
    """Return whether X is a frame of pandas or polars with words, categories or missing values."""
    if not hasattr(X, "columns") or not hasattr(X, "to_numpy") or 0 in X.shape:
        return False
    if len(set(X.columns)) < X.shape[1]:
        return False  # repeated names are refused elsewhere

    def is_complete_number(column: Any) -> bool:
        series = column if isinstance(column, pd.Series) else pd.Series(column.to_numpy())
        if pd.api.types.is_bool_dtype(series.dtype):
            return not series.isna().any()
        if isinstance(series.dtype, pd.StringDtype) or any(isinstance(value, str) for value in series):
            return False
        read = normalise(series, ())
        return type_of(read) == "number" and not read.isna().any()

    return not all(is_complete_number(X[name]) for name in X.columns)


def as_array(values: Any) -> Any:
    """Convert tensors to arrays, in the precision nearest to their own; return everything else as it is."""
    if not isinstance(values, Tensor):
        return values
    plain = values.detach().cpu()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()


def read_samples(
    estimator: Any, X: Any, encoder: nn.Module | None, *, reset: bool
) -> Shaped[np.ndarray, "row ..."]:
    """Return the samples as an array: float features of a table, or whatever numbers the encoder takes.

    Samples for an encoder may have any shape and are never copied, so that a memory map stays on disk. Of a frame
    the names of its columns are remembered and compared; the number of values in a sample is not.
    """
    options: dict[str, Any] = {"dtype": [np.float64, np.float32]}
    if encoder is not None:
        estimator.__dict__.pop("n_features_in_", None)  # from a fit without an encoder
        options = {"dtype": None, "ensure_2d": False, "allow_nd": True}
    check_unmasked(X, "X")
    with naming("X"):
        array: np.ndarray = validate_data(estimator, as_array(X), reset=reset, **options)
    if array.dtype.kind not in "biuf" or array.ndim < 2 or 0 in array.shape:
        raise ValueError(
            f"X is {array.dtype} of shape {array.shape}; expected numbers [samples, ...], such as images or tokens"
        )
    return array


def new_samples(
    estimator: Any, X: Any, encoder: nn.Module | None, preprocessing: Preprocessing | None
) -> Shaped[np.ndarray, "row ..."]:
    """Return the samples of rows that come after the training rows."""
    if preprocessing is None:
        return read_samples(estimator, X, encoder, reset=False)
    if not hasattr(X, "columns"):
        came = f"is a {type(X).__name__}, but the classifier was fitted to a frame with words or missing values"
        raise InputTypeError(Option("X"), came, "a DataFrame with the same columns")
    return preprocessing.transform(X)


def read_attribute(sensitive_features: Any, missing: Missing) -> Codes:
    """Return the groups, several columns crossed; `missing` decides what becomes of rows of unknown attribute."""
    with naming("sensitive_features"):
        codes = encode_attribute(sensitive_features, allow_unknown=missing == "group")
    warn_of_values("sensitive_features", codes, stacklevel=4)
    unknown = codes.codes == UNKNOWN
    if missing == "ignore" or not unknown.any():
        return codes
    if missing == "error":
        raise ValueError(
            f"sensitive_features is unknown (None or NaN) in {unknown.sum()} of {len(unknown)} rows, first in row "
            f'{unknown.argmax()}; missing="ignore" lets these count with their own loss, missing="group" makes '
            "them a group"
        )
    return Codes(np.where(unknown, len(codes.names), codes.codes), (*codes.names, "unknown"))
