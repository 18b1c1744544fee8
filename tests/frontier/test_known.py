"""A problem where everything is known: the frontier against the true optimum."""

import numpy as np
import pytest
from scipy.optimize import linprog

from raan import FairFrontier
from raan.fairness import AIMS, count, metrics
from raan.frontier.decide import decide

SHARE = np.array([[0.45, 0.2], [0.1, 0.25]])  # P(y, a)
MEAN = np.array([[0.0, 0.6], [1.2, 1.6]])  # of x's first coordinate in each cell
SIDE = np.array([-0.8, 0.8])  # of the second, by group


def draw(rows, seed):
    rng = np.random.default_rng(seed)
    cell = rng.choice(4, rows, p=SHARE.ravel())
    y, a = cell // 2, cell % 2
    return np.c_[rng.normal(MEAN[y, a], 1.0), rng.normal(SIDE[a], 1.0)], y, a


def posterior_of(X):
    """P(y, a | x), by Bayes' rule."""
    density = np.exp(-0.5 * ((X[:, 0, None, None] - MEAN) ** 2 + (X[:, 1, None, None] - SIDE) ** 2))
    joint = SHARE * density
    return joint / joint.sum((1, 2), keepdims=True)


def grid_mass(step=0.1):
    """P(y, a, x in square) for the squares of a fine grid over all of the plane that matters."""
    across, up = np.meshgrid(np.arange(-5, 7, step), np.arange(-5.5, 5.5, step))
    X = np.c_[across.ravel(), up.ravel()]
    density = np.exp(-0.5 * ((X[:, 0, None, None] - MEAN) ** 2 + (X[:, 1, None, None] - SIDE) ** 2))
    mass = SHARE * density
    mass = mass[mass.sum((1, 2)) > 1e-6 * mass.sum((1, 2)).max()]
    return mass / mass.sum()


def true_optimum(aim, drop, floor):
    """The best value of the aim that any randomised classifier reaches, by a linear programme over the plane.

    Variables: how often each square is given class 1, and the aim's value t, which is minimised.
    """
    q = grid_mass()
    rows = len(q)
    size = q.sum(0)  # [y, a]
    rate = {(y, a): np.append(q[:, y, a] / size[y, a], 0) for y in range(2) for a in range(2)}  # P(1 | y, a)
    chosen = {a: np.append(q[:, :, a].sum(1) / size[:, a].sum(), 0) for a in range(2)}  # P(1 | a)
    t = np.append(np.zeros(rows), 1)
    upper, bound = [], []

    def at_most(row, most):
        upper.append(row)
        bound.append(most)

    gain = np.append(q[:, 1].sum(1) - q[:, 0].sum(1), 0)  # accuracy = a constant + gain . d
    plain = (gain[:-1] > 0).astype(float)
    at_most(-gain, drop - gain[:-1] @ plain)
    right = {(0, a): (-rate[0, a], 1.0) for a in range(2)} | {(1, a): (rate[1, a], 0.0) for a in range(2)}
    if floor:
        worst = min(offset + row[:-1] @ plain for row, offset in right.values())
        for row, offset in right.values():
            at_most(-row, offset - worst)
    if aim == "worst_group":
        for row, offset in right.values():
            at_most(-row - t, offset - 1)  # 1 - accuracy of the cell <= t
    elif aim == "demographic_parity":
        for sign in (1, -1):
            at_most(sign * (chosen[0] - chosen[1]) - t, 0)
    else:
        for one in (1, -1):
            for other in (1, -1) if aim == "equalized_odds" else (0,):
                true, false = rate[1, 0] - rate[1, 1], rate[0, 0] - rate[0, 1]
                at_most(one * true + other * false - t, 0)
    found = linprog(t, np.array(upper), bound, bounds=[(0, 1)] * rows + [(0, 1)], method="highs")
    return found.fun


@pytest.fixture(scope="module")
def truth():
    X, y, a = draw(400_000, seed=7)
    return posterior_of(X), y, a


@pytest.fixture(scope="module")
def known():
    """The frontier found from 20,000 rows whose posterior is known."""
    X, y, a = draw(20_000, seed=1)
    return FairFrontier.from_posterior(posterior_of(X), y, a, confidence=0.5)


@pytest.mark.parametrize("floor", [0.0, None])
@pytest.mark.parametrize("aim", sorted(AIMS))
def test_the_frontier_is_within_half_a_point_of_the_true_optimum(known, truth, aim, floor):
    posterior, y, a = truth
    choice = known.choose(aim=aim, accuracy_drop=0.01, worst_group_drop=floor)
    found = metrics(count(y, a, choice.predict_posterior(posterior), 2, 2))
    plain = metrics(count(y, a, decide(posterior, np.ones((2, 2))), 2, 2))
    # What is reached is compared at the accuracy that was really paid, and with the floor that was really kept.
    paid = max(float(plain.accuracy - found.accuracy), 0)
    optimum = true_optimum(aim, paid, floor is not None)
    assert float(AIMS[aim].loss(found)) <= optimum + 0.005
    assert paid <= 0.01 + 0.005
    if floor is not None:
        assert found.worst_group_accuracy >= plain.worst_group_accuracy - 0.015


def test_weighted_training_converges_to_the_same_rule():
    """The most probable class under cell weights w is the class with the largest sum of w q."""
    X, _, _ = draw(2000, seed=3)
    weights = np.array([[1.0, 0.4], [3.0, 0.7]])
    density = np.exp(-0.5 * ((X[:, 0, None, None] - MEAN) ** 2 + (X[:, 1, None, None] - SIDE) ** 2))
    weighted = (weights * SHARE * density).sum(2)  # the joint density of x and y where cells weigh so
    np.testing.assert_array_equal(decide(posterior_of(X), weights), weighted.argmax(1))
