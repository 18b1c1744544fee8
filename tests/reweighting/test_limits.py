"""What the exact weights are at both ends of the temperature, where densities are known (docs/decisions/17)."""

import numpy as np
import pytest

from raan import aan_weights

BINS = np.linspace(-np.pi, np.pi, 13)


@pytest.fixture(scope="module")
def circle():
    """Two classes and two groups of different sizes on a circle, each with a density of its own."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 8000)
    group = (rng.random(8000) < np.where(label == 1, 0.25, 0.6)).astype(int)
    angle = rng.vonmises(0.8 * label + 0.9 * group, 0.7)
    return np.c_[np.cos(angle), np.sin(angle)], label, group, angle


def ratio(circle, balance, temperature, of_cell):
    """The weight in each bin of the angle, class by class, over what a weight for each cell would give it."""
    points, label, group, angle = circle
    weight = aan_weights(points, label, group, balance=balance, temperature=temperature, strength=1.0)
    given = np.array([[of_cell(label, group, y, a) for a in (0, 1)] for y in (0, 1)])[label, group]
    ratios = []
    for y in (0, 1):
        here = label == y
        mine, theirs = (np.histogram(angle[here], BINS, weights=w[here])[0] for w in (weight, given))
        ratios.append((mine / mine.sum()) / (theirs / theirs.sum()))
    return np.array(ratios)


def plain(label, group, y, a):
    return 1.0


def balanced(label, group, y, a):
    return 1 / ((label == y) & (group == a)).sum()


def swapped(label, group, y, a):
    return ((label == y) & (group != a)).sum() / ((label == y) & (group == a)).sum()


@pytest.mark.parametrize(
    ("balance", "temperature", "of_cell", "within"),
    [
        ("sample", 5e-4, plain, 0.12),
        ("sample", float("inf"), swapped, 1e-9),
        ("group", 5e-4, balanced, 0.12),
        ("group", float("inf"), balanced, 1e-9),
    ],
)
def test_at_both_ends_of_the_temperature_the_weights_are_those_of_cells(
    circle, balance, temperature, of_cell, within
):
    np.testing.assert_allclose(ratio(circle, balance, temperature, of_cell), 1, atol=within)


@pytest.mark.parametrize("of_cell", [plain, balanced, swapped])
def test_in_between_they_are_not(circle, of_cell):
    for balance in ("sample", "group"):
        assert np.abs(ratio(circle, balance, 0.3, of_cell) - 1).max() > 0.12
