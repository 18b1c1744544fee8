"""Months that add up: what is counted, what is refused, and how often an unchanged model raises an alarm."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from raan.errors import InputError
from raan.fairness.bounds import bet_against
from raan.fairness.monitor import HORIZON, History, Month, Standing, Watch, describe, share_capital
from raan.fairness.rule import Rule
from reproduce.monitoring import count_false_alarms, draw_month, find_fall, make_watch, population

PEOPLE = population()


@pytest.fixture(scope="module")
def watch():
    return make_watch(PEOPLE, 10_000, np.random.default_rng(1))


def months(several, rows=1000, people=PEOPLE, seed=0):
    rng = np.random.default_rng(seed)
    return [replace(draw_month(people, rows, rng), rows=str(place)) for place in range(several)]


def named(claims):
    return {claim.key: claim for claim in claims}


def test_accuracy_aim_recalls_and_selections_are_claims_whatever_the_months_hold(watch):
    keys = ["accuracy", "equalized_odds_gap", "recall_0_0", "recall_0_1", "recall_1_0", "recall_1_1"]
    keys += ["selected_1_0", "selected_1_1"]
    nothing = Month(np.zeros((2, 3, 2)), np.zeros((3, 2)), "")
    for some in ([nothing], months(2)):
        claims = watch.check(some)
        assert [claim.key for claim in claims] == keys
        assert all(claim.threshold == pytest.approx(math.log(len(keys) / 0.05)) for claim in claims)
    assert all(claim.evidence == pytest.approx(0, abs=1e-9) for claim in watch.check([nothing]))
    three = Watch(watch.rule, watch.promise, np.full((3, 3, 3), 40.0), ("a", "b", "c"), ("f", "m"))
    assert len(three.check([Month(np.zeros((3, 3, 3)), np.zeros((3, 3)), "")])) == 2 + 6 + 6


def test_the_evidence_is_the_shared_capital_of_bets_that_begin_in_every_month(watch):
    some = months(3)
    claim = named(watch.check(some))["recall_1_0"]
    least = float(claim.promised.split()[2]) / 100
    capital = 1.0
    for start in range(3):
        later = sum(month.counts[1, 0] for month in some[start:])
        share = 1 / ((start + 2) * (start + 3)) + 1 / (2 * HORIZON)
        bet = float(np.exp(bet_against(later[0], later.sum(), 1 - least)))
        capital += share * (bet - 1)
    assert claim.evidence == pytest.approx(math.log(capital), abs=0.02)  # what is promised is shown rounded
    assert share_capital(np.zeros(40)) == pytest.approx(0)


def test_a_fall_is_named_with_whom_it_concerns(watch):
    claims = watch.check([*months(3), *months(6, rows=3000, people=PEOPLE.fall(1, 0, 0.08))])
    found = named(claims)
    assert found["recall_1_0"].standing is Standing.CONTRADICTED
    assert found["recall_0_1"].standing is Standing.WITHIN
    assert "recall of yes, 0 (at least" in describe(claims)
    assert found["recall_1_0"].interval[0] < found["recall_1_0"].found < found["recall_1_0"].interval[1]
    assert found["recall_1_0"].to_dict()["status"] == "contradicted"
    assert describe(watch.check(months(1))) == "No promise is in danger."


def test_a_wider_gap_is_found_though_all_are_served_better(watch):
    better = population()
    better.both[:] += np.array([[0.05, 0.0], [0.12, 0.0]])
    claims = named(watch.check(months(20, rows=5000, people=better)))
    assert claims["equalized_odds_gap"].standing is Standing.CONTRADICTED
    assert claims["accuracy"].standing is Standing.WITHIN
    worst = replace(watch, rule=Rule("worst_group"))
    assert named(worst.check(months(2)))["worst_group_accuracy"].standing is Standing.WITHIN
    fallen = worst.check(months(9, rows=3000, people=PEOPLE.fall(1, 1, 0.15)))
    assert named(fallen)["worst_group_accuracy"].standing is Standing.CONTRADICTED


def test_labels_that_come_late_change_recalls_but_not_selections():
    rng = np.random.default_rng(0)
    label, group, prediction = rng.integers(0, 2, 500), rng.integers(-1, 2, 500), rng.integers(0, 2, 500)
    whole = Month.of(label, group, prediction, (2, 2))
    late = Month.of(np.where(rng.random(500) < 0.4, -1, label), group, prediction, (2, 2))
    np.testing.assert_array_equal(whole.selected, late.selected)
    assert whole.rows == late.rows
    assert late.counts.sum() < whole.counts.sum() == 500
    assert (late.counts <= whole.counts).all()


def test_a_month_is_replaced_and_no_row_counts_twice(watch, tmp_path):
    first, second = months(2)
    history = History.read(tmp_path / "h.json", watch)
    history.add("2026-11", first)
    history.add("2026-12", second)
    history.add("2026-11", replace(first, counts=first.counts + 1))  # its labels have come
    assert list(history.months) == ["2026-11", "2026-12"]
    history.save(tmp_path / "h.json")
    again = History.read(tmp_path / "h.json", watch)
    np.testing.assert_array_equal(again.months["2026-11"].counts, first.counts + 1)
    assert again.months["2026-12"].rows == second.rows
    with pytest.raises(InputError, match="rows are those of the month '2026-11'"):
        again.add("2027-01", first)
    with pytest.raises(InputError, match="has other rows"):
        again.add("2026-11", replace(second, rows="new"), named=False)


def test_a_history_of_another_model_or_of_nothing_is_refused(watch, tmp_path):
    file = tmp_path / "h.json"
    history = History(watch.fingerprint)
    history.add("a", months(1)[0])
    history.save(file)
    other = make_watch(PEOPLE, 10_000, np.random.default_rng(2))
    with pytest.raises(InputError, match="another model"):
        History.read(file, other)
    stored = json.loads(file.read_text())
    for broken in (
        "{",
        "[]",
        '{"history": 2}',
        json.dumps(stored).replace("[[[", "[[", 1).replace("]]]", "]]", 1),
    ):
        file.write_text(broken)
        with pytest.raises(InputError, match="no history of audits"):
            History.read(file, watch)


def test_a_model_that_has_not_changed_hardly_ever_raises_an_alarm():
    assert count_false_alarms(400, histories=2, length=12)["alarms"] <= 1


def test_a_fall_is_found_in_about_the_rows_of_a_fixed_size_test():
    found = find_fall(1500, 0, histories=6)
    assert found["mean ratio"] <= 1.5
