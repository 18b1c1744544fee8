"""What a record keeps of many decisions: nothing that a rule would choose is lost."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raan.fairness.counts import count
from raan.fairness.measures import AIMS
from raan.fairness.metrics import accuracy
from raan.fairness.rule import BUDGETS, CONFIDENCE, Rule, margin_of
from raan.lab.results.summary import worth_keeping


def drawn(seed, points=60, runs=3, rows=400):
    """Counts and switched rows of decisions that drift from a reference, of runs on the same rows."""
    rng = np.random.default_rng(seed)
    label, attribute = rng.integers(2, size=rows), rng.integers(-1, 2, size=rows)
    reference = np.where(rng.random(rows) < 0.85, label, 1 - label)
    chance = rng.random((points, runs, 1)) * 0.2
    turned = (rng.random((points, runs, rows)) < chance) & (rng.random((points, runs, 1)) < rng.random(rows))
    turned[0] = False
    decided = np.where(turned, 1 - reference, reference)
    validation = count(label, attribute, decided, 2, 2)
    switched = count(label, attribute, turned.astype(np.int64), 2, 2)[..., 1]
    return validation, switched


@pytest.mark.parametrize("margin", [0.0, margin_of(CONFIDENCE)])
@given(seed=st.integers(0, 100_000))
@settings(max_examples=4, deadline=None)
def test_whoever_chooses_from_what_is_kept_chooses_as_well_as_from_all(seed, margin):
    validation, switched = drawn(seed)
    kept = worth_keeping(validation, switched)
    for aim, drop in product(AIMS, BUDGETS):
        rule = Rule(aim, drop, margin=margin, tie=0.0)
        for run, places in enumerate(kept):
            assert places[0] == 0
            every, some = (
                rule.choose(validation[which, run], validation[0, run], switched=switched[which, run])
                for which in (slice(None), places)
            )
            if every < 0:
                assert some < 0
                continue
            best, found = validation[every, run], validation[places[some], run]
            assert rule.goal.loss_of(found) == rule.goal.loss_of(best)
            assert accuracy(found) == accuracy(best)


def test_of_many_decisions_few_are_kept():
    validation, switched = drawn(1, points=2000)
    assert all(len(places) <= 1 + 2 * len(AIMS) * len(BUDGETS) for places in worth_keeping(validation, switched))


def test_a_run_whose_aims_are_undefined_keeps_its_start():
    validation, switched = drawn(1)
    empty = validation.copy()
    empty[:, :, 1] = 0  # no rows of the second class
    assert all(0 in places for places in worth_keeping(empty, switched))
