"""`raan fit` over boosting, in a process where torch cannot be imported."""

import subprocess
import sys

from commands import ENVIRONMENT
from fitted_runs import write_table
from raan import load
from raan.fit.outcome import Outcome

SCRIPT = """
import sys


class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "safetensors", "matplotlib", "plotly"):
            raise ModuleNotFoundError("torch is not there", name=name)


sys.meta_path.insert(0, Refuse())
from raan.cli import main

main()
"""


def run(*arguments):
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT, check=False)


def test_models_are_fitted_saved_reported_and_predicted_with(tmp_path):
    table = write_table(tmp_path / "people.csv", rows=800)
    fitted = run(
        "fit", table, "--label", "hired", "--attribute", "sex", "--accuracy-drop", 3, "--out", tmp_path / "out",
        "--minutes", 0.5,
    )  # fmt: skip
    assert fitted.returncode in (0, 1), fitted.stderr
    assert "torch" not in fitted.stderr
    assert Outcome.load(tmp_path / "out").facts.trained == ("gradient boosting", "logistic regression")
    chosen = run("choose", tmp_path / "out", "--aim", "worst-group", "--out", tmp_path / "other")
    assert chosen.returncode in (0, 1), chosen.stderr
    predicted = run("predict", tmp_path / "out", table, "--out", tmp_path / "p.csv")
    assert predicted.returncode == 0, predicted.stderr
    again = run("report", tmp_path / "out", "--out", tmp_path / "again.html")
    assert again.returncode == 0, again.stderr
    assert len(load(tmp_path / "out" / "model").predict(table)) == 800
