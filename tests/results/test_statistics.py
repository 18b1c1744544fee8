import math

import numpy as np
import pytest
from scipy import stats

from raan.lab.results.statistics import difference, estimate, holm


def test_the_estimate_is_the_mean_the_sample_deviation_and_the_t_interval_of_the_books():
    values = [0.42, 0.51, 0.47, 0.39, 0.55]
    found = estimate(np.array(values))
    assert found.mean == pytest.approx(sum(values) / 5)
    assert found.deviation == pytest.approx(math.sqrt(sum((v - sum(values) / 5) ** 2 for v in values) / 4))
    half = 2.7764451 * found.deviation / math.sqrt(5)  # the 97.5 % quantile of Student's t with 4 degrees
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half))
    assert found.significant


def test_one_seed_has_a_mean_and_no_spread():
    found = estimate(np.array([0.5]))
    assert (found.mean, found.seeds, found.significant) == (0.5, 1, False)
    assert all(map(math.isnan, (found.deviation, found.low, found.high)))


def test_the_difference_is_scipys_paired_t_test():
    ours, theirs = np.random.default_rng(0).normal(0.5, 0.1, (2, 7))
    found = difference(ours, theirs)
    assert found.p_value == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((interval.low, interval.high))


def test_equal_runs_have_no_p_value_and_a_constant_difference_has_p_zero():
    values = np.array([0.25, 0.5, 0.75])
    assert math.isnan(difference(values, values).p_value)
    assert difference(values + 0.25, values).p_value == 0.0
    assert math.isnan(difference(values[:1], values[:1] + 1).p_value)


def test_an_undefined_seed_makes_the_estimate_undefined_never_zero():
    found = difference(np.array([0.5, math.nan]), np.array([0.25, 0.25]))
    assert math.isnan(found.estimate.mean)
    assert math.isnan(found.p_value)
    assert not found.estimate.significant


def test_holms_correction_is_that_of_the_books():
    # Ordered, they are multiplied by 4, 3, 2 and 1, and none falls below one before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]


def test_runs_that_do_not_differ_stay_without_a_p_value_and_count_as_a_comparison():
    found = holm([math.nan, 0.02, 0.2])
    assert math.isnan(found[0])
    assert found[1:] == pytest.approx([0.06, 0.4])
