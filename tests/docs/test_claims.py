"""What README and guides claim of FairFrontier holds in the committed results."""

from itertools import product

import pytest

from benchmarks import frontier, promise
from benchmarks.reweighting import read

DATA, ESTIMATORS, SEEN = ("adult", "meps"), ("boosting", "logistic"), (False, True)


@pytest.fixture(scope="module")
def records():
    return frontier.read()


def reached(records, aim, drop, method="FairFrontier"):
    """The cells of a method, by data set, whether the attribute is a feature, and estimator."""
    cells = frontier.summarise(records, frontier.Asked(aim, drop, 0.0))
    return {key[:3]: cell for key, cell in cells if key[3] == method}


def test_every_method_has_every_split_of_its_regime(records):
    for data, seen, estimator in product(DATA, SEEN, ESTIMATORS):
        kind = [r for r in records if (r["data"], r["attribute_kept"], r["estimator"]) == (data, seen, estimator)]
        splits = {
            method: {r["seed"] for r in kind if r["method"] == method} for method in {r["method"] for r in kind}
        }
        assert len({frozenset(each) for each in splits.values()}) == 1
        assert len(splits["FairFrontier"]) == 10


@pytest.mark.parametrize(("aim", "drop"), list(product(frontier.AIMED, frontier.DROPS)))
def test_the_allowance_is_kept_on_test_rows_in_the_mean_over_splits(records, aim, drop):
    for cell in reached(records, aim, drop).values():
        assert cell.lost <= 100 * drop


@pytest.mark.parametrize("aim", ["equalized_odds", "demographic_parity"])
def test_no_group_is_served_worse_by_more_than_a_point_in_the_mean_over_splits(records, aim):
    for drop in frontier.DROPS:
        plain = reached(records, aim, drop, "plain")
        for key, cell in reached(records, aim, drop).items():
            assert cell.worst >= plain[key].worst - 1


def test_three_aims_cost_a_twentieth_of_exponentiated_gradient_for_two(records):
    """Over boosting on Adult, where time matters: all settings of the rival against one fit of ours."""
    rival = [
        r
        for r in read()
        if (r["data"], r["estimator"], r["method"]) == ("adult", "boosting", "ExponentiatedGradient")
    ]
    each = sum(r["seconds"] for r in rival) / len({r["seed"] for r in rival})
    own = [r for r in records if (r["data"], r["estimator"], r["method"]) == ("adult", "boosting", "FairFrontier")]
    fits = sum(r["seconds"] / r["plain"] for r in own) / len(own)
    plain = [r for r in read() if (r["data"], r["estimator"], r["method"]) == ("adult", "boosting", "plain")]
    seconds = sum(r["seconds"] for r in plain) / len(plain)  # of the machine that the rival ran on
    assert 20 * fits * seconds < each


def test_on_fourteen_tables_the_mean_loss_is_within_the_allowance():
    found = promise.read()
    assert len({record["table"] for record in found}) == 14
    for aim, drop, margin in product(promise.AIMED, promise.DROPS, promise.MARGINS):
        lost, worst, *_ = promise.rows_of(found, aim, drop, margin).T
        assert lost.mean() < 100 * drop
        assert worst.mean() > 0
