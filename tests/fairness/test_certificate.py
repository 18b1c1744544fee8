"""Certificates on draws whose truth is known in closed form, and what they say."""

import functools
import json
import re

import numpy as np
import pytest

from raan.errors import InputError
from raan.fairness.bounds import bound_loss, bound_rate
from raan.fairness.certificate import GAPS, bound_gap, certify_counts, list_sums
from raan.fairness.measures import AIMS, Limit
from raan.fairness.metrics import accuracy, group_accuracy, measure
from raan.fairness.rule import Rule
from reproduce.monitoring import evaluate_certificates, population

NAMES = ("no", "yes"), ("f", "m")
RULE = Rule("equalized_odds", accuracy_drop=0.02)


def draw(rows=4000, seed=0, groups=2):
    return population(groups).draw(rows, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("rows", "groups", "draws"), [(2000, 2, 15), pytest.param(1500, 4, 1000, marks=pytest.mark.exhaustive)]
)
def test_bounds_hold_and_are_as_narrow_as_those_of_a_normal_law_nearly(rows, groups, draws):
    found = evaluate_certificates(rows, groups, draws)
    assert found["failed"]["any"] <= 0.05 * draws + 2 * (0.05 * 0.95 * draws) ** 0.5
    assert all(1 <= ratio <= 1.3 for ratio in found["width"].values()), found


def test_of_a_thousand_draws_no_more_losses_and_recalls_fail_than_the_level_says():
    people, rng, failed, level = population(), np.random.default_rng(3), np.zeros(2), 0.1
    chosen, plain, _ = people.truth
    lowest, loss = group_accuracy(chosen).min(), float(accuracy(plain) - accuracy(chosen))
    assert loss == pytest.approx(0.005)
    bound = functools.cache(lambda worse, better: bound_loss(worse, better, 500, level))
    for _ in range(1000):
        chosen, plain, switched = people.draw(500, rng)
        lost = round(float(np.trace((plain - chosen).sum(1))))
        failed[0] += bound((switched.sum() + lost) / 2, (switched.sum() - lost) / 2) < loss
        right = np.stack([chosen[y, :-1, y] for y in range(2)])
        failed[1] += bound_rate(right, chosen[:, :-1].sum(-1), level, upper=False).min() > lowest
    assert (failed <= 1000 * level + 2 * (1000 * level * (1 - level)) ** 0.5).all(), failed


@pytest.mark.parametrize("classes", [2, 3])
def test_the_largest_sum_of_rates_is_the_gap(classes):
    counts = np.random.default_rng(classes).integers(5, 60, (classes, 4, classes)).astype(float)
    for key in GAPS:
        gap = bound_gap(key, counts[:, :-1], 0.01)
        assert gap.seen == pytest.approx(float(measure(AIMS[key].metric, counts)))
        assert gap.seen < gap.bound
        assert all(
            len(each.sign) == (4 if key == "equalized_odds" else 2) for each in list_sums(key, counts[:, :-1])
        )


def test_the_sentence_states_the_bounds_rounded_to_the_cautious_side():
    found = certify_counts(*draw(), RULE, *NAMES)
    said = re.fullmatch(
        r"95 % sure: at most ([\d.]+) points of accuracy lost, no group's recall below ([\d.]+) %, "
        r"equalized-odds gap \(sum\) at most ([\d.]+) points\.",
        found.sentence,
    )
    loss, lowest, gap = map(float, said.groups())
    assert 0 <= loss - 100 * found.loss.bound <= 0.1
    assert 0 <= 100 * found.lowest.bound - lowest <= 0.1
    assert 0 <= gap - 100 * found.gaps["equalized_odds"].bound <= 0.1
    assert found.certified
    assert all(len(line) <= 80 for line in str(found).splitlines() if "  " in line)


def test_the_rows_needed_would_certify_the_budget():
    few = certify_counts(*draw(4000, seed=4), Rule(accuracy_drop=0.008), *NAMES)
    assert not few.certified
    assert f"to certify 0.8 points you need about {few.rows_needed:,} more rows." in few.sentence
    times = (few.rows + few.rows_needed) / few.rows
    enough = [np.round(times * each) for each in draw(4000, seed=4)]
    assert certify_counts(*enough, Rule(accuracy_drop=0.008), *NAMES).loss.bound == pytest.approx(0.008, abs=3e-4)
    none = certify_counts(*draw(4000, seed=4), Rule(accuracy_drop=0.0), *NAMES)
    assert none.rows_needed is None
    assert "0 points cannot be certified where" in none.sentence


def test_small_groups_are_named_and_limits_count():
    chosen, plain, switched = draw()
    few = np.zeros((2, 1, 2))
    few[0, 0], few[1, 0] = (20, 3), (1, 2)
    with_few = [np.concatenate([each[:, :-1], few, each[:, -1:]], 1) for each in (chosen, plain)]
    switched = np.concatenate([switched[:, :-1], np.zeros((2, 2))], 1)
    found = certify_counts(*with_few, switched, RULE, NAMES[0], (*NAMES[1], "x"))
    assert found.left_out == ("x",)
    assert "Too few rows to certify: 'x'." in str(found) or "Too few rows to certify: x." in str(found)
    assert {each.group for each in found.recalls} == {"f", "m"}
    limited = Rule("accuracy", accuracy_drop=1.0, limits=(Limit.read("demographic_parity", "at most", 0.01),))
    assert not certify_counts(chosen, plain, switched[:, [0, 1, -1]], limited, *NAMES).certified


def test_the_baseline_loses_nothing_for_certain():
    chosen, _, switched = draw()
    found = certify_counts(chosen, chosen, 0 * switched, Rule(accuracy_drop=0.0), *NAMES, same=True)
    assert found.loss.bound == 0
    assert found.certified
    assert certify_counts(chosen, chosen, 0 * switched, Rule(accuracy_drop=0.0), *NAMES).loss.bound > 0


def test_a_certificate_is_saved_whole(tmp_path):
    found = certify_counts(*draw(), RULE, *NAMES)
    found.save(tmp_path / "certificate.json")
    stored = json.loads((tmp_path / "certificate.json").read_text())
    assert stored == json.loads(json.dumps(found.to_dict()))
    assert stored["loss"]["bound"] == found.loss.bound
    assert stored["certified"] is True


@pytest.mark.parametrize("confidence", [0.3, 1.0])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(InputError, match="confidence"):
        certify_counts(*draw(), RULE, *NAMES, confidence=confidence)
