"""A promise against later rows, drawn from a population that is known."""

import numpy as np
import pytest

from raan.fairness.audit import audit_counts
from raan.fairness.bootstrap import Estimate
from raan.fairness.held import hold

POPULATION = np.array(
    [[[0.34, 0.04], [0.20, 0.05], [0, 0]], [[0.05, 0.12], [0.06, 0.14], [0, 0]]]
)  # [class, group or unknown, predicted]


def audit_of(population, rows, rng):
    counts = rng.multinomial(rows, population.ravel()).reshape(population.shape).astype(float)
    return audit_counts(counts, ("0", "1"), ("f", "m"), replicates=200, random_state=0)


def share_broken(later, rows, aim="equalized_odds", draws=60):
    """How often a promise of 4,000 rows is called broken by later rows."""
    rng, broken = np.random.default_rng(0), 0
    for _ in range(draws):
        promised = audit_of(POPULATION, 4000, rng).overall
        broken += any(each.broken for each in hold(audit_of(later, rows, rng), promised, aim))
    return broken / draws


@pytest.mark.parametrize("rows", [400, 4000])
def test_a_promise_that_holds_is_seldom_called_broken(rows):
    # Two measures bind, each with one chance in twenty.
    assert share_broken(POPULATION, rows) <= 0.15


def test_a_group_that_is_served_worse_is_found():
    worse = POPULATION.copy()
    worse[1, 0] = [0.11, 0.06]  # a third of the women who deserve a yes lose it
    assert share_broken(worse, 2000) > 0.9


def test_what_is_undefined_is_not_kept_and_what_was_not_promised_cannot_be_broken():
    rng = np.random.default_rng(0)
    alone = POPULATION.copy()
    alone[:, 1] = 0
    found = audit_of(alone / alone.sum(), 500, rng)
    promised = audit_of(POPULATION, 4000, rng).overall
    held = {each.measure.metric: each.broken for each in hold(found, promised, "equalized_odds")}
    assert held["equalized_odds_gap"]
    nothing = dict.fromkeys(promised, Estimate(np.nan, np.nan, np.nan))
    assert not any(each.broken for each in hold(found, nothing, "equalized_odds"))
