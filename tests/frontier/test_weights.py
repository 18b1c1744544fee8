"""With weights of a survey the budget is a claim about the population, not about the sample."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from raan import FairFrontier
from raan.errors import InputError
from raan.fairness.counts import count, effective_weights
from raan.fairness.measures import ACCURACY
from raan.frontier.choice import choose
from raan.frontier.decide import Evaluation
from raan.frontier.plan import Points

PRIOR = np.array([[0.35, 0.25], [0.1, 0.3]])
DRAWS, ROWS, POPULATION = 60, 3_000, 200_000
CONFIDENCE, BUDGET = 0.9, 0.01

SHARES = {
    "clear cases more often": lambda first, second: np.where(np.abs(first - 0.7) > 1, 0.9, 0.15),
    "one region more often": lambda first, second: np.where(second < 0.7, 0.9, 0.12),
    "everybody": lambda first, second: np.ones(len(first)),
}
"""With which probability a person is in a sample."""


def draw(rows, seed, share_of):
    """The posterior, class and group of a sample of people, and how many people each stands for."""
    rng = np.random.default_rng(seed)
    cell = rng.choice(4, 12 * rows if share_of != "everybody" else rows, p=PRIOR.ravel())
    y, a = cell // 2, cell % 2
    first, second = rng.normal(1.2 * y, 1), rng.normal(1.4 * a, 1)
    share = SHARES[share_of](first, second)
    found = np.flatnonzero(rng.random(len(y)) < share)[:rows]
    y, a, first, second, weight = (each[found] for each in (y, a, first, second, 1 / share))
    of_class, of_group = (np.exp(-((x[:, None] - m) ** 2) / 2) for x, m in ((first, [0, 1.2]), (second, [0, 1.4])))
    q = PRIOR * of_class[:, :, None] * of_group[:, None, :]
    return q / q.sum((1, 2), keepdims=True), y, a, weight


def weigh(y, a, weight):
    return effective_weights(weight, None, 3 * y + a + 1)


def test_a_posterior_with_weights_and_persons_is_counted_with_effective_weights():
    q, y, a, weight = draw(600, 1, "one region more often")
    person = np.arange(600) // 2
    with warnings.catch_warnings(action="ignore"):
        fair = FairFrontier.from_posterior(q, y, a, sample_weight=weight, groups=person)
    expected = effective_weights(weight, person, 3 * y + a + 1)
    np.testing.assert_allclose(fair.evaluation_.weight, expected)
    np.testing.assert_allclose(fair.frontier_.plain.counts, count(y, a, fair.evaluation_.plain, 2, 2, expected))
    with pytest.raises(InputError, match="groups has 599"):
        FairFrontier.from_posterior(q, y, a, groups=person[:-1])


@pytest.mark.usefixtures("as_users_call")  # many draws: the shape checks would take longest
@pytest.mark.parametrize("share_of", ["clear cases more often", "one region more often"])
def test_the_loss_of_the_population_exceeds_the_budget_no_more_often_than_the_confidence_says(share_of):
    q, y, a, weight = draw(2 * ROWS, 0, share_of)
    with warnings.catch_warnings(action="ignore"):
        planned = FairFrontier.from_posterior(
            q, y, a, sample_weight=weight, aim="demographic_parity", worst_group_drop=None, confidence=CONFIDENCE
        )
    points, rule = planned.points_, replace(planned.frontier_.rule, accuracy_drop=BUDGET)
    points = points.take(np.r_[0, points.on_path("demographic_parity", False)])
    right = ACCURACY(Evaluation(*draw(POPULATION, 1_000, "everybody")[:3]).count(points.weights).counts)
    exceeded = claimed = 0
    for seed in range(1, DRAWS + 1):
        q, y, a, weight = draw(ROWS, seed, share_of)
        sample = Evaluation(q, y, a, weight=weigh(y, a, weight))
        place = choose(Points.of(points.weights, points.path, sample), rule).place
        claimed += place > 0
        exceeded += right[0] - right[place] > BUDGET
    assert claimed > DRAWS / 2
    assert exceeded <= (1 - CONFIDENCE) * DRAWS
