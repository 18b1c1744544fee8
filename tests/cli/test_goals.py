"""Any goal on the command line: measures, costs, limits, weights, persons, the positive class, strata."""

import json

import numpy as np
import pandas as pd
import pytest

from commands import raan, said
from fitted_runs import write_table
from raan import load
from raan import measures as m
from raan.fit.outcome import Outcome

pytestmark = pytest.mark.filterwarnings("ignore::raan.errors.DataWarning")  # the height gives the sex away

TABLE = ("--label", "hired", "--attribute", "sex")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table with weights and persons of two rows each."""
    folder = tmp_path_factory.mktemp("goals")
    path = write_table(folder / "people.csv", rows=2000)
    frame = pd.read_csv(path, dtype=str)
    frame["survey"] = np.random.default_rng(0).choice([0.5, 1.5], len(frame))
    frame["person"] = [f"p{row // 2}" for row in range(len(frame))]
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("goals-fitted") / "fair"
    goal = ("--aim", "selection-rate-ratio", "--cost", "fp=1", "fn=3", "--max-drop", 0.2, "--no-guard")
    columns = ("--weight", "survey", "--person", "person", "--positive", "yes")
    result = raan("fit", people, *TABLE, *goal, *columns, "--out", folder, "--minutes", 0.05, "--json")
    assert result.returncode in (0, 1), said(result)
    return folder, json.loads(result.stdout)


def test_a_fit_has_the_goal_that_was_asked_for(fitted):
    folder, found = fitted
    assert (found["aim"], found["performance"], found["positive"]) == (
        "selection_rate.ratio",
        "cost(fp=1, fn=3)",
        "yes",
    )
    outcome = Outcome.load(folder)
    assert outcome.rule.goal.key == "selection_rate.ratio"
    assert {"selection_rate.ratio", "cost(fp=1, fn=3)"} <= {*outcome.promise.metrics}
    assert not {"survey", "person"} & {*outcome.facts.columns}
    # Weights of 0.5 and 1.5, and two rows a person, are worth fewer rows than there are.
    assert outcome.held_out[0].sum() < 0.75 * outcome.facts.sizes[0]
    for name in ("report.html", "model-card.md"):
        assert "selection rate ratio" in (folder / name).read_text(encoding="utf-8")


def test_all_rows_of_a_person_are_on_one_side(people, fitted):
    from raan.tables.load import from_frame

    loaded = from_frame(people, "hired", "sex", weight="survey", person="person")
    sides = [{*loaded.person[part]} for part in loaded.split]
    assert all(not first & second for first, second in ((sides[0], sides[1]), (sides[0], sides[2])))
    assert sum(map(len, loaded.split)) == loaded.rows


def test_another_choice_may_have_limits_on_anything(fitted, tmp_path):
    folder, _ = fitted
    limits = ("--at-least", "selection-rate.ratio", "0.2", "--at-most", "selection-rate", "95")
    result = raan("choose", folder, *limits, "--out", tmp_path / "o", "--json")
    assert result.returncode in (0, 1), said(result)
    found = json.loads(result.stdout)
    assert found["limits"] == ["selection rate at most 95.0 %", "selection rate ratio at least 0.2"]
    rule = load(tmp_path / "o" / "model").classifier.frontier_.rule
    assert [(each.measure.key, each.side, each.value) for each in rule.limits] == [
        ("selection_rate", "at most", 0.95),
        ("selection_rate.ratio", "at least", 0.2),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--aim", "selektion-rate.ratio"), "did you mean selection_rate"),
        (("--aim", "recall"), "worst-group"),
        (("--performance", "presicion"), "did you mean precision"),
        (("--cost", "fp:1", "--max-drop", "1"), "expected what errors cost, such as fp=1 fn=5"),
        (("--cost", "fp=1"), "--cost needs --max-drop"),
        (("--performance", "f1", "--cost", "fp=1", "--max-drop", "1"), "expected one of them"),
        (("--positive", "maybe"), "expected one of the classes no, yes"),
        (("--weight", "sex"), "is named twice"),
        (("--weight", "wieght"), "names the column 'wieght', which"),
    ],
)
def test_a_goal_that_means_nothing_is_wrong_input(people, tmp_path, options, words):
    result = raan("fit", people, *TABLE, *options, "--out", tmp_path / "o", "--minutes", 0.05)
    assert result.returncode == 2
    assert words in " ".join(said(result).replace("│", " ").split())


def test_an_audit_has_more_measures_weights_and_strata(people, tmp_path):
    frame = pd.read_csv(people, dtype=str)
    wrong = np.random.default_rng(1).random(len(frame)) < 0.2
    frame["guess"] = np.where(wrong, frame["hired"].map({"yes": "no", "no": "yes"}), frame["hired"])
    frame["region"] = np.where(np.arange(len(frame)) % 3, "north", "south")
    frame.to_csv(tmp_path / "guesses.csv", index=False)
    more = ("--measure", "precision.gap", "cost(fp=1, fn=5)", "--weight", "survey", "--control", "region")
    options = (*TABLE, "--prediction", "guess", *more, "--positive", "yes", "--person", "person")
    found = json.loads(raan("audit", tmp_path / "guesses.csv", *options, "--json").stdout)
    assert {"precision.gap", "cost(fp=1, fn=5)"} <= {*found}
    assert {*found["strata"]} == {"north", "south"}
    assert found["count"] == len(frame)
    text = raan("audit", tmp_path / "guesses.csv", *options).stdout
    assert "precision gap" in text
    assert "within" in text


def test_measures_are_listed():
    text = raan("measures").stdout
    assert all(name.replace("_", "-") in text for name in m.RATES)
    listed = json.loads(raan("measures", "--json").stdout)
    assert {*listed["rates"]} == {*m.RATES}
    assert "worst-group" in listed["aims"]
