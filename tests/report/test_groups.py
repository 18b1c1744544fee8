"""Rates of groups and their changes, against loops over single rows."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from raan.fairness.counts import count
from raan.report.groups import change, estimate_rates, is_settled, rates_of


def drawn(classes, rows=900, groups=2, seed=0):
    """Rows with a class, a group (-1: unknown), and the decisions of two models that often agree."""
    rng = np.random.default_rng(seed)
    label, group = rng.integers(0, classes, rows), rng.integers(-1, groups, rows)
    first = np.where(rng.random(rows) < 0.7, label, rng.integers(0, classes, rows))
    second = np.where(rng.random(rows) < 0.85, first, rng.integers(0, classes, rows))
    return label, group, first, second


def counted(label, group, first, second, classes, groups=2):
    before, after = (count(label, group, each, classes, groups) for each in (first, second))
    switched = np.zeros((classes, groups + 1))
    for y, a, one, other in zip(label, group, first, second, strict=True):
        switched[y, a] += (one == y) != (other == y)
    return before, after, switched


@pytest.mark.parametrize("classes", [2, 3])
def test_every_rate_is_the_share_that_its_title_says(classes):
    label, group, first, second = drawn(classes)
    before, _, _ = counted(label, group, first, second, classes)
    names = [f"c{k}" for k in range(classes)]
    events = {
        "selection rate": (lambda y, p: True, lambda y, p: p == 1),
        "true positive rate": (lambda y, p: y == 1, lambda y, p: p == 1),
        "false positive rate": (lambda y, p: y == 0, lambda y, p: p == 1),
        "accuracy": (lambda y, p: True, lambda y, p: p == y),
        **{f"recall of c{k}": (lambda y, p, k=k: y == k, lambda y, p, k=k: p == k) for k in range(classes)},
    }
    for rate in rates_of(names):
        among, happens = events[rate.title]
        for a in range(2):
            rows = [(y, p) for y, b, p in zip(label, group, first, strict=True) if b == a and among(y, p)]
            assert rate.size(before)[a] == len(rows)
            assert rate.of(before)[a] == pytest.approx(np.mean([happens(y, p) for y, p in rows]))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_interval_of_a_change_is_that_of_paired_rows(classes):
    label, group, first, second = drawn(classes)
    before, after, switched = counted(label, group, first, second, classes)
    events = {"selection rate": lambda y, p: p == 1, "true positive rate": lambda y, p: p == 1}
    events |= {"false positive rate": lambda y, p: p == 1}
    for rate in rates_of([f"c{k}" for k in range(classes)]):
        happens = events.get(rate.title, lambda y, p: p == y)
        for a, found in enumerate(change(rate, after, before, switched)):
            here = (group == a) & np.isin(label, rate.classes)
            moved = [
                float(happens(y, q)) - float(happens(y, p))
                for y, p, q in zip(label[here], first[here], second[here], strict=True)
            ]
            half = 1.96 * np.std(moved) / math.sqrt(len(moved)) + 1 / len(moved)
            expected = np.mean(moved) + np.array([0, -half, half])
            assert [found.value, found.low, found.high] == pytest.approx(expected.tolist())


@pytest.mark.parametrize("rows", range(1, 12))
def test_so_many_rows_that_all_move_one_way_are_chance_as_the_exact_sign_test_says(rows):
    before, after, switched = np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), np.zeros((2, 2))
    before[1, 0], after[1, 0], switched[1, 0] = (500, 500), (500 - rows, 500 + rows), rows
    (found,) = change(rates_of(("no", "yes"))[1], after, before, switched)
    assert is_settled(found) == (binomtest(rows, rows).pvalue < 0.05)


def test_a_group_without_rows_has_no_change_and_settles_nothing():
    empty = np.zeros((2, 2, 2))
    (found,) = change(rates_of(("no", "yes"))[1], empty, empty, np.zeros((2, 2)))
    assert math.isnan(found.value)
    assert not is_settled(found)


def test_levels_have_the_bootstraps_interval_around_them():
    before, _, _ = counted(*drawn(2, rows=3000), 2)
    for levels in estimate_rates(rates_of(("no", "yes")), before):
        assert all(each.low < each.value < each.high for each in levels)
