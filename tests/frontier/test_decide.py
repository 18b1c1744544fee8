"""Decisions by weights, and their counts, against literal loops."""

import numpy as np
import pytest

from raan.frontier.decide import Evaluation, decide


def rows(n=300, classes=2, groups=2, seed=0):
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.ones(classes * groups), n).reshape(n, classes, groups)
    return posterior, rng.integers(0, classes, n), rng.integers(-1, groups, n)


@pytest.mark.parametrize(("classes", "groups"), [(2, 2), (2, 3), (3, 2)])
def test_counts_and_switched_rows_are_those_of_a_loop_over_rows(classes, groups):
    posterior, label, group = rows(classes=classes, groups=groups)
    weights = 1 + np.random.default_rng(1).normal(0, 1, (7, classes, groups))
    counts, switched = Evaluation(posterior, label, group).count(weights)
    for place, w in enumerate(weights):
        expected, moved = np.zeros(counts.shape[1:]), np.zeros(switched.shape[1:])
        for q, y, a in zip(posterior, label, group, strict=True):
            score = [sum(w[k, b] * q[k, b] for b in range(groups)) for k in range(classes)]
            plain = [sum(q[k, b] for b in range(groups)) for k in range(classes)]
            decided, before = score.index(max(score)), plain.index(max(plain))
            expected[y, a, decided] += 1  # an attribute of -1 indexes the last slot
            moved[y, a] += (decided == y) != (before == y)
        np.testing.assert_array_equal(counts[place], expected)
        np.testing.assert_array_equal(switched[place], moved)


def test_rows_switch_against_the_reference_that_is_given():
    posterior, label, group = rows()
    reference = np.random.default_rng(5).integers(0, 2, len(label))
    judge = Evaluation(posterior, label, group, reference)
    plain = posterior.sum(2).argmax(1)
    moved = sum((plain[r] == label[r]) != (reference[r] == label[r]) for r in range(len(label)))
    assert judge.count(np.ones((1, 2, 2))).switched.sum() == moved


def test_equal_weights_are_the_plain_classifier():
    posterior, *_ = rows(classes=3)
    for scale in (0.1, 1.0, 7.0):
        np.testing.assert_array_equal(decide(posterior, np.full((3, 2), scale)), posterior.sum(2).argmax(1))


def test_signed_weights_are_theta_of_the_linear_rule():
    """Decide 1 where sum theta[y, a] q[y, a] > 0: theta is the weights, negative for the first class."""
    posterior, *_ = rows()
    theta = np.array([[-0.4, -1.7], [2.0, 0.3]])
    expected = (posterior * theta).sum((1, 2)) > 0
    np.testing.assert_array_equal(decide(posterior, theta * np.array([[-1], [1]])), expected)


def test_weights_common_to_a_class_are_one_threshold():
    posterior, *_ = rows()
    second = posterior[:, 1].sum(1)
    for ratio in (0.25, 1.0, 3.0):
        weights = np.array([[1.0, 1.0], [ratio, ratio]])
        np.testing.assert_array_equal(decide(posterior, weights), second > 1 / (1 + ratio))


def test_many_weights_in_chunks_are_counted_as_few(monkeypatch):
    posterior, label, group = rows()
    judge = Evaluation(posterior, label, group)
    weights = 1 + np.random.default_rng(0).normal(0, 1, (50, 2, 2))
    whole = judge.count(weights)
    monkeypatch.setattr("raan.frontier.decide.LARGEST", 2000)
    for one, other in zip(whole, judge.count(weights), strict=True):
        np.testing.assert_array_equal(one, other)
