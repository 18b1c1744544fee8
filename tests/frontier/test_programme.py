"""Linear programmes on the posterior: their prices are weights, and by the posterior no others do better."""

import numpy as np
import pytest

from raan.frontier.decide import decide
from raan.frontier.programme import Programme, solve_programmes


def posterior(rows=600, groups=2, seed=0):
    """Groups that differ in how often they are of the second class, and in how that is seen."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    second = 1 / (1 + np.exp(-1.5 * x[:, 0] - x[:, 1] + 0.7))
    score = np.exp(np.c_[x[:, 1], *(-k * x[:, 1] for k in range(1, groups))])
    of_group = score / score.sum(1, keepdims=True)
    return np.stack([1 - second, second], axis=1)[:, :, None] * of_group[:, None, :]


def expected(q, weights):
    """Accuracy, false and true positive rates, and selection of the groups, by the posterior, row by row."""
    decided = decide(q, weights)
    right = sum(row[d].sum() for row, d in zip(q, decided, strict=True)) / len(q)
    rates = [[q[decided == 1, y, a].sum() / q[:, y, a].sum() for a in range(q.shape[2])] for y in (0, 1)]
    chosen = [q[decided == 1, :, a].sum() / q[:, :, a].sum() for a in range(q.shape[2])]
    return right, np.array(rates[0]), np.array(rates[1]), np.array(chosen)


def gap(q, weights, aim):
    _, false, true, chosen = expected(q, weights)
    pairs = [(a, b) for a in range(q.shape[2]) for b in range(a)]
    match aim:
        case 0:
            return 1 - min(*(1 - false), *true)
        case 1:
            return max(abs(chosen[a] - chosen[b]) for a, b in pairs)
        case 2:
            return max(abs(true[a] - true[b]) + abs(false[a] - false[b]) for a, b in pairs)
    return max(abs(true[a] - true[b]) for a, b in pairs)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("aim", range(4))
@pytest.mark.parametrize("allowance", [0.002, 0.005])
def test_no_weights_are_better_than_those_of_the_programme(aim, allowance, groups):
    q = posterior(groups=groups)
    programme = Programme(q)
    weights = programme.solve(programme.gaps[aim], allowance, guard=aim == 0)
    plain = expected(q, np.ones((2, groups)))[0]
    # A few rows lie on the border itself, where the programme may decide by halves.
    assert expected(q, weights)[0] >= plain - allowance - 0.006
    reached = gap(q, weights, aim)
    for other in 1 + np.random.default_rng(1).normal(0, 0.5, (150, 2, groups)):
        if expected(q, other)[0] >= plain - allowance:
            assert gap(q, other, aim) >= reached - 0.015


def test_the_floor_of_a_programme_keeps_the_worst_cell():
    q = posterior()
    programme = Programme(q)
    least = 1 - gap(q, np.ones((2, 2)), 0)
    for aim in (1, 2, 3):
        assert 1 - gap(q, programme.solve(programme.gaps[aim], 0.004, guard=True), 0) >= least - 0.015


def test_programmes_on_many_rows_are_solved_on_some_of_them():
    found = solve_programmes(posterior(30_000), np.random.default_rng(0))
    assert len(found) >= 12  # none where accuracy costs nothing, or the gap is closed with some of it to spare
    assert all(np.isfinite(weights).all() for weights in found)
