"""FairFrontier as its users meet it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from xgboost import XGBClassifier

import raan
from raan import FairFrontier, metrics
from raan.fairness import AIMS
from raan.frontier.posterior import soften
from reweighting.people import Memory, people

# Tables of a few hundred rows often have nothing to gain that other rows would show.
pytestmark = pytest.mark.filterwarnings("ignore:the classifier is the plain one")


@pytest.mark.usefixtures("as_users_call")
@parametrize_with_checks([FairFrontier(LogisticRegression(), folds=2)])
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="sensitive_features is None")
        warnings.filterwarnings("ignore", message="the choice is right for")
        check(estimator)


@pytest.fixture(scope="module")
def fitted():
    X, y, a = people(3000)
    return FairFrontier(LogisticRegression(), accuracy_drop=0.02).fit(X, y, sensitive_features=a)


def measure(name, y, predicted, a):
    return getattr(metrics, name)(y, predicted, sensitive_features=a)


@pytest.mark.parametrize("aim", AIMS)
def test_every_aim_improves_on_simulated_new_rows_after_one_fit(fitted, aim):
    X, y, a = people(6000, seed=1)
    plain = LogisticRegression().fit(*people(3000)[:2])
    choice = fitted.choose(aim=aim, accuracy_drop=0.03)
    name = AIMS[aim].metric
    before, after = (measure(name, y, model.predict(X), a) for model in (plain, choice))
    assert AIMS[aim].gain(after - before) > 0.05
    assert choice.score(X, y) > plain.score(X, y) - 0.045
    worst = [measure("worst_group_accuracy", y, model.predict(X), a) for model in (plain, choice)]
    assert worst[1] > worst[0] - 0.02


def test_the_choice_keeps_budget_and_guard_in_cross_validation(fitted):
    for aim in AIMS:
        for drop in (0.0, 0.01, 0.05):
            frontier = fitted.choose(aim=aim, accuracy_drop=drop).frontier_
            assert frontier.chosen.accuracy >= frontier.plain.accuracy - drop - 1e-9
            assert frontier.chosen.worst_group_accuracy >= frontier.plain.worst_group_accuracy - 1e-9


def test_choosing_again_is_choosing_at_once_and_leaves_the_first_as_it_was(fitted):
    before = fitted.weights_.copy()
    other = fitted.choose(aim="demographic_parity", accuracy_drop=0.05)
    assert other.models_ is fitted.models_
    assert (other.aim, fitted.aim) == ("demographic_parity", "equalized_odds")
    np.testing.assert_array_equal(fitted.weights_, before)
    anew = FairFrontier(LogisticRegression(), aim="demographic_parity", accuracy_drop=0.05)
    X, y, a = people(3000)
    gap = anew.fit(X, y, sensitive_features=a).frontier_.chosen.demographic_parity_gap
    assert other.frontier_.chosen.demographic_parity_gap == pytest.approx(gap, abs=0.02)


def test_limits_give_the_most_accurate_point_within_them(fitted):
    accuracies = []
    for most in (0.1, 0.14, 0.18):
        chosen = fitted.choose(at_most={"demographic-parity": most}, worst_group_drop=None).frontier_.chosen
        assert chosen.demographic_parity_gap < most  # with a margin
        accuracies.append(chosen.accuracy)
    assert accuracies == sorted(accuracies)
    with pytest.warns(UserWarning, match=r"no point of this trade-off is known .* and the smallest is"):
        assert fitted.choose(at_most={"demographic-parity": 0.0}).choice_.place == 0
    with pytest.raises(ValueError, match="at_most is 'parity'"):
        fitted.choose(at_most={"parity": 0.1})


def test_the_promise_covers_simulated_new_rows_within_two_points(fitted):
    promise = fitted.promise_
    assert promise.rows == 3000
    assert promise.metrics["equalized_odds_gap"].value == pytest.approx(fitted.frontier_.chosen.equalized_odds_gap)
    assert promise.plain["accuracy"].value == pytest.approx(fitted.frontier_.plain.accuracy)
    X, y, a = people(20_000, seed=5)
    gap = measure("equalized_odds_gap", y, fitted.predict(X), a)
    interval = promise.metrics["equalized_odds_gap"]
    assert interval.low - 0.02 <= gap <= interval.high + 0.02
    assert "accuracy lost" in str(promise)


@pytest.mark.filterwarnings("ignore:the plain classifier gives nearly all rows one class")
def test_rows_are_evaluated_by_models_that_have_not_seen_them():
    X, y, a = people()
    X += 1e-6 * np.arange(len(X))[:, None]  # no two rows alike
    model = FairFrontier(Memory(), attribute_estimator=LogisticRegression()).fit(X, y, sensitive_features=a)
    # It is right about all it has seen, and says "no" to all else: only so can its accuracy be the share of "no".
    assert model.frontier_.plain.accuracy == pytest.approx((y == 0).mean())


def test_predictions_average_the_folds_and_follow_the_weights(fitted):
    X, *_ = people(50, seed=2)
    q = np.mean([model(X) for model in fitted.models_], axis=0)
    np.testing.assert_allclose(fitted.posterior(X), q)
    np.testing.assert_allclose(q.sum((1, 2)), 1)
    np.testing.assert_allclose(fitted.predict_proba(X), q.sum(2))
    score = (q * fitted.weights_).sum(2)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[score.argmax(1)])
    np.testing.assert_allclose(fitted.decision_function(X), score[:, 1] - score[:, 0])


@pytest.mark.parametrize(
    "estimator",
    [
        HistGradientBoostingClassifier(max_iter=10, random_state=0),
        LGBMClassifier(n_estimators=5, verbose=-1, random_state=0),
        XGBClassifier(n_estimators=5, random_state=0),
    ],
    ids=["sklearn", "lightgbm", "xgboost"],
)
def test_boosting_of_any_library_with_classes_in_words(estimator):
    X, y, a = people(800)
    words, sex = np.array(["no", "yes"])[y], np.array(["f", "m"])[a]
    model = FairFrontier(estimator).fit(X, words, sensitive_features=sex)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.groups_ == ("f", "m")
    assert set(model.predict(X)) == {"no", "yes"}
    assert "weight of yes × f" in model.frontier_.to_frame()


def test_a_frame_with_categories_and_missing_values_goes_through_a_pipeline():
    X, y, a = people(800)
    frame = pd.DataFrame(X, columns=["u", "v", "w", "x"]).assign(
        town=np.array(["A", "B", None], object)[a + (y & 1)]
    )
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder=StandardScaler()
    )
    model = FairFrontier(make_pipeline(columns, LogisticRegression())).fit(frame, y, sensitive_features=a)
    assert model.predict(frame).shape == (800,)
    assert list(model.feature_names_in_) == list(frame.columns)


@pytest.mark.parametrize("factorisation", ["chain", "joint"])
def test_three_classes_and_groups_narrow_the_gap_in_cross_validation(factorisation):
    X, y, a = people(3000, groups=3)
    label = np.where((y == 1) & (X[:, 2] > 0), 2, y)
    model = FairFrontier(LogisticRegression(), factorisation=factorisation, accuracy_drop=0.03)
    model.fit(X, label, sensitive_features=a)
    assert model.weights_.shape == (3, 3)
    frontier = model.frontier_
    assert frontier.chosen.equalized_odds_gap < frontier.plain.equalized_odds_gap
    assert set(model.predict(X)) <= {0, 1, 2}


def test_several_attributes_are_crossed_and_unknown_or_rare_ones_are_not_judged():
    X, y, a = people(3000)
    other = np.random.default_rng(5).choice(["old", "young"], 3000)
    group = pd.DataFrame({"a": a.astype(object), "age": other})
    group.loc[:9, "a"] = None
    group.loc[10:20, "a"] = 7
    with pytest.warns(UserWarning, match="too rare to evaluate"):
        model = FairFrontier(LogisticRegression()).fit(X, y, sensitive_features=group)
    assert model.groups_ == ("0 × old", "0 × young", "1 × old", "1 × young")
    assert model.frontier_.counts[0, :, -1].sum() == 21  # unknown and rare, in the accuracy only


def test_thresholds_by_group_need_the_attribute_to_predict_and_narrow_the_gap_more():
    X, y, a = people(3000)
    model = FairFrontier(LogisticRegression(), aim="demographic_parity", attribute_at_prediction=True)
    model.fit(X, y, sensitive_features=a)
    with pytest.raises(ValueError, match="sensitive_features is None; expected the attribute of each row"):
        model.predict(X)
    predicted = model.predict(X, sensitive_features=a)
    second = model.predict_proba(X)[:, 1]
    for group in (0, 1):
        here = a == group
        cut = model.weights_[0, group] / (model.weights_[:, group].sum())
        np.testing.assert_array_equal(predicted[here], second[here] > cut)


def test_anyones_posterior_on_held_out_rows_is_enough(fitted):
    X, y, a = people(4000, seed=8)
    network = FairFrontier.from_posterior(fitted.posterior(X), y, a, aim="worst_group", accuracy_drop=0.02)
    assert network.frontier_.chosen.worst_group_accuracy > network.frontier_.plain.worst_group_accuracy
    assert network.predict_posterior(fitted.posterior(X)).shape == (4000,)
    with pytest.raises(ValueError, match=r"posterior has shape \(4000, 2\); expected \(4000, 2, 2\)"):
        FairFrontier.from_posterior(fitted.predict_proba(X), y, a)


def test_a_choice_that_serves_hardly_anybody_warns_and_the_floor_holds():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 4000)
    y = (rng.random(4000) < np.where(a == 1, 0.3, 0.08)).astype(int)
    X = np.c_[y + rng.normal(0, 1.0, 4000), a + rng.normal(0, 0.3, 4000)]
    model = FairFrontier(LogisticRegression()).fit(X, y, sensitive_features=a)
    with pytest.warns(UserWarning, match="levels down|one class for all"):
        low = model.choose(aim="demographic_parity", accuracy_drop=0.1, worst_group_drop=None)
    assert low.predict(X).mean() < 0.5 * (model.predict_proba(X)[:, 1] > 0.5).mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the floor holds, and the better served may still lose
        kept = model.choose(aim="equalized_odds", accuracy_drop=0.02).frontier_.chosen
    assert kept.worst_group_accuracy >= model.frontier_.plain.worst_group_accuracy


def test_it_is_the_same_twice_and_in_threads_and_survives_clone_and_pickle(fitted):
    X, y, a = people(600)
    first = FairFrontier(LogisticRegression()).fit(X, y, sensitive_features=a)
    second = clone(first).set_params(n_jobs=2).fit(X, y, sensitive_features=a)
    np.testing.assert_array_equal(first.weights_, second.weights_)
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(again.predict(X), first.predict(X))
    assert again.frontier_ == first.frontier_
    np.testing.assert_array_equal(
        again.choose(aim="worst_group").weights_, first.choose(aim="worst_group").weights_
    )


@pytest.mark.parametrize("factorisation", ["chain", "joint"])
def test_a_saved_frontier_predicts_and_chooses_as_before(tmp_path, factorisation):
    X, y, a = people(600)
    boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    model = FairFrontier(boosting, factorisation=factorisation).fit(X, y, sensitive_features=a)
    model.save(tmp_path / "model")
    loaded = raan.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.frontier_ == model.frontier_
    other = {"aim": "worst_group", "accuracy_drop": 0.05}
    np.testing.assert_array_equal(loaded.choose(**other).predict(X), model.choose(**other).predict(X))


def test_sensitive_features_are_routed_through_a_cross_validation():
    X, y, a = people(600)
    with config_context(enable_metadata_routing=True):
        model = FairFrontier(LogisticRegression()).set_fit_request(sensitive_features=True)
        found = cross_validate(model, X, y, params={"sensitive_features": a}, cv=3, error_score="raise")
    assert len(found["test_score"]) == 3


@pytest.mark.filterwarnings("ignore:the plain classifier gives nearly all rows one class")
def test_the_users_weights_go_to_every_fit():
    X, y, a = people(600)
    weight = np.where(y == 1, 50.0, 1.0)
    model = FairFrontier(LogisticRegression()).fit(X, y, sensitive_features=a, sample_weight=weight)
    assert model.predict_proba(X)[:, 1].mean() > 0.7


def test_a_progress_bar_stands_on_standard_error_and_only_when_asked_for(capsys):
    X, y, a = people(400)
    FairFrontier(LogisticRegression()).fit(X, y, sensitive_features=a)
    assert capsys.readouterr() == ("", "")
    FairFrontier(LogisticRegression(), verbose=True).fit(X, y, sensitive_features=a)
    out, err = capsys.readouterr()
    assert out == ""
    assert "3/3" in err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": LinearSVC()}, "estimator LinearSVC gives no probabilities; expected a classifier with"),
        ({"estimator": LogisticRegression}, "expected an instance of a classifier"),
        ({"aim": "fairness"}, "aim is 'fairness'; expected one of 'worst_group'"),
        ({"accuracy_drop": 2}, "accuracy_drop is 2; expected a share"),
        ({"confidence": 0.2}, "confidence is 0.2; expected a share from 0.5 up"),
        ({"folds": 1}, "folds is 1; expected a whole number from 2 up"),
        ({"factorisation": "wild"}, "factorisation is 'wild'; expected 'chain' or 'joint'"),
    ],
)
def test_a_parameter_that_means_nothing_is_named(parameters, message):
    X, y, a = people(100)
    model = FairFrontier(**{"estimator": LogisticRegression(), **parameters})
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y, sensitive_features=a)


def test_boosting_is_softened_for_the_attribute_where_the_user_has_not_set_it():
    pipeline = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(random_state=3))
    softened = soften(pipeline)[-1].get_params()
    assert softened["early_stopping"] is True
    assert softened["random_state"] == 3
    assert pipeline[-1].early_stopping == "auto"
    assert soften(HistGradientBoostingClassifier(max_iter=10)).early_stopping == "auto"
    assert soften(LogisticRegression()).get_params() == LogisticRegression().get_params()


@pytest.mark.filterwarnings("error")
def test_without_a_gain_that_the_rows_support_the_classifier_is_the_plain_one():
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(900, 2)), rng.integers(0, 2, 900)
    y = (X[:, 0] + rng.normal(size=900) > 0).astype(int)  # the attribute has nothing to do with it
    with pytest.warns(UserWarning, match="the classifier is the plain one: .* with 900 rows"):
        model = FairFrontier(LogisticRegression(), aim="demographic_parity").fit(X, y, sensitive_features=a)
    np.testing.assert_array_equal(model.weights_, 1)
    assert model.frontier_.chosen == model.frontier_.plain
    assert model.promise_.metrics == model.promise_.plain
    assert model.promise_.accuracy_loss.value == 0


def test_a_plain_classifier_that_selects_nobody_is_named():
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(3000, 2)), rng.integers(0, 2, 3000)
    y = (rng.random(3000) < 0.06).astype(int)
    with pytest.warns(UserWarning, match="gives nearly all rows one class"):
        FairFrontier(LogisticRegression()).fit(X, y, sensitive_features=a)


def test_one_posterior_fitted_to_all_rows_can_be_deployed():
    X, y, a = people(1500)
    single = FairFrontier(LogisticRegression(), ensemble=False).fit(X, y, sensitive_features=a)
    assert len(single.models_) == 1
    alone = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(single.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(single.plain().predict(X), alone.predict(X))


@pytest.mark.parametrize("guard", ["worst", "groups", "cells"])
def test_each_guard_keeps_what_it_protects_on_new_rows(guard):
    X, y, a = people(6000)
    model = FairFrontier(
        LogisticRegression(), aim="demographic_parity", accuracy_drop=0.05, guard=guard, worst_group_drop=0.02
    ).fit(X, y, sensitive_features=a)
    X, y, a = people(30_000, seed=3)
    before, after = (each.predict(X) == y for each in (model.plain(), model))
    fall = np.array(
        [[before[(y == c) & (a == g)].mean() - after[(y == c) & (a == g)].mean() for g in (0, 1)] for c in (0, 1)]
    )
    if guard == "cells":
        assert fall.max() <= 0.02
    elif guard == "groups":
        assert max(before[a == g].mean() - after[a == g].mean() for g in (0, 1)) <= 0.02
    else:
        worst = [min(each[(y == c) & (a == g)].mean() for c in (0, 1) for g in (0, 1)) for each in (before, after)]
        assert worst[0] - worst[1] <= 0.02


def test_a_fitted_classifier_says_what_it_chose_and_what_to_expect(fitted):
    shown, gap = repr(fitted), "equalized_odds_gap"
    before, after = (100 * each[gap].value for each in (fitted.promise_.plain, fitted.promise_.metrics))
    assert shown.startswith("FairFrontier(accuracy_drop=0.02, estimator=LogisticRegression())\n")
    assert f"groups: {', '.join(fitted.groups_)}" in shown
    assert "asked: best equalized-odds gap (sum), at most 2 points of accuracy lost\n" in shown
    assert "guard: fall of the worst-served group at most 0 points" in shown
    assert "guard: none" in repr(fitted.choose(worst_group_drop=None))
    assert f"equalized-odds gap (sum): {before:.1f} % -> {after:.1f} % expected" in shown
    assert "demographic-parity gap at most 5.0 %" in repr(fitted.choose(at_most={"demographic_parity": 0.05}))
    assert "<p>groups: " in fitted._repr_html_()
    assert "groups" not in repr(clone(fitted))
    assert fitted.plot().get_ylabel() == "equalized-odds gap (sum) (%)"


def test_a_classifier_without_groups_says_that_nothing_was_mitigated():
    X, y, _ = people(300)
    with pytest.warns(UserWarning, match="sensitive_features is None"):
        model = FairFrontier(LogisticRegression()).fit(X, y)
    assert "nothing was mitigated" in repr(model)
    with pytest.raises(ValueError, match="has no points"):
        model.plot()


def test_a_classifier_that_stays_plain_says_why(fitted):
    kept = fitted.choose(accuracy_drop=0.0, worst_group_drop=0.0, guard="cells")
    assert not kept.choice_.place
    assert f"the plain classifier, nothing was mitigated: {kept.choice_.reason}" in repr(kept)


def test_a_notebook_shows_the_promise_as_a_table(fitted):
    promise = fitted.promise_
    shown = promise._repr_html_()
    assert repr(promise) == str(promise)
    for each in (promise.plain["accuracy"], promise.metrics["accuracy"], promise.accuracy_loss):
        assert f"<td>{str(each).strip()}</td>" in shown
