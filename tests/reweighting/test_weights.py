"""Which weights the estimator is given."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from raan import aan_weights
from raan.reweighting import AANReweighting
from raan.reweighting.embedding import embed, standardise
from reweighting.people import Spy, people


@pytest.mark.parametrize("balance", ["group", "sample", "independence"])
@pytest.mark.parametrize("temperature", [0.2, 0.5, math.inf])
def test_the_estimator_is_given_aan_weights_in_the_standardised_features(balance, temperature):
    X, y, a = people(300)
    dials = dict(temperature=temperature, balance=balance, strength=0.7)
    model = AANReweighting(Spy(), **dials).fit(X, y, sensitive_features=a)
    expected = aan_weights(StandardScaler().fit_transform(X).astype(np.float32), y, a, **dials)
    np.testing.assert_allclose(model.estimator_.given_, expected, rtol=1e-6)
    np.testing.assert_array_equal(model.sample_weight_, model.estimator_.given_)


def test_a_tolerance_gives_the_weights_over_centroids():
    X, y, a = people(12_000)
    dials = dict(temperature=0.5, strength=1.0, tolerance=0.1)
    model = AANReweighting(Spy(), embedding=lambda X: X, **dials).fit(X, y, sensitive_features=a)
    weights, certificate = aan_weights(X, y, a, **dials, return_certificate=True)
    assert not certificate.exact
    np.testing.assert_array_equal(model.sample_weight_, weights)


def test_the_weights_multiply_the_users_own():
    X, y, a = people(300)
    own = np.random.default_rng(1).random(300)
    alone = AANReweighting(Spy()).fit(X, y, sensitive_features=a).estimator_.given_
    both = AANReweighting(Spy()).fit(X, y, sensitive_features=a, sample_weight=own).estimator_.given_
    np.testing.assert_array_equal(both, alone * own)


def test_temperature_inf_with_a_mapping_is_the_total_over_the_size_of_the_cell():
    X, y, a = people(300)
    totals = {(0, 0): 10.0, (0, 1): 20.0, (1, 0): 30.0, (1, 1): 0.0}
    model = AANReweighting(Spy(), temperature=math.inf, balance=totals, strength=1.0).fit(
        X, y, sensitive_features=a
    )
    for (label, attribute), total in totals.items():
        cell = (y == label) & (a == attribute)
        np.testing.assert_allclose(model.estimator_.given_[cell], total / cell.sum())


def test_a_mapping_names_classes_as_the_user_does():
    X, y, a = people(300)
    answer, sex = np.array([-1.0, 1.0])[y], np.array(["f", "m"])[a]
    totals = {(-1.0, "f"): 1.0, (-1, "m"): 1.0, (1, "f"): 5.0, (1.0, "m"): 5.0}
    model = AANReweighting(Spy(), temperature=math.inf, balance=totals, strength=1.0)
    given = model.fit(X, answer, sensitive_features=sex).estimator_.given_
    assert given[(y == 1) & (a == 0)].sum() == pytest.approx(5)
    incomplete = model.set_params(balance={("no", "f"): 1.0})
    with pytest.raises(ValueError, match=r"balance names no total for the cells .*\('1', 'f'\)"):
        incomplete.fit(X, answer, sensitive_features=sex)


def test_rows_of_unknown_attribute_keep_weight_1():
    X, y, a = people(300)
    sex = np.array(["f", "m"], dtype=object)[a]
    sex[:7] = None
    model = AANReweighting(Spy(), strength=1.0)
    with pytest.warns(UserWarning, match="7 of 300 samples keep weight 1: 7 of unknown attribute"):
        model.fit(X, y, sensitive_features=sex)
    assert (model.sample_weight_[:7] == 1).all()
    assert not np.isclose(model.sample_weight_[7:], 1).any()


def test_several_attribute_columns_are_crossed():
    X, y, a = people(400)
    both = np.stack([a, np.random.default_rng(2).integers(0, 2, 400)], axis=1)
    model = AANReweighting(Spy(), strength=1.0, temperature=math.inf).fit(X, y, sensitive_features=both)
    crossed = AANReweighting(Spy(), strength=1.0, temperature=math.inf)
    crossed.fit(X, y, sensitive_features=2 * both[:, 0] + both[:, 1])
    np.testing.assert_array_equal(model.sample_weight_, crossed.sample_weight_)


def _boosters():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    return lightgbm.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1), xgboost.XGBClassifier(
        n_estimators=10, n_jobs=1
    )


def test_strength_0_is_the_plain_estimator_to_the_last_bit():
    X, y, a = people(400)
    for estimator in (LogisticRegression(), HistGradientBoostingClassifier(max_iter=10), *_boosters()):
        model = AANReweighting(estimator, strength=0).fit(X, y, sensitive_features=a)
        np.testing.assert_array_equal(model.predict_proba(X), estimator.fit(X, y).predict_proba(X))
        assert model.sample_weight_ is None


def test_full_strength_is_not_the_plain_estimator():
    X, y, a = people(400)
    for estimator in (LogisticRegression(), HistGradientBoostingClassifier(max_iter=10), *_boosters()):
        model = AANReweighting(estimator, strength=1.0).fit(X, y, sensitive_features=a)
        assert np.abs(model.predict_proba(X) - estimator.fit(X, y).predict_proba(X)).max() > 0.05


def _frame(rows=300):
    X, y, a = people(rows)
    frame = pd.DataFrame(X, columns=["z_0", "z_1", "age", "pay"])
    frame["work"] = np.random.default_rng(3).choice(["office", "field", "home"], rows)
    return frame, y, a


@pytest.mark.parametrize(
    ("embedding", "vectors"),
    [
        (PCA(2), lambda X: PCA(2).fit_transform(X)),
        (FunctionTransformer(np.tanh), np.tanh),
        (lambda X: X**3, lambda X: X**3),
    ],
)
def test_the_embedding_may_be_a_transformer_or_a_callable(embedding, vectors):
    X, y, a = people(300)
    model = AANReweighting(Spy(), embedding=embedding, strength=1.0).fit(X, y, sensitive_features=a)
    np.testing.assert_allclose(model.sample_weight_, aan_weights(vectors(X), y, a), rtol=1e-9)


@pytest.mark.parametrize(("name", "columns"), [("z_", ["z_0", "z_1"]), ("age", ["age"])])
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_the_embedding_may_be_columns_by_name(library, name, columns):
    frame, y, a = _frame()
    numbers = frame.drop(columns="work")
    model = AANReweighting(Spy(), embedding=name, strength=1.0)
    model.fit(library(numbers.to_dict(orient="list")), y, sensitive_features=a)
    expected = aan_weights(frame[columns].to_numpy(), y, a)
    np.testing.assert_allclose(model.sample_weight_, expected, rtol=1e-6)


def test_mixed_columns_are_standardised_and_made_one_hot_in_pandas_and_polars():
    frame, _, _ = _frame()
    numeric = ["z_0", "z_1", "age", "pay"]
    reference = make_column_transformer((StandardScaler(), numeric), (OneHotEncoder(), ["work"]))
    expected = reference.fit_transform(frame)
    # The order of the categories' columns does not matter to any angle between rows.
    for each in (frame, frame.astype({"work": "category"}), pl.from_pandas(frame), frame.to_numpy(dtype=object)):
        found = standardise(each)
        np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_missing_values_pull_nowhere():
    frame = pd.DataFrame(
        {
            "number": pd.array([1, None, 3], dtype="Int64"),
            "float": [np.nan, 1.0, 3.0],
            "infinite": [np.inf, 1.0, 3.0],
            "text": ["a", None, "b"],
            "date": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
            "nothing": [None, None, None],
            "constant": [2.0, 2.0, 2.0],
        }
    )
    expected = [[-1, 0, 0, 1, 0, -1, 0], [0, -1, -1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 1, 0]]
    found = standardise(frame)
    np.testing.assert_allclose(found[:, found.any(0)], np.array(expected)[:, :-1], atol=1e-6)
    assert found.dtype == np.float32


def test_identifiers_do_not_get_thousands_of_dimensions():
    column = pd.DataFrame({"id": [f"person {i}" for i in range(5000)]})
    assert standardise(column).shape == (5000, 100)


@pytest.mark.parametrize(
    ("embedding", "kind", "text"),
    [
        (3, TypeError, "embedding is a int; expected None, a transformer, a callable, or the name"),
        ("z_", TypeError, "embedding is 'z_', the name of columns, and X is a ndarray without names"),
        (lambda X: X[:3], ValueError, r"embedding gives an array of shape \(3, 4\) .* for 300 rows"),
        (lambda X: X[:, 0], ValueError, r"embedding gives an array of shape \(300,\)"),
        (lambda X: X.astype(str), ValueError, "embedding gives an array .* expected one vector of numbers"),
        (lambda X: X * np.nan, ValueError, "embedding holds NaN or inf, first in row 0"),
    ],
)
def test_an_embedding_that_cannot_be_used_is_named(embedding, kind, text):
    X, y, a = people(300)
    with pytest.raises(kind, match=text):
        AANReweighting(Spy(), embedding=embedding).fit(X, y, sensitive_features=a)


def test_an_unknown_column_block_and_sparse_features_are_named():
    from scipy.sparse import csr_array

    frame, y, a = _frame()
    with pytest.raises(
        ValueError, match="embedding is 'q', and no column of X is called so or begins so: z_0, z_1"
    ):
        embed(frame, "q", len(y))
    X, y, a = people(300)
    with pytest.raises(ValueError, match="embedding is None and X is sparse; pass a transformer"):
        AANReweighting(Spy()).fit(csr_array(X), y, sensitive_features=a)
    model = AANReweighting(Spy(), temperature=math.inf).fit(csr_array(X), y, sensitive_features=a)
    assert model.predict(csr_array(X)).shape == (300,)
