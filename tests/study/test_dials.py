"""Thresholds, budgets and the margin of the gate in a study: from its file to its choice."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from raan.fairness.metrics import accuracy, metrics
from raan.fairness.rule import CONFIDENCE, Rule, margin_of, paired_errors
from raan.lab.results.records import format_line, pack_counts, parse_line, read, unpack_counts
from raan.lab.results.summary import choose, comparisons
from raan.lab.studies import read_rule
from raan.lab.study.explain import explain_results
from raan.lab.study.plan import candidates, packs
from raan.lab.study.run import run_study
from raan.lab.study.study import StudyError, read_study
from raan.methods import METHODS
from raan.report.content import load
from raan.report.outline import outline

STUDY = """
seeds = 2
configurations = 4

[select]
accuracy_drop = 0.01
confidence = 0.9

[first]
epochs = 3

[second]
epochs = 2
first_epoch_points = 3
thresholds = 29
learning_rate = [1e-2, 1e-3, 1e-4]

[[data]]
name = "toy"
rows = 600
bias = 0.5

[methods.Vanilla]
[methods."Plain + threshold"]
[methods.FairFrontier]
[methods.RL-RAAN]
"""


def write(folder, text=STUDY):
    file = folder / "dials.toml"
    file.write_text(text)
    return read_study(file)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The study carried out once, and its results."""
    folder = tmp_path_factory.mktemp("dials")
    study = write(folder)
    assert run_study(study, folder / "out.jsonl").complete
    return study, folder / "out.jsonl"


def names_of(study, name):
    (entry,) = (each for each in study.methods if each.name == name)
    return [each.hyperparameters for each in candidates(entry, study)]


class TestConfigurations:
    def test_every_method_with_dials_has_as_many_and_those_without_have_one(self):
        for name in ("equal-budgets", "equal-budgets-unseen", "equal-budgets-sgd"):
            study = read_study(name)
            sizes = {entry.name: len(names_of(study, entry.name)) for entry in study.methods}
            assert {sizes.pop("Plain + threshold"), sizes.pop("FairFrontier")} == {1}
            assert {*sizes.values()} == {15}
            for entry in study.methods:
                several = [json.dumps(each) for each in names_of(study, entry.name)]
                assert len({*several}) == len(several)

    def test_the_draw_is_part_of_the_grid_and_the_same_in_every_study(self, tmp_path):
        some = names_of(write(tmp_path), "RL-RAAN")
        whole = names_of(write(tmp_path, STUDY.replace("configurations = 4\n", "")), "RL-RAAN")
        assert len(some) == 4
        assert len(whole) == 90
        assert [each for each in whole if each in some] == some
        other = STUDY.replace("[methods.Vanilla]", "[methods.EOR]").replace("seeds = 2", "seeds = 3")
        assert names_of(write(tmp_path, other), "RL-RAAN") == some

    def test_fewer_are_a_part_of_more_and_learning_rates_take_turns(self, tmp_path):
        drawn = [
            names_of(write(tmp_path, STUDY.replace("configurations = 4", f"configurations = {many}")), "RL-RAAN")
            for many in (3, 9, 15)
        ]
        assert all(each in drawn[1] for each in drawn[0])
        assert all(each in drawn[2] for each in drawn[1])
        for several in drawn:
            rates = [each["learning_rate"] for each in several]
            assert {rates.count(rate) for rate in (1e-2, 1e-3, 1e-4)} == {len(several) // 3}

    def test_these_are_the_ones(self, tmp_path):
        """Literally: a change of the rule would quietly change every later study."""
        drawn = names_of(write(tmp_path), "RL-RAAN")
        assert [(each["learning_rate"], each["temperature"], each["averaging_rate"]) for each in drawn] == DRAWN

    def test_a_small_grid_is_made_up_for_by_learning_rates_between_its_ends(self, tmp_path):
        rates = [each["learning_rate"] for each in names_of(write(tmp_path), "Vanilla")]
        assert rates == [0.01, 0.00215, 0.000464, 0.0001]

    def test_settings_that_are_listed_all_stay(self, tmp_path):
        listed = 'settings = [{ balance = "group" }]'
        study = write(tmp_path, STUDY.replace("[methods.RL-RAAN]", f"[methods.RL-RAAN]\n{listed}"))
        assert len(names_of(study, "RL-RAAN")) == 3  # its learning rates


DRAWN = [(0.01, 0.3, 0.9), (0.01, 0.5, 0.1), (0.001, 1.5, 0.9), (0.0001, 1.9, 0.9)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "thresholds = 29",
            "thresholds = -1",
            "second.thresholds is -1; expected a number",
        ),
        (
            "first_epoch_points = 3",
            "first_epoch_points = true",
            "first_epoch_points is True; expected a valid",
        ),
        ("[first]", "[first]\nthresholds = 9", "first.thresholds is not known there"),
        ("configurations = 4", "configurations = 0.5", "configurations is 0.5; expected a valid integer"),
        ("confidence = 0.9", "confidence = 1.0", "select.confidence is 1.0; expected a share from 0.5"),
        ("confidence = 0.9", "confidence = 0.2", "select.confidence is 0.2; expected a share from 0.5"),
    ],
)
def test_what_makes_no_sense_is_an_error_with_its_line(old, new, words, tmp_path):
    with pytest.raises(StudyError, match=words):
        write(tmp_path, STUDY.replace(old, new))


def test_what_is_not_asked_for_changes_no_hash(tmp_path):
    plain = STUDY.replace("thresholds = 29\n", "").replace("first_epoch_points = 3\n", "")
    (before,) = {packs(write(tmp_path, text))[0].runs[0] for text in (plain, plain.replace("0.9", "0.8"))}
    for old, new in (
        ("epochs = 2", "epochs = 2\nthresholds = 29"),
        ("epochs = 2", "epochs = 2\nfirst_epoch_points = 3"),
    ):
        assert packs(write(tmp_path, plain.replace(old, new)))[0].runs[0] != before


def test_a_confidence_is_a_margin_and_ties_go_to_the_accurate():
    rule = read_rule("equal-budgets")
    assert rule == Rule("worst_group", 0.005, margin=margin_of(CONFIDENCE), tie=0.0)
    assert rule.margin == pytest.approx(1.2816, abs=1e-4)
    assert read_rule("table-2") == Rule("worst_group", 0.005)


class TestRecords:
    def test_every_path_begins_at_the_plain_model_and_later_points_have_thresholds(self, finished):
        _, path = finished
        starts = {}
        for record in read(path):
            assert (record.step[0], record.threshold[0]) == (0, 0.5)
            assert not np.any(record.switched[0])
            assert starts.setdefault(record.seed, record.validation[0]) == record.validation[0]
            assert all(step > 0 for step in record.step[1:])
            decided = {each is None for each in record.threshold[1:]}
            assert decided <= ({True} if record.method == "FairFrontier" else {False})
        assert any(len({*record.threshold}) > 3 for record in read(path))

    def test_the_first_epoch_has_more_points(self, finished):
        _, path = finished
        steps = {step for record in read(path) if record.method == "Vanilla" for step in record.step}
        assert steps <= {0, 2, 4, 6, 12}
        assert len(steps) > 3

    def test_all_points_of_a_run_judge_the_same_rows(self, finished):
        _, path = finished
        for record, part in product(read(path), ("validation", "test")):
            sizes = record.counts(part).sum(-1)
            assert (sizes == sizes[0]).all()
            switched = record.switches()
            assert (switched <= record.counts("validation").sum(-1)).all()
            change = np.abs(accuracy(record.counts("validation")) - accuracy(record.counts("validation")[0]))
            assert (change * 120 <= switched.sum((1, 2)) + 1e-9).all()

    def test_a_line_is_short_and_read_as_it_was_written(self, finished):
        _, path = finished
        lines = [format_line(record) for record in read(path)]
        whole = [json.dumps(unpack_counts(json.loads(line)), separators=(",", ":")) for line in lines]
        assert sum(map(len, lines)) < 0.9 * sum(map(len, whole))
        for record, *written in zip(read(path), lines, whole, strict=True):
            assert [parse_line(line, "here") for line in written] == [record, record]

    def test_a_line_with_a_number_too_few_is_refused(self, finished):
        _, path = finished
        content = json.loads(format_line(read(path)[0]))
        content["test"][1] = content["test"][1][:-1]
        with pytest.raises(ValueError, match="is not a run of a study: test is not 4 whole numbers"):
            parse_line(json.dumps(content), "here")

    def test_more_than_two_classes_are_not_packed(self):
        content = {"switched": [[0, 1]], "classes": ["a", "b", "c"], "validation": [[1]], "test": [[1]]}
        assert pack_counts(content) == content

    def test_killed_and_started_again_it_ends_with_the_same_bytes(self, finished, tmp_path):
        _, path = finished
        write(tmp_path)
        command = [sys.executable, "-m", "raan", "study", tmp_path / "dials.toml", "--quiet"]
        command += ["--results", tmp_path / "out.jsonl", "--workers", "1"]
        child = subprocess.Popen(command)
        while child.poll() is None and not [*tmp_path.glob("out.jsonl.parts/*.jsonl")]:
            time.sleep(0.005)
        child.kill()
        child.wait()
        subprocess.run(command, check=True)
        assert (tmp_path / "out.jsonl").read_bytes() == path.read_bytes()


def allowed_by_hand(record, point, drop, margin):
    """Whether a point keeps the start's accuracy up to the allowance, with standard errors to spare."""
    here, start = (np.array(record.validation[place]).reshape(2, 3, 2) for place in (point, 0))
    rows, switched = here.sum(), sum(record.switched[point])
    change = sum(here[k, a, k] - start[k, a, k] for k in range(2) for a in range(3)) / rows
    error = max(switched / rows - change**2, 0) ** 0.5 / rows**0.5
    return change - margin * error >= -drop - 1e-9


def test_the_choice_is_that_of_a_literal_loop_over_candidates_and_points(finished):
    study, path = finished
    records = read(path)
    (comparison,) = comparisons(records, study.select)
    for method, paths in comparison.methods.items():
        choice = choose(paths, study.select)
        for place, seed in enumerate(choice.seeds):
            best = (-1.0, -1.0)
            for record in (each for each in records if (each.method, each.seed) == (method, seed)):
                measured = metrics(record.counts("validation"))
                for point in range(len(record.step)):
                    if allowed_by_hand(record, point, 0.01, study.select.margin):
                        best = max(best, (measured.worst_group_accuracy[point], measured.accuracy[point]))
            assert choice.validation.worst_group_accuracy[place] == best[0]
            assert choice.validation.accuracy[place] == best[1]


def test_a_margin_takes_no_more_than_no_margin(finished):
    study, path = finished
    (comparison,) = comparisons(read(path), study.select)
    for paths in comparison.methods.values():
        bare, spared = (choose(paths, replace(study.select, margin=each)) for each in (0.0, 1.28))
        assert (spared.validation.worst_group_accuracy <= bare.validation.worst_group_accuracy).all()
        for choice in (bare, spared):
            place = np.arange(len(paths.seeds))
            counts = paths.validation[choice.point, choice.candidate, place]
            switched = paths.switched[choice.point, choice.candidate, place]
            start = paths.validation[0, 0]
            error = paired_errors(counts, start, switched)[0] * (1.28 if choice is spared else 0)
            assert (accuracy(counts) - error >= accuracy(start) - 0.01 - 1e-9).all()


def test_the_explanation_is_of_the_step_that_was_chosen(finished):
    study, path = finished
    file = explain_results(study, path)
    found = json.loads(file.read_text())
    assert found["rule"] == {
        "aim": "worst_group",
        "accuracy_drop": 0.01,
        "margin": study.select.margin,
        "tie": 0.0,
    }
    assert [each["method"] for each in found["weights"]] == ["RL-RAAN"]


def test_plain_with_a_threshold_needs_no_groups_and_the_frontier_does():
    plain, frontier = METHODS["Plain + threshold"], METHODS["FairFrontier"]
    assert plain.group_use.training == ""
    assert plain.debiases == ()
    assert frontier.group_use.training == frontier.group_use.validation == "attribute"
    assert frontier.group_use.prediction == ""


def test_the_report_shows_the_thresholds_and_no_path_of_training(finished):
    _, path = finished
    (section,) = outline(load([path])).sections
    assert section["paths"] == []
    assert section["chosen"].header[3:5] == ("step", "threshold")
    shown = {row[0].text: row[4].text for row in section["chosen"].rows}
    assert 0 < float(shown["Plain + threshold"]) < 1
    assert any("is a hyperparameter of every method" in note for note in section["caveats"])
