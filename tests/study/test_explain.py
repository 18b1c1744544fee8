"""A finished study's explanation: which runs it is of, and that its numbers are theirs."""

import json

import pytest

from raan.fairness.rule import Rule
from raan.lab.datasets.catalogue import DATA
from raan.lab.results.records import explanation_of, read
from raan.lab.results.summary import choose, comparisons
from raan.lab.study.explain import describe_weights, explain_results
from raan.lab.study.run import run_study
from raan.lab.study.study import read_study
from raan.methods import METHODS, RAAN, Scope
from raan.models.model import mlp, outputs
from raan.report.content import load
from raan.training.stages import first_stage, second_stage
from raan.training.train import Schedule

STUDY = """
title = "A small one"
seeds = [3, 5]

[select]
aim = "worst_group"
accuracy_drop = 0.1

[first]
epochs = 2

[second]
epochs = 2
points_per_epoch = 2
learning_rate = 1e-2

[[data]]
name = "toy"
title = "shapes"
rows = 400

[methods.Vanilla]
[methods.RL-RAAN]
temperature = [0.1, 0.5]
averaging_rate = 0.5
balance = ["group", "sample"]
[methods.RAAN]
temperature = 0.3
averaging_rate = 0.5
[methods."Balancing only"]
"""


@pytest.fixture
def finished(tmp_path):
    """The study carried out, and where its results are."""
    file = tmp_path / "small.toml"
    file.write_text(STUDY)
    path = tmp_path / "small.jsonl"
    run_study(read_study(file), path)
    return read_study(file), path


def explained(study, path):
    return json.loads(explain_results(study, path).read_text())


def test_it_is_of_the_chosen_run_of_every_method_that_weighs_by_neighbourhoods(finished):
    study, path = finished
    found = explained(study, path)
    (comparison,) = comparisons(read(path), study.select)
    assert [each["method"] for each in found["weights"]] == ["RL-RAAN", "RAAN"]
    for each in found["weights"]:
        paths = comparison.methods[each["method"]]
        chosen = paths.candidates[choose(paths, study.select).candidate[0]]
        assert (each["data"], each["temperature"], each["balance"]) == (
            "shapes",
            chosen["temperature"],
            chosen["balance"],
        )
    assert [each["name"] for each in found["maps"]] == ["plain training", "RL-RAAN"]


def test_the_weights_are_those_of_the_model_at_the_chosen_point(finished):
    study, path = finished
    problem = DATA["toy"].load({"rows": 400}, (3,))
    table, split = problem.table, problem.split
    plain = first_stage(mlp(table), table, split, (3,), Schedule(epochs=2, points_per_epoch=1)).last
    for each in explained(study, path)["weights"]:
        model = plain
        if each["method"] == "RL-RAAN":
            method = RAAN(each["temperature"], 0.5, balance=each["balance"], scope=Scope.MODEL)
            schedule = Schedule(epochs=2, points_per_epoch=2, learning_rate=1e-2)
            model = second_stage(method, plain, table, split, (3,), schedule, study.select).model
        points = outputs(model, table, split.train).embedding[0].double().numpy()
        rows = split.train[0].numpy()
        alone = describe_weights(table, points, rows, each["balance"], each["temperature"])
        assert [cell["mean"] for cell in each["cells"]] == pytest.approx(
            [cell["mean"] for cell in alone["cells"]], abs=2e-3
        )


def test_it_is_made_once_for_a_rule_and_its_runs(finished, tmp_path):
    study, path = finished
    file = explain_results(study, path)
    before = file.stat().st_mtime_ns
    assert explain_results(study, path) == file
    assert file.stat().st_mtime_ns == before
    (tmp_path / "small.toml").write_text(STUDY.replace("accuracy_drop = 0.1", "accuracy_drop = 0.2"))
    assert explained(read_study(tmp_path / "small.toml"), path)["rule"]["accuracy_drop"] == 0.2


def test_the_studys_own_report_has_it_and_that_of_another_rule_has_not(finished, tmp_path):
    study, _ = finished
    run_study(study, tmp_path / "small.jsonl.gz")
    explain_results(study, tmp_path / "small.jsonl.gz")
    other = tmp_path / "other.toml"
    other.write_text('extends = "small.toml"\n[select]\naim = "equalized_odds"\n')
    of = {name: load([tmp_path / name], tmp_path).explanation for name in ("small.toml", "other.toml")}
    assert [each["method"] for each in of["small.toml"]["weights"]] == ["RL-RAAN", "RAAN"]
    assert of["other.toml"]["weights"] == []


def test_carrying_out_an_extension_leaves_the_results_as_they_are(finished, tmp_path):
    _, path = finished
    before = path.read_bytes()
    other = tmp_path / "other.toml"
    other.write_text('extends = "small.toml"\n[select]\naim = "equalized_odds"\naccuracy_drop = 0.5\n')
    study = read_study(other)
    assert study.select == Rule("equalized_odds", 0.5)
    assert run_study(study, path).complete
    assert path.read_bytes() == before


def test_runs_of_a_grid_that_was_cut_since_are_not_explained(finished, tmp_path):
    _, path = finished
    (tmp_path / "small.toml").write_text(STUDY.replace("[0.1, 0.5]", "0.1"))
    study = read_study(tmp_path / "small.toml")
    assert run_study(study, path).complete
    assert {each["temperature"] for each in explained(study, path)["weights"]} == {0.1, 0.3}


def test_a_study_without_neighbourhoods_has_none(finished, tmp_path):
    (tmp_path / "plain.toml").write_text(
        STUDY[: STUDY.index("[methods.RL-RAAN]")] + '[methods."Balancing only"]\n'
    )
    assert METHODS["Balancing only"].temperature == float("inf")
    study, path = read_study(tmp_path / "plain.toml"), tmp_path / "plain.jsonl"
    run_study(study, path)
    assert explain_results(study, path) is None
    assert not explanation_of(path).exists()
