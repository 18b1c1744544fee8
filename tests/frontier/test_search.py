"""The points of a trade-off: who chooses, and on whose rows the choice is measured."""

import numpy as np

from raan.fairness.rule import Rule
from raan.frontier.search import Points


def lucky_points() -> Points:
    """Three parts; besides the plain point, one for each part that has no gap there and a large one elsewhere."""
    plain = np.array(
        [[[40, 10], [30, 20], [0, 0]], [[5, 45], [25, 25], [0, 0]]], float
    )  # [label, slot, prediction]
    equal = np.array([[[40, 10], [40, 10], [0, 0]], [[10, 40], [10, 40], [0, 0]]], float)
    uneven = np.array([[[48, 2], [20, 30], [0, 0]], [[20, 30], [2, 48], [0, 0]]], float)
    counts = np.stack(
        [np.stack([plain] * 3)] + [np.stack([equal if p == own else uneven for p in range(3)]) for own in range(3)]
    )
    return Points(np.ones((4, 2, 2)), counts, np.zeros(counts.shape[:-1]), counts)


def test_each_part_is_measured_at_the_point_that_the_other_parts_choose():
    points = lucky_points()
    rule = Rule("equalized_odds", accuracy_drop=1.0)
    counts, _ = points.choose_by_others(rule)
    expected = np.zeros_like(counts)
    for part in range(3):
        others = [each for each in range(3) if each != part]
        losses = [rule.goal.loss_of(points.counts[place, others].sum(0)) for place in range(4)]
        expected += points.counts[int(np.argmin(losses)), part]
    np.testing.assert_array_equal(counts, expected)


def test_a_point_that_is_lucky_on_its_own_rows_only_is_not_chosen():
    points = lucky_points()
    rule = Rule("equalized_odds", accuracy_drop=1.0)
    assert points.choose(rule) == 0 or points.decide(rule) == 0
    in_sample = rule.goal.loss_of(points.counts[1, :1].sum(0))
    promised = points.promise(rule).metrics["equalized_odds_gap"].value
    assert in_sample == 0 < promised
