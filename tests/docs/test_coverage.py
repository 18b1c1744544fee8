"""What docs/coverage.md and README say of the confidence holds in the committed draws."""

import numpy as np
import pytest

from raan.fairness.measures import AIMS
from reproduce import coverage


@pytest.fixture(scope="module")
def records():
    return coverage.read()


def test_every_table_was_drawn_often_enough_and_three_were_kept_apart(records):
    tables = {record["table"] for record in records}
    assert tables == {*coverage.DEVELOPED, *coverage.SIMULATED, *coverage.APART}
    for table in tables:
        assert sum(record["table"] == table for record in records) >= 8


@pytest.mark.parametrize("confidence", coverage.CONFIDENCES)
def test_budget_and_guard_fail_no_more_often_than_the_confidence_says(records, confidence):
    whole = []
    for table in sorted({record["table"] for record in records}):
        rows = coverage.collect(records, table=(table,))
        found = coverage.summarise(rows[rows[:, 1] == confidence])
        draws = sum(record["table"] == table for record in records)  # choices of one draw are not independent
        for share in (found.exceeded, found.broken):
            assert share <= 1 - confidence + 2 * coverage.binomial(share, draws), (table, share)
        whole.append((found.exceeded, found.broken, found.worse))
    assert (np.nanmean(whole, axis=0) <= 1 - confidence).all()  # of one table the baseline is always kept


def test_a_larger_budget_gains_no_less_in_the_mean(records):
    for aim in AIMS:
        rows = coverage.collect(records, aims=(aim,))
        rows = rows[rows[:, 1] == 0.9]
        gains = [coverage.summarise(rows[rows[:, 0] == budget]).gain for budget in coverage.BUDGETS]
        assert gains[1] >= gains[0] - 0.2
        assert gains[2] >= gains[1] - 0.2


def test_a_summary_is_that_of_a_loop_over_choices(records):
    some = [record for record in records if record["table"] == "adult"]
    rows = coverage.collect(some)
    found = coverage.summarise(rows[rows[:, 1] == 0.9])
    choices = exceeded = broken = claimed = worse = 0
    for record in some:
        for key, values in record["found"].items():
            aim, budget, confidence, *refit = key.split()
            if float(confidence) != 0.9 or refit:
                continue
            named = dict(zip(coverage.COLUMNS, values, strict=False))  # the last was not always recorded
            choices += 1
            exceeded += named["loss"] > float(budget) + 1e-9
            broken += named["fall"] > 1e-9
            claimed += named["claimed"]
            sign = 1 if AIMS[aim].more_is_better else -1
            worse += named["claimed"] and sign * (named["after"] - named["before"]) < 0
    assert (found.choices, found.exceeded, found.broken) == (choices, exceeded / choices, broken / choices)
    assert found.worse == pytest.approx(worse / claimed)
