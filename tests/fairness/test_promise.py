"""One test decides whether rows keep a promise, do not confirm it, or contradict it."""

import math

import numpy as np
import pytest

from outcomes import counts_of
from raan.fairness.counts import Estimate, resample_pair
from raan.fairness.measures import Limit
from raan.fairness.metrics import NAMES
from raan.fairness.promise import (
    LEVEL,
    REPLICATES,
    SURE,
    Claim,
    Promise,
    Status,
    Verdict,
    check_against_plain,
    estimate_metrics,
)
from raan.fairness.rule import Rule

RULE = Rule("equalized_odds", 0.005, 0.0)


def switched_of(plain, chosen, more=0):
    right = [np.stack([each[k, :, k] for k in range(2)]) for each in (plain, chosen)]
    return np.abs(right[0] - right[1]) + more


def claims(rule, plain, chosen, more=0):
    found = check_against_plain(rule, chosen, plain, switched_of(plain, chosen, more))
    return {claim.key: claim for claim in found.claims}


@pytest.mark.parametrize(
    ("short", "error", "status"),
    [
        (-0.1, 0.01, Status.KEPT),
        (0.0, 0.0, Status.KEPT),
        (0.01, 0.01, Status.NOT_CONFIRMED),
        (SURE * 0.01 + 0.001, 0.01, Status.CONTRADICTED),
        (0.01, 0.0, Status.CONTRADICTED),
        (math.nan, 0.01, Status.NOT_CONFIRMED),
    ],
)
def test_a_claim_is_kept_not_confirmed_or_contradicted_by_standard_errors(short, error, status):
    claim = Claim("x", "x", "at most 1", Estimate(0.1, 0.0, 0.2), short, error)
    assert claim.status is status
    assert (claim.note == "") == (status is Status.KEPT)


def test_a_gain_is_kept_only_if_it_exceeds_chance():
    for error, status in ((0.06, Status.KEPT), (0.062, Status.NOT_CONFIRMED), (0.2, Status.NOT_CONFIRMED)):
        claim = Claim("aim", "gain", "above 0", Estimate(0.1, 0.0, 0.2), -0.1, error, gain=True)
        assert claim.status is status
        assert claim.note == ("" if status is Status.KEPT else f"standard error {100 * error:.1f}")


def test_a_verdict_is_that_of_the_claim_that_fares_worst():
    made = [Claim(str(s), "", "", Estimate(0, 0, 0), s, 0.01) for s in (-1.0, 0.01, 1.0)]
    assert Verdict(()).status is Status.KEPT
    assert Verdict(tuple(made[:2])).status is Status.NOT_CONFIRMED
    assert Verdict(tuple(made)).status is Status.CONTRADICTED
    assert Verdict(tuple(made)).of(Status.CONTRADICTED) == (made[2],)


def test_budget_guard_and_aim_are_claimed_against_the_plain_model():
    found = claims(RULE, counts_of(900, 700), counts_of(870, 730))
    assert set(found) == {"accuracy_budget", "worst_group_guard", "aim"}
    assert {claim.status for claim in found.values()} == {Status.KEPT}
    assert found["accuracy_budget"].short == pytest.approx(-0.005)
    assert found["worst_group_guard"].short == pytest.approx(-0.03)
    free = Rule("equalized_odds", 1.0, None)
    assert set(claims(free, counts_of(900, 700), counts_of(870, 730))) == {"aim"}


def test_a_loss_beyond_its_error_is_contradicted_and_one_within_it_is_not_confirmed():
    costly = claims(Rule("equalized_odds", 0.03, None), counts_of(900, 800), counts_of(800, 800))
    assert costly["accuracy_budget"].status is Status.CONTRADICTED
    assert costly["accuracy_budget"].note == "short by 2.0 points"
    within = claims(Rule("equalized_odds", 0.03, None), counts_of(900, 800), counts_of(830, 800), more=50)
    assert within["accuracy_budget"].status is Status.NOT_CONFIRMED


def test_no_gain_for_the_aim_is_never_kept():
    same = claims(RULE, counts_of(900, 800), counts_of(900, 800), more=20)
    assert same["aim"].status is Status.NOT_CONFIRMED
    worse = claims(RULE, counts_of(900, 800), counts_of(900, 700))
    assert worse["aim"].status is Status.CONTRADICTED


def test_limits_are_claims_too():
    rule = Rule("accuracy", 1.0, None, limits=(Limit.read("demographic_parity", "at most", 0.05),))
    found = claims(rule, counts_of(900, 700), counts_of(870, 730))
    assert list(found) == ["limit_demographic_parity"]


def test_pairs_are_drawn_with_both_decisions():
    plain, chosen = counts_of(900, 700), counts_of(880, 720)
    switched = switched_of(plain, chosen)
    before, after = resample_pair(plain, chosen, switched, REPLICATES)
    lost = (np.einsum("...kak->...", before) - np.einsum("...kak->...", after)) / 4000
    moved = switched.sum() / 4000
    assert lost.std() == pytest.approx(
        np.sqrt(moved / 4000), rel=0.1
    )  # McNemar's: no row moves but those that did
    assert np.allclose(before.sum((1, 2, 3)), 4000)
    assert np.allclose(before.mean(0), plain, atol=3)
    assert np.allclose(after.mean(0), chosen, atol=3)


def test_new_rows_are_checked_against_the_ends_of_what_was_expected():
    promise = Promise.of(
        counts_of(870, 830), counts_of(900, 700), switched_of(counts_of(900, 700), counts_of(870, 830)), RULE
    )
    assert promise.check(RULE, counts_of(870, 830)).status is Status.KEPT
    worse = promise.check(RULE, counts_of(900, 700))
    assert [(claim.key, claim.status) for claim in worse.claims] == [
        ("accuracy", Status.CONTRADICTED),
        ("equalized_odds_gap", Status.CONTRADICTED),
    ]
    few = promise.check(RULE, counts_of(42, 37, size=50))
    assert few.status is Status.NOT_CONFIRMED
    assert promise.check(RULE, estimate_metrics(counts_of(900, 700))) == worse


def test_a_promise_is_itself_after_json():
    promise = Promise.of(counts_of(870, 830), counts_of(900, 700), np.full((2, 3), 5.0), Rule())
    again = Promise.from_dict(promise.to_dict())
    assert again.rows == promise.rows
    for name in NAMES:
        assert again.metrics[name].value == pytest.approx(promise.metrics[name].value, abs=1e-6)
        assert again.plain[name].low == pytest.approx(promise.plain[name].low, abs=1e-6)


@pytest.mark.usefixtures("as_users_call")
def test_a_true_promise_is_contradicted_by_chance_in_about_as_many_draws_as_stated():
    """The budget is exactly what the models differ by: half of the draws fall short, few of them beyond chance."""
    rng = np.random.default_rng(0)
    rule, rows = Rule("equalized_odds", 0.03, None), 2000
    statuses = []
    for _ in range(400):
        both = rng.multinomial(
            rows // 4, [0.80, 0.06, 0.03, 0.11], size=(2, 2)
        )  # right in both, plain, chosen, neither
        right = [both[..., 0] + both[..., place] for place in (1, 2)]
        size = np.concatenate([both.sum(-1), np.zeros((2, 1))], axis=1)
        pad = [np.concatenate([each, np.zeros((2, 1))], axis=1) for each in right]
        plain, chosen = (
            np.stack([np.stack([p[0], size[0] - p[0]], -1), np.stack([size[1] - p[1], p[1]], -1)]) for p in pad
        )
        switched = np.concatenate([both[..., 1] + both[..., 2], np.zeros((2, 1))], axis=1)
        claim = check_against_plain(rule, chosen, plain, switched).claims[0]
        statuses.append(claim.status)
    share = np.mean([status is Status.CONTRADICTED for status in statuses])
    assert share <= LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / 400)
    assert 0.4 < np.mean([status is Status.KEPT for status in statuses]) < 0.6


def draw(rng, size, right):
    """Counts of two models with the same accuracy in every cell, which differ in some rows, and these rows."""
    pairs = np.stack([right - 0.02, *[np.full_like(right, 0.02)] * 2, 0.98 - right], axis=-1)
    drawn = np.array([[rng.multinomial(size[k, a], pairs[k, a]) for a in range(2)] for k in range(2)])
    padded = np.pad(drawn, ((0, 0), (0, 1), (0, 0)))
    whole, models = padded.sum(-1), []
    for place in (1, 2):
        hit = padded[..., 0] + padded[..., place]
        wrong = whole - hit
        models.append(np.stack([np.stack([hit[0], wrong[0]], -1), np.stack([wrong[1], hit[1]], -1)]).astype(float))
    return *models, (padded[..., 1] + padded[..., 2]).astype(float)


@pytest.mark.usefixtures("as_users_call")
def test_at_the_bound_every_claim_is_contradicted_and_no_gain_confirmed_as_rarely_as_stated():
    rng, draws = np.random.default_rng(1), 200
    size, right = np.array([[900, 1200], [150, 500]]), np.array([[0.95, 0.92], [0.60, 0.68]])
    contradicted, confirmed, alarms = {}, 0, 0
    for _ in range(draws):
        plain, chosen, switched = draw(rng, size, right)
        for claim in check_against_plain(Rule("equalized_odds", 0.0, 0.0), chosen, plain, switched).claims:
            contradicted[claim.key] = contradicted.get(claim.key, 0) + (claim.status is Status.CONTRADICTED)
            confirmed += claim.gain and claim.status is Status.KEPT
        promise = Promise.of(*reversed(draw(rng, 3 * size, right)[:2]), np.ones((2, 3)), Rule())
        alarms += promise.check(RULE, draw(rng, size, right)[1]).status is Status.CONTRADICTED
    spare = 3 * np.sqrt(LEVEL * (1 - LEVEL) / draws)
    assert set(contradicted) == {"accuracy_budget", "worst_group_guard", "aim"}
    assert max(contradicted.values()) / draws <= LEVEL + spare
    assert confirmed / draws <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)
    assert alarms / draws <= LEVEL + spare
