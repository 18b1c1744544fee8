"""Save and load models. Loading never runs code, whoever made the folder.

A folder contains JSON, numpy arrays without pickles, safetensors, and scikit-learn objects in skops' format, of
types that are known to be harmless or that the caller trusts.

A class that can be saved has two methods. `_to_state()` returns a dict of plain values, arrays, tensors and
scikit-learn estimators, nested as needed. The class method `_from_state(state)` makes the model from such a dict,
and raises an error if the values do not fit together. `KINDS` lists the classes that `load` knows.
"""

import gc
import io
import json
import math
import os
import re
import sys
import types
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raan.errors import needing
from raan.io.files import (
    MANIFEST,
    MAX_JSON,
    AnyPath,
    CorruptModel,
    WrongEncoder,
    check_archive,
    describe,
    digest,
    inside,
    read_manifest,
    reraise_as_corrupt,
    write_bytes,
    write_manifest,
)

if TYPE_CHECKING:
    from torch import nn

__all__ = ["CorruptModel", "WrongEncoder", "estimator_state", "find_class", "load", "restore_input", "save_model"]

KINDS = {
    "AANReweighting": "raan.reweighting",
    "FairFrontier": "raan.frontier",
    "RAANClassifier": "raan.estimators",
    "TableClassifier": "raan.fit.classifier",
}
"""The classes that can be saved, and where each is imported from when a folder needs it."""

SAFE = frozenset(
    {
        # Its nodes are indexed without bounds checks: `_check_trees` has them.
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        # Plain Python, without methods that run when they are loaded; the selector is not called to predict.
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    }
)
"""Types that skops does not list and raan loads. Those that read bytes in C or C++ without checks, as forests,
XGBoost and LightGBM do, are not among them: `save` names them, and `load` takes them with `trusted=`."""

_DATA = re.compile(r"([a-z]+)-[0-9a-f]{16}\.(json|npz|safetensors|skops)")
"""The names of data files; nothing else in a model folder is read or removed."""


def save_model(model: Any, folder: AnyPath) -> None:
    """Write a model into a folder; a crash at any moment leaves the model that was there before.

    Other files in the folder stay. A warning names types that `load` will ask to be trusted.
    """
    kind, path = type(model).__name__, Path(folder)
    if type(model).__module__.partition(".")[0] != "raan" or kind not in KINDS:
        raise TypeError(
            f"a {kind} cannot be saved; expected one of {', '.join(KINDS)}, not a class derived from it"
        )
    parts = _Parts()
    state = json.dumps(parts.encode(model._to_state(), kind), allow_nan=False).encode()
    if len(state) > MAX_JSON:
        raise ValueError(f"{kind} has {len(state):,} bytes beside its arrays; at most {MAX_JSON:,} can be loaded")
    data = {"state.json": state, **parts.pack(path)}
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; expected the name of a folder to save into")
    # The names depend on the content, so that the old files stay valid until the manifest is replaced.
    named = {f"{Path(name).stem}-{digest(each)[:16]}{Path(name).suffix}": each for name, each in data.items()}
    for name, content in named.items():
        write_bytes(path / name, content)
    write_manifest(path, kind, {name: describe(path / name) for name in named})
    for file in path.iterdir():
        if _DATA.fullmatch(file.name) and file.name not in named:
            file.unlink(missing_ok=True)


def load(folder: AnyPath, *, encoder: "nn.Module | None" = None, trusted: Sequence[str] = ()) -> Any:
    """Load a model that its `save` wrote. Nothing in the folder can run code, whoever made it.

    Args:
        folder: the folder that the model was saved into.
        encoder: for a model with an `encoder` of your own, a module of the same architecture. The folder contains
            the encoder's weights, but not its code.
        trusted: names of types in scikit-learn objects that you trust, beyond those that skops knows to be
            harmless. The error that asks for them names them.

    Returns:
        The model, which predicts as it did when it was saved.

    Raises:
        CorruptModel: the folder does not contain a model, is damaged, or contains types that are not trusted.

    Examples:
        >>> model.save("fair-model")                                        # doctest: +SKIP
        >>> raan.load("fair-model").predict(X)                              # doctest: +SKIP
    """
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(f"folder is a {type(folder).__name__}; expected the path of a folder")
    names = isinstance(trusted, Sequence) and not isinstance(trusted, str | bytes)
    if not names or not all(isinstance(name, str) for name in trusted):
        raise TypeError(f"trusted is {trusted!r}; expected the names of types")
    path = Path(folder)
    kind, data = _read_data(path)
    with needing("this model, which holds networks,"):
        with reraise_as_corrupt(path / MANIFEST):
            model = find_class(kind)
        if encoder is not None and kind != "RAANClassifier":
            raise WrongEncoder(f"encoder is given, but the saved {kind} has none")
        parts = _Parts.unpack(path, data, trusted)
        with reraise_as_corrupt(path / MANIFEST):
            state = parts.decode(json.loads(data["state"][1]))
            return model._from_state(state) if encoder is None else model._from_state(state, encoder)


def find_class(kind: str) -> Any:
    """Import the class of a kind of model; a model over trees does not import torch."""
    if kind not in KINDS:
        raise CorruptModel(f"the kind of model is {kind!r}; expected one of {', '.join(KINDS)}")
    return getattr(import_module(KINDS[kind]), kind)


def estimator_state(model: Any, *fitted: str, without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the state that estimators share: parameters, named fitted attributes, and the input's features."""
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in without}
    names = (*fitted, "classes_", "n_features_in_", "feature_names_in_")
    return {"parameters": parameters} | {name: getattr(model, name) for name in names if hasattr(model, name)}


def restore_input(model: Any, state: dict[str, Any]) -> None:
    """Set what an estimator knows of its input from the state."""
    for name in ("n_features_in_", "feature_names_in_"):
        if name in state:
            setattr(model, name, state[name])


def _read_data(folder: Path) -> tuple[str, dict[str, tuple[str, bytes]]]:
    """Return the kind of model, and the name and the bytes of each part, as the manifest states them."""
    kind, listed = read_manifest(folder)
    data = {}
    for name, stated in listed.items():
        match = _DATA.fullmatch(name)
        if not match:
            raise CorruptModel(f"{folder / MANIFEST} names the file {name!r}, which no model has")
        file = inside(folder, name)
        if not file.is_file():
            raise CorruptModel(f"{file} is missing")
        # The size is compared first, so that a sparse or endless file is not read.
        if not isinstance(stated, dict) or file.stat().st_size != stated.get("bytes") or describe(file) != stated:
            raise CorruptModel(f"{file} is damaged: its content does not have the checksum in {MANIFEST}")
        data[match[1]] = name, file.read_bytes()
    if "state" not in data:
        raise CorruptModel(f"{folder / MANIFEST} lists no state of a model")
    if len(data["state"][1]) > MAX_JSON:
        raise CorruptModel(f"{folder / data['state'][0]} is larger than {MAX_JSON:,} bytes")
    return kind, data


class _Parts:
    """The values of a state that JSON cannot hold: arrays, tensors, and scikit-learn objects."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.tensors: dict[str, Any] = {}
        self.estimators: list[Any] = []

    def encode(self, value: Any, where: str) -> Any:
        """Return the value in JSON's types. What JSON does not have becomes an object with one key, its type."""
        torch = sys.modules.get("torch")
        match value:
            case None | bool() | str():
                return value
            case np.generic() if value.dtype.kind in "biufU":
                return self.encode(value.item(), where)
            case int():
                return value
            case float():
                return value if math.isfinite(value) else {"float": str(value)}
            case list():
                return [self.encode(each, where) for each in value]
            case tuple():
                return {"tuple": [self.encode(each, where) for each in value]}
            case dict():
                return {
                    "dict": [
                        [self.encode(key, where), self.encode(each, f"{where}.{key}")]
                        for key, each in value.items()
                    ]
                }
            case np.ndarray() if value.dtype.kind in "biufU":
                self.arrays[name := str(len(self.arrays))] = value
                return {"array": name}
            case np.ndarray() if value.dtype == object and value.ndim == 1:
                return {"objects": [self.encode(each, where) for each in value]}
            case _ if torch is not None and isinstance(value, torch.Tensor):
                self.tensors[name := str(len(self.tensors))] = value
                return {"tensor": name}
            case _ if hasattr(value, "get_params") and not isinstance(value, type):
                self.estimators.append(value)
                return {"estimator": len(self.estimators) - 1}
        raise TypeError(
            f"{where} is a {type(value).__name__}, which cannot be saved; expected numbers, text, bools, None, "
            "estimators, or tuples, lists, dicts and arrays of these"
        )

    def decode(self, value: Any) -> Any:
        """Return the value that was encoded; anything that `encode` does not write is an error."""
        if isinstance(value, list):
            return [self.decode(each) for each in value]
        if not isinstance(value, dict):
            return value
        ((tag, content),) = value.items()
        match tag, content:
            case "float", "inf" | "-inf" | "nan":
                return float(content)
            case "tuple", list():
                return tuple(self.decode(each) for each in content)
            case "dict", list():
                return {self.decode(key): self.decode(each) for key, each in content}
            case "objects", list():
                array = np.empty(len(content), object)
                array[:] = [self.decode(each) for each in content]
                return array
            case "array", str():
                return self.arrays[content]
            case "tensor", str():
                return self.tensors[content]
            case "estimator", int():
                return self.estimators[content]
        raise ValueError(f"{str(value)[:50]} is not a value that raan writes")

    def pack(self, folder: Path) -> dict[str, bytes]:
        """Return the data files by name."""
        packed = {}
        if self.arrays:
            stream = io.BytesIO()
            np.savez(stream, **self.arrays)  # type: ignore[arg-type]
            packed["arrays.npz"] = stream.getvalue()
        if self.tensors:
            from safetensors.torch import save

            # Clones, because safetensors refuses tensors that share memory, as tied weights do.
            packed["tensors.safetensors"] = save(
                {name: each.clone().contiguous() for name, each in self.tensors.items()}
            )
        if self.estimators:
            skops = _import_skops()
            packed["estimators.skops"] = skops.dumps(self.estimators)
            if unknown := sorted({*skops.get_untrusted_types(data=packed["estimators.skops"])} - SAFE):
                warnings.warn(
                    f"the model contains types that skops does not know to be harmless. To load it, write "
                    f"raan.load({str(folder)!r}, trusted={unknown})",
                    stacklevel=4,
                )
        return packed

    @classmethod
    def unpack(cls, folder: Path, data: dict[str, tuple[str, bytes]], trusted: Sequence[str]) -> "_Parts":
        """Read the data files; what they declare is checked before it is believed."""
        parts = cls()
        for name, content in data.values():
            with reraise_as_corrupt(folder / name):
                if name.endswith((".npz", ".skops")):
                    check_archive(content)
                if name.endswith(".npz"):
                    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                        parts.arrays = dict(arrays)
                elif name.endswith(".safetensors"):
                    with needing("this model, which holds networks,"):
                        from safetensors.torch import load as load_tensors
                    parts.tensors = load_tensors(content)
                elif name.endswith(".skops"):
                    skops, known = _import_skops(), {*SAFE, *trusted}
                    if unknown := sorted({*skops.get_untrusted_types(data=content)} - known):
                        raise ValueError(
                            "it contains types that skops does not know to be harmless. If you trust those who "
                            f"made it, write raan.load({str(folder)!r}, trusted={unknown})"
                        )
                    parts.estimators = skops.loads(content, trusted=sorted(known))
                    _check_trees(parts.estimators, bool(trusted))
        return parts


def _import_skops() -> Any:
    """Import skops without torch, which it does not need.

    skops imports all modules of scikit-learn, among them a bridge to torch that takes two seconds. It passes over
    those that cannot be imported.
    """
    bridge = "sklearn.externals.array_api_compat.torch"
    modules: dict[str, Any] = sys.modules
    hidden = bridge not in modules
    if hidden:
        modules[bridge] = None
    try:
        import skops.io

        return skops.io
    finally:
        if hidden:
            del modules[bridge]


def _check_trees(loaded: Any, trusted: bool) -> None:
    """Raise an error if the trees of gradient boosting could lead scikit-learn's C code beyond their arrays.

    Every child must be after its parent and in range, so that each walk ends at a leaf, and features and bitsets
    must be in range of the input that the estimator itself checks. Estimators that encode categories change their
    input after that check: they need types that skops does not trust, so the caller has to trust the folder.
    """
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    found, seen, checked = [loaded], {}, set()
    while found:
        each = found.pop()
        if id(each) not in seen and not isinstance(each, type | types.ModuleType | types.FunctionType):
            seen[id(each)] = each
            is_objects = isinstance(each, np.ndarray) and each.dtype.hasobject
            found += each.ravel().tolist() if is_objects else gc.get_referents(each)
    for owner in [each for each in seen.values() if isinstance(each, BaseHistGradientBoosting)]:
        if not hasattr(owner, "_predictors"):
            continue
        features, bins = owner.n_features_in_, owner._bin_mapper
        categorical = bins.is_categorical_
        trees = [tree for several in owner._predictors for tree in several]
        checked |= {id(tree) for tree in trees}
        kinds = (owner, type(owner)), (bins, _BinMapper), *((tree, TreePredictor) for tree in trees)
        for each, kind in kinds:  # attributes may not take the place of methods
            if type(each) is not kind or any(callable(getattr(kind, name, None)) for name in vars(each)):
                raise ValueError("a part of gradient boosting is of another type")
        if type(features) is not int or categorical.shape != (features,) or categorical.dtype.kind not in "bu":
            raise ValueError("the features of gradient boosting do not fit its bins")
        if owner._preprocessor is not None and not trusted:
            raise ValueError("gradient boosting with categories is loaded from trusted sources only")
        for tree in trees:
            nodes, bitsets = tree.nodes, (tree.raw_left_cat_bitsets, tree.binned_left_cat_bitsets)
            if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1 or not len(nodes):
                raise ValueError("the nodes of a tree are not an array of nodes")
            splits = np.flatnonzero(nodes["is_leaf"] == 0)
            children = np.stack([nodes[side][splits].astype(np.int64) for side in ("left", "right")])
            if (children <= splits).any() or (children >= len(nodes)).any():
                raise ValueError("a node of a tree has a child out of range, or not after it")
            feature = nodes["feature_idx"][splits]
            if (feature < 0).any() or (feature >= features).any():
                raise ValueError(f"a node of a tree splits a feature that is not one of {features}")
            by_category = nodes["is_categorical"][splits] != 0
            index = nodes["bitset_idx"][splits][by_category]
            if any(each.ndim != 2 or each.shape[1] != 8 or (index >= len(each)).any() for each in bitsets):
                raise ValueError("a node of a tree names a set of categories that is not there")
            if not categorical[feature[by_category]].all():
                raise ValueError("a node of a tree splits a number by categories")
    if any(isinstance(each, TreePredictor) and id(each) not in checked for each in seen.values()):
        raise ValueError("a tree of gradient boosting is outside of its estimator")
