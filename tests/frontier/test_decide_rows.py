"""Decisions that ask for the attribute only where it matters are those of the whole posterior."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from raan import FairFrontier
from raan.frontier.decide import TOLERANCE, decide, decide_rows
from raan.frontier.posterior import Chain, average

ESTIMATORS = {
    "boosting": HistGradientBoostingClassifier(max_iter=10, random_state=0),
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(10, random_state=0),
}


def people(rows=1500, classes=2, groups=3, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, rows)
    X = np.round(rng.normal(size=(rows, 4)) + 0.5 * group[:, None], 1)
    y = np.digitize(X[:, 0] + 0.4 * group + rng.normal(size=rows), [0.8, 1.8][: classes - 1])
    return X, y, group


def fitted(name, classes, **parameters):
    X, y, group = people(classes=classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FairFrontier(ESTIMATORS[name], accuracy_drop=0.05, folds=2, random_state=0, **parameters)
        return model.fit(X, y, sensitive_features=group)


class Counting:
    """A classifier that counts the rows that it is asked for."""

    def __init__(self, inner):
        self.inner, self.classes_, self.asked = inner, inner.classes_, 0

    def predict_proba(self, X):
        self.asked += len(X)
        return self.inner.predict_proba(X)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_decisions_of_any_weights_are_those_of_the_whole_posterior(name, classes):
    model, (X, _, _) = fitted(name, classes), people(classes=classes, seed=1)
    posterior, rng = average(model.models_, X), np.random.default_rng(0)
    drawn = [rng.uniform(0.5, 1.5, (classes, 3)) for _ in range(20)]
    for weights in [model.weights_, *model.points_.weights[:20], np.ones((classes, 3)), -drawn[0], *drawn]:
        decided, of_class = decide_rows(model.models_, X, weights)
        np.testing.assert_array_equal(decided, decide(posterior, weights))
        np.testing.assert_allclose(of_class, posterior.sum(2), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.predict_posterior(posterior))
    np.testing.assert_array_equal(model.predict_proba(X), of_class)


@pytest.mark.parametrize("gap", [-2, -0.5, 0, 0.5, 2, 1e6])
def test_scores_that_differ_by_less_than_the_tolerance_are_equal_here_too(gap):
    """Probabilities of 1/2, and one group: the score of the second class is above the first's by this much."""

    class Even:
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    chain, X = Chain(Even(), (0, 0), 1), np.zeros((3, 1))
    weights = np.array([[1.0], [1.0 + 2 * gap * TOLERANCE]])
    assert decide_rows([chain], X, weights)[0].tolist() == [int(gap > 1)] * 3
    assert decide(chain(X), weights).tolist() == [int(gap > 1)] * 3


def test_the_attribute_is_asked_for_in_few_rows():
    model, (X, _, _) = fitted("boosting", 2), people(seed=1)
    counting = [Chain(each.label, tuple(map(Counting, each.attribute)), 3) for each in model.models_]
    weights = np.array([[1.0, 1.1, 1.0], [1.1, 1.0, 1.1]])
    decide_rows(counting, X, weights)
    asked = {each.asked for chain in counting for each in chain.attribute}
    assert max(asked) < len(X) / 4
    assert min(asked) > 0


def test_probabilities_in_single_precision_are_allowed_for():
    """The probabilities of the groups add up to 1 + 1e-7 only, and this is what makes the difference."""

    class Given:
        def __init__(self, *shares):
            self.shares, self.classes_ = shares, np.arange(len(shares))

        def predict_proba(self, X):
            return np.tile(self.shares, (len(X), 1))

    high = 0.5 + 1e-7
    chain, X = Chain(Given(0.5, 0.5), (0, Given(high, high)), 2), np.zeros((2, 1))
    weights = np.array([[1.0, 1.0], [1.0 - 1e-8, 1.0 - 1e-8]])
    assert decide(chain(X), weights).tolist() == [1, 1]
    assert decide_rows([chain], X, weights)[0].tolist() == [1, 1]


@pytest.mark.parametrize("setting", [{"factorisation": "joint"}, {"attribute_at_prediction": True}])
def test_models_without_the_shortcut_decide_as_they_did(setting):
    model, (X, _, group) = fitted("boosting", 2, **setting), people(seed=1)
    given = {"sensitive_features": group} if "attribute_at_prediction" in setting else {}
    posterior = model.posterior(X, **given)
    np.testing.assert_array_equal(model.predict(X, **given), model.predict_posterior(posterior))
    np.testing.assert_allclose(model.predict_proba(X), posterior.sum(2), rtol=0, atol=1e-12)


def test_the_plain_model_takes_the_most_probable_class():
    model, (X, _, _) = fitted("boosting", 3).plain(), people(classes=3, seed=1)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(1))
