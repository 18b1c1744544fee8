"""Saved models: they come back as they were, no folder can run code, and no crash loses a model."""

import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load as read_tensors
from safetensors.torch import save as pack_tensors
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from torch import nn

from crowd import crowd
from raan import files, load
from raan.estimators import RAANClassifier
from raan.files import CorruptModel, Parts, folder
from raan.files.folder import MANIFEST
from raan.files.plain import Room, digest, from_json, seal, to_json
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


def tensors_file(saved):
    (file,) = saved.glob("*.safetensors")
    return file


def forge(saved, change):
    """Change the manifest as someone would who knows how checksums are made."""
    manifest = json.loads((saved / MANIFEST).read_text())
    del manifest["checksum"]
    change(manifest)
    (saved / MANIFEST).write_bytes(seal(manifest))


def forge_data(saved, data, name=None):
    """Put other bytes in the tensors' place, with the right checksum."""
    tensors_file(saved).unlink()
    name = name or f"tensors-{digest(data)[:16]}.safetensors"
    (saved / name).write_bytes(data)
    stated = {"name": name, "sha256": digest(data), "bytes": len(data)}
    forge(saved, lambda manifest: manifest["files"].update(tensors=stated))


def forge_tensors(saved, change):
    tensors = read_tensors(tensors_file(saved).read_bytes())
    change(tensors)
    forge_data(saved, pack_tensors(tensors))


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
        with pytest.raises(ValueError, match="encoder: the model was saved with one, a Sequential; give a module"):
            load(tmp_path)
        with pytest.raises(
            ValueError, match=r"encoder: .* does not fit the Sequential .* differ in \['0.bias', '0.we"
        ):
            load(tmp_path, encoder=nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(4), nn.ReLU()))
        with pytest.raises(ValueError, match=r"encoder: .* does not fit"):
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
        with pytest.raises(ValueError, match="encoder: the model that was saved has none"):
            load(saved, encoder=nn.Linear(2, 2))

    def test_a_loaded_model_can_be_fitted_and_saved_again(self, saved, tmp_path):
        X, y, a = crowd(120)
        again = load(saved).fit(X, y, sensitive_features=a)
        np.testing.assert_array_equal(again.predict_proba(X), load(saved).predict_proba(X))
        again.save(saved)
        np.testing.assert_array_equal(again.predict_proba(X), load(saved).predict_proba(X))


class TestFolder:
    """What a folder looks like, and what may be saved."""

    def test_it_holds_json_and_safetensors_and_nothing_else(self, model, saved):
        assert len(list(saved.iterdir())) == 2
        manifest = json.loads((saved / MANIFEST).read_text())
        assert (manifest["format"], manifest["version"], manifest["kind"]) == ("raan model", 1, "RAANClassifier")
        assert torch.equal(
            read_tensors(tensors_file(saved).read_bytes())["parameters"], model.model_.parameters[0]
        )

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
            json.loads((saved / MANIFEST).read_text())["files"]["tensors"]["name"],
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
        with pytest.raises(TypeError, match="a Derived cannot be saved; expected a RAANClassifier"):
            derived.save(tmp_path / "model")
        assert not (tmp_path / "model").exists()


class Derived(RAANClassifier):
    """What would come back as its parent."""


class TestDamage:
    """A folder that is not whole is refused, and the message names the file."""

    def test_every_byte_counts(self, saved):
        for file in (saved / MANIFEST, tensors_file(saved)):
            data = file.read_bytes()
            for place in np.random.default_rng(0).integers(len(data), size=60):
                broken = bytearray(data)
                broken[place] ^= 1 << int(place % 8)
                file.write_bytes(broken)
                with pytest.raises(CorruptModel, match=MANIFEST if file.name == MANIFEST else file.name):
                    load(saved)
            file.write_bytes(data)
        load(saved)

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
    def test_truncated_files(self, saved, share):
        for file in (tensors_file(saved), saved / MANIFEST):
            data = file.read_bytes()
            file.write_bytes(data[: int(share * len(data))])
            with pytest.raises(CorruptModel, match=file.name):
                load(saved)
            file.write_bytes(data)

    def test_missing_files(self, saved, tmp_path):
        name = tensors_file(saved).name
        tensors_file(saved).unlink()
        with pytest.raises(CorruptModel, match=f"{name} is missing"):
            load(saved)
        (saved / MANIFEST).unlink()
        for nothing in (saved, tmp_path / "nowhere", Path(__file__)):
            with pytest.raises(CorruptModel, match=f"{MANIFEST} does not exist: .* holds no model of raan"):
                load(nothing)

    @pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "other"}', "null", "\x00", '{"a": NaN}'])
    def test_json_that_is_something_else(self, saved, content):
        (saved / MANIFEST).write_text(content)
        with pytest.raises(CorruptModel, match=MANIFEST):
            load(saved)

    def test_a_newer_version(self, saved):
        forge(saved, lambda manifest: manifest.update(version=2))
        with pytest.raises(
            CorruptModel, match=f"{MANIFEST} is of format version 2, from a newer raan.*up to 1: upgr"
        ):
            load(saved)

    @pytest.mark.parametrize("version", [0, -1, "1", None, True, 1.0])
    def test_a_version_that_is_none(self, saved, version):
        forge(saved, lambda manifest: manifest.update(version=version))
        with pytest.raises(CorruptModel, match="states the format version"):
            load(saved)

    @pytest.mark.parametrize("kind", ["Other", "os", None, ["RAANClassifier"]])
    def test_a_kind_that_is_none(self, saved, kind):
        forge(saved, lambda manifest: manifest.update(kind=kind))
        with pytest.raises(CorruptModel, match=MANIFEST):
            load(saved)


class Bomb:
    """What hostile pickles are made of."""

    def __init__(self, target):
        self.target = str(target)

    def __reduce__(self):
        return Path.write_text, (Path(self.target), "ran")


class TestHostile:
    """A folder made by someone else, checksums and all, runs no code and asks for no memory."""

    @pytest.mark.parametrize("make", [pickle.dumps, lambda bomb: torch_bytes(bomb)], ids=["pickle", "torch"])
    def test_a_pickle_in_the_tensors_place(self, saved, tmp_path, make):
        bomb = make(Bomb(tmp_path / "ran"))
        (saved / "model.pkl").write_bytes(bomb)
        forge_data(saved, bomb)
        with pytest.raises(CorruptModel, match=r"tensors-.*\.safetensors cannot be read"):
            load(saved)
        assert not (tmp_path / "ran").exists()
        pickle.loads(pickle.dumps(Bomb(tmp_path / "ran")))
        assert (tmp_path / "ran").exists()  # the bomb is one

    def test_skops_with_a_type_that_nobody_vouched_for(self, saved, tmp_path):
        from skops.io import dumps

        data = dumps(Bomb(tmp_path / "ran"))
        name = f"extra-{digest(data)[:16]}.skops"
        (saved / name).write_bytes(data)
        stated = {"name": name, "sha256": digest(data), "bytes": len(data)}
        forge(saved, lambda manifest: manifest["files"].update(extra=stated))
        with pytest.raises(CorruptModel, match=r"extra-.*\.skops holds types that skops does not know .*Bomb"):
            load(saved)
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize("kind", ["skops", "pickle"])
    def test_bytes_in_a_skops_place_that_are_none(self, saved, tmp_path, kind):
        data = pickle.dumps(Bomb(tmp_path / "ran")) if kind == "pickle" else b"PK\x03\x04nothing"
        name = f"extra-{digest(data)[:16]}.skops"
        (saved / name).write_bytes(data)
        stated = {"name": name, "sha256": digest(data), "bytes": len(data)}
        forge(saved, lambda manifest: manifest["files"].update(extra=stated))
        with pytest.raises(CorruptModel, match=r"extra-.*\.skops cannot be read"):
            load(saved)
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize(
        "name",
        [
            "../secret",
            "/etc/passwd",
            "tensors-0000000000000000.pkl",
            "..",
            "",
            "a/b-0000000000000000.skops",
            3,
            None,
        ],
    )
    def test_names_that_lead_elsewhere(self, saved, name):
        (saved.parent / "secret").write_bytes(tensors_file(saved).read_bytes())
        forge(saved, lambda manifest: manifest["files"]["tensors"].update(name=name))
        with pytest.raises(CorruptModel, match=r"names the file .* which raan never writes"):
            load(saved)

    @posix
    def test_a_pipe_is_no_file(self, saved):
        file = tensors_file(saved)
        file.unlink()
        os.mkfifo(file)
        with pytest.raises(CorruptModel, match="is missing"):
            load(saved)

    @pytest.mark.parametrize("shape", [[10**12], [10**9, 10**9], [-5], [2**63]])
    def test_shapes_larger_than_their_bytes(self, saved, shape):
        header = json.dumps({"parameters": {"dtype": "F64", "shape": shape, "data_offsets": [0, 8]}}).encode()
        forge_data(saved, len(header).to_bytes(8, "little") + header + bytes(8))
        with pytest.raises(CorruptModel, match=r"tensors-.*\.safetensors cannot be read"):
            load(saved)

    @pytest.mark.parametrize(
        "widths", [[[10**12, 8], [8, 2]], [[5, 8], [8, 3]], [[5, 8], [7, 2]], [[5, "8"], [8, 2]], 7]
    )
    def test_layers_that_do_not_fit(self, saved, widths):
        forge(saved, lambda manifest: manifest["content"]["map"].update(widths=widths))
        with pytest.raises(CorruptModel, match=MANIFEST):
            load(saved)

    @pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.float16, torch.complex64])
    def test_tensors_of_other_types(self, saved, dtype):
        forge_tensors(saved, lambda tensors: tensors.update(parameters=tensors["parameters"].to(dtype)))
        with pytest.raises(CorruptModel, match=f"parameters is {dtype}"):
            load(saved)

    def test_tensors_of_other_shapes_or_values(self, saved):
        for change in (
            lambda tensors: tensors.update(parameters=tensors["parameters"][:-1].clone()),
            lambda tensors: tensors.update(parameters=tensors["parameters"].view(1, -1)),
            lambda tensors: tensors.update(spread=torch.ones(3)),
            lambda tensors: tensors.update(centre=torch.full((5,), torch.nan)),
            lambda tensors: tensors.pop("parameters"),
            lambda tensors: tensors.pop("spread"),
        ):
            kept = saved.with_name("kept")
            shutil.copytree(saved, kept)
            forge_tensors(saved, change)
            with pytest.raises(CorruptModel, match=r"expected .* finite floats"):
                load(saved)
            shutil.rmtree(saved)
            kept.rename(saved)

    @pytest.mark.parametrize(
        "change",
        [
            {"parameters": {"map": {}}},
            {"parameters": {"map": {"__class__": "os"}}},
            {"parameters": 3},
            {"classes": {"array": {"dtype": "|O", "values": []}}},
            {"classes": {"array": {"dtype": "<U999999999", "values": ["a", "b"]}}},
            {"classes": {"array": {"dtype": "V8", "values": [1, 2]}}},
            {"classes": {"array": 3}},
            {"classes": [0, 1]},
            {"classes": {"eval": "print()"}},
            {"classes": {"tuple": 3}},
            {"frontier": {"tuple": [[], 5]}},
            {"frontier": None},
            {"frontier": {"float": "1e5"}},
            {"n_features_in": 4},
            {"n_features_in": None},
            {"feature_names_in": {"array": {"dtype": "|O", "values": ["a"]}}},
            {"encoder": "os.system"},
        ],
        ids=str,
    )
    def test_content_that_means_nothing(self, saved, change):
        forge(saved, lambda manifest: manifest["content"]["map"].update(change))
        with pytest.raises(ValueError, match=f"{MANIFEST}|encoder: the model was saved with one"):
            load(saved)

    @pytest.mark.parametrize("value", [[], 0, {"map": {}}, -1, "auto"])
    @pytest.mark.usefixtures("as_users_call")
    def test_parameters_that_mean_nothing(self, saved, value):
        forge(saved, lambda manifest: manifest["content"]["map"]["parameters"]["map"].update(batch_size=value))
        with pytest.raises(CorruptModel, match=f"{MANIFEST}.*batch_size is"):
            load(saved)

    def test_fields_that_are_missing(self, saved):
        for field in ("files", "content"):
            data = (saved / MANIFEST).read_bytes()
            forge(saved, lambda manifest, field=field: manifest.pop(field))
            with pytest.raises(CorruptModel, match=MANIFEST):
                load(saved)
            (saved / MANIFEST).write_bytes(data)

    def test_text_stated_to_be_wide_takes_no_more_memory_than_its_letters_give_reason_for(self, saved):
        wide = {"array": {"dtype": "<U9999", "values": ["a"] * 3000}}
        forge(saved, lambda manifest: manifest["content"]["map"].update(classes=[wide] * 10))
        tracemalloc.start()
        with pytest.raises(
            CorruptModel, match=f"{MANIFEST}.*arrays would take .* bytes more than it gives reason"
        ):
            load(saved)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100e6  # all of it would take 1.2 GB

    def test_a_large_file_of_holes_is_not_read(self, saved):
        file = tensors_file(saved)
        os.truncate(file, 6_000_000_000)
        forge(saved, lambda manifest: manifest["files"]["tensors"].update(bytes=6_000_000_000))
        with pytest.raises(CorruptModel, match=r"states 6,000,000,000 bytes and has .*: it is no file of raan's"):
            load(saved)

    def test_an_archive_that_would_be_more_once_unpacked_is_not_unpacked(self, saved):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("schema.json", " " * 50_000_000)
        data = packed.getvalue()
        name = f"extra-{digest(data)[:16]}.skops"
        (saved / name).write_bytes(data)
        stated = {"name": name, "sha256": digest(data), "bytes": len(data)}
        forge(saved, lambda manifest: manifest["files"].update(extra=stated))
        with pytest.raises(CorruptModel, match=r"extra-.*\.skops holds more than its .* bytes"):
            load(saved)

    def test_a_manifest_that_could_not_be_read_again_is_not_written(self, saved, monkeypatch):
        monkeypatch.setattr(folder, "LARGEST_MANIFEST", 100)
        with pytest.raises(ValueError, match="bytes beside its tensors, too many to be read again"):
            fitted(seed=4).save(saved)

    def test_json_nested_without_end(self, saved):
        (saved / MANIFEST).write_text('{"a":' * 100_000)
        with pytest.raises(CorruptModel, match=MANIFEST):
            load(saved)


def torch_bytes(thing):
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    return buffer.getvalue()


class TestEstimators:
    """scikit-learn's parts go through skops and its check of types."""

    @staticmethod
    def save(model, folder):
        def to_parts(model):
            return Parts({"kind": "logistic"}, estimators={"inner": model})

        files.save(model, folder, kind=type(model), to_parts=to_parts)

    @staticmethod
    def load(folder, **options):
        def put_together(parts, encoder):
            assert parts.plain == {"kind": "logistic"}
            return parts.estimators["inner"]

        return files.load(folder, dict.fromkeys(("LogisticRegression", "Homemade"), put_together), **options)

    def test_an_estimator_comes_back_as_it_was(self, tmp_path):
        X, y, _ = crowd(100)
        model = LogisticRegression().fit(X, y)
        self.save(model, tmp_path)
        (file,) = tmp_path.glob("inner-*.skops")
        assert file.read_bytes()[:2] == b"PK"
        np.testing.assert_array_equal(self.load(tmp_path).predict_proba(X), model.predict_proba(X))

    def test_types_of_ones_own_must_be_vouched_for_by_name(self, tmp_path):
        self.save(Homemade(), tmp_path)
        name = f"{Homemade.__module__}.Homemade"
        with pytest.raises(CorruptModel, match=r"skops holds types .*Homemade.*trusted=\["):
            self.load(tmp_path)
        assert isinstance(self.load(tmp_path, trusted=[name]), Homemade)

    def test_a_kind_that_no_loader_is_given_for_is_refused(self, tmp_path):
        self.save(LogisticRegression(), tmp_path)
        with pytest.raises(CorruptModel, match="kind 'LogisticRegression'; this version reads RAANClassifier, "):
            load(tmp_path)


class Homemade(LogisticRegression):
    """A class that skops has never heard of."""


class TestCrashes:
    """Until the new model is whole, the folder holds the old one."""

    @pytest.mark.parametrize("function", ["replace", "fsync"])
    def test_at_every_step_of_saving(self, model, saved, monkeypatch, function):
        other, X = fitted(seed=3), crowd(50).X
        real = getattr(os, function)
        for steps in range(10):
            left = iter(range(steps))

            def crash(*arguments, left=left):
                if next(left, None) is None:
                    raise KeyboardInterrupt
                return real(*arguments)

            with monkeypatch.context() as patch:
                patch.setattr(os, function, crash)
                try:
                    other.save(saved)
                except KeyboardInterrupt:
                    pass
                else:
                    break
            probability = load(saved).predict_proba(X)
            whole = [np.array_equal(probability, each.predict_proba(X)) for each in (model, other)]
            assert whole == [True, False] or (function == "fsync" and steps == 3 and whole == [False, True])
            model.save(saved)
        assert steps >= 2
        assert len(list(saved.iterdir())) == 2
        np.testing.assert_array_equal(load(saved).predict_proba(X), other.predict_proba(X))

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
                hit += len(list(folder.iterdir())) > 2
            models[0].save(folder)
            assert len(list(folder.iterdir())) == 2, "leftovers"
            assert len(seen) > 1, f"the child never got to save in {done} rounds"
            assert hit, f"none of {done} rounds was hit in the middle"
            """
        )
        # One thread: a forked child that finds its parent's OpenMP threads gone waits for them for ever.
        models = [fitted(seed=seed, hidden_layer_sizes=(300, 300)) for seed in (1, 2)]
        (tmp_path / "models").write_bytes(pickle.dumps((models, crowd(20).X)))
        done = subprocess.run(
            [sys.executable, "-c", script, tmp_path / "model", "30", tmp_path / "models"],
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -2.5,
        float("inf"),
        float("-inf"),
        "tëxt",
        (1, (2.0, None)),
        [1, [2]],
        {"a": (1,), "b": {"c": []}},
        {"float": "inf"},
        {"tuple": [1]},
        0.1 + 0.2,
        10**30,
    ],
)
def test_plain_values_come_back_as_they_were(value):
    assert from_json(json.loads(json.dumps(to_json(value, "value"), allow_nan=False)), Room()) == value


def test_arrays_come_back_with_their_types():
    for array in (
        np.arange(3),
        np.array([0.1, np.nan]),
        np.array(["a", "bcd"]),
        np.array([True]),
        np.array(["a", 1], object),
    ):
        again = from_json(json.loads(json.dumps(to_json(array, "array"))), Room())
        assert again.dtype == array.dtype
        np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {"a": {3}}, b"bytes", np.array([1j]), np.array([object()]), len]
)
def test_other_values_are_refused(value):
    with pytest.raises(TypeError, match=r"value.* is a .* which cannot be saved"):
        to_json(value, "value")


def test_the_files_room_imports_without_torch():
    code = (
        "import sys; sys.modules['torch'] = None; import raan.files, raan.files.write, raan.files.lock, raan.doors"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
