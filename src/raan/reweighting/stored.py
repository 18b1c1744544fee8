"""A fitted AANReweighting taken apart for a file, and put together from one that nobody need trust."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from raan.files.folder import MANIFEST, CorruptModel, Parts, blame
from raan.reweighting.estimator import AANReweighting

LEFT_OUT = ("estimator", "embedding")
"""Parameters that are objects: the estimator is a part of its own, and no embedding is needed to predict."""


def to_parts(model: AANReweighting) -> Parts:
    """What predicting needs, and the parameters; weights of training rows and the search's path stay behind."""
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in LEFT_OUT}
    if isinstance(model.balance, Mapping):
        parameters["balance"] = tuple((*cell, total) for cell, total in model.balance.items())
    if callable(model.verbose):
        parameters["verbose"] = False
    plain = {
        "parameters": parameters,
        "classes": model.classes_,
        "threshold": model.threshold_,
        "n_features_in": getattr(model, "n_features_in_", None),
        "feature_names_in": getattr(model, "feature_names_in_", None),
    }
    return Parts(plain, estimators={"fitted": model.estimator_, "plain": model.estimator})


def from_parts(parts: Parts, encoder: Any) -> AANReweighting:
    """The model, ready to predict; its embedding is None."""
    if encoder is not None:
        raise ValueError("encoder is given, but the folder holds an AANReweighting, which has none")
    with blame(MANIFEST):
        plain, parameters = parts.plain, dict(parts.plain["parameters"])
        if isinstance(parameters["balance"], tuple):
            parameters["balance"] = {(label, group): total for label, group, total in parameters["balance"]}
        model = AANReweighting(parts.estimators["plain"], **parameters)
        model.estimator_, model.sample_weight_ = parts.estimators["fitted"], None
        model.classes_, model.threshold_ = plain["classes"], plain["threshold"]
        _check(model)
        for name in ("n_features_in", "feature_names_in"):
            if plain[name] is not None:
                setattr(model, f"{name}_", plain[name])
    return model


def _check(model: AANReweighting) -> None:
    """An error for classes or a threshold that cannot be."""
    if not isinstance(model.classes_, np.ndarray) or model.classes_.ndim != 1:
        raise CorruptModel(f"{MANIFEST} states no classes")
    threshold: Any = model.threshold_
    if threshold is not None and not isinstance(threshold, float):
        raise CorruptModel(f"{MANIFEST} states the threshold {threshold!r}; expected a number")
