"""Control features: groups are compared within strata, in aims, limits, promises, certificates and files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import raan
from raan import measures
from raan.fairness.certificate import bound_gap
from raan.fairness.measures import read_measure


def people(rows=6000, seed=0):
    """Clerks and managers; men are selected more often among the first, women among the second."""
    rng = np.random.default_rng(seed)
    job, sex = rng.choice(["clerk", "manager"], rows, p=[0.6, 0.4]), rng.choice(["f", "m"], rows)
    share = np.where(job == "manager", 0.5 - 0.2 * (sex == "m"), 0.2 + 0.2 * (sex == "m"))
    y = (rng.random(rows) < share).astype(int)
    X = np.c_[1.2 * y, 1.4 * (sex == "m"), job == "manager", (sex == "m") & (job == "manager")]
    return pd.DataFrame(X + rng.normal(0, [1, 0.7, 0.1, 0.4], X.shape)), y, job, sex


def frontier(**parameters):
    options = {"aim": "demographic_parity", "accuracy_drop": 0.05, "worst_group_drop": None} | parameters
    return raan.FairFrontier(LogisticRegression(), **options)


@pytest.fixture(scope="module")
def fitted():
    X, y, job, sex = people()
    return frontier().fit(X, y, sensitive_features=sex, control_features=job)


def gap_within(selected, job, sex):
    rates = {(j, s): selected[(job == j) & (sex == s)].mean() for j in set(job) for s in set(sex)}
    return max(abs(rates[j, "f"] - rates[j, "m"]) for j in set(job))


def test_the_gap_within_strata_is_that_of_a_loop_and_becomes_small_on_new_rows(fitted):
    X, _, job, sex = people(20_000, seed=1)
    plain, fair = (gap_within(model.predict(X), job, sex) for model in (fitted.plain(), fitted))
    assert fitted.groups_ == ("clerk × f", "clerk × m", "manager × f", "manager × m")
    assert fair < 0.35 * plain
    gap = fitted.promise_.metrics["demographic_parity_gap"]
    assert gap.low <= fair <= gap.high
    assert fitted.frontier_.chosen.demographic_parity_gap == pytest.approx(gap.value)


def test_every_comparison_is_made_within_strata():
    counts = np.random.default_rng(0).integers(5, 50, (2, 5, 2)).astype(float)
    strata = ((0, 1), (2, 3))
    rates = counts[:, :4, 1].sum(0) / counts[:, :4].sum((0, 2))
    found = {how: read_measure(f"selection_rate.{how}").at(-1, strata)(counts) for how in ("gap", "ratio", "min")}
    pairs = [rates[list(stratum)] for stratum in strata]
    assert found["gap"] == pytest.approx(max(pair.max() - pair.min() for pair in pairs))
    assert found["ratio"] == pytest.approx(min(pair.min() / pair.max() for pair in pairs))
    assert found["min"] == pytest.approx(rates.min())


def test_a_limit_is_kept_within_each_stratum(fitted):
    chosen = fitted.choose(at_most={measures.selection_rate.gap: 0.08})
    X, _, job, sex = people(20_000, seed=1)
    assert gap_within(fitted.plain().predict(X), job, sex) > 0.12
    assert gap_within(chosen.predict(X), job, sex) < 0.08


def test_strata_are_saved_with_the_model(fitted, tmp_path):
    chosen = fitted.choose(at_most={measures.selection_rate.gap: 0.08})
    for number, model in enumerate((fitted, chosen)):
        model.save(tmp_path / str(number))
        again = raan.load(tmp_path / str(number))
        assert again.strata_ == ((0, 1), (2, 3))
        assert again.frontier_.rule == model.frontier_.rule
        np.testing.assert_array_equal(again.weights_, model.weights_)


def test_a_certificate_bounds_the_gap_within_strata(fitted):
    X, y, job, sex = people(20_000, seed=1)
    found = fitted.certify(X, y, sensitive_features=np.c_[job, sex])
    assert found.gaps["demographic_parity"].seen == pytest.approx(gap_within(fitted.predict(X), job, sex))
    counts = np.random.default_rng(9).integers(200, 500, (2, 4, 2)).astype(float)
    within = bound_gap("demographic_parity", counts, 0.05, ((0, 1), (2, 3)))
    each = [bound_gap("demographic_parity", counts[:, part], 0.05) for part in ([0, 1], [2, 3])]
    assert within.seen == pytest.approx(max(one.seen for one in each))
    assert within.bound >= max(one.bound for one in each) - 1e-9


@pytest.mark.filterwarnings("ignore:the classifier is the plain one")
def test_strata_that_cannot_be_compared_are_named_or_refused():
    X, y, job, sex = people(2000)
    job = np.where(sex == "f", "clerk", job)
    with pytest.warns(UserWarning, match="groups are not compared within manager"):
        fitted = frontier().fit(X, y, sensitive_features=sex, control_features=job)
    assert fitted.strata_ == ((0, 1),)
    with pytest.raises(ValueError, match="control_features leave no stratum"):
        frontier().fit(X[job != "x"], y, sensitive_features=sex, control_features=sex)
    with pytest.raises(ValueError, match="attribute_at_prediction"):
        frontier(attribute_at_prediction=True).fit(X, y, sensitive_features=sex, control_features=job)
