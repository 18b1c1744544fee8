"""Decisions by weights, and their counts, against literal loops."""

import numpy as np
import pytest

from raan.frontier.decide import Evaluation, decide


def rows(n=300, classes=2, groups=2, seed=0):
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.ones(classes * groups), n).reshape(n, classes, groups)
    return posterior, rng.integers(0, classes, n), rng.integers(-1, groups, n), rng.integers(0, 3, n)


@pytest.mark.parametrize(("classes", "groups"), [(2, 2), (2, 3), (3, 2)])
def test_counts_and_switched_rows_are_those_of_a_loop_over_rows(classes, groups):
    posterior, label, group, part = rows(classes=classes, groups=groups)
    weights = 1 + np.random.default_rng(1).normal(0, 1, (7, classes, groups))
    counts, switched, _ = Evaluation(posterior, label, group, part, 3).count(weights)
    for place, w in enumerate(weights):
        expected, moved = np.zeros(counts.shape[1:]), np.zeros(switched.shape[1:])
        for q, y, a, p in zip(posterior, label, group, part, strict=True):
            score = [sum(w[k, b] * q[k, b] for b in range(groups)) for k in range(classes)]
            plain = [sum(q[k, b] for b in range(groups)) for k in range(classes)]
            decided, before = score.index(max(score)), plain.index(max(plain))
            expected[p, y, a, decided] += 1  # an attribute of -1 indexes the last slot
            moved[p, y, a] += (decided == y) != (before == y)
        np.testing.assert_array_equal(counts[place], expected)
        np.testing.assert_array_equal(switched[place], moved)


@pytest.mark.parametrize(("classes", "groups"), [(2, 3), (3, 2)])
def test_smoothed_counts_have_rows_that_are_decided_as_the_posterior_expects(classes, groups):
    posterior, label, group, part = rows(classes=classes, groups=groups)
    weights = 1 + np.random.default_rng(1).normal(0, 1, (3, classes, groups))
    counts, _, smoothed = Evaluation(posterior, label, group, part, 3).count(weights)
    for place, w in enumerate(weights):
        decided = decide(posterior, w)
        expected = counts[place].copy()
        for p, y, a in np.ndindex(3, classes, groups):
            within = [(q[y, a], d) for q, d, own in zip(posterior, decided, part, strict=True) if own == p]
            for k in range(classes):
                share = sum(q for q, d in within if d == k) / sum(q for q, _ in within)
                expected[p, y, a, k] += 100 / 3 * share  # a hundred rows in each cell
        np.testing.assert_allclose(smoothed[place], expected, rtol=1e-12)


def test_rows_switch_against_the_reference_that_is_given():
    posterior, label, group, part = rows()
    reference = np.random.default_rng(5).integers(0, 2, len(label))
    judge = Evaluation(posterior, label, group, part, 3, reference)
    some = np.arange(0, 300, 2)
    for each, chosen in ((judge, np.arange(300)), (judge.take(some), some)):
        _, switched, _ = each.count(np.ones((1, 2, 2)))
        plain = posterior.sum(2).argmax(1)
        moved = sum((plain[r] == label[r]) != (reference[r] == label[r]) for r in chosen)
        assert switched.sum() == moved


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
    posterior, label, group, part = rows()
    judge = Evaluation(posterior, label, group, part, 3)
    weights = 1 + np.random.default_rng(0).normal(0, 1, (50, 2, 2))
    whole = judge.count(weights)
    monkeypatch.setattr("raan.frontier.decide.LARGEST", 2000)
    for one, other in zip(whole, judge.count(weights), strict=True):
        np.testing.assert_array_equal(one, other)
