"""Decisions and probabilities in one pass are those of two."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from raan import FairFrontier, RAANClassifier
from raan.fit.classifier import TableClassifier
from raan.tables.preprocess import Preprocessing

RNG = np.random.default_rng(0)
SEX = RNG.integers(0, 2, 800)
FRAME = pd.DataFrame({"x": RNG.normal(size=800) + SEX, "z": RNG.normal(size=800)})
Y = (FRAME["x"] + RNG.normal(size=800) > 1).to_numpy().astype(int)


def fair(**parameters):
    boosting = HistGradientBoostingClassifier(max_iter=10, random_state=0)
    return FairFrontier(boosting, accuracy_drop=0.05, confidence=0.5, random_state=0, **parameters)


MODELS = {
    "chosen": fair(),
    "joint": fair(factorisation="joint"),
    "plain": fair(),
    "network": RAANClassifier((4,), epochs=1, random_state=0),
}


@pytest.mark.parametrize("kind", MODELS)
def test_decisions_and_probabilities_together_are_those_apart(kind):
    preprocessing = Preprocessing.fit(FRAME)
    features = preprocessing.transform(FRAME)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[kind].fit(features, Y, sensitive_features=SEX)
    if kind == "chosen":
        assert model.choice_.place > 0  # the plain classifier would prove little
    model = model.plain() if kind == "plain" else model
    table = TableClassifier(preprocessing, model, ("no", "yes"), {})
    decided, probabilities = table.predict_both(features)
    np.testing.assert_array_equal(decided, table.predict(FRAME))
    np.testing.assert_array_equal(decided, np.array(["no", "yes"])[model.predict(features)])
    np.testing.assert_array_equal(probabilities, table.predict_proba(FRAME))
