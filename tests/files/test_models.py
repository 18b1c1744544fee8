"""Saved models: they come back as they were, no folder can run code, and no crash loses a model."""

# ruff: noqa: SLF001

import io
import json
import os
import pickle
import re
import subprocess
import sys
import textwrap
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from lightgbm import LGBMClassifier
from safetensors.torch import save as pack_tensors
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn
from xgboost import XGBClassifier

from crowd import crowd
from raan import AANReweighting, FairFrontier, load
from raan.estimators import RAANClassifier
from raan.io import CorruptModel, _Parts  # noqa: PLC2701
from raan.io.files import MANIFEST, check_archive, digest
from systems import posix


def fitted(seed=0, rows=120, **settings):
    X, y, a = crowd(rows)
    defaults = dict(hidden_layer_sizes=(8,), head_layer_sizes=(), epochs=2, random_state=seed)
    return RAANClassifier(**defaults | settings).fit(X, y, sensitive_features=a)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def file_of(saved, part):
    (file,) = saved.glob(f"{part}-*")
    return file


def forge_manifest(saved, change):
    """Change the manifest as someone would who knows the format."""
    manifest = json.loads((saved / MANIFEST).read_text())
    change(manifest)
    (saved / MANIFEST).write_text(json.dumps(manifest))


def forge(saved, name, data):
    """Put other bytes in the place of a data file, with the right checksum."""
    part, suffix = name.split(".")
    for file in saved.glob(f"{part}-*"):
        file.unlink()
        forge_manifest(saved, lambda manifest, name=file.name: manifest["files"].pop(name))
    new = f"{part}-{digest(data)[:16]}.{suffix}"
    (saved / new).write_bytes(data)
    stated = {"sha256": digest(data), "bytes": len(data)}
    forge_manifest(saved, lambda manifest: manifest["files"].update({new: stated}))


def forge_state(saved, **values):
    """Change values of the state."""
    state = json.loads(file_of(saved, "state").read_text())
    state["dict"] = [[key, values.get(key, value)] for key, value in state["dict"]]
    forge(saved, "state.json", json.dumps(state).encode())


class TestRoundTrip:
    """Predictions after loading are those before, bit for bit."""

    @pytest.mark.parametrize(
        "settings",
        [
            dict(),
            dict(scope="head", head_layer_sizes=(4, 3)),
            dict(temperature=float("inf"), aim=None),
            dict(hidden_layer_sizes=[6, 4], epochs=(1, 2), lr=(1e-2, 1e-3), dropout=0.3),
            dict(hidden_layer_sizes=np.array([5]), strength=np.float64(0.5), batch_size=np.int64(16)),
            dict(hidden_layer_sizes=(), validation_fraction=0.0, aim=None),
        ],
        ids=str,
    )
    @pytest.mark.usefixtures("as_users_call")
    def test_of_every_setting(self, settings, tmp_path):
        model = fitted(**settings)
        model.save(tmp_path)
        again = load(tmp_path)
        X = crowd(300, seed=5).X
        for method in ("predict_proba", "decision_function", "predict", "embed"):
            np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
        assert type(again) is RAANClassifier
        assert again.get_params().keys() == model.get_params().keys()
        for name, value in model.get_params().items():
            assert np.array_equal(again.get_params()[name], value)
        assert again.frontier_ == model.frontier_
        assert again.groups_ == model.groups_
        assert again.n_features_in_ == 5

    def test_of_names_words_and_many_classes_in_float32(self, tmp_path):
        X, y, a = crowd(120, classes=3)
        frame = pd.DataFrame(X.astype(np.float32), columns=list("abcde"))
        words = np.array(["één", "two", "3"], dtype=object)[y]
        model = RAANClassifier((8,), epochs=1, random_state=0).fit(frame, words, sensitive_features=a)
        model.save(tmp_path)
        again = load(tmp_path)
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
        assert again.predict(frame).dtype == object
        assert list(again.predict(frame)) == list(model.predict(frame))
        assert list(again.feature_names_in_) == list("abcde")
        assert again.model_.parameters.dtype == torch.float32
        with pytest.raises(ValueError, match="feature names should match"):
            again.predict(frame[["b", "a", "c", "d", "e"]])

    @pytest.mark.parametrize("values", [[0, 1], [-1, 1], [False, True], [0.5, 2.0], ["a", "b"]])
    def test_of_every_kind_of_class(self, values, tmp_path):
        X, y, a = crowd(60)
        label = np.array(values)[y] if values != [0.5, 2.0] else np.array([0.0, 2.0])[y]
        model = RAANClassifier((4,), epochs=1, random_state=0).fit(X, label, sensitive_features=a)
        model.save(tmp_path)
        again = load(tmp_path)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.classes_.dtype == model.classes_.dtype

    @pytest.mark.parametrize("scope", ["head", "model"])
    def test_of_an_encoder_given_again(self, scope, tmp_path):
        def encoder():
            return nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.ReLU())

        X = crowd(100).X
        model = fitted(encoder=encoder(), scope=scope)
        model.save(tmp_path)
        given = encoder()
        before = given[0].weight.clone()
        again = load(tmp_path, encoder=given)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.encoder is given
        assert torch.equal(given[0].weight, before)  # the numbers went into a copy
        with pytest.raises(ValueError, match="encoder is None; expected a Sequential"):
            load(tmp_path)
        with pytest.raises(
            ValueError, match=r"encoder does not fit the saved Sequential; they differ in \['0.bias', '0.we"
        ):
            load(tmp_path, encoder=nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(4), nn.ReLU()))
        with pytest.raises(ValueError, match="encoder does not fit"):
            load(tmp_path, encoder=encoder().double())

    def test_of_tied_weights(self, tmp_path):
        tied = nn.Sequential(nn.Linear(5, 5, bias=False), nn.ReLU(), nn.Linear(5, 5, bias=False))
        tied[2].weight = tied[0].weight
        model = fitted(encoder=tied, scope="model")
        model.save(tmp_path)
        X = crowd(50).X
        np.testing.assert_array_equal(load(tmp_path, encoder=tied).predict_proba(X), model.predict_proba(X))

    def test_in_another_process(self, model, saved, tmp_path):
        X = crowd(50).X
        np.save(tmp_path / "X.npy", X)
        code = "import sys, numpy as np, raan; "
        code += "np.save(sys.argv[2], raan.load(sys.argv[1]).predict_proba(np.load(sys.argv[3])))"
        subprocess.run(
            [sys.executable, "-c", code, saved, tmp_path / "P.npy", tmp_path / "X.npy"], check=True, timeout=120
        )
        np.testing.assert_array_equal(np.load(tmp_path / "P.npy"), model.predict_proba(X))

    def test_an_encoder_for_a_model_without_one_is_refused(self, saved):
        with pytest.raises(ValueError, match="encoder is given, but the saved model has none"):
            load(saved, encoder=nn.Linear(2, 2))

    def test_a_loaded_model_can_be_fitted_and_saved_again(self, saved, tmp_path):
        X, y, a = crowd(120)
        again = load(saved).fit(X, y, sensitive_features=a)
        np.testing.assert_array_equal(again.predict_proba(X), load(saved).predict_proba(X))
        again.save(saved)
        np.testing.assert_array_equal(again.predict_proba(X), load(saved).predict_proba(X))


class TestFolder:
    """What a folder looks like, and what may be saved."""

    def test_it_contains_json_arrays_and_tensors_and_nothing_else(self, saved):
        manifest = json.loads((saved / MANIFEST).read_text())
        assert (manifest["format"], manifest["version"], manifest["kind"]) == ("raan folder", 2, "RAANClassifier")
        assert {file.name for file in saved.iterdir()} == {MANIFEST, *manifest["files"]}
        assert sorted(name.split("-")[0] for name in manifest["files"]) == ["arrays", "state", "tensors"]

    def test_saving_again_replaces_the_model_and_leaves_other_files_alone(self, saved):
        (saved / "README.md").write_text("mine")
        (saved / "weights.safetensors").write_text("mine too")
        other = fitted(seed=7)
        other.save(saved)
        X = crowd(50).X
        np.testing.assert_array_equal(load(saved).predict_proba(X), other.predict_proba(X))
        assert {file.name for file in saved.iterdir()} == {
            "README.md",
            "weights.safetensors",
            MANIFEST,
            *json.loads((saved / MANIFEST).read_text())["files"],
        }

    def test_folders_are_made_as_needed(self, model, tmp_path):
        model.save(tmp_path / "a" / "b")
        assert load(str(tmp_path / "a" / "b")).classes_.tolist() == [0, 1]

    def test_a_file_is_no_folder(self, model, tmp_path):
        (tmp_path / "file").write_text("mine")
        with pytest.raises(NotADirectoryError, match="file is a file; expected the name of a folder"):
            model.save(tmp_path / "file")
        assert (tmp_path / "file").read_text() == "mine"

    def test_what_is_not_fitted_cannot_be_saved(self, tmp_path):
        with pytest.raises(NotFittedError):
            RAANClassifier().save(tmp_path / "model")
        assert not (tmp_path / "model").exists()

    def test_what_is_no_plain_value_cannot_be_saved_and_the_old_model_stays(self, model, saved):
        odd = fitted(random_state=np.random.RandomState(0))
        with pytest.raises(
            TypeError, match=r"RAANClassifier.parameters.random_state is a RandomState, which cannot"
        ):
            odd.save(saved)
        assert load(saved).frontier_ == model.frontier_

    def test_a_class_derived_from_a_kind_cannot_be_saved(self, tmp_path):
        X, y, a = crowd(60)
        derived = Derived((4,), epochs=1).fit(X, y, sensitive_features=a)
        with pytest.raises(TypeError, match=r"a Derived cannot be saved; expected one of .*RAANClassifier"):
            derived.save(tmp_path / "model")
        assert not (tmp_path / "model").exists()


class Derived(RAANClassifier):
    """What would come back as its parent."""


class TestDamage:
    """A folder that is not whole is refused, and the message names the file."""

    def test_every_byte_of_the_data_counts(self, saved):
        for part in ("arrays", "state", "tensors"):
            file = file_of(saved, part)
            data = file.read_bytes()
            for place in np.random.default_rng(0).integers(len(data), size=30):
                broken = bytearray(data)
                broken[place] ^= 1 << int(place % 8)
                file.write_bytes(broken)
                with pytest.raises(CorruptModel, match=file.name):
                    load(saved)
            file.write_bytes(data[:-1])
            with pytest.raises(CorruptModel, match=file.name):
                load(saved)
            file.write_bytes(data)
        load(saved)

    def test_missing_files(self, saved, tmp_path):
        name = file_of(saved, "tensors").name
        (saved / name).unlink()
        with pytest.raises(CorruptModel, match=f"{name} is missing"):
            load(saved)
        (saved / MANIFEST).unlink()
        for nothing in (saved, tmp_path / "nowhere", Path(__file__)):
            with pytest.raises(CorruptModel, match=f"{MANIFEST} does not exist: .* contains no model of raan"):
                load(nothing)

    @pytest.mark.parametrize(
        "content", ["", "[]", "{}", '{"format": "other"}', "null", "\x00", '{"a":' * 100_000, "1" * 20_000_000]
    )
    def test_json_that_is_something_else(self, saved, content):
        (saved / MANIFEST).write_text(content)
        with pytest.raises(CorruptModel, match=MANIFEST):
            load(saved)

    @pytest.mark.parametrize(
        "change", [{"version": 3}, {"version": "2"}, {"kind": "os"}, {"kind": ["FairFrontier"]}]
    )
    def test_another_version_or_kind(self, saved, change):
        forge_manifest(saved, lambda manifest: manifest.update(change))
        with pytest.raises(CorruptModel, match=f"{MANIFEST}.*(format version is .*; expected 2|kind of model is)"):
            load(saved)

    def test_a_model_of_an_earlier_version_is_refused_with_what_to_do(self, tmp_path):
        (tmp_path / "raan-model.json").write_text('{"format": "raan model", "version": 1}')
        with pytest.raises(
            CorruptModel, match=r"saved by an earlier version .* fit it again, or load it with raan"
        ):
            load(tmp_path)

    @posix
    def test_a_link_among_the_files_is_refused(self, saved, tmp_path):
        for name in (MANIFEST, file_of(saved, "state").name):
            (saved / name).rename(tmp_path / name)
            (saved / name).symlink_to(tmp_path / name)
            with pytest.raises(CorruptModel, match=f"{name} (is a link|does not exist)"):
                load(saved)
            (tmp_path / name).replace(saved / name)


class Bomb:
    """What hostile pickles are made of."""

    def __init__(self, target):
        self.target = str(target)

    def __reduce__(self):
        return Path.write_text, (Path(self.target), "ran")


def torch_bytes(thing):
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    return buffer.getvalue()


def pickled_array(thing):
    buffer = io.BytesIO()
    np.savez(buffer, **{"0": np.array([thing], object)})
    return buffer.getvalue()


def zipped(**members):
    """A compressed archive of members, by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


class TestHostile:
    """A folder made by someone else, checksums and all, runs no code and asks for no memory."""

    @pytest.mark.parametrize("name", ["tensors.safetensors", "arrays.npz", "estimators.skops", "state.json"])
    @pytest.mark.parametrize("make", [pickle.dumps, torch_bytes, pickled_array])
    def test_a_pickle_in_the_place_of_a_file(self, saved, tmp_path, make, name):
        forge(saved, name, make(Bomb(tmp_path / "ran")))
        (saved / "model.pkl").write_bytes(pickle.dumps(Bomb(tmp_path / "ran")))
        with pytest.raises(CorruptModel, match=name.split(".")[0] + "-|" + MANIFEST):
            load(saved)
        assert not (tmp_path / "ran").exists()
        pickle.loads(pickle.dumps(Bomb(tmp_path / "ran")))
        assert (tmp_path / "ran").exists()  # the bomb is one

    def test_skops_with_a_type_that_nobody_trusts(self, saved, tmp_path):
        from skops.io import dumps

        forge(saved, "estimators.skops", dumps([Bomb(tmp_path / "ran")]))
        with pytest.raises(CorruptModel, match=r"estimators-.*\.skops .*types that skops does not know .*Bomb"):
            load(saved)
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize(
        "name", ["../secret.json", "/etc/passwd", "state.json", "state-0123456789abcdef.pkl", "raan-manifest.json"]
    )
    def test_names_that_lead_elsewhere(self, saved, name):
        forge_manifest(saved, lambda manifest: manifest["files"].update({name: {"bytes": 1, "sha256": ""}}))
        with pytest.raises(CorruptModel, match=f"{MANIFEST} names the file"):
            load(saved)

    def test_tensors_that_do_not_fit(self, model, saved):
        weights = model.model_.parameters[0].clone()
        scale = {"1": torch.zeros(5), "2": torch.ones(5)}
        for tensors in (
            {"0": weights[:-1].clone(), **scale},
            {"0": weights.view(1, -1), **scale},
            {"0": weights.to(torch.int64), **scale},
            {"0": weights, **scale, "2": torch.ones(3)},
            {"0": weights, **scale, "1": torch.full((5,), torch.nan)},
        ):
            forge(saved, "tensors.safetensors", pack_tensors(tensors))
            with pytest.raises(CorruptModel, match=r"expected .* finite floats"):
                load(saved)
        forge(saved, "tensors.safetensors", pack_tensors(scale))
        with pytest.raises(CorruptModel, match=MANIFEST):
            load(saved)

    @pytest.mark.parametrize(
        "values",
        [
            {"parameters": 3},
            {"parameters": {"dict": [["__class__", "os"]]}},
            {"parameters": {"dict": [["batch_size", 0]]}},
            {"classes_": {"objects": []}},
            {"classes_": {"array": "17"}},
            {"classes_": [0, 1]},
            {"classes_": {"eval": "print()"}},
            {"widths": {"tuple": [[5, 10**12], [10**12, 2]]}},
            {"widths": {"tuple": [[5, -8], [-8, 2]]}},
            {"counts": {"float": "1e5"}},
            {"points": [["plain", 1]]},
            {"rule": None},
            {"n_features_in_": 4},
            {"n_features_in_": None},
        ],
        ids=str,
    )
    @pytest.mark.usefixtures("as_users_call")
    def test_values_that_mean_nothing(self, saved, values):
        forge_state(saved, **values)
        with pytest.raises(CorruptModel, match=MANIFEST):
            load(saved)

    def test_sizes_that_are_declared_are_bounded_by_the_bytes_of_the_file(self, saved):
        inner = io.BytesIO()
        np.lib.format.write_array_header_1_0(inner, {"descr": "<f8", "fortran_order": False, "shape": (10**9,)})
        tracemalloc.start()
        for name, data in (
            ("arrays.npz", zipped(a_npy=bytes(100_000_000))),
            ("arrays.npz", zipped(a_npy=inner.getvalue())),
            ("estimators.skops", zipped(schema_json=" " * 100_000_000)),
            ("estimators.skops", zipped(schema_json="{}", a_npz=zipped(a_npy=bytes(100_000_000)))),
        ):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            with pytest.raises(zipfile.BadZipFile, match=r"would unpack to|states the shape"):
                check_archive(data)
            assert tracemalloc.get_traced_memory()[1] - before < 2e6
            forge(saved, name, data)
            with pytest.raises(CorruptModel, match=name.split(".")[0]):
                load(saved)
            file_of(saved, name.split(".")[0]).unlink()
            forge_manifest(
                saved,
                lambda manifest, name=name: [
                    manifest["files"].pop(each) for each in [*manifest["files"]] if each.startswith(name[:5])
                ],
            )
        tracemalloc.stop()

    def test_a_sparse_file_is_not_read(self, saved):
        os.truncate(file_of(saved, "tensors"), 6_000_000_000)
        with pytest.raises(CorruptModel, match=r"tensors-.* is damaged"):
            load(saved)


@pytest.fixture(scope="module")
def boosted():
    """A model over gradient boosting with a categorical feature that every tree splits."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), rng.integers(0, 4, size=400)]).astype(float)
    y = (X[:, 0] + 2 * (X[:, 1] % 2) > 1).astype(int)
    inner = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=8)
    return AANReweighting(inner, temperature=float("inf")).fit(X, y, sensitive_features=rng.integers(0, 2, 400)), X


class TestTrees:
    """scikit-learn indexes the nodes of its trees without bounds checks: such nodes are refused before that."""

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (dict(left=10**6), "child out of range"),
            (dict(right=10**6), "child out of range"),
            (dict(left=0), "not after it"),
            (dict(right=0), "not after it"),
            (dict(feature_idx=2), "splits a feature that is not one of 2"),
            (dict(feature_idx=-(10**9)), "splits a feature"),
            (dict(is_categorical=1), "set of categories that is not there|splits a number by categories"),
            (dict(is_categorical=1, bitset_idx=10**6), "set of categories that is not there"),
        ],
        ids=str,
    )
    def test_crafted_nodes_are_refused(self, boosted, tmp_path, change, words):
        model, X = boosted
        model.save(tmp_path / "sound")
        np.testing.assert_array_equal(load(tmp_path / "sound").predict_proba(X), model.predict_proba(X))
        again = load(tmp_path / "sound")
        tree = again.estimator_._predictors[-1][0]
        tree.nodes = tree.nodes.copy()
        for field, value in change.items():
            tree.nodes[field][0] = value
        again.save(tmp_path / "crafted")
        with pytest.raises(CorruptModel, match=rf"estimators-.*\.skops cannot be read: .*({words})"):
            load(tmp_path / "crafted")

    @pytest.mark.parametrize(
        "craft",
        [
            lambda inner: setattr(inner._predictors[0][0], "nodes", inner._predictors[0][0].nodes[:0]),
            lambda inner: setattr(inner._predictors[0][0], "nodes", np.zeros(5)),
            lambda inner: setattr(inner, "n_features_in_", 10**6),
            lambda inner: delattr(inner, "n_features_in_"),
            lambda inner: setattr(inner._bin_mapper, "is_categorical_", np.zeros(0, bool)),
            lambda inner: setattr(inner, "_bin_mapper", LogisticRegression()),
            lambda inner: setattr(inner, "_preprocess_X", LogisticRegression()),
            lambda inner: setattr(inner, "_preprocessor", LogisticRegression()),
            lambda inner: setattr(inner, "hidden", [inner._predictors.pop()]),
        ],
    )
    def test_crafted_estimators_are_refused(self, boosted, tmp_path, craft):
        boosted[0].save(tmp_path / "sound")
        again = load(tmp_path / "sound")
        craft(again.estimator_)
        again.save(tmp_path / "crafted")
        with pytest.raises(CorruptModel, match=r"estimators-.*\.skops cannot be read"):
            load(tmp_path / "crafted")

    def test_categories_split_by_trees_are_saved_and_loaded(self, boosted, tmp_path):
        _, X = boosted
        frame = pd.DataFrame(X, columns=["number", "word"])
        y = (X[:, 1] % 2).astype(int)
        inner = HistGradientBoostingClassifier(max_iter=3, categorical_features=["word"])
        model = AANReweighting(inner, temperature=float("inf")).fit(frame, y, sensitive_features=(X[:, 0] > 0))
        with pytest.warns(UserWarning, match="functools.partial") as told:
            model.save(tmp_path)
        trusted = eval(re.search(r"trusted=(\[.*\])", str(told[0].message))[1])
        again = load(tmp_path, trusted=trusted)
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
        tree = again.estimator_._predictors[0][0]
        tree.nodes = tree.nodes.copy()
        assert tree.nodes["is_categorical"][0]
        tree.nodes["bitset_idx"][0] = 10**6
        with pytest.warns(UserWarning, match="functools.partial"):
            again.save(tmp_path)
        with pytest.raises(CorruptModel, match="set of categories that is not there"):
            load(tmp_path, trusted=trusted)


class Homemade(LogisticRegression):
    """A class that skops has never heard of."""


_selected = make_column_transformer(
    (StandardScaler(), make_column_selector(dtype_include=float)),
    (OneHotEncoder(), make_column_selector(dtype_exclude=float)),
)
NAMED = [
    LogisticRegression(),
    HistGradientBoostingClassifier(max_iter=3),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(TfidfVectorizer(), LogisticRegression()),
    make_pipeline(_selected, LogisticRegression()),
    CalibratedClassifierCV(LogisticRegression(), cv=2),
    MLPClassifier((3,), max_iter=5, random_state=0),
]
"""The estimators that README and docs name; calibration is the advice of an error."""


def _steps(inner):
    """The classes of a pipeline's steps, or of an estimator."""
    return [type(step).__name__ for _, step in getattr(inner, "steps", [("", inner)])]


class TestTypes:
    """Types that skops does not know are named when the model is saved, and must be trusted by name."""

    @pytest.mark.parametrize(
        "inner",
        [
            Homemade(),
            RandomForestClassifier(3),
            XGBClassifier(n_estimators=2),
            LGBMClassifier(n_estimators=2, verbose=-1),
        ],
        ids=["own class", "forest", "XGBoost", "LightGBM"],
    )
    def test_saving_warns_with_the_line_to_write(self, inner, tmp_path):
        X, y, a = crowd(100)
        frame = pd.DataFrame(X, columns=list("abcde"))
        model = AANReweighting(inner, temperature=float("inf")).fit(frame, y, sensitive_features=a)
        with pytest.warns(UserWarning, match=r"types that skops does not know .* write raan.load\(") as told:
            model.save(tmp_path)
        line = re.search(r"raan.load(\(.*\))", str(told[0].message))[1]
        with pytest.raises(CorruptModel, match=re.escape(line)):
            load(tmp_path)
        again = eval(f"load{line}", {"load": load})
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))

    @pytest.mark.parametrize("inner", NAMED, ids=lambda inner: "-".join(_steps(inner)))
    @pytest.mark.filterwarnings(
        "ignore:Stochastic Optimizer",
        "ignore:the classifier is the plain",
        "ignore:the plain classifier gives nearly",
    )
    def test_estimators_that_the_docs_name_are_loaded_without_more_ado(self, inner, tmp_path):
        X, y, a = crowd(120)
        X = pd.DataFrame(np.abs(X), columns=list("abcde"))
        if "TfidfVectorizer" in _steps(inner):
            X = np.array([f"word{row % 7} {'a' if label else 'b'}x" for row, label in enumerate(y)])
        if "ColumnTransformer" in _steps(inner):
            X["word"] = np.where(np.arange(120) % 3, "u", "v")
        model = FairFrontier(inner, min_count=2, folds=2).fit(X, y, sensitive_features=a)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.save(tmp_path)
            again = load(tmp_path)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.predict(X).dtype == y.dtype

    def test_the_list_above_has_every_estimator_that_the_docs_import(self):
        docs = Path(__file__).parents[2] / "docs"
        pages = [*docs.glob("*.md"), *(docs / "guides").glob("*.md"), docs.parent / "README.md"]
        lines = re.findall(
            r"from (?:sklearn|xgboost|lightgbm)[\w.]* import (.+)", "".join(p.read_text() for p in pages)
        )
        named = {name.partition("#")[0].strip() for line in lines for name in line.split(",")}
        estimators = {
            name for name in named if name.endswith(("Classifier", "Regression", "Scaler", "Vectorizer"))
        }
        assert estimators <= {step for inner in NAMED for step in _steps(inner)}

    @pytest.mark.parametrize("trusted", ["os", [3]])
    @pytest.mark.usefixtures("as_users_call")
    def test_trusted_is_a_list_of_names(self, saved, trusted):
        with pytest.raises(TypeError, match="expected the names of types"):
            load(saved, trusted=trusted)


class TestCrashes:
    """Until the new model is whole, the folder holds the old one."""

    @posix
    def test_killed_at_random_moments(self, tmp_path):
        """A child that saves without end is killed again and again: each time there is a whole model."""
        script = textwrap.dedent(
            """
            import os, pickle, random, signal, sys, time
            from pathlib import Path
            import numpy as np
            from raan import load

            folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
            models, X = pickle.loads(Path(sys.argv[3]).read_bytes())
            expected = [model.predict_proba(X) for model in models]
            models[0].save(folder)
            seen, hit, done, rng = set(), 0, 0, random.Random(0)
            # As many rounds as asked for, and on until both models were found and a save was cut short.
            while done < rounds or (done < 20 * rounds and not (len(seen) > 1 and hit)):
                done += 1
                reading, writing = os.pipe()
                child = os.fork()
                if not child:
                    models[1].save(folder)
                    began = time.monotonic()
                    models[0].save(folder)
                    os.write(writing, str(time.monotonic() - began).encode())
                    while True:
                        for model in reversed(models):
                            model.save(folder)
                once = float(os.read(reading, 100))  # by now the child is past its start, and saves
                os.close(reading), os.close(writing)
                time.sleep(rng.uniform(0, 4 * once))
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                found = load(folder).predict_proba(X)
                (which,) = [k for k, each in enumerate(expected) if np.array_equal(found, each)]
                seen.add(which)
                hit += len(list(folder.iterdir())) > 4
            models[0].save(folder)
            assert all(file.suffix == ".part" for file in folder.iterdir() if file.name[0] == "."), "leftovers"
            assert len([file for file in folder.iterdir() if file.name[0] != "."]) == 4, "leftovers"
            assert len(seen) > 1, f"the child never got to save in {done} rounds"
            assert hit, f"none of {done} rounds was hit in the middle"
            """
        )
        # One thread: a forked child that finds its parent's OpenMP threads gone waits for them for ever.
        models = [fitted(seed=seed, hidden_layer_sizes=(300, 300)) for seed in (1, 2)]
        (tmp_path / "models").write_bytes(pickle.dumps((models, crowd(20).X)))
        done = subprocess.run(
            [sys.executable, "-c", script, tmp_path / "model", "15", tmp_path / "models"],
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        )
        assert done.returncode == 0, done.stderr


def through_json(value):
    """The value after it was encoded, written, read and decoded."""
    parts = _Parts()
    encoded = json.dumps(parts.encode(value, "value"), allow_nan=False)
    data = {name: (name, content) for name, content in parts.pack(Path()).items()}
    return _Parts.unpack(Path(), data, ()).decode(json.loads(encoded))


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -2.5, float("inf"), float("-inf"), "tëxt", 0.1 + 0.2, 10**30),
        *((1, (2.0, None)), [1, [2]], {"a": (1,), "b": {"c": []}}, {(0, "f"): 1.5}, {"float": "inf"}),
    ],
)
def test_plain_values_come_back_as_they_were(value):
    assert through_json(value) == value


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.array([0.1, np.nan]),
        np.array(["a", "bcd"]),
        np.array([True]),
        np.array(["a", 1], object),
    ],
    ids=str,
)
def test_arrays_come_back_with_their_types(array):
    again = through_json({"array": array})["array"]
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize(
    "value", [object(), {"a": {3}}, b"bytes", np.array([1j]), np.array([object()]), len, LogisticRegression]
)
def test_other_values_are_refused(value):
    with pytest.raises(TypeError, match=r"value.* is a .* which cannot be saved"):
        _Parts().encode(value, "value")


def test_models_over_trees_are_loaded_without_torch(boosted, tmp_path):
    boosted[0].save(tmp_path)
    code = "import sys, raan; raan.load(sys.argv[1]); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True, timeout=60)
