"""Linear programmes on the posterior: their prices are weights, and by the posterior no others do better."""

import numpy as np
import pytest

from raan.fairness.measures import AIMS
from raan.frontier.decide import decide
from raan.frontier.plan import Bins
from raan.frontier.programme import Programme


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
        case "worst_group":
            return 1 - min(*(1 - false), *true)
        case "demographic_parity":
            return max(abs(chosen[a] - chosen[b]) for a, b in pairs)
        case "equalized_odds":
            return max(abs(true[a] - true[b]) + abs(false[a] - false[b]) for a, b in pairs)
    return max(abs(true[a] - true[b]) for a, b in pairs)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("allowance", [0.002, 0.005])
def test_no_weights_are_better_than_those_of_the_programme(aim, allowance, groups):
    q = posterior(groups=groups)
    weights = Programme(q, np.ones(len(q))).solve(AIMS[aim], allowance)
    plain = expected(q, np.ones((2, groups)))[0]
    # A few rows lie on the border itself, where the programme may decide by halves.
    assert expected(q, weights)[0] >= plain - allowance - 0.006
    reached = gap(q, weights, aim)
    for other in 1 + np.random.default_rng(1).normal(0, 0.5, (150, 2, groups)):
        if expected(q, other)[0] >= plain - allowance:
            assert gap(q, other, aim) >= reached - 0.015


@pytest.mark.parametrize("aim", [aim for aim in AIMS if aim != "worst_group"])
def test_the_guard_of_a_programme_keeps_the_worst_cell(aim):
    q = posterior()
    programme = Programme(q, np.ones(len(q)))
    least = 1 - gap(q, np.ones((2, 2)), "worst_group")
    assert programme.plain_accuracy.min() == pytest.approx(least)
    weights = programme.solve(AIMS[aim], 0.004, np.full((2, 2), least))
    assert 1 - gap(q, weights, "worst_group") >= least - 0.015


def test_the_guard_of_groups_keeps_the_accuracy_of_each():
    q = posterior()
    programme = Programme(q, np.ones(len(q)))

    def right(weights):
        decided = decide(q, weights)
        return [sum(row[d, a] for row, d in zip(q, decided, strict=True)) / q[:, :, a].sum() for a in range(2)]

    before = np.array(right(np.ones((2, 2))))
    weights = programme.solve(AIMS["demographic_parity"], 0.02, least_of_groups=before - 0.005)
    free = programme.solve(AIMS["demographic_parity"], 0.02)
    assert (right(weights) >= before - 0.005 - 0.004).all()
    assert not (right(free) >= before - 0.005 - 0.004).all()


def test_an_impossible_guard_has_no_solution():
    q = posterior()
    assert Programme(q, np.ones(len(q))).solve(AIMS["equalized_odds"], 0.01, np.full((2, 2), 0.999)) is None


def test_a_budget_that_buys_nothing_is_not_spent():
    q = posterior()
    programme = Programme(q, np.ones(len(q)))
    small, large = (expected(q, programme.solve(AIMS["equal_opportunity"], budget))[0] for budget in (0.05, 0.3))
    assert large == pytest.approx(small, abs=0.01)


def test_bins_have_the_sums_of_their_rows():
    q = posterior(30_000)
    bins = Bins.of(q)
    assert len(bins.mass) <= 1024
    assert bins.mass.sum() == 30_000
    np.testing.assert_allclose((bins.posterior * bins.mass[:, None, None]).sum(0), q.sum(0), rtol=1e-9)
    by_bins = Programme(bins.posterior, bins.mass).solve(AIMS["equalized_odds"], 0.01)
    by_rows = Programme(q[:3000], np.ones(3000)).solve(AIMS["equalized_odds"], 0.01)
    assert gap(q, by_bins, "equalized_odds") <= gap(q, by_rows, "equalized_odds") + 0.02
