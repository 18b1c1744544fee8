"""Tests of claims: their statistics against literal loops, and how often they accept what is not true."""

import numpy as np
import pytest

from raan.fairness.evidence import (
    GUARDS,
    is_constant,
    support_budget,
    support_gain,
    support_guard,
    support_limit,
)
from raan.fairness.measures import AIMS, Limit


def draw_pair(rng, rates, size, draws):
    """Counts of a plain and a changed model, and the rows switched.

    `rates` are [label, group, 4]: the shares that are right in both, in plain only, in the other only, in none.
    """
    cells = rates.shape[:2]
    plain, chosen, switched = (np.zeros((draws, 2, cells[1] + 1, *more)) for more in ((2,), (2,), ()))
    for y, a in np.ndindex(*cells):
        both, first, second, none = rng.multinomial(size[y, a], rates[y, a], draws).T
        for counts, right in ((plain, both + first), (chosen, both + second)):
            counts[:, y, a, y], counts[:, y, a, 1 - y] = right, both + first + second + none - right
        switched[:, y, a] = first + second
    return plain, chosen, switched


def cell_rates(plain, chosen, both):
    """The four shares from the accuracies of both models and how often both are right."""
    return np.stack([both, plain - both, chosen - both, 1 - plain - chosen + both], -1)


SIZE = np.array([[900, 700], [300, 400]])


def test_statistics_are_those_of_loops_over_rows():
    rng = np.random.default_rng(0)
    plain, chosen = np.array([[0.9, 0.85], [0.55, 0.7]]), np.array([[0.88, 0.85], [0.6, 0.66]])
    before, after, switched = (
        each[0] for each in draw_pair(rng, cell_rates(plain, chosen, chosen - 0.06), SIZE, 1)
    )
    rows = []  # of each row: class, group, right before, right after
    for y, a in np.ndindex(2, 2):
        right, now, moved = before[y, a, y], after[y, a, y], switched[y, a]
        lost = (moved + right - now) / 2
        gained = moved - lost
        pairs = [(1, 0)] * int(lost) + [(0, 1)] * int(gained) + [(1, 1)] * int(right - lost)
        pairs += [(0, 0)] * int(before[y, a].sum() - len(pairs))
        rows += [(y, a, *pair) for pair in pairs]
    change = np.array([now - was for _, _, was, now in rows])
    loss = -change.mean()
    assert support_budget(after, before, switched, 0.01) == pytest.approx(
        (0.01 - loss) / (change.std() / np.sqrt(len(change)))
    )

    def of(which, moved=lambda row: row[3] - row[2]):
        return np.array([moved(row) for row in rows if which(row)])

    cells = {(y, a): of(lambda row, y=y, a=a: row[:2] == (y, a)) for y, a in np.ndindex(2, 2)}
    paired = {cell: (moves.mean() + 0.02) / (moves.std() / np.sqrt(len(moves))) for cell, moves in cells.items()}
    assert support_guard(after, before, switched, 0.02, "cells") == pytest.approx(min(paired.values()))
    groups = [of(lambda row, a=a: row[1] == a) for a in range(2)]
    expected = min((moves.mean() + 0.02) / (moves.std() / np.sqrt(len(moves))) for moves in groups)
    assert support_guard(after, before, switched, 0.02, "groups") == pytest.approx(expected)
    was = {cell: of(lambda row, c=cell: row[:2] == c, lambda row: row[2]) for cell in cells}
    now = {cell: of(lambda row, c=cell: row[:2] == c, lambda row: row[3]) for cell in cells}
    worst = min(was, key=lambda cell: was[cell].mean())
    safe = []
    for cell in cells:
        apart = now[cell].mean() - was[worst].mean() + 0.02
        error = np.sqrt(now[cell].var() / len(now[cell]) + was[worst].var() / len(was[worst]))
        safe.append(paired[cell] if cell == worst else max(paired[cell], apart / error))
    assert support_guard(after, before, switched, 0.02, "worst") == pytest.approx(min(safe))


def test_a_loss_at_the_budget_is_accepted_one_time_in_ten():
    rng = np.random.default_rng(1)
    plain = np.array([[0.9, 0.85], [0.6, 0.7]])
    chosen = plain - 0.01
    before, after, switched = draw_pair(rng, cell_rates(plain, chosen, chosen - 0.02), SIZE, 20_000)
    accepted = support_budget(after, before, switched, 0.01) >= 1.2816
    assert accepted.mean() == pytest.approx(0.1, abs=0.02)


def test_a_cell_brought_down_to_the_worst_is_accepted_at_most_one_time_in_ten():
    """The two cells are different people: the paired error would be several times too small."""
    rng = np.random.default_rng(2)
    plain = np.array([[0.9, 0.9], [0.55, 0.7]])
    chosen = np.array([[0.9, 0.9], [0.6, 0.55]])  # the second group's recall falls to the first one's before
    both = np.minimum(plain, chosen) - 0.001
    before, after, switched = draw_pair(rng, cell_rates(plain, chosen, both), SIZE * 4, 20_000)
    accepted = support_guard(after, before, switched, 0.0, "worst") >= 1.2816
    assert 0.05 < accepted.mean() < 0.12


@pytest.mark.parametrize("level", GUARDS)
def test_a_guard_that_is_far_from_broken_is_accepted_and_one_that_is_broken_is_not(level):
    rng = np.random.default_rng(3)
    plain = np.array([[0.9, 0.9], [0.55, 0.7]])
    for change, expected in ((0.05, 1.0), (-0.05, 0.0)):
        chosen = plain + change
        both = np.minimum(plain, chosen) - 0.01
        before, after, switched = draw_pair(rng, cell_rates(plain, chosen, both), SIZE * 4, 500)
        assert (support_guard(after, before, switched, 0.0, level) >= 1.28).mean() == pytest.approx(
            expected, abs=0.02
        )


def test_no_change_among_few_rows_supports_nothing():
    counts = np.array([[[30.0, 0.0], [30.0, 0.0], [0, 0]], [[15.0, 15.0], [10.0, 20.0], [0, 0]]])
    assert support_guard(counts, counts, np.zeros((2, 3)), 0.0) == 0


def test_a_gain_that_is_none_is_accepted_at_most_one_time_in_ten():
    rng = np.random.default_rng(4)
    plain = np.array([[0.9, 0.85], [0.6, 0.7]])
    before, after, switched = draw_pair(rng, cell_rates(plain, plain, plain - 0.03), SIZE, 150)
    for aim in ("equalized_odds", "worst_group"):
        found = [support_gain(AIMS[aim], *each) for each in zip(after, before, switched, strict=True)]
        assert np.mean(np.array(found) >= 1.2816) <= 0.17


def test_a_limit_is_supported_where_the_gap_is_well_below_it():
    counts = np.array([[[800.0, 200.0], [800.0, 200.0], [0, 0]], [[200.0, 800.0], [220.0, 780.0], [0, 0]]])
    assert support_limit(Limit.read("equal_opportunity", "at most", 0.1), counts) > 3
    assert support_limit(Limit.read("equal_opportunity", "at most", 0.01), counts) < 0


@pytest.mark.parametrize(("selected", "constant"), [(0, True), (5, True), (60, False), (990, True)])
def test_a_model_that_hardly_ever_predicts_some_class_is_constant(selected, constant):
    counts = np.zeros((2, 2, 2))
    counts[1, 0] = 80 - 0.08 * selected, 0.08 * selected
    counts[0, 0] = 920 - 0.92 * selected, 0.92 * selected
    assert is_constant(counts) == constant
