"""Fewer configurations, and accuracy that is really lost: against loops over subsets and allowances."""

from itertools import combinations

import numpy as np
import pytest

from raan.fairness.measures import AIMS
from raan.fairness.rule import Rule
from raan.lab.results.summary import SWEPT, choose, comparisons, distinct, expected, only, spend, start
from report.records import as_records, study

WORST = AIMS["worst_group"]


@pytest.fixture(scope="module")
def comparison():
    (found,) = comparisons(as_records(study(("Vanilla", "RAAN"), ("adam",), seeds=3, candidates=5)))
    return found


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_the_mean_over_subsets_is_that_of_choosing_from_each_of_them(comparison, size):
    paths = comparison.methods["RAAN"]
    by_hand = [
        choose(only(paths, subset), comparison.rule).test.worst_group_accuracy.mean()
        for subset in combinations(range(5), size)
    ]
    assert expected(paths, comparison.rule, WORST, size) == pytest.approx(np.mean(by_hand))


def test_with_all_configurations_it_is_what_the_rule_chooses(comparison):
    for aim in ("worst_group", "equalized_odds"):
        rule = Rule(aim, 0.01)
        for paths in comparison.methods.values():
            all_of_them = AIMS[aim].of(choose(paths, rule).test).mean()
            assert expected(paths, rule, AIMS[aim], 5) == pytest.approx(all_of_them)


def test_the_averaging_rate_makes_no_configuration_at_temperature_inf():
    grid = [
        {"learning_rate": rate, "temperature": temperature, "averaging_rate": averaging}
        for rate in (0.1, 0.01)
        for temperature in ("inf", 0.5)
        for averaging in (0.1, 0.5, 0.9)
    ]
    assert distinct(grid) == [0, 3, 4, 5, 6, 9, 10, 11]
    assert distinct([{"weight": 1}, {"weight": 2}, {"weight": 1}]) == [0, 1]


def test_a_repeated_configuration_changes_nothing(comparison):
    once, twice = (only(comparison.methods["RAAN"], places) for places in ([0, 1, 2], [0, 1, 2, 2, 1]))
    for size in (1, 2, 3):
        assert expected(twice, comparison.rule, WORST, size) == expected(once, comparison.rule, WORST, size)


def test_every_allowance_takes_what_the_rule_takes(comparison):
    for paths in comparison.methods.values():
        found = spend(paths, comparison.rule, WORST)
        plain = start(paths).test.accuracy
        for place in np.flatnonzero(SWEPT >= 0)[::17]:
            choice = choose(paths, Rule("worst_group", float(SWEPT[place])))
            assert found.lost[place] == pytest.approx((plain - choice.test.accuracy).mean())
            assert found.reached[place] == pytest.approx(choice.test.worst_group_accuracy.mean())


def test_an_allowance_below_zero_asks_for_a_gain_and_keeps_plain_training_where_there_is_none(comparison):
    paths = comparison.methods["RAAN"]
    found = spend(paths, comparison.rule, WORST)
    assert found.lost[0] == 0
    assert found.reached[0] == pytest.approx(start(paths).test.worst_group_accuracy.mean())
    place = int(np.flatnonzero(SWEPT == -0.001)[0])
    by_hand = []
    for seed in range(3):
        right = paths.validation[:, :, seed].diagonal(axis1=-3, axis2=-1).sum((-1, -2)) / 2732
        worst = WORST.of(paths.on_test)[:, :, seed]
        groups = paths.validation[:, :, seed, :, :2]
        least = (groups.diagonal(axis1=-3, axis2=-1) / groups.sum(-1).swapaxes(-1, -2)).min((-1, -2))
        allowed = np.where(right >= right[0, 0] + 0.001 - 1e-9, least, -1)
        point = np.unravel_index(allowed.argmax(), allowed.shape) if allowed.max() >= 0 else (0, 0)
        by_hand.append(worst[point])
    assert found.reached[place] == pytest.approx(np.mean(by_hand))


def test_the_curve_is_read_where_the_loss_is_first_reached_and_not_beyond_its_end(comparison):
    found = spend(comparison.methods["RAAN"], comparison.rule, WORST)
    most = found.lost.max().item()
    assert np.isnan(found.at(most + 1e-6))
    loss = most / 2
    place = int(np.flatnonzero(found.lost >= loss)[0])
    between = sorted(found.reached[[place - 1, place]])
    assert between[0] <= found.at(loss) <= between[1]
    assert found.at(found.lost[place].item()) == found.reached[place]
