"""Damage to models, to what is kept beside them and to caches: the same result, or a refusal by name."""

import shutil
from hashlib import sha256

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import raan as raan_module
from commands import raan
from crowd import crowd
from damage import attempt, check, damages, flips
from fitted_runs import table_of, write_table
from raan.data.download import CorruptData, DataFile, find
from raan.data.embed import embed_once
from raan.errors import InputError
from raan.fit.outcome import FILE, Outcome
from raan.io import CorruptModel
from raan.io.files import MANIFEST
from raan.training.checkpoint import Checkpoint

# What stands in the folder of `raan fit`, and models of every kind.


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder that `raan fit` wrote."""
    folder = tmp_path_factory.mktemp("fitted")
    table = write_table(folder / "people.csv", rows=300)
    options = ("--label", "hired", "--attribute", "sex", "--minutes", 0.05, "--quiet")
    assert raan("fit", table, *options, "--out", folder / "out").returncode in (0, 1)
    return folder / "out"


def models(fitted):
    """A model of every kind that can be saved, and what it predicts for some rows of its kind."""
    X, y, a = crowd(rows=120)
    X = X.astype(np.float32)
    for model in (
        raan_module.RAANClassifier((3,), epochs=1, random_state=0),
        raan_module.AANReweighting(LogisticRegression()),
        raan_module.FairFrontier(LogisticRegression(), min_count=2),
    ):
        yield model.fit(X, y, sensitive_features=a), X[:5]
    yield raan_module.load(fitted / "model"), table_of(rows=5)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.filterwarnings("ignore::UserWarning")  # that so few rows serve nobody better
@pytest.mark.parametrize("number", [20, pytest.param(300, marks=pytest.mark.exhaustive)])
def test_a_damaged_model_of_any_kind_is_refused_with_the_name_of_the_file(number, fitted, tmp_path):
    for which, (model, rows) in enumerate(models(fitted)):
        folder = tmp_path / str(which)
        model.save(folder)
        expected = raan_module.load(folder).predict_proba(rows)
        for file in sorted(folder.iterdir()):
            before = file.read_bytes()
            for damaged in damages(before, number):
                file.write_bytes(damaged)
                if damaged == before:
                    continue
                found, words = attempt(lambda folder=folder: raan_module.load(folder), CorruptModel)
                # Damage to the manifest may be harmless, or make it name a file that is not there.
                assert file.name in words or file.name == MANIFEST
                assert str(folder) in words or np.array_equal(found.predict_proba(rows), expected)
            file.write_bytes(before)
        assert np.array_equal(raan_module.load(folder).predict_proba(rows), expected)


@pytest.mark.parametrize("number", [150, pytest.param(3000, marks=pytest.mark.exhaustive)])
def test_a_damaged_trade_off_is_recalled_as_it_was_or_refused(number, fitted, tmp_path):
    file = tmp_path / FILE
    whole, refused = (fitted / FILE).read_bytes(), 0
    expected = contents(Outcome.load(fitted))
    for damaged in [*damages(whole, number), *flips(whole, number)]:
        file.write_bytes(damaged)
        found, words = attempt(lambda: contents(Outcome.load(tmp_path)), CorruptModel)
        assert FILE in words if words else found == expected
        refused += bool(words)
    assert refused > number


def contents(outcome):
    """All that was kept of an outcome, to be compared."""
    arrays = (outcome.test, outcome.switched, outcome.probe.label, outcome.probe.group, outcome.probe.posterior)
    arrays = (*arrays, *vars(outcome.points).values())
    words = (outcome.facts, outcome.scores, outcome.probe.columns, outcome.rule, outcome.place, outcome.promise)
    return repr(words), [each.tobytes() for each in arrays]


def test_a_report_or_a_choice_from_a_damaged_folder_names_the_file(fitted, tmp_path):
    for name, *command in ((FILE, "report"), (FILE, "choose")):
        folder = tmp_path / command[0] / name
        shutil.copytree(fitted, folder)
        file = folder / name
        whole = file.read_bytes()
        for damaged in damages(whole, 2, seed=1):
            file.write_bytes(damaged)
            done = raan(*command, folder, "--out", tmp_path / "out")
            assert check(done, name) == 2
            assert not (tmp_path / "out").exists()


# What outlives a process that is killed.


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("number", [40, pytest.param(800, marks=pytest.mark.exhaustive)])
def test_a_damaged_checkpoint_is_refused_or_goes_on_to_the_same_bits(number, tmp_path):
    X, y, a = crowd(rows=60)
    file = tmp_path / "fit.pt"

    def fit():
        model = raan_module.RAANClassifier((3,), epochs=2, random_state=0, checkpoint=file)
        return model.fit(X, y, sensitive_features=a)

    expected = fit().predict_proba(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "delete", lambda self: None)  # as where the process is killed before that
        fit()
    whole = file.read_bytes()
    refused = 0
    for damaged in [*flips(whole, number), *damages(whole, number)]:
        file.write_bytes(damaged)
        found, words = attempt(lambda: fit().predict_proba(X), InputError)
        assert "checkpoint is" in words if words else np.array_equal(found, expected)
        refused += bool(words)
    assert refused > number / 2


def test_a_cache_of_embeddings_that_cannot_be_read_is_refused_by_name(tmp_path):
    def embed():
        return embed_once(
            ["a", "b"], "model", lambda: lambda batch: np.ones((len(batch), 2), np.float32), cache=tmp_path
        )

    embed()
    (tmp_path / "model.sqlite").write_bytes(b"no database " * 100)
    with pytest.raises(ValueError, match=r"model\.sqlite is not a store of embeddings .* delete it"):
        embed()


def test_a_damaged_download_is_refused_and_never_used(tmp_path, cache):
    body = bytes(range(256)) * 4
    file = DataFile("set", "file.bin", sha256(body).hexdigest(), len(body), ())
    (cache / "set").mkdir(parents=True)
    for damaged in damages(body, 50):
        (cache / "set" / "file.bin").write_bytes(damaged)
        if damaged == body:
            continue
        with pytest.raises(CorruptData, match=r"file\.bin is not the expected"):
            find(file)
