"""The sentences, from counts that are made to say one thing."""

import re

import pytest

from raan.fairness.rule import Rule
from raan.lab.results.summary import comparisons
from raan.report.words import caveats, headline, significance, who_gains
from report.records import as_records, line, study


def made(method, worst, others, seed=0, points=1, empty=False):
    """A run whose last point has `worst` of 1000 right in yes · Female, `others` of 1000 in each other group."""

    def counts(first, rest):
        right = {(1, 0): 0 if empty else first}
        flat = []
        for label in range(2):
            for slot in range(3):
                size = 0 if slot == 2 or (empty and (label, slot) == (1, 0)) else 1000
                hits = min(size, right.get((label, slot), rest))
                flat += [hits, size - hits] if label == 0 else [size - hits, hits]
        return flat

    path = [counts(300, 800)] + [counts(worst, others)] * points
    return {**line(method, seed), "step": list(range(points + 1)), "validation": path, "test": path}


def compared(lines, rule=Rule("worst_group", 0.01)):
    (comparison,) = comparisons(as_records(lines), rule)
    return comparison


def seeds(method, worst, others, wobble=(0, 4, 8, 2, 6)):
    return [made(method, worst + shift, others, seed) for seed, shift in enumerate(wobble)]


def test_the_headline_says_what_is_gained_and_what_it_costs():
    comparison = compared(seeds("Vanilla", 344, 810) + seeds("RL-RAAN", 428, 778))
    assert headline(comparison) == (
        "RL-RAAN raises the worst-served group from 34.8 % to 43.2 % and costs 0.3 points of accuracy."
    )
    assert significance(comparison).startswith("The seeds agree: +8.4 points against Vanilla, 95 % interval")


def test_a_gain_in_accuracy_and_none_are_told_as_such():
    assert "and gains 1.0 points of accuracy." in headline(
        compared(seeds("Vanilla", 340, 800) + seeds("RAAN", 380, 800))
    )
    assert "and costs no accuracy." in headline(compared(seeds("Vanilla", 340, 800) + seeds("RAAN", 370, 790)))


def test_a_gap_is_narrowed():
    comparison = compared(seeds("Vanilla", 344, 810) + seeds("RAAN", 600, 800), Rule("equalized_odds", 0.5))
    assert headline(comparison).startswith("RAAN narrows the equalized-odds gap (sum) from ")


def test_no_gain_is_no_headline_of_a_gain():
    comparison = compared(seeds("Vanilla", 500, 800) + seeds("RAAN", 450, 801))
    assert headline(comparison) == (
        "RAAN, the best on validation rows, does not improve on Vanilla here: the worst-served group goes from "
        "50.4 % to 45.4 %."
    )


def test_what_the_seeds_do_not_settle_is_said():
    lines = seeds("Vanilla", 400, 800) + seeds("RAAN", 410, 800, (0, 150, -60, 80, -70))
    assert significance(compared(lines)).startswith("The seeds do not settle it: +2.6 points against Vanilla")


def test_one_seed_is_told_to_be_one():
    comparison = compared([made("Vanilla", 400, 800), made("RAAN", 500, 800)])
    assert significance(comparison) == "One seed cannot say how sure that is."
    assert any(note.startswith("One seed:") for note in caveats(comparison))


def test_the_headline_is_picked_on_validation_rows_and_the_best_on_test_rows_is_named():
    lines = seeds("Vanilla", 340, 800) + seeds("RAAN", 450, 800) + seeds("GroupDRO", 400, 800)
    lucky = {each["seed"]: made("GroupDRO", 600, 800)["test"] for each in lines}
    lines = [{**each, "test": lucky[each["seed"]]} if each["method"] == "GroupDRO" else each for each in lines]
    comparison = compared(lines)
    assert headline(comparison).startswith("RAAN raises")
    assert "On test rows GroupDRO is ahead of RAAN, with 60.0 %." in significance(comparison)


def test_without_vanilla_plain_training_is_the_baseline_and_alone_vanilla_is_held_against_nothing():
    assert "from 30.0 % to 45.4 %" in headline(compared(seeds("RAAN", 450, 801)))
    assert headline(compared(seeds("Vanilla", 450, 801))).endswith("there is nothing to compare it with.")


def test_an_empty_group_is_told_and_never_counted_as_zero():
    lines = [made(method, 1, 800, seed, empty=True) for method in ("Vanilla", "RAAN") for seed in range(2)]
    assert headline(compared(lines)) == (
        "The worst-group accuracy is not defined on these rows: no sample of class 'yes' with attribute 'Female'."
    )


def test_who_gains_and_who_loses_is_by_group():
    said = who_gains(compared(seeds("Vanilla", 344, 810) + seeds("RAAN", 428, 778)), "RAAN")
    assert said == (
        "RAAN against Vanilla, in points of accuracy. Better served: yes · Female (+8.4); "
        "worse served: no · Female (−3.2), no · Male (−3.2), yes · Male (−3.2)."
    )


def test_unequal_budgets_are_told():
    equal = study(("Vanilla", "RAAN"), ("adam",), seeds=2, candidates=2)
    assert not any("configurations" in note for note in caveats(compared(equal)))
    unequal = equal + [line("RAAN", seed, 2) for seed in range(2)]
    told = "The methods had different numbers of configurations to be chosen from: Vanilla 2, RAAN 3."
    assert told in caveats(compared(unequal))
    # The same once more under another averaging rate, which does nothing without a temperature.
    for each in equal:
        each["hyperparameters"] |= {"temperature": "inf", "averaging_rate": 0.1}
    repeated = [{**each, "run": f"{place:016}"} for place, each in enumerate(equal) if each["method"] == "RAAN"]
    for each in repeated:
        each["hyperparameters"] = {**each["hyperparameters"], "averaging_rate": 0.9}
    assert not any("configurations" in note for note in caveats(compared(equal + repeated)))


def test_the_rows_of_the_smallest_cell_are_told():
    told = caveats(compared(study(("Vanilla", "RAAN"), ("adam",), seeds=2, candidates=1)))
    assert "The smallest cell of a class and an attribute value has 110 validation rows and 220 test rows." in told


def test_the_best_rival_and_the_correction_for_all_rivals_are_told():
    lines = seeds("Vanilla", 344, 810) + seeds("RAAN", 428, 778) + seeds("EOR", 420, 778, (3, 5, 0, 1, 9))
    said = significance(compared(lines))
    assert re.search(r"points against Vanilla, .* p < 0\.001 \(< 0\.001 corrected for 2 rivals\), 5 paired", said)
    best = (
        r"Against EOR, the best of the others on test rows: \+0\.8 points, p = 0\.\d{3} \(0\.\d{3} corrected for 2"
    )
    assert re.search(best, said)


@pytest.mark.parametrize(("diverged", "told"), [(None, False), (300, True)])
def test_diverged_runs_are_counted(diverged, told):
    lines = study(("Vanilla",), ("adam",)) + [line("RAAN", seed, points=4, diverged=diverged) for seed in range(5)]
    expected = "Runs that diverged, used up to where they did: RAAN 5."
    assert (expected in caveats(compared(lines))) == told
