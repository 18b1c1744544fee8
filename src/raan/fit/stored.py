"""A TableClassifier taken apart for a file, and put together from one that nobody need trust."""

from types import ModuleType
from typing import Any

from raan.files.folder import MANIFEST, CorruptModel, Parts, blame
from raan.fit.classifier import TableClassifier
from raan.tables.preprocess import Preprocessing

INNER = ("FairFrontier", "RAANClassifier", "AANReweighting")
"""The kinds of model that may stand behind the preprocessing."""


def to_parts(model: TableClassifier) -> Parts:
    """The inner model's parts, with the preprocessing and the names beside its plain values."""
    kind = type(model.classifier).__name__
    if kind not in INNER:
        raise TypeError(f"a TableClassifier over a {kind} cannot be saved; expected one over {' or '.join(INNER)}")
    inner: Parts = _room(kind).to_parts(model.classifier)
    plain = {
        "kind": kind,
        "model": inner.plain,
        "preprocessing": model.preprocessing.to_dict(),
        "class_names": model.class_names,
        "about": model.about,
    }
    return inner._replace(plain=plain)


def from_parts(parts: Parts, encoder: Any) -> TableClassifier:
    """The classifier, if its parts fit together."""
    if encoder is not None:
        raise ValueError("encoder is given, but the folder holds a TableClassifier, which has none")
    with blame(MANIFEST):
        plain = parts.plain
        if plain["kind"] not in INNER:
            raise CorruptModel(f"{MANIFEST} states the model {plain['kind']!r}; expected {' or '.join(INNER)}")
        inner = _room(plain["kind"]).from_parts(parts._replace(plain=plain["model"]), None)
        preprocessing = Preprocessing.from_dict(plain["preprocessing"])
        names = tuple(map(str, plain["class_names"]))
        _check(inner, preprocessing, names)
        return TableClassifier(preprocessing, inner, names, dict(plain["about"]))


def _room(kind: str) -> ModuleType:
    """The module that takes apart and puts together the inner model, imported when one is there."""
    if kind == "RAANClassifier":
        from raan.estimators import stored as networks

        return networks
    if kind == "FairFrontier":
        from raan.frontier import stored as frontier

        return frontier
    from raan.reweighting import stored as reweighted

    return reweighted


def _check(inner: Any, preprocessing: Preprocessing, names: tuple[str, ...]) -> None:
    """An error for a model that takes other features than the preprocessing makes, or knows other classes."""
    made, taken = len(preprocessing.feature_names), inner.n_features_in_
    if made != taken:
        raise CorruptModel(f"{MANIFEST}: the preprocessing makes {made} features, the model takes {taken}")
    if inner.classes_.tolist() != list(range(len(names))):
        raise CorruptModel(f"{MANIFEST}: the model's classes do not fit the {len(names)} names")
