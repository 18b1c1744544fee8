"""RAANClassifier has scikit-learn's manners, and does what RAAN is for."""

import pickle
import random
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from crowd import crowd
from raan.data import Split, Table
from raan.data.split import split
from raan.estimators import RAANClassifier
from raan.fairness import count, metrics
from raan.lab.datasets.adult import adult
from raan.models.model import Architecture, Stack
from raan.training.stages import first_stage
from raan.training.train import Schedule


def quick(**settings):
    """A classifier that is fitted in a moment."""
    defaults = dict(hidden_layer_sizes=(8,), head_layer_sizes=(), epochs=2, random_state=0)
    return RAANClassifier(**defaults | settings)


@pytest.mark.filterwarnings("ignore")  # scikit-learn's own, and that nothing is debiased
@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    "settings",
    [dict(epochs=10, random_state=0), pytest.param(dict(), marks=pytest.mark.exhaustive)],
    ids=["quick", "as it comes"],
)
def test_scikit_learn_finds_nothing_to_complain_of(settings):
    results = check_estimator(RAANClassifier(**settings), on_fail="raise")
    assert len(results) > 50
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert [result["check_name"] for result in results if result["status"] == "skipped"] in (
        [],
        ["check_array_api_input"],  # needs SCIPY_ARRAY_API
    )


@pytest.mark.usefixtures("as_users_call")
def test_on_adult_it_lifts_the_worst_group_above_its_own_plain_run_at_little_cost(real_data):
    table = adult(real_data / "adult")
    X, y, a = table.features.numpy(), table.label.numpy(), table.attribute.numpy()
    lifts = []
    for seed in (0, 1):
        train, _, test = split(table.rows, (36120, 0, 9102), seed)
        debiased = RAANClassifier(epochs=3, random_state=seed).fit(X[train], y[train], sensitive_features=a[train])
        with pytest.warns(UserWarning, match="plain training"):
            plain = RAANClassifier(epochs=3, random_state=seed).fit(X[train], y[train])
        after, before = (
            metrics(count(y[test], a[test], model.predict(X[test]), 2, 2)) for model in (debiased, plain)
        )
        lifts.append(after.worst_group_accuracy - before.worst_group_accuracy)
        assert after.accuracy > before.accuracy - 0.015
    assert min(lifts) > 0
    assert sum(lifts) / 2 > 0.04


def test_without_sensitive_features_it_is_erm_and_says_so_once():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(100, 4)).astype(float)  # columns of 0 and 1 need no scaling
    y = np.arange(100) % 2
    with pytest.warns(UserWarning, match=r"sensitive_features is None: plain training \(ERM\)") as caught:
        model = quick(epochs=3).fit(X, y)
    assert len(caught) == 1
    table, everyone = Table.of(X, y, dtype=torch.float64), torch.arange(100).unsqueeze(0)
    table = Table(table.features, table.label, table.attribute, table.class_names, ("nobody",))
    architecture = Architecture(Stack((4, 8)), Stack((8, 2)))
    erm = first_stage(architecture, table, Split(everyone, everyone, everyone), [0], Schedule(epochs=3))
    torch.testing.assert_close(model.model_.parameters, erm.last.parameters, rtol=0, atol=0)
    assert model.groups_ == ()
    assert len(model.frontier_) == 0


@pytest.mark.parametrize("attribute", ["one value", "one value in each class"])
def test_where_no_sample_has_a_neighbour_it_is_erm_and_says_why(attribute):
    X, y, _ = crowd(60)
    values = np.zeros(60) if attribute == "one value" else y
    with pytest.warns(UserWarning, match="sensitive_features takes one value only in every class of y"):
        model = quick().fit(X, y, sensitive_features=values)
    with pytest.warns(UserWarning, match="sensitive_features is None"):
        plain = quick().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_what_it_says_fits_together():
    X, y, a = crowd(120, classes=3)
    model = quick().fit(X, y, sensitive_features=a)
    probability = model.predict_proba(X)
    assert probability.shape == (120, 3)
    np.testing.assert_allclose(probability.sum(1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), probability.argmax(1))
    assert model.decision_function(X).shape == (120, 3)
    np.testing.assert_allclose(
        np.exp(model.decision_function(X)) / np.exp(model.decision_function(X)).sum(1, keepdims=True), probability
    )
    assert model.score(X, y) == (model.predict(X) == y).mean()
    assert model.embed(X).shape == (120, 8)


def test_the_decision_between_two_classes_is_one_number():
    X, y, a = crowd(120)
    model = quick().fit(X, y, sensitive_features=a)
    decision = model.decision_function(X)
    assert decision.shape == (120,)
    np.testing.assert_allclose(1 / (1 + np.exp(-decision)), model.predict_proba(X)[:, 1])


def test_the_embedding_is_what_the_head_decides_on():
    X, y, a = crowd(120)
    model = quick().fit(X, y, sensitive_features=a)
    weight, bias = torch.split(model.model_.parameters[0, -18:], [16, 2])
    logit = model.embed(X) @ weight.view(8, 2).numpy() + bias.numpy()
    np.testing.assert_allclose(logit[:, 1] - logit[:, 0], model.decision_function(X))


@pytest.mark.usefixtures("as_users_call")
def test_debiasing_lifts_the_group_that_plain_training_fails():
    X, y, a = crowd(2000, seed=1)
    fresh = crowd(4000, seed=2)

    def worst(model):
        right = model.predict(fresh.X) == fresh.y
        return min(right[(fresh.y == c) & (fresh.a == g)].mean() for c in range(2) for g in range(2))

    settings = dict(hidden_layer_sizes=(16,), epochs=10, lr=3e-3, random_state=0, strength=1.0, accuracy_drop=0.2)
    with pytest.warns(UserWarning, match="plain training"):
        plain = RAANClassifier(**settings).fit(X, y)
    debiased = RAANClassifier(**settings).fit(X, y, sensitive_features=a)
    assert worst(debiased) > worst(plain) + 0.1


def test_clone_pickle_joblib_and_set_params_keep_what_they_should(tmp_path):
    X, y, a = crowd(80)
    model = quick(temperature=0.3).fit(X, y, sensitive_features=a)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        assert copy.frontier_ == model.frontier_
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(X)
    before = model.predict_proba(X)
    model.set_params(temperature=2.0, scope="head", batch_size=1, hidden_layer_sizes=(3,))
    np.testing.assert_array_equal(model.predict_proba(X), before)  # until it is fitted again
    assert not np.array_equal(model.fit(X, y, sensitive_features=a).predict_proba(X), before)
    assert model.embed(X).shape[1] == 3


def test_a_pipeline_routes_the_sensitive_features():
    X, y, a = crowd(80)
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick().set_fit_request(sensitive_features=True, sample_weight=False)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y, sensitive_features=a)
    alone = quick().fit(StandardScaler().fit_transform(X), y, sensitive_features=a)
    assert pipeline[-1].groups_ == ("0", "1")
    np.testing.assert_array_equal(
        pipeline.predict_proba(X), alone.predict_proba(StandardScaler().fit_transform(X))
    )


@pytest.mark.parametrize("routing", [True, False])
def test_a_grid_search_hands_each_fold_its_own_sensitive_features(routing):
    X, y, a = crowd(200)
    with sklearn.config_context(enable_metadata_routing=routing):
        model = quick()
        if routing:
            model = model.set_fit_request(sensitive_features=True)
        search = GridSearchCV(model, {"strength": [0.0, 1.0], "lr": [1e-3, 1e-2]}, cv=2, error_score="raise")
        search.fit(X, y, sensitive_features=np.array(["f", "m"])[a])
    assert search.best_estimator_.groups_ == ("f", "m")
    assert len(search.cv_results_["params"]) == 4
    assert search.predict(X).shape == (200,)


def test_without_a_request_routing_refuses_rather_than_dropping_the_attribute():
    X, y, a = crowd(80)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="sensitive_features"),
    ):
        make_pipeline(StandardScaler(), quick()).fit(X, y, sensitive_features=a)


@pytest.mark.parametrize("kind", ["pandas", "polars", "torch", "lists"])
def test_every_container_gives_what_numpy_gives(kind):
    X, y, a = crowd(80)
    names = [f"f{column}" for column in range(X.shape[1])]
    expected = quick().fit(X, y, sensitive_features=a).predict_proba(X)
    table, label, attribute = {
        "pandas": (pd.DataFrame(X, columns=names), pd.Series(y), pd.Series(a)),
        "polars": (pl.DataFrame(X, schema=names), pl.Series(y), pl.Series(a)),
        "torch": (torch.tensor(X, requires_grad=True), torch.tensor(y), torch.tensor(a)),
        "lists": (X.tolist(), y.tolist(), a.tolist()),
    }[kind]
    weight = torch.ones(80) if kind == "torch" else np.ones(80)
    model = quick().fit(table, label, sensitive_features=attribute)
    np.testing.assert_array_equal(model.predict_proba(table), expected)
    quick().fit(table, label, sensitive_features=attribute, sample_weight=weight)
    if kind in ("pandas", "polars"):
        assert list(model.feature_names_in_) == names
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(table[names[::-1]])


def test_labels_and_attributes_may_be_text_and_labels_come_back_as_they_were():
    X, y, a = crowd(120, classes=3)
    words, groups = np.array(["lo", "mid", "top"])[y], np.array(["old", "young"])[a]
    model = quick().fit(X, words, sensitive_features=groups)
    assert list(model.classes_) == ["lo", "mid", "top"]
    assert model.groups_ == ("old", "young")
    same = quick().fit(X, y, sensitive_features=a)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), np.array(["lo", "mid", "top"])[same.predict(X)])


def test_several_attribute_columns_are_crossed():
    X, y, a = crowd(200)
    second = np.random.default_rng(3).integers(2, size=200)
    frame = pd.DataFrame({"sex": np.array(["f", "m"])[a], "race": np.array(["b", "w"])[second]})
    model = quick().fit(X, y, sensitive_features=frame)
    assert model.groups_ == ("f × b", "f × w", "m × b", "m × w")
    crossed = quick().fit(X, y, sensitive_features=2 * a + second)
    np.testing.assert_array_equal(model.predict_proba(X), crossed.predict_proba(X))


def test_many_classes_and_many_groups():
    X, y, a = crowd(400, classes=4, attributes=3)
    model = quick(epochs=20, lr=1e-2).fit(X, y, sensitive_features=a)
    assert model.predict_proba(X).shape == (400, 4)
    assert model.score(X, y) > 0.4
    assert not np.isnan(model.frontier_.chosen.worst_group_accuracy)


@pytest.mark.usefixtures("as_users_call")  # the checker draws from random
def test_one_seed_is_one_model_and_no_global_generator_is_read_or_touched():
    X, y, a = crowd(80)
    states = random.getstate(), torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002
    first = quick(dropout=0.3).fit(X, y, sensitive_features=a).predict_proba(X)
    quick(random_state=None).fit(X, y, sensitive_features=a)
    assert random.getstate() == states[0]
    assert torch.equal(torch.get_rng_state(), states[1])
    assert str(np.random.get_state()) == states[2]  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    np.testing.assert_array_equal(quick(dropout=0.3).fit(X, y, sensitive_features=a).predict_proba(X), first)


def test_none_draws_anew_and_a_generator_goes_on():
    X, y, a = crowd(80)

    def fitted(state):
        return quick(random_state=state).fit(X, y, sensitive_features=a).predict_proba(X)

    assert not np.array_equal(fitted(None), fitted(None))
    assert not np.array_equal(fitted(0), fitted(1))
    for kind in (np.random.RandomState, np.random.default_rng):
        generator = kind(3)
        first = fitted(generator)
        assert not np.array_equal(fitted(generator), first)
        np.testing.assert_array_equal(fitted(kind(3)), first)


def test_progress_bars_stand_on_standard_error_and_only_when_asked_for(capsys):
    X, y, a = crowd(80)
    quick().fit(X, y, sensitive_features=a)
    assert capsys.readouterr() == ("", "")
    quick(verbose=True).fit(X, y, sensitive_features=a)
    out, err = capsys.readouterr()
    assert out == ""
    assert "plain training" in err
    assert "RAAN" in err
    assert "4/4" in err  # two epochs of two batches


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float32_stays_float32_and_everything_else_is_float64(dtype):
    X, y, a = crowd(80)
    model = quick().fit(X.astype(dtype), y, sensitive_features=a)
    assert model.embed(X).dtype == dtype
    whole = quick().fit((10 * X).astype(int), y, sensitive_features=a)
    assert whole.embed(X).dtype == np.float64


def test_arrays_may_be_reversed_read_only_or_of_another_machine():
    X, y, a = crowd(80)
    expected = quick().fit(X.copy(), y, sensitive_features=a).predict_proba(X)
    reversed_ = X[::-1].copy()[::-1]
    locked = X.copy()
    locked.flags.writeable = False
    for odd in (reversed_, X.astype(">f8"), np.asfortranarray(X), X.astype(np.longdouble), locked):
        model = quick().fit(odd, y[::-1].copy()[::-1], sensitive_features=a[::-1].copy()[::-1])
        np.testing.assert_array_equal(model.predict_proba(odd), expected)
        np.testing.assert_allclose(model.predict_proba(odd[::-1][:1]), expected[-1:])


def test_fitting_needs_the_attribute_and_predicting_does_not():
    X, y, a = crowd(80)
    model = quick().fit(X, y, sensitive_features=a)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(X[:3]).shape == (3,)


def test_head_only_debiasing_leaves_the_representation_as_plain_training_made_it():
    X, y, a = crowd(200)
    settings = dict(aim=None, lr=1e-2, head_layer_sizes=(4,))
    held = [
        quick(scope="head", strength=strength, **settings).fit(X, y, sensitive_features=a)
        for strength in (0.0, 1.0)
    ]
    np.testing.assert_array_equal(held[0].embed(X), held[1].embed(X))
    assert not np.allclose(held[0].predict_proba(X), held[1].predict_proba(X))
    free = quick(scope="model", **settings).fit(X, y, sensitive_features=a)
    assert not np.allclose(held[0].embed(X), free.embed(X))


@pytest.mark.parametrize(
    "change",
    [
        dict(temperature=0.0),
        dict(averaging_rate=0.1),
        dict(balance="sample"),
        dict(strength=1.0),
        dict(style="amsgrad"),
        dict(style="sgd"),
        dict(lr=(1e-2, 1e-3)),
        dict(lr=(1e-3, 1e-2)),
        dict(epochs=(3, 2)),
        dict(epochs=(2, 3)),
        dict(batch_size=16),
        dict(dropout=0.5),
        dict(validation_fraction=0.3),
        dict(head_layer_sizes=(4,)),
        dict(hidden_layer_sizes=5),
        dict(scope="head"),
    ],
    ids=str,
)
def test_every_parameter_changes_the_model(change):
    X, y, a = crowd(200)
    settings = dict(aim=None, averaging_rate=0.5, hidden_layer_sizes=(8, 8))
    before = quick(**settings).fit(X, y, sensitive_features=a).predict_proba(X)
    assert not np.array_equal(quick(**settings | change).fit(X, y, sensitive_features=a).predict_proba(X), before)


@pytest.mark.parametrize(("rows", "batch_size", "epochs"), [(40, 64, 300), (200, 64, 75), (4000, 20, 10)])
def test_automatic_epochs_are_ten_and_more_where_the_table_is_small(rows, batch_size, epochs):
    from raan.estimators.network import TrainingRows, schedule

    X, y, _ = crowd(rows)
    everyone = torch.arange(rows).unsqueeze(0)
    table = TrainingRows(Table.of(X, y), Split(everyone, everyone, everyone))
    assert schedule(Schedule(batch_size=batch_size), table, None, 1e-3).epochs == epochs
    assert schedule(Schedule(batch_size=batch_size), table, 7, 1e-3).epochs == 7
