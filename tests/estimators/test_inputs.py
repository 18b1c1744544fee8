"""Bad input is refused by an error that names the argument, and never by a traceback from inside torch."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from torch import nn

from crowd import crowd
from raan.estimators import RAANClassifier

pytestmark = pytest.mark.usefixtures("as_users_call")


def quick(**parameters):
    defaults = dict(hidden_layer_sizes=(4,), head_layer_sizes=(), epochs=1, random_state=0)
    return RAANClassifier(**defaults | parameters)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (dict(scope="all"), ValueError, "The 'scope' parameter of RAANClassifier must be a str among"),
        (dict(balance=np.ones(2)), ValueError, "The 'balance' parameter"),
        (dict(balance=None), ValueError, "The 'balance' parameter"),
        (dict(style="lion"), ValueError, "The 'style' parameter"),
        (dict(aim="fairness"), ValueError, "aim is 'fairness'; expected one of 'worst_group'"),
        (dict(missing="drop"), ValueError, "The 'missing' parameter"),
        (dict(temperature=-1), ValueError, "The 'temperature' parameter"),
        (dict(temperature=float("nan")), ValueError, "The 'temperature' parameter"),
        (dict(temperature="warm"), ValueError, "The 'temperature' parameter"),
        (dict(averaging_rate=1.1), ValueError, r"'averaging_rate' .* range \[0.0?, 1.0?\]"),
        (dict(strength=2), ValueError, "The 'strength' parameter"),
        (dict(dropout=1.0), ValueError, "The 'dropout' parameter"),
        (dict(accuracy_drop=-0.1), ValueError, "The 'accuracy_drop' parameter"),
        (dict(validation_fraction=1.0), ValueError, "The 'validation_fraction' parameter"),
        (dict(validation_fraction=0.0), ValueError, "validation_fraction is 0, but an aim is chosen on"),
        (dict(batch_size=0), ValueError, "The 'batch_size' parameter"),
        (dict(batch_size=2.5), ValueError, "The 'batch_size' parameter"),
        (dict(hidden_layer_sizes=(8, 0)), ValueError, r"hidden_layer_sizes is \(8, 0\)"),
        (dict(hidden_layer_sizes="8"), ValueError, "The 'hidden_layer_sizes' parameter"),
        (dict(head_layer_sizes=(2.5,)), ValueError, "head_layer_sizes is"),
        (dict(encoder="resnet"), TypeError, "The 'encoder' parameter"),
        (dict(encoder=torch.nn.Linear), TypeError, "The 'encoder' parameter"),
        (dict(lr=0.0), ValueError, "lr is 0.0; expected a positive number, or a pair"),
        (dict(lr=(1e-3, 1e-3, 1e-3)), ValueError, "lr is"),
        (dict(lr=float("inf")), ValueError, "lr is inf"),
        (dict(epochs=0), ValueError, "epochs is 0; expected a positive number, or a pair"),
        (dict(epochs=(1, "auto")), ValueError, "epochs is"),
        (dict(random_state=-1), ValueError, "The 'random_state' parameter"),
        (dict(random_state="seed"), ValueError, "The 'random_state' parameter"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_parameter_that_means_nothing_is_an_error_at_fit_that_names_it(parameters, error, message):
    X, y, a = crowd(40)
    model = quick(**parameters)
    with pytest.raises(error, match=message):
        model.fit(X, y, sensitive_features=a)


CASES = {
    "X is text": (dict(X=[["a", "b"]] * 40), "X: could not convert string to float"),
    "X is missing": (dict(X=None), "X"),
    "X is flat": (dict(X=np.ones(40)), "X: Expected 2D array, got 1D array"),
    "X is empty": (dict(X=np.ones((0, 3)), y=[], sensitive_features=[]), r"X: Found array with 0 sample\(s\)"),
    "X has no columns": (dict(X=np.ones((40, 0))), r"X: Found array with 0 feature\(s\)"),
    "X holds nan": (dict(X=np.full((40, 2), np.nan)), "Input X contains NaN"),
    "X holds inf": (dict(X=np.full((40, 2), np.inf)), "Input X contains infinity"),
    "X is too large": (dict(X=np.linspace(-1e300, 1e300, 80).reshape(40, 2)), "X holds numbers in column 0"),
    "X is larger than a float": (dict(X=[[10**400]] * 40), "X"),
    "X is complex": (dict(X=np.ones((40, 2)) * 1j), "X: Complex data not supported"),
    "y is missing": (dict(y=None), "y"),
    "y is short": (dict(y=np.arange(39) % 2), "X has 40, y has 39"),
    "y is continuous": (
        dict(y=np.linspace(0, 1, 40)),
        "y cannot be read as classes: Unknown label type: continuous",
    ),
    "y holds nan": (dict(y=[float("nan"), *[0, 1] * 19, 1]), "Input y contains NaN"),
    "y is of two axes": (dict(y=np.ones((40, 2))), "y should be a 1d array"),
    "y mixes kinds": (dict(y=np.array([0, "a"] * 20, dtype=object)), "y"),
    "y is one class": (dict(y=np.zeros(40)), "y holds one class only"),
    "sensitive_features is short": (dict(sensitive_features=[0, 1]), "X has 40, sensitive_features has 2"),
    "sensitive_features is a scalar": (dict(sensitive_features=1), "sensitive_features is a int"),
    "sensitive_features is of three axes": (
        dict(sensitive_features=np.ones((40, 1, 1))),
        "sensitive_features has",
    ),
    "sensitive_features holds lists": (dict(sensitive_features=[[[0]]] * 40), "sensitive_features"),
    "sensitive_features is unknown": (dict(sensitive_features=[None] * 40), "sensitive_features is unknown"),
    "sample_weight is short": (dict(sample_weight=[1.0]), r"sample_weight has shape \(1,\); expected \(40,\)"),
    "sample_weight is negative": (
        dict(sample_weight=[-1.0, *[1] * 39]),
        "sample_weight holds values that are negative, nan",
    ),
    "sample_weight is zero": (dict(sample_weight=np.zeros(40)), "sample_weight"),
    "sample_weight holds nan": (
        dict(sample_weight=np.full(40, np.nan)),
        "sample_weight holds values that are negative, nan",
    ),
    "sample_weight is a table": (dict(sample_weight=np.ones((40, 2))), r"sample_weight has shape \(40, 2\)"),
    "sample_weight leaves one class": (
        dict(sample_weight=np.arange(40) % 2, y=np.arange(40) % 2),
        "y holds one class",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_argument_is_an_error_that_names_it(case):
    change, message = CASES[case]
    X, y, a = crowd(40)
    given_ = dict(X=X, y=y, sensitive_features=a) | change
    with pytest.raises((ValueError, TypeError), match=message):
        quick().fit(given_.pop("X"), given_.pop("y"), **given_)


def test_prediction_refuses_what_does_not_fit():
    X, y, a = crowd(40)
    model = quick().fit(X, y, sensitive_features=a)
    with pytest.raises(ValueError, match="X has 3 features, but RAANClassifier is expecting 5"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="X: Found array with 0 sample"):
        model.predict(X[:0])
    single = quick().fit(X.astype(np.float32), y, sensitive_features=a)
    with pytest.raises(ValueError, match="X holds numbers in row 1 that are too large for this model"):
        single.predict_proba([[0.0] * 5, [1e300] * 5])


class TestMissing:
    """The one parameter for unknown attributes."""

    def setup_method(self):
        self.X, self.y, a = crowd(200)
        self.words = np.array(["f", "m"], dtype=object)[a]
        self.words[::10] = None

    def fitted(self, attribute, **parameters):
        return quick(epochs=2, aim=None, validation_fraction=0.0, **parameters).fit(
            self.X, self.y, sensitive_features=attribute
        )

    @pytest.mark.parametrize("unknown", [None, float("nan"), pd.NA, pd.NaT])
    def test_ignored_rows_are_in_no_group(self, unknown):
        self.words[::10] = unknown
        model = self.fitted(self.words)
        assert model.groups_ == ("f", "m")
        codes = np.array(
            [-1 if word not in ("f", "m") else ["f", "m"].index(word) for word in self.words.astype(str)]
        )
        from raan.estimators.arguments import read_attribute

        np.testing.assert_array_equal(read_attribute(self.words, "ignore").codes, codes)

    def test_ignored_rows_still_train_with_their_own_loss(self):
        known = np.array([word is not None for word in self.words])
        without = quick(epochs=2, aim=None, validation_fraction=0.0, batch_size=200).fit(
            self.X[known], self.y[known], sensitive_features=self.words[known]
        )
        with_them = quick(epochs=2, aim=None, validation_fraction=0.0, batch_size=200).fit(
            self.X, self.y, sensitive_features=self.words
        )
        assert not np.allclose(without.predict_proba(self.X), with_them.predict_proba(self.X))

    def test_a_group_of_the_unknown_is_a_group_like_any_other(self):
        model = self.fitted(self.words, missing="group")
        assert model.groups_ == ("f", "m", "unknown")
        named = self.words.copy()
        named[::10] = "zzz"
        np.testing.assert_array_equal(model.predict_proba(self.X), self.fitted(named).predict_proba(self.X))

    def test_refused_rows_are_counted(self):
        with pytest.raises(
            ValueError, match=r"sensitive_features is unknown \(None or NaN\) in 20 of 200 rows, first in row 0"
        ):
            self.fitted(self.words, missing="error")
        self.words[:] = "f"
        self.words[100:] = "m"
        assert self.fitted(self.words, missing="error").groups_ == ("f", "m")

    def test_a_row_with_any_unknown_part_is_unknown(self):
        second = np.array(["b", "w"], dtype=object)[np.random.default_rng(0).integers(2, size=200)]
        second[5] = None
        crossed = self.fitted(np.stack([self.words, second], axis=1), missing="group")
        assert crossed.groups_ == ("f × b", "f × w", "m × b", "m × w", "unknown")

    def test_nobody_known_is_an_error_or_one_group(self):
        with pytest.raises(ValueError, match="sensitive_features is unknown"):
            self.fitted([None] * 200)
        with pytest.warns(UserWarning, match="one value only"):
            assert self.fitted([None] * 200, missing="group").groups_ == ()


ANY_NUMBER = st.one_of(st.floats(width=64), st.integers(-(10**20), 10**20))
ANY_VALUE = st.one_of(ANY_NUMBER, st.text(max_size=3), st.none(), st.booleans())


@st.composite
def columns(draw, rows):
    """A column of about this many values: numbers, text, mixtures, arrays of any type, or no column at all."""
    size = draw(st.sampled_from([rows, rows, rows, rows, 0, 1, rows + 1]))
    return draw(
        st.one_of(
            st.lists(st.integers(0, 2), min_size=size, max_size=size),
            st.lists(st.sampled_from(["a", "b"]), min_size=size, max_size=size),
            st.lists(ANY_VALUE, min_size=size, max_size=size),
            st.lists(ANY_VALUE, min_size=size, max_size=size).map(lambda values: np.array(values, dtype=object)),
            arrays.arrays(arrays.scalar_dtypes(), size),
            arrays.arrays(np.int64, (size, 2), elements=st.integers(0, 1)),
            st.just(np.zeros(size)),
            ANY_VALUE,
        )
    )


@st.composite
def tables(draw, rows):
    """Features of every kind: sound ones, odd types and shapes, extreme numbers."""
    return draw(
        st.one_of(
            arrays.arrays(np.float64, (rows, 2), elements=st.floats(-5, 5)),
            arrays.arrays(np.int64, (rows, 2), elements=st.integers(0, 4)),
            arrays.arrays(np.int64, (rows, 2), elements=st.integers(0, 4)).map(lambda X: X.astype(np.float32)),
            arrays.arrays(st.sampled_from([np.float32, np.float64, np.int8, bool]), (rows, 3)),
            arrays.arrays(
                arrays.scalar_dtypes(), st.sampled_from([(rows, 2), (rows,), (rows, 0), (0, 2), (rows, 2, 2)])
            ),
            arrays.arrays(np.float64, (rows, 1)).map(torch.from_numpy),
            st.lists(st.lists(ANY_VALUE, max_size=2), min_size=rows, max_size=rows),
            ANY_VALUE,
        )
    )


@st.composite
def calls(draw):
    """The arguments of a fit: mostly of one length, of any kind."""
    rows = draw(st.sampled_from([1, 2, 3, 8, 30]))
    sound = st.just(np.arange(rows) % 2)
    return dict(
        X=draw(tables(rows)),
        y=draw(st.one_of(sound, sound, columns(rows))),
        sensitive_features=draw(
            st.one_of(sound.map(lambda a: a[::-1]), st.just(np.arange(rows) // 2 % 2), columns(rows))
        ),
        sample_weight=draw(st.one_of(st.none(), st.none(), columns(rows))),
    )


class Mean(nn.Module):
    """The mean vector of a text's words."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5, 2)

    def forward(self, tokens):
        return self.words(tokens).mean(1)


ENCODERS = {"none": None, "linear": nn.Linear(2, 3), "flat": nn.Flatten(), "tokens": Mean()}


def outcome(call, **parameters):
    """What a fit and a prediction come to: the model and its probabilities, or the words of an error."""
    arguments = dict(call)
    X, y = arguments.pop("X"), arguments.pop("y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = quick(**parameters).fit(X, y, **arguments)
            return model, model.predict_proba(X)
        except (ValueError, TypeError) as error:
            return str(error)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls(),
    st.sampled_from(["ignore", "group", "error"]),
    st.sampled_from(["head", "model"]),
    st.sampled_from(["none", "none", "none", "linear", "flat", "tokens"]),
)
def test_whatever_comes_there_is_a_result_or_an_error_that_names_the_argument(call, missing, scope, encoder):
    result = outcome(call, missing=missing, scope=scope, encoder=ENCODERS[encoder])
    if isinstance(result, str):
        assert re.search(r"\b(X|y|sensitive_features|sample_weight|encoder)\b", result)
        return
    model, probability = result
    assert np.isfinite(probability).all()
    assert probability.shape == (len(call["X"]), len(model.classes_))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(8), st.sampled_from(["none", "linear", "flat", "tokens"]))
def test_whatever_is_asked_of_a_fitted_model_is_answered_or_refused_by_name(X, encoder):
    tokens = np.arange(40).reshape(20, 2) % 5
    samples = tokens if encoder == "tokens" else tokens.astype(np.float32)
    model = quick(encoder=ENCODERS[encoder], aim=None)
    model.fit(samples, np.arange(20) % 2, sensitive_features=np.arange(20) % 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            said = model.predict_proba(X)
        except (ValueError, TypeError) as error:
            said = str(error)
    if isinstance(said, str):
        assert re.search(r"\b(X|encoder)\b", said)
    else:
        assert np.isfinite(said).all()
        assert said.shape == (len(X), 2)
