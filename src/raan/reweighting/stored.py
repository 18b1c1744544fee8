"""A fitted AANReweighting taken apart for a file, and put together from one that nobody need trust."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from raan.files.folder import MANIFEST, CorruptModel, Parts, blame
from raan.reweighting.estimator import AANReweighting

LEFT_OUT = ("estimator", "embedding")
"""Parameters that are objects: the estimator is a part of its own, and no embedding is needed to predict."""


def to_parts(model: AANReweighting) -> Parts:
    """What predicting needs, and the parameters; weights of training rows stay behind."""
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in LEFT_OUT}
    if isinstance(model.balance, Mapping):
        parameters["balance"] = tuple((*cell, total) for cell, total in model.balance.items())
    plain = {
        "parameters": parameters,
        "classes": model.classes_,
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
        known = AANReweighting(None).get_params(deep=False)  # a model of 0.2 has more
        model = AANReweighting(parts.estimators["plain"], **{k: v for k, v in parameters.items() if k in known})
        model.estimator_, model.sample_weight_ = parts.estimators["fitted"], None
        model.classes_ = plain["classes"]
        if not isinstance(model.classes_, np.ndarray) or model.classes_.ndim != 1:
            raise CorruptModel(f"{MANIFEST} states no classes")
        if plain.get("threshold") is not None or model.aim is not None:
            raise CorruptModel(
                f"{MANIFEST} is of a model that version 0.2 tuned for an aim; fit raan.FairFrontier instead"
            )
        for name in ("n_features_in", "feature_names_in"):
            if plain[name] is not None:
                setattr(model, f"{name}_", plain[name])
    return model
