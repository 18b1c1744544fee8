"""A fitted FairFrontier taken apart for a file, and put together from one that nobody need trust."""

import warnings
from dataclasses import fields
from typing import Any

import numpy as np

from raan.files.folder import MANIFEST, CorruptModel, Parts, blame
from raan.frontier.estimator import FairFrontier, limit_rule
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
    with blame(MANIFEST), warnings.catch_warnings(action="ignore"):  # a choice warns when it is made, not later
        plain = parts.plain
        estimator, attribute_estimator = parts.estimators["plain"]
        classes, groups = plain["classes"], tuple(map(str, plain["groups"]))
        joint = plain["parameters"].get("factorisation") == "joint"
        limits = {str(aim): float(most) for aim, most in plain["limits"]}
        parameters = plain["parameters"]
        drop, confidence = parameters["worst_group_drop"], parameters["confidence"]
        model = FairFrontier.from_points(
            _tried(plain["tried"], len(classes), len(groups)),
            classes=classes,
            groups=groups,
            models=[_put_together(each, joint, len(classes), len(groups)) for each in parts.estimators["models"]],
            rule=limit_rule(limits, float(plain["allowance"]), drop, confidence) if limits else None,
            estimator=estimator,
            attribute_estimator=attribute_estimator,
            **parameters,
        )
        for name in ("n_features_in", "feature_names_in"):
            if plain[name] is not None:
                setattr(model, f"{name}_", plain[name])
    return model


def _put_together(parts: list[Any], joint: bool, classes: int, groups: int) -> Chain | Joint:
    if joint:
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
