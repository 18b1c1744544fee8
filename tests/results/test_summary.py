"""The summary of runs, held against literal loops over the lines of a results file."""

import numpy as np
import pytest

from raan.fairness.rule import LAST, Rule
from raan.lab.results.statistics import paired
from raan.lab.results.summary import choose, comparisons, start, varying
from report.records import as_records, line, study


def rates(flat):
    """Accuracy and the four groups' accuracies of one point's counts, by hand."""
    counts = np.array(flat, dtype=float).reshape(2, 3, 2)
    right = sum(counts[label, slot, label] for label in range(2) for slot in range(3))
    groups = [[counts[c, a, c] / counts[c, a].sum() for a in range(2)] for c in range(2)]
    return right / counts.sum(), np.array(groups)


def chosen_by_hand(lines, seed, drop):
    """Over the candidates and points of one method and seed: the best worst group within the allowance."""
    best = None
    runs = [each for each in lines if each["seed"] == seed]
    for point in range(max(len(run["step"]) for run in runs)):
        for candidate, run in enumerate(runs):
            if point >= len(run["step"]):
                continue
            accuracy, groups = rates(run["validation"][point])
            allowed = rates(run["validation"][0])[0] - drop
            if accuracy >= allowed - 1e-9 and (best is None or groups.min() > best[0]):
                best = (groups.min(), candidate, point)
    return best[1:]


@pytest.mark.parametrize("drop", [0.0, 0.01])
def test_the_choice_is_that_of_a_literal_loop(drop):
    lines = study(styles=("adam",))
    (comparison,) = comparisons(as_records(lines), Rule("worst_group", drop))
    for method, paths in comparison.methods.items():
        of_method = [each for each in lines if each["method"] == method]
        choice = choose(paths, comparison.rule)
        for place, seed in enumerate(choice.seeds):
            candidate, point = chosen_by_hand(of_method, seed, drop)
            assert (choice.candidate[place], choice.point[place]) == (candidate, point)
            run = [each for each in of_method if each["seed"] == seed][candidate]
            accuracy, groups = rates(run["test"][point])
            assert choice.test.accuracy[place].item() == pytest.approx(accuracy)
            assert choice.test.worst_group_accuracy[place].item() == pytest.approx(groups.min())
            assert choice.group[place] == pytest.approx(groups)


def test_shorter_paths_are_used_as_far_as_they_go():
    lines = [
        *(line("Vanilla", seed) for seed in range(2)),
        *(line("DFR", seed, points=2) for seed in range(2)),
        line("RAAN", 0, points=4, diverged=300),
        line("RAAN", 1),
    ]
    (comparison,) = comparisons(as_records(lines))
    assert comparison.methods["DFR"].length.tolist() == [[2, 2]]
    raan = comparison.methods["RAAN"]
    assert (raan.diverged, raan.length.tolist()) == (1, [[4, 21]])
    assert choose(raan, LAST).point.tolist() == [3, 20]
    for method in ("DFR", "RAAN"):
        of_method = [each for each in lines if each["method"] == method]
        choice = choose(comparison.methods[method], comparison.rule)
        assert list(zip(choice.candidate.tolist(), choice.point.tolist(), strict=True)) == [
            chosen_by_hand(of_method, seed, comparison.rule.accuracy_drop) for seed in range(2)
        ]


def test_a_seed_that_some_candidate_lacks_is_left_out_and_told():
    lines = study(("Vanilla", "RAAN"), ("adam",), seeds=3, candidates=2)
    lines.remove(next(each for each in lines if each["method"] == "RAAN" and each["seed"] == 1))
    lines.append(line("IRM", 0, 0))
    lines.append(line("IRM", 1, 1))
    (comparison,) = comparisons(as_records(lines))
    raan = comparison.methods["RAAN"]
    assert (raan.seeds, raan.left_out) == ((0, 2), (1,))
    assert comparison.methods["Vanilla"].seeds == (0, 1, 2)
    assert comparison.unfinished == ("IRM",)
    ours, theirs = choose(raan, comparison.rule), comparison.baseline
    held = paired(ours, theirs, lambda choice: choice.test.accuracy)
    by_hand = ours.test.accuracy - theirs.test.accuracy[[0, 2]]
    assert held.estimate.mean == pytest.approx(by_hand.mean().item())
    assert held.estimate.seeds == 2


def test_all_methods_of_a_seed_start_from_the_same_point_and_without_vanilla_it_is_the_baseline():
    lines = study(("RAAN", "GroupDRO"), ("adam",))
    (comparison,) = comparisons(as_records(lines))
    raan, dro = (start(paths).test.accuracy for paths in comparison.methods.values())
    np.testing.assert_allclose(raan, dro)
    name, choice = comparison.against, comparison.baseline
    assert name == "plain training"
    np.testing.assert_allclose(choice.test.accuracy, raan)


def named(name, method, *places):
    """A run of a method that its study calls by another name."""
    run = line(name, *places)
    return {**run, "configuration": {"method": method, **run["configuration"]}}


def test_the_baseline_is_known_by_its_method_whatever_the_study_calls_it():
    lines = [
        named(name, method, seed) for seed in range(3) for name, method in (("Ours", "RAAN"), ("ERM", "Vanilla"))
    ]
    (comparison,) = comparisons(as_records(lines))
    assert list(comparison.methods) == ["ERM", "Ours"]
    name, choice = comparison.against, comparison.baseline
    assert name == "ERM"
    assert (
        choice.test.accuracy.tolist() == choose(comparison.methods["ERM"], comparison.rule).test.accuracy.tolist()
    )


def test_of_several_plain_methods_the_one_of_that_name_is_the_baseline_or_none():
    both = [named("Vanilla", "Vanilla"), named("Slower", "Vanilla", 0, 1)]
    assert comparisons(as_records(both[::-1]))[0].against == "Vanilla"
    ablated = [named("Vanilla, rate 1", "Vanilla"), named("Vanilla, rate 2", "Vanilla", 0, 1), line("RAAN")]
    assert comparisons(as_records(ablated))[0].against == "plain training"


def test_data_sets_and_styles_are_apart_and_vanilla_comes_first():
    lines = [line("RAAN"), line("Vanilla"), line("RAAN", style="sgd"), line("RAAN", data="adult")]
    found = comparisons(as_records(lines))
    assert [(each.data, each.style) for each in found] == [("meps", "adam"), ("meps", "sgd"), ("adult", "adam")]
    assert list(found[0].methods) == ["Vanilla", "RAAN"]


def test_a_run_that_two_files_hold_counts_once_and_two_that_differ_are_an_error():
    (comparison,) = comparisons(as_records([line("RAAN"), line("RAAN")]))
    assert comparison.methods["RAAN"].seeds == (0,)
    other = {**line("RAAN"), "run": "f" * 16, "configuration": {"split": [1, 2, 3], "epochs": 6}}
    with pytest.raises(ValueError, match=r"two runs of 'RAAN' on 'meps', seed 0, .* differ in split"):
        comparisons(as_records([line("RAAN"), other]))


def test_runs_that_disagree_on_the_groups_are_an_error():
    with pytest.raises(ValueError, match="disagree on the groups"):
        comparisons(as_records([line("RAAN"), line("RAAN", 1, attributes=("a", "b"))]))


def test_hyperparameters_in_common_tell_no_candidates_apart():
    several = [{"rate": 0.1, "balance": "group"}, {"rate": 0.2, "balance": "group"}]
    assert varying(several) == [{"rate": 0.1}, {"rate": 0.2}]
    assert varying(several[:1]) == several[:1]
