"""Whatever is passed: an error that names the argument, or a result."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from raan.reweighting import AANReweighting

ARGUMENTS = re.compile(r"\b(X|y|sensitive_features|sample_weight|embedding|estimator)\b")


def _holes(values, hole=None):
    """Every third value missing."""
    return [hole if i % 3 == 0 else v for i, v in enumerate(np.asarray(values).tolist())]


STRANGE = {
    "X": [
        lambda X: None,
        lambda X: "X",
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X),
        lambda X: pd.DataFrame({"number": X[:, 0], "word": ["a", "b", None][: len(X) % 3 + 1][0]}),
        lambda X: (10 * X).astype(int),
        lambda X: X.astype(str),
        lambda X: X.astype(complex),
        lambda X: np.where(X > 1, np.nan, X),
        lambda X: np.where(X > 1, np.inf, X),
        lambda X: X[:, 0],
        lambda X: X[:, :0],
        lambda X: X[:0],
        lambda X: X[1:],
        lambda X: X[:, :, None],
        lambda X: [[1.0] * (i % 3) for i in range(len(X))],
        lambda X: np.zeros_like(X),
    ],
    "y": [
        lambda y: None,
        lambda y: 1,
        lambda y: np.zeros_like(y),
        lambda y: y * 0.3,
        lambda y: 2 * y - 1,
        lambda y: y.astype(bool),
        lambda y: np.array(["no", "yes"])[y],
        lambda y: pd.Series(np.array(["no", "yes"])[y], dtype="category"),
        lambda y: pd.Series(y, dtype=object),
        lambda y: y[:, None],
        lambda y: np.stack([y, y], axis=1),
        lambda y: _holes(y),
        lambda y: _holes(y, np.nan),
        lambda y: _holes(y, np.inf),
        lambda y: _holes(y, "a"),
        lambda y: [[v] * (i % 3) for i, v in enumerate(y)],
        lambda y: y[1:],
        lambda y: y[:0],
        lambda y: np.arange(len(y)),
        lambda y: {"a": 1},
    ],
    "sensitive_features": [
        lambda a: 1,
        lambda a: "sex",
        lambda a: np.zeros_like(a),
        lambda a: np.array(["f", "m"])[a],
        lambda a: pd.Series(np.array(["f", "m"])[a], dtype="category"),
        lambda a: pd.DataFrame({"a": a, "b": a[::-1]}),
        lambda a: np.stack([a, a], axis=1),
        lambda a: _holes(a),
        lambda a: _holes(a, np.nan),
        lambda a: [None] * len(a),
        lambda a: np.arange(len(a)),
        lambda a: a[1:],
        lambda a: a[:0],
        lambda a: [{"a": 1}] * len(a),
        lambda a: [[v] * (i % 3) for i, v in enumerate(a)],
        lambda a: a * 1.5,
    ],
    "sample_weight": [
        lambda y: np.ones(len(y)),
        lambda y: np.zeros(len(y)),
        lambda y: -np.ones(len(y)),
        lambda y: np.full(len(y), np.nan),
        lambda y: np.ones(len(y) + 1),
        lambda y: np.ones((len(y), 1)),
        lambda y: ["heavy"] * len(y),
        lambda y: [None] * len(y),
        lambda y: 3,
        lambda y: "heavy",
        lambda y: y.tolist(),
    ],
}


@st.composite
def calls(draw):
    """Arguments of `fit` of which none to three are strange, for few rows or many."""
    rows = draw(st.sampled_from([0, 1, 2, 3, 10, 40, 60]))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    y, a = rng.integers(0, 2, (2, rows))
    call = dict(X=rng.normal(size=(rows, 3)), y=y, sensitive_features=a, sample_weight=y)
    strange = draw(st.sets(st.sampled_from(list(STRANGE)), max_size=3))
    call |= {name: draw(st.sampled_from(STRANGE[name]))(call[name]) for name in sorted(strange)}
    return call if "sample_weight" in strange else call | {"sample_weight": None}


def _error(fit, *arguments, **named):
    """The error that a fit ends in, if it does."""
    with warnings.catch_warnings():
        for kind in (UserWarning, RuntimeWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        try:
            fit(*arguments, **named)
        except (TypeError, ValueError) as error:
            return error
    return None


@pytest.mark.usefixtures("as_users_call")
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls(), st.sampled_from([0.5, np.inf, 0.0]))
def test_strange_data_is_an_error_that_names_the_argument_or_a_result(call, temperature):
    estimator = LogisticRegression(max_iter=20)
    model = AANReweighting(estimator, temperature=temperature)
    X, y = call.pop("X"), call.pop("y")
    error = _error(model.fit, X, y, **call)
    if error is None:
        assert len(model.classes_) >= 2
        return
    # What the estimator refuses by itself, it refuses in its own words.
    itself = {
        _words(_error(lambda labels: estimator.fit(X, labels).predict(X), labels))
        for labels in (y, np.arange(len(X) if hasattr(X, "__len__") else 0) % 2)
    }
    assert ARGUMENTS.search(str(error)) or _words(error) in itself, error


def _words(error):
    """An error's first line without its numbers: how many rows there were, which are fewer in a fold."""
    return re.sub(r"\d+", "", str(error).partition("\n")[0])
