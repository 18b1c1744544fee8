"""Bounds and evidence against literal sums over all outcomes, and how often they fail."""

from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from raan.fairness import bounds
from raan.fairness.bounds import (
    Sum,
    bet_against,
    bet_against_gap,
    bound_largest,
    bound_loss,
    bound_rate,
    follow_rate,
)


def sum_of(hits, size, sign):
    return Sum(*(np.array(each, float) for each in (hits, size, sign)))


@pytest.mark.parametrize(("hits", "size"), [(0, 12), (5, 12), (12, 12), (300, 1000)])
def test_rates_have_clopper_pearson_bounds(hits, size):
    exact = stats.binomtest(hits, size).proportion_ci(0.95, "exact")
    assert bound_rate(hits, size, 0.025, upper=False) == pytest.approx(exact.low, abs=1e-9)
    assert bound_rate(hits, size, 0.025, upper=True) == pytest.approx(exact.high, abs=1e-9)


@pytest.mark.parametrize(("rows", "switched", "loss"), [(9, 0.6, 0.1), (9, 0.3, -0.2), (12, 0.9, 0.5)])
def test_the_tail_of_a_paired_difference_is_a_sum_over_all_outcomes(rows, switched, loss):
    shares = [(switched + loss) / 2, (switched - loss) / 2, 1 - switched]
    for apart in (-2.1, -1.03, -0.4, 0.3):
        tail = 0.0
        for worse, better in product(range(rows + 1), repeat=2):
            if worse + better <= rows:
                error = max(worse + better + 1 - rows * loss**2, 1) ** 0.5
                if worse - better - rows * loss <= apart * error:
                    tail += stats.multinomial.pmf([worse, better, rows - worse - better], rows, shares)
        assert bounds.paired_tail(apart, rows, switched, loss) == pytest.approx(tail, abs=1e-9)


def test_the_bound_of_a_loss_fails_no_more_often_than_its_level_whatever_the_truth():
    rows, level = 14, 0.1
    seen = [(b, c) for b, c in product(range(rows + 1), repeat=2) if b + c <= rows]
    found = np.array([bound_loss(*pair, rows, level) for pair in seen])
    outcomes = np.array([[b, c, rows - b - c] for b, c in seen])
    for worse, better in product(np.linspace(0, 0.95, 10), repeat=2):
        if worse + better < 1:
            likely = stats.multinomial.pmf(outcomes, rows, [worse, better, 1 - worse - better])
            assert likely[found < worse - better].sum() <= level + 1e-9, (worse, better)


def literal_tail(total, rate):
    """P(sum of rates <= the one that is seen), over all outcomes."""
    laws = [stats.binom.pmf(np.arange(n + 1), n, p) for n, p in zip(total.size.astype(int), rate, strict=True)]
    tail = 0.0
    for outcome in product(*(range(len(law)) for law in laws)):
        if total.sign @ (np.array(outcome) / total.size) <= total.seen + 1e-9:
            tail += np.prod([law[x] for law, x in zip(laws, outcome, strict=True)])
    return tail


SUMS = [sum_of([9, 4], [14, 11], [1, -1]), sum_of([3, 4, 5, 2], [6, 7, 9, 5], [1, -1, 1, -1])]


@pytest.mark.parametrize("total", SUMS)
def test_the_tail_of_a_sum_is_a_sum_over_all_outcomes_and_not_smaller(total):
    for rate in np.random.default_rng(0).random((4, len(total.size))):
        exact = literal_tail(total, rate)
        assert exact - 1e-9 <= total.tail(rate) <= exact + 0.06
    rate = np.array([0.3, 0.2])
    large = sum_of([310, 90], [1000, 500], [1, -1])  # on large tables the lattice costs next to nothing
    x, y = np.arange(1001), np.arange(501)
    lower = (x[:, None] / 1000 - y / 500) <= large.seen + 1e-12
    exact = (stats.binom.pmf(x, 1000, rate[0])[:, None] * stats.binom.pmf(y, 500, rate[1]) * lower).sum()
    assert exact <= large.tail(rate) <= exact + 0.005


def test_the_p_value_of_a_sum_is_not_below_any_rates_of_its_box():
    total, rng, level = SUMS[0], np.random.default_rng(1), 0.05
    low, high = bounds.enclose(total.hits, total.size, level, 2)
    checked = 0
    for gap in (0.35, 0.5, 0.6, 0.7):
        p_value = total.p_value(gap, level)
        for first in rng.uniform(low[0], high[0], 60):
            if low[1] <= first - gap <= high[1]:
                checked += 1
                assert literal_tail(total, [first, first - gap]) <= p_value
    assert checked > 50


def test_the_bound_of_a_gap_fails_no_more_often_than_its_level_whatever_the_truth():
    sizes, level = (7, 9), 0.1
    pairs = list(product(range(sizes[0] + 1), range(sizes[1] + 1)))
    found = {pair: bound_largest([sum_of(pair, sizes, s) for s in ((1, -1), (-1, 1))], level) for pair in pairs}
    for p, q in product(np.linspace(0.05, 0.95, 7), repeat=2):
        law = [stats.binom.pmf(np.arange(n + 1), n, r) for n, r in zip(sizes, (p, q), strict=True)]
        failed = sum(law[0][x] * law[1][y] for (x, y), bound in found.items() if bound < abs(p - q) - 1e-9)
        assert failed <= level, (p, q)


def test_the_largest_bound_is_that_of_all_bounds():
    sums = [SUMS[1], SUMS[1]._replace(sign=-SUMS[1].sign), sum_of([3, 4, 5, 2], [6, 7, 9, 5], [1, -1, -1, 1])]
    assert bound_largest(sums, 0.05) == pytest.approx(max(bound_largest([each], 0.05) for each in sums), abs=2e-3)


@pytest.mark.parametrize("level", [0.05, 0.05 / 6])
def test_widths_are_near_those_of_a_normal_law(level):
    quantile = NormalDist().inv_cdf(1 - level)
    for worse, better, rows in ((60, 40, 3000), (400, 350, 10_000)):
        seen = (worse - better) / rows
        error = ((worse + better) / rows - seen**2) ** 0.5 / rows**0.5
        assert 1 < (bound_loss(worse, better, rows, level) - seen) / (quantile * error) < 1.15
    total = sum_of([300, 260, 80, 90], [500, 480, 900, 1200], [1, -1, 1, -1])
    assert 1 < (bound_largest([total], level) - total.seen) / (quantile * total.error) < 1.1


def test_the_capital_of_a_bet_is_a_product_over_rows_and_fair_at_the_border():
    share, misses, size = 0.3, 4, 9
    capital = 0.0
    for fall, stake in zip(bounds.FALLS, bounds.STAKES, strict=True):
        other, one = min(share + fall, (1 + share) / 2), 1.0
        for row in range(size):
            one *= other / share if row < misses else (1 - other) / (1 - share)
        capital += stake * one
    assert np.exp(bet_against(misses, size, share)) == pytest.approx(capital)
    x = np.arange(size + 1)
    expected = [(stats.binom.pmf(x, size, p) * np.exp(bet_against(x, size, share))).sum() for p in (0.3, 0.2, 0.4)]
    assert expected[0] == pytest.approx(1)
    assert expected[1] < 1 < expected[2]


def test_the_likelihood_of_a_claim_is_the_largest_of_a_grid():
    grid = np.linspace(0.0005, 0.9995, 1000)
    for hits, size, most in (((9, 2), (12, 10), 0.2), ((0, 0), (5, 8), -0.1), ((12, 0), (12, 10), 0.5)):
        total = sum_of(hits, size, (1, -1))
        p, q = np.meshgrid(grid, grid, indexing="ij")
        likelihood = stats.binom.logpmf(hits[0], size[0], p) + stats.binom.logpmf(hits[1], size[1], q)
        constant = sum(np.log(stats.binom.pmf(x, n, x / n)) for x, n in zip(hits, size, strict=True))
        constant -= sum(n * -stats.entropy([x / n, 1 - x / n]) for x, n in zip(hits, size, strict=True))
        best = likelihood[p - q <= most].max() - constant
        assert bounds.best_likelihood(total, most) == pytest.approx(best, abs=0.02)


def test_a_bet_against_a_gap_gains_nothing_in_expectation_while_the_claim_is_true():
    sizes, most = (7, 6), 0.2
    past = [sum_of((30, 20), (100, 90), sign) for sign in ((1, -1), (-1, 1))]
    for p, q in ((0.5, 0.3), (0.3, 0.5), (0.9, 0.8), (0.2, 0.2)):
        expected = 0.0
        for x, y in product(range(sizes[0] + 1), range(sizes[1] + 1)):
            sums = [sum_of((x, y), sizes, sign) for sign in ((1, -1), (-1, 1))]
            likely = stats.binom.pmf(x, sizes[0], p) * stats.binom.pmf(y, sizes[1], q)
            expected += likely * np.exp(bet_against_gap(sums, most, past))
        assert expected <= 1 + 1e-9
    none = [sum_of((0, 0), (0, 0), sign) for sign in ((1, -1), (-1, 1))]
    assert bet_against_gap(none, most, past) == pytest.approx(0)
    one_empty = [sum_of((0, 5), (0, 5), sign) for sign in ((1, -1), (-1, 1))]
    assert bet_against_gap(one_empty, most, past) <= 0  # a group without rows may have any rate


def test_an_interval_for_all_times_contains_what_is_seen_and_shrinks():
    for hits, size in ((0, 20), (20, 20), (7, 20)):
        low, high = follow_rate(hits, size, 0.05)
        assert 0 <= low <= hits / size <= high <= 1
    assert np.diff(follow_rate(700, 2000, 0.05)) < np.diff(follow_rate(7, 20, 0.05)) / 5
    rng, failed = np.random.default_rng(0), 0
    for _ in range(40):  # looked at ten times
        hits = rng.binomial(50, 0.3, 10).cumsum()
        looks = (follow_rate(each, 50 * (k + 1), 0.05) for k, each in enumerate(hits.tolist()))
        failed += any(not low <= 0.3 <= high for low, high in looks)
    assert failed <= 4
