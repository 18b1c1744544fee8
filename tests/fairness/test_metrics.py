import math
import time
from dataclasses import astuple, fields

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, demographic_parity_difference, equalized_odds_difference
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, recall_score

from raan import fairness
from reference import fairness_loops as loops

SCALARS = (
    "accuracy",
    "worst_group_accuracy",
    "demographic_parity_gap",
    "equalized_odds_gap",
    "equal_opportunity_gap",
)
TABLES = (
    "attribute_accuracy",
    "group_accuracy",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
)


@st.composite
def problems(draw):
    """Codes of label, attribute and prediction, small enough that cells are often empty."""
    classes, attributes = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    samples = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    label, prediction = rng.integers(0, classes, (2, samples))
    attribute = rng.integers(draw(st.sampled_from([-1, 0])), attributes, samples)
    return label.tolist(), attribute.tolist(), prediction.tolist(), classes, attributes


def counts_of(label, attribute, prediction, classes, attributes):
    columns = (np.array(column) for column in (label, attribute, prediction))
    return fairness.count(*columns, classes, attributes)


def random_problem(samples=400, classes=2, attributes=2, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, samples)
    attribute = rng.integers(0, attributes, samples)
    prediction = np.where(rng.random(samples) < 0.6 + 0.1 * attribute, label, rng.integers(0, classes, samples))
    return label.tolist(), attribute.tolist(), prediction.tolist(), classes, attributes


def close(actual, expected):
    np.testing.assert_allclose(actual, np.array(expected, dtype=np.float64), rtol=0, atol=1e-12)


@settings(deadline=None, max_examples=100)
@given(problems(), st.integers(1, 4))
def test_every_metric_equals_its_literal_loop(problem, min_count):
    counts = counts_of(*problem)
    for name in SCALARS + TABLES:
        actual = getattr(fairness, name)(counts, min_count=min_count)
        close(actual, getattr(loops, name)(*problem, min_count=min_count))


@settings(deadline=None, max_examples=60)
@given(problems(), st.sampled_from(["sum", "max", "mean"]))
def test_every_aggregate_of_equalized_odds_equals_its_loop_over_pairs(problem, aggregate):
    close(
        fairness.equalized_odds_gap(counts_of(*problem), aggregate),
        loops.equalized_odds_gap(*problem, aggregate=aggregate),
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("aggregate", ["sum", "max", "mean"])
def test_the_largest_pair_of_many_groups_is_found_where_all_rates_are_defined(seed, aggregate):
    problem = random_problem(samples=600, classes=3, attributes=4, seed=seed)
    expected = loops.equalized_odds_gap(*problem, aggregate=aggregate)
    assert not math.isnan(expected)
    close(fairness.equalized_odds_gap(counts_of(*problem), aggregate), expected)


def test_the_largest_sum_is_of_one_pair_and_not_of_the_two_largest_parts():
    label = [1, 1, 0, 0] * 3
    attribute = [0] * 4 + [1] * 4 + [2] * 4
    prediction = [0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0]
    counts = counts_of(label, attribute, prediction, 2, 3)
    # (TPR, FPR) are (0, 1/2), (1, 1/2), (1/2, 0): the ranges are 1 and 1/2, yet no pair spans both.
    close(fairness.equalized_odds_gap(counts, "sum"), 1.0)
    close(fairness.equalized_odds_gap(counts, "mean"), 0.5)
    close(fairness.equalized_odds_gap(counts, "max"), 1.0)


@settings(deadline=None, max_examples=60)
@given(problems())
def test_counts_add_up_the_samples_of_each_cell(problem):
    label, attribute, prediction, classes, attributes = problem
    expected = np.zeros((classes, attributes + 1, classes))
    for cell in zip(label, attribute, prediction, strict=True):
        expected[cell] += 1  # an attribute of -1 indexes the last slot
    assert np.array_equal(counts_of(*problem), expected)


def test_leading_axes_broadcast_and_agree_with_one_run_at_a_time():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 50)
    attribute = rng.integers(-1, 2, (4, 1, 50))
    prediction = rng.integers(0, 3, (2, 50))
    counts = fairness.count(label, attribute, prediction, 3, 2)
    assert counts.shape == (4, 2, 3, 3, 3)
    for i in range(4):
        for j in range(2):
            alone = fairness.count(label, attribute[i, 0], prediction[j], 3, 2)
            assert np.array_equal(counts[i, j], alone)
            for name in SCALARS + TABLES:
                metric = getattr(fairness, name)
                np.testing.assert_array_equal(metric(counts)[i, j], metric(alone))


def test_narrow_integers_do_not_overflow():
    label = np.full(300, 15, dtype=np.int8)
    attribute = np.full(300, 14, dtype=np.int8)
    counts = fairness.count(label, attribute, label, 16, 15)
    assert counts[15, 14, 15] == 300


@settings(deadline=None, max_examples=30)
@given(problems(), st.randoms(use_true_random=False))
def test_neither_the_order_of_samples_nor_of_groups_matters(problem, random):
    label, attribute, prediction, classes, attributes = problem
    order = random.sample(range(len(label)), len(label))
    renamed = random.sample(range(attributes), attributes)
    shuffled = (
        [label[i] for i in order],
        [renamed[attribute[i]] if attribute[i] >= 0 else -1 for i in order],
        [prediction[i] for i in order],
    )
    before = fairness.metrics(counts_of(*problem))
    after = fairness.metrics(counts_of(*shuffled, classes, attributes))
    for field in fields(before):
        expected = getattr(before, field.name)
        np.testing.assert_allclose(getattr(after, field.name), expected, rtol=1e-12)


def test_metrics_holds_all_metrics_of_every_run():
    problem = random_problem()
    counts = np.broadcast_to(counts_of(*problem), (5, 2, 3, 2))
    found = fairness.metrics(counts, min_count=2)
    assert {field.name for field in fields(found)} == set(SCALARS)
    for name in SCALARS:
        close(getattr(found, name), [getattr(loops, name)(*problem)] * 5)
    assert all(np.isnan(value).all() for value in astuple(fairness.metrics(counts, min_count=401)))


def test_metrics_of_a_pack_of_runs_are_quick():
    counts = np.random.default_rng(0).integers(1, 50, (20, 2, 3, 2)).astype(np.float64)
    took = []
    for _ in range(20):
        start = time.perf_counter()
        fairness.metrics(counts)
        took.append(time.perf_counter() - start)
    assert min(took) < 0.02  # about 0.15 ms; the shape checks of the tests cost several more


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("attributes", [2, 3])
def test_fairlearn_agrees_on_demographic_parity_and_on_the_largest_odds(seed, attributes):
    problem = random_problem(attributes=attributes, seed=seed)
    label, attribute, prediction, *_ = problem
    counts = counts_of(*problem)
    close(
        fairness.demographic_parity_gap(counts),
        demographic_parity_difference(label, prediction, sensitive_features=attribute),
    )
    close(
        fairness.equalized_odds_gap(counts, "max"),
        equalized_odds_difference(label, prediction, sensitive_features=attribute, agg="worst_case"),
    )


@pytest.mark.parametrize("seed", range(3))
def test_fairlearn_agrees_on_the_mean_of_the_odds_of_two_groups(seed):
    problem = random_problem(seed=seed)
    label, attribute, prediction, *_ = problem
    expected = equalized_odds_difference(label, prediction, sensitive_features=attribute, agg="mean")
    close(fairness.equalized_odds_gap(counts_of(*problem), "mean"), expected)
    close(fairness.equalized_odds_gap(counts_of(*problem), "sum"), 2 * expected)


def test_fairlearn_agrees_on_the_groups_one_by_one():
    problem = random_problem(attributes=3)
    label, attribute, prediction, *_ = problem
    frame = MetricFrame(
        metrics={"accuracy": accuracy_score, "recall": recall_score},
        y_true=label,
        y_pred=prediction,
        sensitive_features=attribute,
    )
    counts = counts_of(*problem)
    close(fairness.accuracy(counts), frame.overall["accuracy"])
    close(fairness.attribute_accuracy(counts), frame.by_group["accuracy"].tolist())
    close(fairness.group_accuracy(counts)[1], frame.by_group["recall"].tolist())


def test_an_empty_cell_makes_what_needs_it_nan_and_leaves_the_rest():
    label, attribute, prediction = [0, 0, 1, 0, 0], [0, 0, 0, 1, 1], [0, 1, 1, 0, 0]
    counts = counts_of(label, attribute, prediction, 2, 2)  # class 1 never has attribute 1
    found = fairness.metrics(counts)
    close(found.accuracy, 0.8)
    close(found.demographic_parity_gap, 2 / 3)
    assert np.isnan(found.equalized_odds_gap)
    assert np.isnan(found.worst_group_accuracy)
    reasons = fairness.undefined(counts, ["<=50K", ">50K"], ["White", "Amer-Indian"])
    assert reasons == ("no sample of class '>50K' with attribute 'Amer-Indian'",)


@pytest.mark.parametrize("aggregate", ["sum", "max", "mean"])
def test_two_groups_that_share_an_empty_class_are_not_perfectly_fair(aggregate):
    counts = counts_of([0, 0], [0, 1], [0, 0], 2, 2)
    assert np.isnan(fairness.equalized_odds_gap(counts, aggregate))


def test_a_single_group_has_no_gaps():
    counts = counts_of([0, 1, 1], [0, 0, 0], [0, 1, 0], 2, 1)
    found = fairness.metrics(counts)
    assert np.isnan(found.demographic_parity_gap)
    assert np.isnan(found.equalized_odds_gap)
    close(found.worst_group_accuracy, 0.5)
    reasons = fairness.undefined(counts, ["no", "yes"], ["F"])
    assert reasons == ("only one attribute value, 'F', where a gap compares two",)


def test_samples_of_unknown_attribute_count_in_the_accuracy_and_nowhere_else():
    label, attribute, prediction, *sizes = random_problem()
    known = counts_of(label, attribute, prediction, *sizes)
    joined = counts_of(label + [0] * 100, attribute + [-1] * 100, prediction + [1] * 100, *sizes)
    right = sum(y == p for y, p in zip(label, prediction, strict=True))
    close(fairness.accuracy(joined), right / 500)
    for name in SCALARS[1:] + TABLES:
        np.testing.assert_array_equal(getattr(fairness, name)(joined), getattr(fairness, name)(known))


def test_reasons_name_attributes_classes_and_cells_each_once():
    counts = np.zeros((3, 4, 3))
    counts[0, 0, 0], counts[0, 1, 0], counts[1, 0, 0] = 5, 5, 1
    counts[2, 3, 2] = 9  # class "c" is seen with the unknown attribute alone
    assert fairness.undefined(counts, ["a", "b", "c"], ["u", "v", "w"]) == (
        "no sample with attribute 'w'",
        "no sample of class 'c' with a known attribute",
        "no sample of class 'b' with attribute 'v'",
    )


def test_reasons_say_how_many_samples_min_count_misses():
    counts = np.full((2, 3, 2), 4.0)
    counts[1, 0] = [1.0, 0.0]
    counts[0, 1] = [1.0, 2.0]
    assert fairness.undefined(counts, ["a", "b"], ["u", "v"], min_count=5) == (
        "only 3 samples of class 'a' with attribute 'v' (min_count is 5)",
        "only 1 sample of class 'b' with attribute 'u' (min_count is 5)",
    )


@settings(deadline=None, max_examples=60)
@given(problems(), st.integers(1, 4))
def test_there_is_a_reason_if_and_only_if_something_is_nan(problem, min_count):
    counts, (*_, classes, attributes) = counts_of(*problem), problem
    found = astuple(fairness.metrics(counts, min_count=min_count))
    names = [[str(code) for code in range(size)] for size in (classes, attributes)]
    reasons = fairness.undefined(counts, *names, min_count=min_count)
    assert bool(reasons) == any(bool(np.isnan(value)) for value in found)


def test_an_unknown_aggregate_names_the_choices():
    counts = counts_of(*random_problem())
    with pytest.raises(ValueError, match="aggregate is 'worst_case'; expected one of 'sum', 'max', 'mean'"):
        fairness.equalized_odds_gap(counts, "worst_case")
