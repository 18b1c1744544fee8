import json
import shutil
import zipfile

import numpy as np
import pytest

from commands import raan, said
from fitted_runs import write_table
from raan import load
from raan.fit.outcome import FILE, Outcome
from raan.io.files import RATIO
from systems import posix

FIT = ("--label", "hired", "--attribute", "sex", "--aim", "demographic-parity", "--accuracy-drop", 3)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table and the folder that was fitted to it."""
    folder = tmp_path_factory.mktemp("choose")
    table = write_table(folder / "people.csv", rows=1500)
    result = raan("fit", table, *FIT, "--out", folder / "fair", "--minutes", 0.05)
    assert result.returncode == 0, result.stderr
    return table, folder / "fair"


def test_another_aim_is_another_model_in_a_folder_of_the_same_kind(fitted, tmp_path):
    table, fair = fitted
    result = raan("choose", fair, "--aim", "worst-group", "--accuracy-drop", 4, "--out", tmp_path / "o")
    assert result.returncode in (0, 1), result.stderr
    assert "worst-group accuracy" in result.stdout
    assert {path.name for path in (tmp_path / "o").iterdir()} == {path.name for path in fair.iterdir()}
    other, plain = (load(tmp_path / "o" / name) for name in ("model", "plain"))
    assert other.about["aim"] == "worst_group"
    before = load(fair / "model")
    assert np.array_equal(other.predict_proba(table), before.predict_proba(table))
    assert (other.predict(table) != before.predict(table)).any()
    assert (plain.predict(table) == load(fair / "plain").predict(table)).all()
    expected = before.classifier.choose(aim="worst_group", accuracy_drop=0.04)
    assert np.array_equal(other.classifier.weights_, expected.weights_)


def test_the_same_wish_is_the_same_model(fitted, tmp_path):
    table, fair = fitted
    result = raan("choose", fair, "--out", tmp_path / "o", "--json")
    found = json.loads(result.stdout)
    assert found["chosen"]["test"] == Outcome.load(fair).to_dict()["chosen"]["test"]
    assert (load(tmp_path / "o" / "model").predict(table) == load(fair / "model").predict(table)).all()


def test_the_floor_can_be_lifted_and_one_may_choose_from_what_was_chosen(fitted, tmp_path):
    _, fair = fitted
    free = raan("choose", fair, "--no-floor", "--accuracy-drop", 8, "--out", tmp_path / "a", "--json")
    again = raan("choose", tmp_path / "a", "--worst-group-drop", 0, "--out", tmp_path / "b", "--json")
    free, again = (json.loads(result.stdout) for result in (free, again))
    assert (free["worst_group_drop"], again["worst_group_drop"]) == (None, 0.0)
    assert again["accuracy_drop"] == 0.08  # what is not given stays as it was
    gaps = [found["chosen"]["validation"]["demographic_parity_gap"] for found in (free, again)]
    assert gaps[0] <= gaps[1] + 0.01  # the aim is measured on smoothed counts
    assert (
        again["chosen"]["validation"]["worst_group_accuracy"]
        >= again["plain"]["validation"]["worst_group_accuracy"]
    )


def test_the_most_accurate_model_within_a_limit(fitted, tmp_path):
    table, fair = fitted
    limit = ("--at-most", "demographic-parity", "15", "--no-guard")
    result = raan("choose", fair, *limit, "--out", tmp_path / "o", "--json")
    assert result.returncode in (0, 1), result.stderr
    found = json.loads(result.stdout)
    assert found["chosen"]["validation"]["demographic_parity_gap"] <= 0.15
    again = load(tmp_path / "o" / "model")
    expected = load(fair / "model").classifier.choose(at_most={"demographic_parity": 0.15}, worst_group_drop=None)
    assert np.array_equal(again.classifier.weights_, expected.weights_)
    assert len(again.predict(table)) == 1500


def test_a_limit_that_no_point_keeps_is_said_in_the_headline(fitted, tmp_path):
    _, fair = fitted
    result = raan("choose", fair, "--at-most", "demographic-parity", "2", "--out", tmp_path / "o")
    text = " ".join(result.stdout.split())
    assert "Baseline kept" in text
    assert "the demographic-parity gap at most 2.0 %" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--at-most", "demographic-parity"), "expected pairs such as demographic-parity 5"),
        (("--at-most", "parity", "5"), "expected pairs such as demographic-parity 5"),
        (("--aim", "worst-group", "--at-most", "demographic-parity", "5"), "expected one of them"),
    ],
)
def test_a_wrong_wish_is_one_paragraph_and_exit_code_2(fitted, tmp_path, options, words):
    _, fair = fitted
    result = raan("choose", fair, *options, "--out", tmp_path / "o")
    assert result.returncode == 2
    assert words in said(result)
    assert not (tmp_path / "o").exists()


def test_a_model_without_a_trade_off_and_a_folder_of_another_kind_are_refused(fitted, tmp_path):
    _, fair = fitted
    (tmp_path / "fair").mkdir()
    load(fair / "plain").save(tmp_path / "fair" / "model")
    result = raan("choose", tmp_path / "fair", "--out", tmp_path / "o")
    assert result.returncode == 2
    assert "holds a model without a trade-off to choose from" in said(result)
    result = raan("choose", tmp_path, "--out", tmp_path / "o")
    assert result.returncode == 2
    assert "expected one that `raan fit` wrote" in said(result)


def test_the_folder_itself_is_not_written_over_without_force(fitted):
    _, fair = fitted
    result = raan("choose", fair, "--out", fair)
    assert result.returncode == 2
    assert "is not empty; expected the name of a folder that is new or empty" in said(result)


@posix
@pytest.mark.parametrize("name", ["model", "plain"])
def test_a_link_in_the_folder_is_refused_and_nothing_is_copied_through_it(fitted, tmp_path, name):
    _, fair = fitted
    shutil.copytree(fair, tmp_path / "fair")
    file = next((tmp_path / "fair" / name).glob("state-*"))
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    refused = raan("choose", tmp_path / "fair", "--out", tmp_path / "o")
    assert refused.returncode == 2
    assert f"{file.name} is a link" in said(refused)
    assert not (tmp_path / "o").exists()


def test_a_file_of_the_users_in_the_folder_stays_behind(fitted, tmp_path):
    _, fair = fitted
    shutil.copytree(fair, tmp_path / "fair")
    (tmp_path / "fair" / "plain" / "private.txt").write_text("mine")
    assert raan("choose", tmp_path / "fair", "--out", tmp_path / "o").returncode in (0, 1)
    assert not (tmp_path / "o" / "plain" / "private.txt").exists()


def test_a_trade_off_that_would_unpack_to_far_more_than_its_bytes_is_refused(fitted, tmp_path):
    _, fair = fitted
    shutil.copytree(fair, tmp_path / "fair")
    with np.load(fair / FILE) as stored:
        arrays = dict(stored)
    arrays["posterior"] = np.zeros(30_000_000)
    np.savez_compressed(tmp_path / "fair" / FILE, **arrays)
    assert (tmp_path / "fair" / FILE).stat().st_size < 1e6
    refused = raan("choose", tmp_path / "fair", "--out", tmp_path / "o")
    assert refused.returncode == 2
    assert "would unpack to" in said(refused)


def test_a_real_trade_off_is_far_from_that_bound(fitted):
    file = fitted[1] / FILE
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    assert unpacked < RATIO * file.stat().st_size / 2
