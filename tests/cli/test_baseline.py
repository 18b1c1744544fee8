"""`raan audit --baseline` and `raan certify`: later rows against what was promised."""

import json
import shutil

import pandas as pd
import pytest

from commands import raan, said
from fitted_runs import write_table
from raan.fit.outcome import FILE

FIT = ("--label", "hired", "--attribute", "sex", "--aim", "demographic-parity", "--accuracy-drop", 3)
COLUMNS = ("--label", "hired", "--prediction", "prediction", "--attribute", "sex")


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """The folder that was fitted, and predictions for rows that came later."""
    folder = tmp_path_factory.mktemp("baseline")
    table = write_table(folder / "people.csv", rows=1500)
    assert raan("fit", table, *FIT, "--out", folder / "fair", "--minutes", 0.05).returncode == 0
    later = write_table(folder / "later.csv", rows=1200, seed=7)
    done = raan("predict", folder / "fair", later, "--out", folder / "month.csv", "--keep", "all")
    assert done.returncode == 0, done.stderr
    return folder / "fair", folder / "month.csv"


def test_a_promise_that_is_kept_is_exit_code_0(month):
    fair, predictions = month
    result = raan("audit", predictions, *COLUMNS, "--baseline", fair)
    assert result.returncode == 0, said(result)
    assert "Against the promise" in result.stdout
    assert "contradicted" not in result.stdout
    assert "When the model was made, its test rows said:" in result.stdout


def test_a_group_that_is_served_worse_contradicts_it(month, tmp_path):
    fair, predictions = month
    frame = pd.read_csv(predictions, dtype=str)
    women = frame["sex"] == frame["sex"].unique()[0]
    frame.loc[women, "prediction"] = frame["prediction"].min()
    frame.to_csv(tmp_path / "bad.csv", index=False)
    result = raan("audit", tmp_path / "bad.csv", *COLUMNS, "--baseline", fair)
    assert result.returncode == 1
    assert "The promise of" in said(result)
    assert "demographic-parity gap" in said(result)
    found = json.loads(raan("audit", tmp_path / "bad.csv", *COLUMNS, "--baseline", fair, "--json").stdout)
    assert found["baseline"]["status"] == "contradicted"
    assert found["baseline"]["claims"]["demographic_parity_gap"]["status"] == "contradicted"
    served = [found["baseline"]["claims"][f"recall_1_{group}"]["status"] for group in (0, 1)]
    assert sorted(served) == ["contradicted", "within chance"]
    assert "equal_opportunity_gap" not in found["baseline"]["claims"]


def test_groups_that_the_model_was_not_made_with_are_noted(month, tmp_path):
    fair, predictions = month
    frame = pd.read_csv(predictions, dtype=str)
    frame.replace({"f": "femme"}).to_csv(tmp_path / "renamed.csv", index=False)
    command = ("audit", tmp_path / "renamed.csv", *COLUMNS, "--baseline", fair)
    (groups,) = json.loads(raan(*command, "--json").stdout)["notes"]
    assert groups == "The baseline had no groups femme, but f, m."
    strict = raan(*command, "--strict")
    assert strict.returncode == 2
    assert groups in said(strict)
    assert raan("audit", predictions, *COLUMNS, "--baseline", fair, "--strict").returncode == 0


def test_months_add_up_and_labels_may_come_late(month, tmp_path):
    fair, predictions = month
    state = tmp_path / "history.json"
    frame = pd.read_csv(predictions, dtype=str)
    first, second = frame[:600], frame[600:]
    first.drop(columns="hired").to_csv(tmp_path / "first.csv", index=False)
    first.to_csv(tmp_path / "labelled.csv", index=False)
    second.to_csv(tmp_path / "second.csv", index=False)
    options = ("--prediction", "prediction", "--attribute", "sex", "--baseline", fair, "--state", state)

    def audit(name, *more):
        done = raan("audit", tmp_path / name, *options, *more, "--json")
        return done, json.loads(done.stdout)["baseline"]["claims"] if done.returncode < 2 else {}

    done, claims = audit("first.csv", "--month", "2026-11")
    assert done.returncode == 0, said(done)
    assert claims["accuracy"]["found"] is None
    assert claims["selected_1_0"]["found"] is not None
    audit("second.csv", "--label", "hired", "--month", "2026-12")
    for _ in range(2):  # the same month again replaces it
        done, claims = audit("labelled.csv", "--label", "hired", "--month", "2026-11")
    whole = raan("audit", predictions, *COLUMNS, "--baseline", fair, "--json")
    together = json.loads(whole.stdout)["baseline"]["claims"]
    assert {key: each["found"] for key, each in claims.items()} == {k: e["found"] for k, e in together.items()}
    assert list(json.loads(state.read_text())["months"]) == ["2026-11", "2026-12"]
    done, _ = audit("labelled.csv", "--label", "hired", "--month", "2027-01")
    assert done.returncode == 2
    assert "--month is '2027-01', whose rows are those of the month '2026-11'" in said(done)
    assert [each.name for each in tmp_path.iterdir() if "lock" in each.name] == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--month", "x"), "--month names a month of a history"),
        (("--attribute", "city"), "none of the groups of the fit"),
    ],
)
def test_a_month_that_does_not_fit_the_model_is_wrong_input(month, options, words):
    fair, predictions = month
    result = raan("audit", predictions, *COLUMNS, "--baseline", fair, *options)
    assert result.returncode == 2
    assert words in said(result)
    assert raan("audit", predictions, *COLUMNS[2:]).returncode == 2


def test_a_certificate_of_later_rows(month, tmp_path):
    fair, predictions = month
    result = raan("certify", fair, predictions, "--out", tmp_path / "certificate.json")
    assert result.stdout.startswith("95 % sure: at most ")
    stored = json.loads((tmp_path / "certificate.json").read_text())
    assert result.returncode == (0 if stored["certified"] else 1)
    assert stored["rows"] == 1200
    assert {each["label"] for each in stored["recalls"]} == {"no", "yes"}
    frame = pd.read_csv(predictions, dtype=str)
    right = (frame["prediction"] == frame["hired"])[(frame["sex"] == "f") & (frame["hired"] == "yes")]
    cell = next(each for each in stored["recalls"] if (each["label"], each["group"]) == ("yes", "f"))
    assert cell["seen"] == pytest.approx(right.mean())
    again = raan("certify", fair, predictions, "--json", "--confidence", "90%")
    assert json.loads(again.stdout)["loss"]["bound"] < stored["loss"]["bound"]
    assert json.loads(again.stdout)["model"] == stored["model"]


def test_training_rows_are_refused_whatever_file_they_are_in(month, tmp_path):
    fair, _ = month
    frame = pd.read_csv(fair.parent / "people.csv")
    frame.sample(frac=1, random_state=0)[frame.columns[::-1]].to_parquet(tmp_path / "people.parquet", index=False)
    result = raan("certify", fair, tmp_path / "people.parquet")
    assert result.returncode == 2
    assert "trained or chose the model" in said(result)


@pytest.mark.parametrize("harm", ["no folder", "not ours", "older", "damaged"])
def test_a_folder_that_promises_nothing_is_wrong_input(month, tmp_path, harm):
    fair, predictions = month
    other = tmp_path / "other"
    if harm == "not ours":
        other.mkdir()
    elif harm != "no folder":
        shutil.copytree(fair, other)
        file = other / FILE
        if harm == "older":
            file.rename(other / "results.jsonl")
        else:
            file.write_bytes(file.read_bytes()[:-100])
    result = raan("audit", predictions, *COLUMNS, "--baseline", other)
    assert result.returncode == 2
    words = {"older": "it is of raan 0.2", "damaged": FILE}.get(harm, "expected one that `raan fit` wrote")
    assert words in said(result)
