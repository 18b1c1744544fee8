"""Where each row's group is known, plans count with probabilities that are right within the groups."""

import math

import numpy as np
import pytest

from raan.frontier.calibration import Calibration
from raan.frontier.decide import Evaluation, decide
from raan.frontier.plan import Bins
from raan.frontier.posterior import give_attribute

INTERCEPT, SLOPE = np.array([-1.0, 0.6]), np.array([0.7, 1.4])


def draw(rows, seed=0):
    """A posterior that is the same function in both groups, and classes that are not."""
    rng = np.random.default_rng(seed)
    odds, a = rng.normal(0, 1.5, rows), rng.integers(2, size=rows)
    y = (rng.random(rows) < 1 / (1 + np.exp(-(INTERCEPT[a] + SLOPE[a] * odds)))).astype(int)
    second = 1 / (1 + np.exp(-odds))
    return give_attribute(np.stack([1 - second, second], 1), a, 2), y, a


def test_calibrated_probabilities_are_those_of_a_loop_over_rows():
    posterior, _, a = draw(50)
    found = Calibration(INTERCEPT, SLOPE)(posterior)
    for row, group in enumerate(a):
        first, second = posterior[row, :, group]
        odds = INTERCEPT[group] + SLOPE[group] * math.log(second / first)
        assert found[row, 1, group] == pytest.approx(1 / (1 + math.exp(-odds)))
        assert found[row, 0, group] == pytest.approx(1 / (1 + math.exp(odds)))
        assert not found[row, :, 1 - group].any()


def test_translated_weights_decide_by_scores_as_the_originals_by_calibrated_probabilities():
    posterior, _, _ = draw(2_000)
    calibration = Calibration(INTERCEPT, SLOPE)
    for weights in np.random.default_rng(1).uniform(0.1, 3, (20, 2, 2)):
        by_scores = decide(posterior, calibration.to_scores(weights))
        np.testing.assert_array_equal(by_scores, decide(calibration(posterior), weights))
    negative = np.array([[1.0, -0.2], [1.0, 1.0]])  # everybody of the second group is given the second class
    np.testing.assert_allclose(calibration.to_scores(negative)[:, 1], negative[:, 1])


def test_the_numbers_of_each_group_are_found():
    posterior, y, a = draw(40_000)
    found = Calibration.fit(posterior, y, a)
    np.testing.assert_allclose(found.intercept, INTERCEPT, atol=0.1)
    np.testing.assert_allclose(found.slope, SLOPE, atol=0.1)


def test_rows_of_weight_zero_do_not_count():
    posterior, y, a = draw(4_000)
    weight = (np.arange(4_000) < 2_000).astype(float)
    some, half = Calibration.fit(posterior, y, a, weight), Calibration.fit(*(e[:2_000] for e in (posterior, y, a)))
    np.testing.assert_allclose(some.slope, half.slope, atol=1e-3)


def test_a_group_without_both_classes_or_with_scores_in_the_wrong_order_stays_as_it_is():
    posterior, y, a = draw(4_000)
    odds = np.log(posterior.sum(2)[:, 1] / posterior.sum(2)[:, 0])
    y = np.where(a == 0, 1, odds < 0).astype(int)
    found = Calibration.fit(posterior, y, a)
    np.testing.assert_array_equal((found.intercept, found.slope), ([0, 0], [1, 1]))


def test_there_is_none_where_the_group_is_only_estimated_or_there_are_more_classes():
    posterior, y, a = draw(100)
    assert Calibration.fit(posterior, y, a) is not None
    assert Calibration.fit(0.9 * posterior + 0.025, y, a) is None
    assert Calibration.fit(np.concatenate([posterior, posterior[:, :1]], 1), y, a) is None


def test_plans_expect_what_the_labels_show():
    posterior, y, a = draw(20_000)
    evaluation = Evaluation(posterior, y, a)
    weights = np.stack([np.ones((2, 2)), [[1.3, 0.8], [0.7, 1.2]]])
    shown = evaluation.count(weights).counts[:, :, :2]
    planned = Bins.of_rows(evaluation).expect(weights).counts[:, :, :2]
    taken_at_its_word = Bins.of(posterior).expect(weights).counts[:, :, :2]
    assert np.abs(planned - shown).max() < 150
    assert np.abs(taken_at_its_word - shown).max() > 500
