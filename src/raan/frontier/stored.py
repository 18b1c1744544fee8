"""A fitted FairFrontier taken apart for a file, and put together from one that nobody need trust."""

import warnings
from dataclasses import fields
from typing import Any

import numpy as np

from raan.fairness.frontier import Frontier
from raan.files.folder import MANIFEST, CorruptModel, Parts, blame
from raan.frontier.estimator import FairFrontier
from raan.frontier.posterior import Chain, Joint
from raan.frontier.search import Tried

OBJECTS = ("estimator", "attribute_estimator")
"""Parameters that are estimators: parts of their own."""


def to_parts(model: FairFrontier) -> Parts:
    """The folds' models, the points of the trade-off and the parameters."""
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in OBJECTS}
    tried = model.tried_
    plain = {
        "parameters": parameters,
        "classes": model.classes_,
        "groups": tuple(model.groups_),
        "tried": {each.name: getattr(tried, each.name) for each in fields(tried)},
        "limits": tuple(model.frontier_.rule.limits),
        "allowance": float(model.frontier_.rule.accuracy_drop),
        "n_features_in": getattr(model, "n_features_in_", None),
        "feature_names_in": getattr(model, "feature_names_in_", None),
    }
    estimators = {
        "plain": [model.estimator, model.attribute_estimator],
        "models": [_take_apart(each) for each in model.models_],
    }
    return Parts(plain, estimators=estimators)


def _take_apart(model: Chain | Joint) -> list[Any]:
    return [model.label, *model.attribute] if isinstance(model, Chain) else [model.cell]


def from_parts(parts: Parts, encoder: Any) -> FairFrontier:
    """The model, ready to predict and to choose."""
    if encoder is not None:
        raise ValueError("encoder is given, but the folder holds a FairFrontier, which has none")
    with (
        blame(MANIFEST),
        warnings.catch_warnings(action="ignore"),
    ):  # what the choice warns of was said when it was made
        plain = parts.plain
        estimator, attribute_estimator = parts.estimators["plain"]
        model = FairFrontier(estimator, attribute_estimator=attribute_estimator, **plain["parameters"])
        model.classes_, model.groups_ = plain["classes"], tuple(map(str, plain["groups"]))
        model.tried_ = _tried(plain["tried"], len(model.classes_), len(model.groups_))
        model.models_ = [_put_together(each, model) for each in parts.estimators["models"]]
        for name in ("n_features_in", "feature_names_in"):
            if plain[name] is not None:
                setattr(model, f"{name}_", plain[name])
        if len(model.groups_) < 2:
            model.weights_, model.frontier_ = model.tried_.weights[0], Frontier.empty()
            return model
        limits = {str(aim): float(most) for aim, most in plain["limits"]}
        if not limits:
            return model.choose()
        chosen = model.choose(at_most=limits, accuracy_drop=float(plain["allowance"]))
        chosen.accuracy_drop = model.accuracy_drop  # which limits alone do not look at
    return chosen


def _put_together(parts: list[Any], model: FairFrontier) -> Chain | Joint:
    groups, classes = len(model.groups_), len(model.classes_)
    if model.factorisation == "joint":
        return Joint(parts[0], classes, groups)
    label, *attribute = parts
    if len(attribute) not in (0, classes):
        raise CorruptModel(f"{MANIFEST}: {len(attribute)} models of the attribute for {classes} classes")
    return Chain(label, tuple(attribute), groups)


def _tried(stored: dict[str, Any], classes: int, groups: int) -> Tried:
    """The points, if their shapes fit together."""
    found = [np.asarray(stored[each.name], float) for each in fields(Tried)]
    points, parts = found[1].shape[:2]
    cells = (points, parts, classes, groups + 1)
    expected = [(points, classes, groups), (*cells, classes), cells, (*cells, classes)]
    if [each.shape for each in found] != expected or not points:
        raise CorruptModel(f"{MANIFEST}: points of shapes {', '.join(str(each.shape) for each in found)}")
    return Tried(*found)
