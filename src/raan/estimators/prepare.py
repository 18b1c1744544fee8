"""From the arguments of a fit to rows that can be trained on: codes, features, who trains and who validates."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from sklearn.utils.validation import validate_data
from torch import nn

from raan.data.split import Split
from raan.data.table import Table
from raan.errors import InputError, InputTypeError, Option
from raan.estimators import inputs
from raan.estimators.fitting import Rows, divide
from raan.estimators.network import Front, front_of
from raan.estimators.settings import Settings
from raan.fairness.groups import UNKNOWN, Codes
from raan.models.modules import fixed
from raan.neighbourhood.balance import has_neighbours
from raan.tables.preprocess import Preprocessing


class Arguments(NamedTuple):
    """What `fit` is given."""

    X: Any
    y: Any
    sensitive_features: Any
    sample_weight: Any
    validation: Any


class Material(NamedTuple):
    """What a fit is made from; the names are those of the fitted attributes."""

    classes: Shaped[np.ndarray, "label"]
    groups: tuple[str, ...]  # () where there is nothing to debias
    encoder: nn.Module | None
    preprocessing: Preprocessing | None
    front: Front
    rows: Rows


class Held(NamedTuple):
    """Validation rows that were given: samples as they came, label and attribute in the codes of training rows."""

    X: Any
    label: Int[np.ndarray, "row"]
    attribute: Int[np.ndarray, "row"]


class Columns(NamedTuple):
    """Label, attribute and weight of every row of the table."""

    label: Int[np.ndarray, "row"]
    attribute: Int[np.ndarray, "row"]
    weight: Float[np.ndarray, "row"] | None


def prepare(estimator: Any, given: Arguments, settings: Settings) -> Material:
    """The rows in codes and features, on the device; an error names the argument that is wrong."""
    mixed = estimator.encoder is None and inputs.is_mixed(given.X)
    X = given.X if mixed else read_samples(estimator, given.X, estimator.encoder, reset=True)
    classes, label = inputs.read_label(given.y, len(X))
    weight = inputs.read_weight(given.sample_weight, len(X))
    kept = np.arange(len(X)) if weight is None else np.flatnonzero(weight)
    _check_classes(classes, label[kept])
    groups = _groups(given.sensitive_features, estimator.missing, label, kept)
    held = None
    if given.validation is not None and groups is not None:
        held = read_held(given.validation, classes, groups, estimator.missing)
    columns = Columns(label, np.full(len(label), UNKNOWN) if groups is None else groups.codes, weight)
    fraction = 0.0 if groups is None or held else float(estimator.validation_fraction)
    split = divide(label, columns.attribute, kept, fraction, settings.seed)

    preprocessing = _fit_columns(estimator, X, split) if mixed else None
    encoder = None if estimator.encoder is None else fixed(estimator.encoder).to(settings.device)
    samples = X if preprocessing is None else preprocessing.transform(X)
    front = front_of(samples, encoder, estimator.scope, settings)
    if held is not None:
        with inputs.naming("validation"):
            samples = new_samples(estimator, held.X, encoder, preprocessing)
            front = front.above(front_of(samples, encoder, estimator.scope, settings))
        split = split._replace(validation=torch.arange(len(label), len(front.features)).unsqueeze(0))
        columns = _append(columns, held)
    names = () if groups is None else groups.names
    rows = _rows(front, columns, split, tuple(map(str, classes)), names, settings.device)
    return Material(classes, names, encoder, preprocessing, front, rows)


def _fit_columns(estimator: Any, frame: Any, split: Split) -> Preprocessing:
    """The preprocessing of a frame, by its training rows; the estimator remembers the names of the columns."""
    validate_data(estimator, frame, skip_check_array=True)
    with inputs.naming("X"):
        return Preprocessing.fit(frame, split.train[0].numpy(), argument="X")


def _append(columns: Columns, held: Held) -> Columns:
    """The columns with those of validation rows below; their weights are not looked at."""
    weight = None if columns.weight is None else np.append(columns.weight, np.ones(len(held.label)))
    return Columns(np.append(columns.label, held.label), np.append(columns.attribute, held.attribute), weight)


def _rows(
    front: Front,
    columns: Columns,
    split: Split,
    classes: tuple[str, ...],
    groups: tuple[str, ...],
    device: torch.device,
) -> Rows:
    """The rows as the training engine takes them, on the device."""
    label, attribute, weight = columns
    codes = torch.from_numpy(label), torch.from_numpy(attribute).long()
    table = Table(front.features, *codes, classes, groups or ("unknown",))
    return Rows(
        table.to(device), split.to(device), None if weight is None else torch.from_numpy(weight).to(device)
    )


def read_samples(
    estimator: Any, X: Any, encoder: nn.Module | None, *, reset: bool
) -> Shaped[np.ndarray, "row ..."]:
    """The samples as an array: features of a table, or whatever the encoder takes."""
    if encoder is None:
        return inputs.read_table(estimator, X, reset=reset)
    estimator.__dict__.pop("n_features_in_", None)  # from a fit without an encoder
    return inputs.read_samples(estimator, X, reset=reset)


def new_samples(
    estimator: Any, X: Any, encoder: nn.Module | None, preprocessing: Preprocessing | None
) -> Shaped[np.ndarray, "row ..."]:
    """The samples of rows that come after the training rows."""
    if preprocessing is None:
        return read_samples(estimator, X, encoder, reset=False)
    if not hasattr(X, "columns"):
        came = f"is a {type(X).__name__}, but the classifier was fitted to a frame with words or missing values"
        raise InputTypeError(Option("X"), came, "a DataFrame with the same columns")
    return preprocessing.transform(X)


def read_held(
    validation: Any, classes: Shaped[np.ndarray, "label"], groups: Codes, missing: inputs.Missing
) -> Held:
    """Validation rows in the codes of the training rows; a class or group that these lack is an error."""
    if not isinstance(validation, tuple | list) or len(validation) != 3:
        came = (
            f"is a {type(validation).__name__} of {len(validation)}"
            if isinstance(validation, tuple | list)
            else f"is a {type(validation).__name__}"
        )
        raise InputTypeError(
            Option("validation"), came, "a tuple of three: X, y and sensitive_features of validation rows"
        )
    X, y, sensitive_features = validation
    with inputs.naming("validation"):
        known, label = inputs.read_label(y, len(X))
        found = inputs.read_attribute(sensitive_features, missing, len(X))
    places = {value: place for place, value in enumerate(classes.tolist())}
    named = {name: place for place, name in enumerate(groups.names)}
    strange = [repr(value) for value in known.tolist() if value not in places]
    strange += [repr(name) for name in found.names if name not in named]
    if strange:
        raise InputError(Option("validation"), f"has {strange[0]}, which no training row has", "their values only")
    code = np.array([*(named[name] for name in found.names), UNKNOWN])[found.codes]  # -1 reads the last
    return Held(X, np.array([places[value] for value in known.tolist()])[label], code)


def _groups(
    sensitive_features: Any, missing: inputs.Missing, label: Int[np.ndarray, "row"], kept: Int[np.ndarray, "kept"]
) -> Codes | None:
    """Each row's group; None, and a warning, if there is nothing to debias by."""
    if sensitive_features is None:
        warnings.warn("sensitive_features is None: plain training (ERM), nothing is debiased", stacklevel=4)
        return None
    groups = inputs.read_attribute(sensitive_features, missing, len(label))
    attribute = torch.from_numpy(groups.codes)[kept]
    if not has_neighbours(torch.from_numpy(label)[kept], attribute).any():
        warnings.warn(
            "sensitive_features takes one value only in every class of y, so no sample has neighbours: plain "
            "training (ERM), nothing is debiased",
            stacklevel=4,
        )
        return None
    return groups


def _check_classes(classes: Shaped[np.ndarray, "label"], label: Int[np.ndarray, "kept"]) -> None:
    """An error if there is one class only among the rows that count."""
    present = np.unique(label)
    if len(present) < 2:
        raise ValueError(
            f"y holds one class only, {classes[present[0]]!r}, where sample_weight is above 0; expected two"
        )
