"""The choice: what the posterior plans, the labels test in order."""

import numpy as np
import pytest

from raan.fairness.evidence import is_constant
from raan.fairness.rule import Rule
from raan.frontier.choice import accept_path, choose, forecast_rows, supports_gain
from raan.frontier.plan import PATHS, Points

RULE = Rule("equal_opportunity", 0.01, 0.0, margin=1.28)


def points_of(steps, *, size=4000, losing=0.0, luck=()):
    """A path that raises the recall of the first group by a point a step; `losing` errors a step for class 0."""
    counts, switched = [], []
    for step in range(steps + 1):
        right = np.array([[0.9, 0.9], [0.6, 0.75]]) * size
        right[1, 0] += 0.01 * size * step
        right[0] -= losing * size * step
        if step in luck:
            right[0] += 0.1 * size
        right = np.round(right)
        counts.append(
            np.stack(
                [
                    np.stack([np.r_[right[0], 0], np.r_[size - right[0], 0]], -1),
                    np.stack([np.r_[size - right[1], 0], np.r_[right[1], 0]], -1),
                ]
            )
        )
        moved = np.zeros((2, 3))
        moved[1, 0], moved[0, :2] = 0.012 * size * step, losing * size * step
        switched.append(np.round(moved))
    path = np.full(steps + 1, PATHS.index(("equal_opportunity", True)))
    path[0] = -1
    arrays = np.array(counts), np.array(switched)
    return Points(np.ones((steps + 1, 2, 2)), *arrays, *(each.copy() for each in arrays), path)


def test_the_boldest_point_that_every_test_accepts_is_taken():
    points = points_of(12, losing=0.008)
    places = points.on_path("equal_opportunity", True)
    accepted = accept_path(points, RULE, places)
    choice = choose(points, RULE)
    assert choice.place == places[accepted][-1]
    # Literally: the loss, and the standard error of paired differences.
    n = points.counts[0].sum()
    for place in places:
        lost = points.counts[place][0, :2, 1].sum() - points.counts[0][0, :2, 1].sum()
        gained = points.counts[place][1, :2, 1].sum() - points.counts[0][1, :2, 1].sum()
        loss = (lost - gained) / n
        error = np.sqrt((points.switched[place].sum() / n - loss**2) / n)
        assert accepted[place - 1] == (loss + 1.28 * error <= 0.01)


def test_a_gain_within_its_noise_is_no_gain():
    assert not supports_gain(points_of(1, size=100), RULE, 1)
    assert supports_gain(points_of(1, size=100_000), RULE, 1)


def test_testing_ends_at_the_first_rejection_however_lucky_a_later_point_is():
    honest, lucky = points_of(12, losing=0.008), points_of(12, losing=0.008, luck=(12,))
    assert choose(lucky, RULE).place == choose(honest, RULE).place < 12
    places = lucky.on_path("equal_opportunity", True)[-1:]
    assert accept_path(lucky, RULE, places).all()  # alone it would be accepted


def test_the_margin_and_the_guard_decide():
    bold = choose(points_of(12, losing=0.008), Rule("equal_opportunity", 0.01, 0.0, margin=0.0)).place
    careful = choose(points_of(12, losing=0.008), Rule("equal_opportunity", 0.01, 0.0, margin=3.0)).place
    assert careful < bold
    points = points_of(6)
    points.counts[1:, 1, 1] = [1700.0, 2300.0]  # the other group's recall falls below that of the first
    rule = Rule("equal_opportunity", 1.0, 0.0, margin=1.28)
    assert choose(points, rule)[:2] == (0, "the rows do not support the guard")


def test_labels_of_points_off_the_path_do_not_matter():
    points = points_of(8, losing=0.003)
    other = points_of(8)
    other.path[1:] = PATHS.index(("equalized_odds", True))
    both = points + other.take(np.arange(1, 9))
    assert choose(both, RULE).place == choose(points, RULE).place


def test_a_constant_classifier_is_never_taken():
    points = points_of(8)
    points.counts[5:, :, :2, 0] += points.counts[5:, :, :2, 1]
    points.counts[5:, :, :2, 1] = 0
    assert is_constant(points.counts).tolist() == [False] * 5 + [True] * 4
    free = Rule("demographic_parity", 1.0, None, margin=1.28)
    points.path[1:] = PATHS.index(("demographic_parity", False))
    assert choose(points, free).place < 5


def test_a_gain_within_its_noise_is_not_claimed():
    points = points_of(1, size=60)
    choice = choose(points, Rule("equal_opportunity", 0.05, None, margin=1.28))
    assert choice.place == 0


def test_the_forecast_of_rows_is_enough_when_it_is_reached():
    small = points_of(12, size=400, losing=0.008)
    places = small.on_path("equal_opportunity", True)
    needed = forecast_rows(small, RULE, places)
    assert needed is not None
    assert needed > small.counts[0].sum()
    enough = points_of(12, size=int(400 * needed / small.counts[0].sum()), losing=0.008)
    gain = [1 - RULE.goal.loss_of(each.counts[choose(each, RULE).place]) for each in (small, enough)]
    assert gain[1] > gain[0]


@pytest.mark.filterwarnings("ignore:the classifier is the plain one")
@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_a_larger_budget_never_gives_up_where_a_smaller_one_had_a_choice(confidence):
    from raan import FairFrontier
    from reweighting.people import people

    for seed in range(4):
        _, y, a = people(1500, seed=seed)
        rng = np.random.default_rng(seed)
        noise = rng.dirichlet(np.ones(4), len(y)).reshape(-1, 2, 2)
        q = 0.5 * noise
        q[np.arange(len(y)), y, a] += 0.5 * rng.random(len(y))
        q /= q.sum((1, 2), keepdims=True)
        fair = FairFrontier.from_posterior(q, y, a, confidence=confidence)
        for aim in ("equalized_odds", "worst_group"):
            taken = [
                fair.choose(aim=aim, accuracy_drop=drop).choice_.place > 0 for drop in (0.005, 0.01, 0.02, 0.04)
            ]
            assert taken == sorted(taken)
