"""The command line counts in points, Python in shares; what is almost certainly in the wrong unit is named."""

import warnings

import numpy as np
import pytest
import typer
from sklearn.linear_model import LogisticRegression

from commands import raan, said
from raan import FairFrontier
from raan.cli.options import read_points, read_share


@pytest.mark.parametrize("text", ["0.5", "0.5%", "0.5pp", "0.5 pp", " 0.5 points", 0.5])
def test_points_are_read_with_and_without_a_unit(text):
    assert read_points(text) == 0.5


def test_a_bare_number_that_looks_like_a_share_is_refused_and_one_with_a_unit_is_not():
    with pytest.raises(typer.BadParameter, match=r"Write 0.5 for 0.5 points, or 0.005pp"):
        read_points("0.005")
    assert read_points("0.005pp") == 0.005
    assert read_points("0") == 0


@pytest.mark.parametrize("text", ["-1", "101", "half", "1e", "nan", "0.5 %%", ""])
def test_what_is_no_number_of_points_is_refused(text):
    with pytest.raises(typer.BadParameter, match="is no number of points from 0 to 100"):
        read_points(text)


def test_a_confidence_is_a_share_or_a_percentage():
    assert read_share("0.9") == read_share("90%") == read_share(0.9) == 0.9
    for text in ("90", "1", "0.4", "sure"):
        with pytest.raises(typer.BadParameter, match=r"expected 0.9 or 90%"):
            read_share(text)


@pytest.mark.parametrize("command", ["fit", "choose", "report"])
def test_every_command_refuses_a_share_as_points(command, tmp_path):
    rest = {"fit": ("--label", "y", "--attribute", "a", "--out", "o"), "choose": ("--out", "o"), "report": ()}
    result = raan(command, tmp_path / "x", *rest[command], "--accuracy-drop", "0.005")
    assert result.returncode == 2
    assert "0.005 is ambiguous" in said(result)


@pytest.mark.filterwarnings("ignore:the choice")
def test_python_warns_of_a_budget_that_was_meant_in_points():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 800)
    y = (rng.random(800) < 0.3 + 0.3 * a).astype(int)
    X = np.c_[y + rng.normal(size=800), a + rng.normal(size=800)]
    fair = FairFrontier(LogisticRegression(), accuracy_drop=1, worst_group_drop=None)
    with pytest.warns(UserWarning, match=r"accuracy_drop=1 allows a loss of 100 percentage points.* 0.01 is one"):
        fair.fit(X, y, sensitive_features=a)
    with pytest.warns(UserWarning, match=r"accuracy_drop=0.5 allows a loss of 50 percentage points"):
        fair.choose(accuracy_drop=0.5)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "accuracy_drop=")
        fair.choose(accuracy_drop=0.2)
    with pytest.raises(ValueError, match="at_most limits demographic_parity to 5; expected a share from 0 to 1"):
        fair.choose(at_most={"demographic_parity": 5})
