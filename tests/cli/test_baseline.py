"""`raan audit --baseline`: this month's predictions against what was promised."""

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
    assert "equal_opportunity_gap" not in found["baseline"]["claims"]


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
