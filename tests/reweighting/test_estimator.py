"""AANReweighting among scikit-learn's own."""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from raan.metrics import demographic_parity_gap
from raan.reweighting import AANReweighting
from reweighting.people import Spy, people

PLAIN = pytest.mark.filterwarnings("ignore:sensitive_features is None")


@PLAIN
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [AANReweighting(LogisticRegression()), AANReweighting(HistGradientBoostingClassifier(max_iter=10))]
)
def test_it_keeps_scikit_learns_conventions(estimator, check, as_users_call):
    check(estimator)


def test_without_sensitive_features_it_is_the_plain_estimator_and_says_so_once():
    X, y, _ = people()
    with pytest.warns(UserWarning, match="sensitive_features is None: the estimator is fitted plainly") as caught:
        model = AANReweighting(LogisticRegression()).fit(X, y)
    assert len(caught) == 1
    np.testing.assert_array_equal(model.predict_proba(X), LogisticRegression().fit(X, y).predict_proba(X))


def test_it_behaves_as_its_estimator():
    X, y, a = people()
    model = AANReweighting(LogisticRegression()).fit(X, y, sensitive_features=a)
    inner = LogisticRegression().fit(X, y, sample_weight=model.sample_weight_)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(model, method)(X), getattr(inner, method)(X))
    assert model.score(X, y) == inner.score(X, y)
    assert model.n_features_in_ == 4


def test_it_has_the_methods_its_estimator_has():
    X, y, a = people()
    for unfitted in (AANReweighting(LinearSVC()), AANReweighting(RidgeClassifier())):
        for model in (unfitted, clone(unfitted).fit(X, y, sensitive_features=a)):
            assert hasattr(model, "decision_function")
            assert not hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError):
        AANReweighting(LogisticRegression()).predict(X)


def test_clone_pickle_and_joblib(tmp_path):
    X, y, a = people()
    model = AANReweighting(LogisticRegression()).fit(X, y, sensitive_features=a)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    unfitted = clone(model.set_params(strength=0.6, estimator__C=3.0))
    assert not hasattr(unfitted, "estimator_")
    assert (unfitted.strength, unfitted.estimator.C) == (0.6, 3.0)


def test_the_estimator_passed_is_never_fitted():
    X, y, a = people()
    estimator = LogisticRegression()
    AANReweighting(estimator).fit(X, y, sensitive_features=a)
    assert not hasattr(estimator, "coef_")


def test_a_second_fit_forgets_the_first():
    X, y, a = people()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = AANReweighting(LogisticRegression()).fit(frame, y, sensitive_features=a)
    assert model.feature_names_in_.tolist() == list("abcd")
    model.fit(X[:, :3], y, sensitive_features=a)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_sensitive_features_are_routed_through_pipelines_and_searches():
    X, y, a = people()
    inner = AANReweighting(Spy()).set_fit_request(sensitive_features=True, sample_weight=True)
    fair = make_scorer(demographic_parity_gap, greater_is_better=False).set_score_request(sensitive_features=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), inner),
        {"aanreweighting__strength": [0.0, 1.0], "aanreweighting__balance": ["sample"]},
        scoring=fair,
        cv=2,
    )
    search.fit(X, y, sensitive_features=a)
    assert search.best_params_["aanreweighting__strength"] == 1.0
    best = search.best_estimator_.named_steps["aanreweighting"]
    np.testing.assert_array_equal(best.estimator_.given_, best.sample_weight_)
    gaps = search.cv_results_["mean_test_score"]
    assert gaps[1] > gaps[0] + 0.05
    inner.set_score_request(sample_weight=False)
    folds = cross_validate(inner, X, y, params={"sensitive_features": a, "sample_weight": np.ones(len(y))}, cv=2)
    assert (folds["test_score"] > 0.6).all()


def test_a_pipeline_may_be_the_estimator():
    frame, y, a = _mixed()
    columns = make_column_transformer((OneHotEncoder(), ["work"]), remainder="passthrough")
    model = AANReweighting(make_pipeline(columns, make_pipeline(StandardScaler(), Spy())), strength=1.0)
    model.fit(frame, y, sensitive_features=a)
    given = model.estimator_.named_steps["pipeline"].named_steps["spy"].given_
    np.testing.assert_array_equal(given, model.sample_weight_)
    assert model.feature_names_in_.tolist() == list(frame)


@pytest.mark.usefixtures("routing")
def test_a_pipeline_may_be_the_estimator_with_routing_too():
    X, y, a = people()
    pipeline = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), Spy()))
    model = AANReweighting(pipeline, strength=1.0).fit(X, y, sensitive_features=a)
    given = model.estimator_.named_steps["pipeline"].named_steps["spy"].given_
    np.testing.assert_array_equal(given, model.sample_weight_)


def _mixed(rows=400):
    X, y, a = people(rows)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["work"] = np.random.default_rng(3).choice(["office", "field", "home"], rows)
    return frame, y, a


def test_pandas_with_categories_and_polars():
    frame, y, a = _mixed()
    boosting = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    model = AANReweighting(boosting)
    categories = frame.astype({"work": "category"})
    sex = pd.Series(np.array(["f", "m"])[a], index=np.arange(len(a)) + 7)
    model.fit(categories, pd.Series(y, index=sex.index), sensitive_features=sex)
    assert model.predict(categories).shape == y.shape
    assert model.feature_names_in_.tolist() == list(frame)
    numbers = pl.from_pandas(frame.drop(columns="work"))
    assert clone(model).fit(numbers, pl.Series(y), sensitive_features=pl.Series(a)).score(numbers, y) > 0.6


def _estimators():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    small = dict(n_estimators=8, n_jobs=1)
    return {
        "logistic": LogisticRegression(),
        "boosting": HistGradientBoostingClassifier(max_iter=8),
        "lightgbm": lightgbm.LGBMClassifier(**small, verbose=-1),
        "xgboost": xgboost.XGBClassifier(**small),
        "xgboost in a pipeline": make_pipeline(StandardScaler(), xgboost.XGBClassifier(**small)),
    }


@pytest.mark.parametrize("name", ["logistic", "boosting", "lightgbm", "xgboost", "xgboost in a pipeline"])
def test_string_labels_with_every_estimator(name):
    X, y, a = people()
    answer = np.array(["no", "yes"])[y]
    model = AANReweighting(_estimators()[name])
    model.fit(pd.DataFrame(X, columns=list("abcd")), answer, sensitive_features=a)
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(frame)) == {"no", "yes"}
    assert model.score(frame, answer) > 0.65
    # The second column is the second class's.
    assert model.predict_proba(frame)[y == 1, 1].mean() > model.predict_proba(frame)[y == 0, 1].mean() + 0.1


@PLAIN
def test_string_labels_with_xgboost_fitted_plainly():
    X, y, _ = people()
    model = AANReweighting(_estimators()["xgboost"]).fit(X, np.array(["no", "yes"])[y])
    assert set(model.predict(X)) == {"no", "yes"}


@pytest.mark.parametrize("classes", [[-1, 1], [0.0, 1.0], [False, True], [3, 7]])
def test_any_two_classes(classes):
    X, y, a = people()
    model = AANReweighting(LogisticRegression()).fit(X, np.array(classes)[y], sensitive_features=a)
    assert model.predict(X).dtype == np.array(classes).dtype
    assert set(model.predict(X)) == set(classes)


def test_class_weights_by_the_users_classes_still_mean_what_they_say():
    X, y, a = people()
    answer = np.array(["no", "yes"])[y]
    model = AANReweighting(LogisticRegression(class_weight={"no": 1, "yes": 9})).fit(
        X, answer, sensitive_features=a
    )
    assert (model.predict(X) == "yes").mean() > 0.6


@pytest.mark.parametrize(
    ("parameters", "kind", "text"),
    [
        (
            dict(aim="worst_group"),
            ValueError,
            r"aim is 'worst_group', which AANReweighting no longer tunes; expected None; write raan.FairFrontier",
        ),
        (dict(temperature="hot"), TypeError, "The 'temperature' parameter"),
        (dict(temperature=-1.0), ValueError, "The 'temperature' parameter"),
        (dict(strength=2.0), ValueError, "The 'strength' parameter"),
        (dict(balance="fair"), ValueError, "The 'balance' parameter"),
        (dict(balance={"women": 1.0}), ValueError, r"balance has the key 'women'; expected \(class, attribute\)"),
        (dict(random_state="a"), TypeError, "The 'random_state' parameter"),
        (
            dict(estimator=KNeighborsClassifier()),
            TypeError,
            "estimator KNeighborsClassifier takes no sample_weight",
        ),
        (dict(estimator=LogisticRegression), TypeError, "estimator is the class LogisticRegression; expected"),
        (dict(estimator=None), TypeError, "The 'estimator' parameter"),
    ],
)
@pytest.mark.usefixtures("as_users_call")
def test_a_parameter_that_means_nothing_is_named(parameters, kind, text):
    X, y, a = people()
    with pytest.raises(kind, match=text):
        AANReweighting(**{"estimator": LogisticRegression()} | parameters).fit(X, y, sensitive_features=a)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            dict(sensitive_features=[0, 1]),
            "the numbers of rows differ: X has 1200, y has 1200, sensitive_features has 2",
        ),
        (dict(y=np.zeros(1200)), "y holds one class only, 0.0; expected at least two"),
        (dict(y=np.linspace(0, 1, 1200)), "y cannot be read as classes: Unknown label type: continuous"),
        (dict(y=np.full(1200, np.nan)), "Input y contains NaN"),
        (dict(y=np.array([None, "a"] * 600)), "y cannot be read as classes: 600 of 1200 rows have none"),
        (dict(y=np.zeros((1200, 2))), "y should be a 1d array"),
        (dict(sample_weight=np.ones(3)), r"sample_weight has shape \(3,\); expected \(1200,\)"),
        (dict(sample_weight=-np.ones(1200)), "sample_weight holds values that are negative"),
        (dict(sample_weight=["a"] * 1200), "sample_weight cannot be read as numbers"),
        (dict(sensitive_features=[None] * 1200), "sensitive_features is unknown .* in all 1200 rows"),
    ],
)
@pytest.mark.usefixtures("as_users_call")
def test_data_that_cannot_be_used_is_named(change, text):
    X, y, a = people()
    arguments = dict(y=y, sensitive_features=a) | change
    with pytest.raises((TypeError, ValueError), match=text):
        AANReweighting(LogisticRegression()).fit(X, arguments.pop("y"), **arguments)


def test_one_group_leaves_all_weights_at_1():
    X, y, _ = people()
    model = AANReweighting(Spy())
    with pytest.warns(UserWarning, match="1200 of 1200 samples keep weight 1"):
        model.fit(X, y, sensitive_features=np.zeros(len(y)))
    assert (model.sample_weight_ == 1).all()


def test_no_warning_where_nothing_is_wrong():
    X, y, a = people()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AANReweighting(LogisticRegression()).fit(X, y, sensitive_features=a)
