import numpy as np
import pytest
import torch
from fairlearn.postprocessing import ThresholdOptimizer
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin

from raan.methods import Thresholds, fit_thresholds
from raan.methods.thresholds import GroupRule


class ScoresAsFeatures(ClassifierMixin, BaseEstimator):
    """A fitted estimator whose only feature is its score."""

    classes_ = np.array([0, 1])

    def fit(self, features, label):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, features):
        return np.stack([1 - features[:, 0], features[:, 0]], axis=1)


each_notion = pytest.mark.parametrize("notion", ["DP", "EO"])


def scores(seed=0, rows=400, groups=2, ties=False, unknown=0):
    """Scores that know something of the label, and more of some groups than of others."""
    rng = np.random.default_rng(seed)
    attribute = rng.integers(0, groups, rows)
    label = (rng.random(rows) < 0.2 + 0.5 * attribute / max(groups - 1, 1)).astype(int)
    label[: 2 * groups] = np.tile([0, 1], groups)  # every group has both classes
    attribute[: 2 * groups] = np.repeat(np.arange(groups), 2)
    score = 1 / (1 + np.exp(-(2 - attribute) * (label - 0.4) - rng.normal(size=rows)))
    if ties:
        score = score.round(1)
    attribute[rows - unknown :] = -1
    return torch.tensor(score), torch.tensor(label), torch.tensor(attribute)


def rates(chance, label, attribute, notion):
    """Each group's expected selection rate, or its expected false and true positive rate."""
    groups = range(int(attribute.max()) + 1)
    if notion == "DP":
        return [[chance[attribute == a].mean().item()] for a in groups]
    return [[chance[(attribute == a) & (label == y)].mean().item() for y in (0, 1)] for a in groups]


def accuracy(chance, label):
    return torch.where(label == 1, chance, 1 - chance).mean().item()


@each_notion
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(20, 300),
    groups=st.integers(1, 4),
    ties=st.booleans(),
    unknown=st.integers(0, 5),
)
def test_on_the_rows_they_are_fitted_to_all_groups_have_the_same_rates(notion, seed, rows, groups, ties, unknown):
    score, label, attribute = scores(seed, rows, groups, ties, unknown)
    fitted = fit_thresholds(score, label, attribute, notion)
    chance = fitted.probability(score, attribute)
    found = np.array(rates(chance, label, attribute, notion))
    assert np.ptp(found, axis=0).max() < 1e-9
    assert ((chance >= 0) & (chance <= 1)).all()


@each_notion
@pytest.mark.parametrize("seed", range(4))
def test_they_are_as_accurate_as_fairlearns(notion, seed):
    score, label, attribute = scores(seed, groups=3)

    theirs = ThresholdOptimizer(
        estimator=ScoresAsFeatures(),
        constraints="demographic_parity" if notion == "DP" else "equalized_odds",
        prefit=True,
        predict_method="predict_proba",
    )
    theirs.fit(score.numpy()[:, None], label.numpy(), sensitive_features=attribute.numpy())
    # fairlearn has no public name for the probabilities.
    expected = theirs._pmf_predict(score.numpy()[:, None], sensitive_features=attribute.numpy())[:, 1]  # noqa: SLF001
    chance = fit_thresholds(score, label, attribute, notion).probability(score, attribute)
    assert accuracy(chance, label) == pytest.approx(accuracy(torch.tensor(expected), label), abs=2e-3)


@each_notion
def test_no_common_point_of_a_fine_search_is_more_accurate(notion):
    """DP: every common selection rate; EO: every pair of a threshold of each group, where they meet."""
    score, label, attribute = scores(3, rows=120)
    chance = fit_thresholds(score, label, attribute, notion).probability(score, attribute)
    found = accuracy(chance, label)
    for rate in np.linspace(0, 1, 121):
        if notion == "DP":
            right = 0.0
            for a in (0, 1):
                of_group = label[attribute == a][score[attribute == a].argsort(descending=True)].double()
                chosen = int(rate * len(of_group))
                right += of_group[:chosen].sum().item() + (1 - of_group[chosen:]).sum().item()
            assert right / len(label) <= found + 0.02
        else:
            blind = torch.full_like(score, rate)  # a coin has equal odds too
            assert accuracy(blind, label) <= found + 1e-9


@each_notion
def test_draws_have_the_probabilities(notion):
    score, label, attribute = scores(1)
    fitted = fit_thresholds(score, label, attribute, notion)
    rng = np.random.default_rng(0)
    mean = torch.stack([fitted.predict(score, attribute, rng) for _ in range(4000)]).double().mean(0)
    assert (mean - fitted.probability(score, attribute)).abs().max() < 0.05


def test_a_rule_is_a_mixture_of_two_thresholds_and_a_coin():
    rules = (
        GroupRule(low=0.2, high=0.6, share_low=0.75, chance=0.1, coin=0.5),
        GroupRule(0.5, 0.5, 1.0, 0.0, 0.0),
    )
    chance = Thresholds("EO", rules).probability(
        torch.tensor([0.1, 0.4, 0.7, 0.7, 0.6, 0.4]), torch.tensor([0, 0, 0, 1, -1, -1])
    )
    assert chance.tolist() == pytest.approx([0.05, 0.05 + 0.9 * 0.75, 0.95, 1.0, 1.0, 0.0])


def test_neighbouring_single_precision_scores_are_told_apart():
    score = torch.tensor([0.5, np.nextafter(np.float32(0.5), np.float32(1))]).repeat(2)
    label, attribute = torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1])
    chance = fit_thresholds(score, label, attribute, "EO").probability(score, attribute)
    assert chance.tolist() == [0.0, 1.0, 0.0, 1.0]


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("label", "attribute", "message"),
    [
        ([0, 1, 2, 0], [0, 0, 1, 1], "thresholds per group are for two classes, and there are 3"),
        ([0, 1, 1, 0], [-1, -1, -1, -1], "need the attribute, and no row's is known"),
        ([0, 1, 1, 1], [0, 0, 1, 1], "need rows of both classes in every group, and group 1 has not"),
    ],
)
def test_what_they_cannot_do_they_say(label, attribute, message):
    with pytest.raises(ValueError, match=message):
        fit_thresholds(torch.rand(4), torch.tensor(label), torch.tensor(attribute), "EO")
