"""A fitted RAANClassifier taken apart for a file, and put together from one that nobody need trust."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from safetensors.torch import load as unpack
from safetensors.torch import save as pack
from torch import Tensor, nn

from raan.estimators.classifier import RAANClassifier
from raan.estimators.settings import PRECISIONS, read_settings
from raan.fairness.frontier import Frontier
from raan.fairness.rule import Rule
from raan.files import CorruptModel, Parts
from raan.files.folder import MANIFEST, blame
from raan.models.model import Encoder, Model, Scaling, Stack
from raan.tables.preprocess import Preprocessing

ENCODER = "encoder."
"""What the names of an encoder's tensors begin with."""

LEFT_OUT = {"encoder", "device", "checkpoint"}
"""Parameters that belong to the place where a model was fitted."""


def to_parts(classifier: RAANClassifier) -> Parts:
    """Parameters and fitted attributes; of an `encoder` its numbers, and its class's name for messages."""
    encoder, model, preprocessing = classifier.encoder_, classifier.model_, classifier.preprocessing_
    parameters = {key: value for key, value in classifier.get_params(deep=False).items() if key not in LEFT_OUT}
    plain = {
        "parameters": parameters,
        "classes": classifier.classes_,
        "groups": tuple(classifier.groups_),
        "widths": (_widths(model.encoder), _widths(model.head)),
        "n_features_in": getattr(classifier, "n_features_in_", None),
        "feature_names_in": getattr(classifier, "feature_names_in_", None),
        "frontier": _frontier_parts(classifier.frontier_),
        "encoder": None if encoder is None else type(encoder).__qualname__,
        "preprocessing": None if preprocessing is None else preprocessing.to_dict(),
    }
    # Copies: safetensors refuses tensors that share memory, as tied weights do.
    return Parts(plain, pack({name: each.clone().contiguous() for name, each in _tensors(model, encoder)}))


def _widths(layers: Encoder) -> tuple[int, ...]:
    """The widths of layers: a fitted classifier's network has nothing else."""
    if not isinstance(layers, Stack):
        raise TypeError(f"a {type(layers).__name__} cannot be saved")
    return layers.widths


def _tensors(model: Model, encoder: nn.Module | None) -> Iterator[tuple[str, Tensor]]:
    """All numbers, by name."""
    yield "parameters", model.parameters[0]
    if model.scaling is not None:
        yield "centre", model.scaling.centre.flatten()
        yield "spread", model.scaling.spread.flatten()
    for name, tensor in ({} if encoder is None else encoder.state_dict()).items():
        yield ENCODER + name, tensor.cpu()


def from_parts(parts: Parts, encoder: nn.Module | None) -> RAANClassifier:
    """The classifier, if its parts fit together; with an encoder, the saved numbers in a copy of the one given."""
    with blame(MANIFEST):
        tensors = unpack(parts.tensors) if parts.tensors else {}
        classifier = _with_attributes(parts.plain)
        model = _model(parts.plain, tensors, len(classifier.classes_))
        classifier.model_ = replace(model, precision=PRECISIONS[classifier.precision])
        _check_features(parts.plain, classifier.preprocessing_)
    classifier.encoder_ = _encoder(parts.plain["encoder"], tensors, encoder)
    classifier.encoder = encoder
    return classifier


def _with_attributes(plain: dict[str, Any]) -> RAANClassifier:
    """The classifier with all but its numbers."""
    known = set(RAANClassifier().get_params(deep=False)) - LEFT_OUT
    if set(plain["parameters"]) != known:
        raise CorruptModel(f"{MANIFEST}: the parameters {sorted(set(plain['parameters']) ^ known)} do not fit")
    classifier = RAANClassifier(**plain["parameters"])
    read_settings(classifier.get_params(deep=False))
    classifier.classes_ = _column(plain["classes"])
    classifier.groups_ = tuple(map(str, plain["groups"]))
    classifier.frontier_ = _frontier(plain["frontier"])
    if plain["n_features_in"] is not None:
        classifier.n_features_in_ = int(plain["n_features_in"])
    if plain["feature_names_in"] is not None:
        classifier.feature_names_in_ = _column(plain["feature_names_in"])
    stored = plain.get("preprocessing")
    classifier.preprocessing_ = None if stored is None else Preprocessing.from_dict(stored)
    return classifier


def _frontier_parts(frontier: Frontier) -> dict[str, Any]:
    """The frontier in plain values."""
    points = [(what["stage"], what["step"]) for what in frontier.what]
    shape = tuple(frontier.counts.shape)
    rule = (frontier.rule.aim, float(frontier.rule.accuracy_drop))
    return {
        "points": points,
        "shape": shape,
        "counts": frontier.counts.ravel(),
        "rule": rule,
        "reference": frontier.reference,
    }


def _frontier(stored: dict[str, Any]) -> Frontier:
    """The frontier, if its parts fit together."""
    what = tuple(
        {"stage": "plain" if stage == "plain" else "raan", "step": int(step)} for stage, step in stored["points"]
    )
    counts = np.asarray(stored["counts"], dtype=np.float64).reshape([int(size) for size in stored["shape"]])
    if counts.ndim != 4 or len(counts) != len(what):
        raise CorruptModel(f"{MANIFEST}: {len(what)} points with counts of shape {counts.shape}")
    aim, accuracy_drop = stored["rule"]
    reference = 0 if not what else range(len(what))[int(stored["reference"])]
    return Frontier(what, counts, Rule(aim, float(accuracy_drop)), reference)


def _check_features(plain: dict[str, Any], preprocessing: Preprocessing | None) -> None:
    """An error if the features that X is checked for, or made into, are not as many as the network takes."""
    (width, *_), _ = plain["widths"]
    if preprocessing is not None:
        made = len(preprocessing.feature_names)
        if made != width:
            raise CorruptModel(f"{MANIFEST}: the preprocessing makes {made} features; the network takes {width}")
        return
    counted = plain["n_features_in"]
    named = counted if plain["feature_names_in"] is None else len(plain["feature_names_in"])
    if plain["encoder"] is None and (counted, named) != (width, width):
        raise CorruptModel(
            f"{MANIFEST}: {counted} features are counted and {named} named; the network takes {width}"
        )


def _column(values: Any) -> np.ndarray:
    """An array of one axis and at least one value."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or not len(values):
        raise CorruptModel(f"{MANIFEST}: {type(values).__name__} stands where a column should")
    return values


def _model(plain: dict[str, Any], tensors: Mapping[str, Tensor], classes: int) -> Model:
    """The network, if its numbers are as many as its widths ask for: compared before anything is made."""
    encoder, head = (Stack(tuple(_count(width) for width in widths)) for widths in plain["widths"])
    if encoder.widths[-1] != head.widths[0] or head.widths[-1] != classes or len(head.widths) < 2:
        raise CorruptModel(
            f"{MANIFEST}: layers of {encoder.widths} and {head.widths} do not fit {classes} classes"
        )
    parameters = _numbers(tensors, "parameters", sum(encoder.sizes + head.sizes))
    scaling = None
    if "centre" in tensors:
        centre, spread = (_numbers(tensors, name, encoder.widths[0]) for name in ("centre", "spread"))
        scaling = Scaling(centre.to(parameters).view(1, 1, -1), spread.to(parameters).view(1, 1, -1))
    return Model(encoder, head, parameters.unsqueeze(0), scaling)


def _count(width: Any) -> int:
    if not isinstance(width, int) or isinstance(width, bool) or width < 1:
        raise CorruptModel(f"{MANIFEST}: a layer of {width!r} units")
    return width


def _numbers(tensors: Mapping[str, Tensor], name: str, size: int) -> Tensor:
    """A tensor of so many floats."""
    tensor = tensors.get(name, torch.empty(0))
    if (
        tensor.dtype not in (torch.float32, torch.float64)
        or tensor.shape != (size,)
        or not tensor.isfinite().all()
    ):
        raise CorruptModel(
            f"{MANIFEST}: {name} is {tensor.dtype} {list(tensor.shape)}; expected {size} finite floats"
        )
    return tensor


def _encoder(name: str | None, tensors: Mapping[str, Tensor], given: nn.Module | None) -> nn.Module | None:
    """The saved numbers in a copy of the module given: its code is the caller's, never the folder's."""
    if name is None:
        if given is not None:
            raise ValueError("encoder: the model that was saved has none")
        return None
    if given is None:
        raise ValueError(
            f"encoder: the model was saved with one, a {name}; give a module of that kind: load(..., encoder=)"
        )
    numbers = {key.removeprefix(ENCODER): value for key, value in tensors.items() if key.startswith(ENCODER)}
    module = deepcopy(given).eval()
    expected = {key: (value.dtype, value.shape) for key, value in module.state_dict().items()}
    found = {key: (value.dtype, value.shape) for key, value in numbers.items()}
    if expected != found:
        differing = sorted(key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
        raise ValueError(
            f"encoder: the module given does not fit the {name} that was saved; they differ in {differing[:5]}"
        )
    module.load_state_dict(numbers)
    return module
