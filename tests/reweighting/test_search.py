"""How weights and threshold are tuned to an aim."""

import numpy as np
import pytest
from joblib import parallel_config
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from raan import load, metrics
from raan.fairness.aims import AIMS
from raan.fairness.rule import Rule
from raan.reweighting import AANReweighting
from raan.reweighting.judge import Judged, count_by_threshold
from raan.reweighting.search import Refits, search
from raan.wrap.fitting import stratified_folds
from reweighting.people import Memory, Mute, people


def _measure(aim, y, predicted, a):
    return getattr(metrics, AIMS[aim].metric)(y, predicted, sensitive_features=a)


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), HistGradientBoostingClassifier(max_iter=10, random_state=0)]
)
def test_it_improves_its_aim_on_rows_it_has_not_seen(estimator, aim):
    X, y, a = people(3000)
    unseen, truth, groups = people(6000, seed=1)
    plain = estimator.fit(X, y)
    model = AANReweighting(estimator, aim=aim, accuracy_drop=0.03).fit(X, y, sensitive_features=a)
    before = _measure(aim, truth, plain.predict(unseen), groups)
    after = _measure(aim, truth, model.predict(unseen), groups)
    better = after - before if aim == "worst_group" else before - after
    least = {"equalized_odds": 0.1, "demographic_parity": 0.07, "worst_group": 0.15, "equal_opportunity": 0.07}
    assert better > least[aim]
    assert model.score(unseen, truth) > plain.score(unseen, truth) - 0.05


def test_the_path_begins_with_the_plain_estimator_and_the_choice_keeps_its_allowance():
    X, y, a = people(3000)
    predicted = _unseen(LogisticRegression(), X, y, a, 3).argmax(1)
    for drop in (0.0, 0.01, 0.05):
        path = (
            AANReweighting(LogisticRegression(), aim="equalized_odds", accuracy_drop=drop)
            .fit(X, y, sensitive_features=a)
            .frontier_
        )
        assert path[0] == path.plain
        assert (path.plain.fit, path.plain.threshold) == (0, 0.5)
        assert path.plain.accuracy == pytest.approx((predicted == y).mean())
        assert path.plain.equalized_odds_gap == pytest.approx(
            metrics.equalized_odds_gap(y, predicted, sensitive_features=a)
        )
        assert path.chosen.accuracy >= path.plain.accuracy - drop
        assert path.chosen.equalized_odds_gap <= path.plain.equalized_odds_gap


def test_the_choice_is_what_is_refitted_and_its_threshold_what_predicts():
    X, y, a = people(3000)
    model = AANReweighting(LogisticRegression(), aim="worst_group", accuracy_drop=0.02).fit(
        X, y, sensitive_features=a
    )
    chosen = model.frontier_.chosen
    assert model.threshold_ == chosen.threshold != 0.5
    probability = LogisticRegression().fit(X, y, sample_weight=model.sample_weight_).predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), probability)
    np.testing.assert_array_equal(model.predict(X), probability[:, 1] > model.threshold_)
    judged = _unseen(LogisticRegression(), X, y, a, 3, model.sample_weight_)[:, 1] > model.threshold_
    assert (judged == y).mean() == pytest.approx(chosen.accuracy)
    assert metrics.worst_group_accuracy(y, judged, sensitive_features=a) == pytest.approx(
        chosen.worst_group_accuracy
    )


def test_scores_are_decision_functions_where_there_are_no_probabilities():
    X, y, a = people(2000)
    model = AANReweighting(LinearSVC(), aim="demographic_parity", accuracy_drop=0.05).fit(
        X, y, sensitive_features=a
    )
    assert model.frontier_.plain.threshold == 0.0
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > model.threshold_)
    assert model.frontier_.chosen.demographic_parity_gap < model.frontier_.plain.demographic_parity_gap - 0.1


def test_tuning_twice_gives_the_same_to_the_last_bit():
    X, y, a = people(400)
    for estimator in (LogisticRegression(), HistGradientBoostingClassifier(max_iter=5, random_state=0)):
        model = AANReweighting(estimator, aim="equalized_odds", folds=2)
        first = clone(model).fit(X, y, sensitive_features=a)
        with parallel_config("threading"):
            second = model.set_params(n_jobs=2).fit(X, y, sensitive_features=a)
        assert first.frontier_ == second.frontier_
        np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
        np.testing.assert_array_equal(first.predict(X), second.predict(X))


def test_a_progress_bar_stands_on_standard_error_and_only_when_asked_for(capsys):
    X, y, a = people(400)
    model = AANReweighting(LogisticRegression(), aim="equalized_odds", folds=2).fit(X, y, sensitive_features=a)
    assert capsys.readouterr() == ("", "")
    model.set_params(verbose=True).fit(X, y, sensitive_features=a)
    out, err = capsys.readouterr()
    assert out == ""
    refits = len({point.fit for point in model.frontier_}) - 1
    assert f"{2 * (1 + refits)}/{MOST}" in err


MOST = 2 * (1 + 3 + 2)
"""Fits in two folds: the posterior, three weights, and two temperatures."""


def test_a_function_follows_the_search_and_what_it_raises_ends_it():
    X, y, a = people(400)
    seen = []
    model = AANReweighting(
        LogisticRegression(),
        aim="equalized_odds",
        accuracy_drop=0.1,
        worst_group_drop=None,
        confidence=0.5,
        folds=2,
    )
    model.set_params(verbose=lambda done, most: seen.append((done, most))).fit(X, y, sensitive_features=a)
    refits = len({point.fit for point in model.frontier_}) - 1
    assert seen == [(done, MOST) for done in range(2 * (1 + refits) + 1)]

    def stop(done, most):
        if done == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        model.set_params(verbose=stop).fit(X, y, sensitive_features=a)


def test_a_classifier_fitted_elsewhere_predicts_by_its_threshold_and_can_be_saved(tmp_path):
    X, y, _ = people(400)
    fitted = LogisticRegression().fit(X, y)
    plain, lenient = (AANReweighting.from_fitted(LogisticRegression(), fitted, cut) for cut in (None, 0.2))
    np.testing.assert_array_equal(plain.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(lenient.predict(X), fitted.predict_proba(X)[:, 1] > 0.2)
    lenient.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), lenient.predict(X))


def test_it_neither_reads_nor_moves_the_global_random_state():
    X, y, a = people()
    model = AANReweighting(DecisionTreeClassifier(max_depth=3, random_state=0), aim="worst_group")
    np.random.seed(0)  # noqa: NPY002
    first = model.fit(X, y, sensitive_features=a).frontier_
    after = np.random.random()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    assert np.random.random() == after  # noqa: NPY002
    assert model.fit(X, y, sensitive_features=a).frontier_ == first
    assert model.set_params(random_state=1).fit(X, y, sensitive_features=a).frontier_ != first


def test_rows_are_judged_by_models_that_have_not_seen_them():
    X, y, a = people()
    X += 1e-6 * np.arange(len(X))[:, None]  # no two rows alike
    path = AANReweighting(Memory(), aim="worst_group").fit(X, y, sensitive_features=a).frontier_
    # It is right about all it has seen, and says "no" to all else: only so can its accuracy be the share of "no".
    assert path.plain.accuracy == pytest.approx((y == 0).mean())
    assert path.plain.worst_group_accuracy == 0


def test_rows_are_left_out_in_as_many_folds_as_are_asked_for():
    X, y, a = people(400)
    path = (
        AANReweighting(LogisticRegression(), aim="worst_group", folds=5).fit(X, y, sensitive_features=a).frontier_
    )
    assert path.plain.accuracy == pytest.approx((_unseen(LogisticRegression(), X, y, a, 5).argmax(1) == y).mean())
    assert path.plain.accuracy != pytest.approx(LogisticRegression().fit(X, y).score(X, y))


def _unseen(estimator, X, y, a, folds, weight=None):
    """The probabilities that models fitted without a row's fold give it, by a plain loop."""
    fold = stratified_folds(y * (a.max() + 2) + a + 1, folds, 0)
    probability = np.empty((len(y), y.max() + 1))
    for each in range(folds):
        seen = fold != each
        model = clone(estimator).fit(X[seen], y[seen], None if weight is None else weight[seen])
        probability[~seen] = model.predict_proba(X[~seen])
    return probability


def test_folds_hold_every_cell_in_proportion():
    cell = np.random.default_rng(0).choice(6, 500, p=[0.5, 0.3, 0.1, 0.06, 0.03, 0.01])
    fold = stratified_folds(cell, 3, 0)
    for each in range(6):
        counts = np.bincount(fold[cell == each], minlength=3)
        assert counts.max() - counts.min() <= 1
    assert (stratified_folds(cell, 3, 0) == fold).all()
    assert (stratified_folds(cell, 3, 1) != fold).any()


@pytest.mark.parametrize("rows", [3, 50, 3000])
def test_counts_by_threshold_agree_with_a_loop(rows):
    rng = np.random.default_rng(rows)
    score = np.round(rng.random(rows), 2 if rows == 50 else 12)  # with ties, and without
    label, group = rng.integers(0, 2, rows), rng.integers(-1, 3, rows)
    label[:2], group[0] = (0, 1), 2
    plain = rng.random(rows) < 0.7
    judged = count_by_threshold(score, label, group, 0.5, plain)
    assert judged.threshold[0] == 0.5
    assert len(judged.threshold) <= 1001
    for place in range(0, len(judged.threshold), max(1, len(judged.threshold) // 20)):
        predicted = score > judged.threshold[place]
        for c in range(2):
            for g in (0, 1, 2, -1):
                here = (label == c) & (group == g)
                assert judged.counts[place, c, g].tolist() == [(here & ~predicted).sum(), (here & predicted).sum()]
                assert judged.switched[place, c, g] == (here & ((predicted == label) != plain)).sum()


def test_every_order_of_the_scores_has_its_threshold():
    score = np.array([0.1, 0.4, 0.4, 0.9])
    label, group = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    judged = count_by_threshold(score, label, group, 0.5, label == 1)
    assert {tuple(score > t) for t in judged.threshold} >= {(False, True, True, True), (False, False, False, True)}


class Problem:
    """A frontier of which the plain point, a good one and a better one are known, and refits that fall short."""

    rows = np.array([[600.0, 600.0, 0.0], [400.0, 400.0, 0.0]])
    weights = np.array([[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [2.0, 1.0]], [[1.0, 1.0], [3.0, 1.0]]])
    rates = np.array([[[0.9, 0.9], [0.4, 0.7]], [[0.86, 0.86], [0.6, 0.7]], [[0.8, 0.84], [0.65, 0.7]]])

    def counts(self, rates):
        """The counts of rates of right decisions."""
        right = np.concatenate([rates, np.zeros((*rates.shape[:-1], 1))], axis=-1) * self.rows
        wrong = self.rows - right
        return np.stack([np.stack([right[..., 0, :], wrong[..., 0, :]], -1),
                         np.stack([wrong[..., 1, :], right[..., 1, :]], -1)], axis=-3)  # fmt: skip

    def judged(self, rates):
        return Judged(np.array([0.5]), self.counts(np.array([rates])), np.zeros((1, 2, 3)))

    def search(self, short):
        """The weights that are refitted when each refit falls short of its rates by some."""
        plans = []

        def refit(plan):
            plans.append(plan)
            place = np.abs(self.weights - plan.cells / plan.cells[0, 0]).sum((1, 2)).argmin()
            return self.judged(self.rates[place] - short)

        refits = Refits(Rule("worst_group", 0.02), refit, self.judged(self.rates[0]))
        search(refits, self.weights, self.counts(self.rates), np.zeros((3, 2, 3)), has_threshold=True)
        return plans, refits


def test_a_refit_that_keeps_its_promise_is_the_only_one():
    plans, _ = Problem().search(0.0)
    (plan,) = plans
    assert plan.temperature == np.inf
    np.testing.assert_allclose(plan.cells / plan.cells[0, 0], Problem.weights[2])
    size = Problem.rows[:, :2]
    assert (plan.cells * size).sum() == pytest.approx(size.sum()), "the mean is 1"


def test_where_a_refit_falls_short_what_it_lacks_is_taken_off_the_others_too():
    # Once the shortfall is known, the better point loses more accuracy than is allowed, and the good one does not.
    plans, refits = Problem().search(np.array([[0.05, 0.05], [0.0, 0.0]]))
    ratios = [plan.cells[1, 0] / plan.cells[0, 0] for plan in plans]
    np.testing.assert_allclose(ratios, [3, 2])
    assert refits.frontier(("a", "b", "c", "d")).chosen.fit == 2


def test_temperatures_follow_where_nothing_keeps_the_promise(monkeypatch):
    monkeypatch.setattr("raan.reweighting.search.HANDFUL", 1)
    plans, _ = Problem().search(0.3)
    assert [plan.temperature for plan in plans] == [np.inf, 0.5, 0.2]
    monkeypatch.setattr("raan.reweighting.search.FEWEST_ROWS", 1000)
    plans, _ = Problem().search(0.3)
    assert [plan.temperature for plan in plans] == [np.inf]


def test_a_handful_is_refitted_and_a_pair_where_rows_are_many(monkeypatch):
    X, y, a = people(400)
    seen = []
    model = AANReweighting(LogisticRegression(), aim="equalized_odds", verbose=lambda _, most: seen.append(most))
    model.fit(X, y, sensitive_features=a)
    monkeypatch.setattr("raan.reweighting.search.FEW_ROWS", 100)
    monkeypatch.setattr("raan.reweighting.search.FEWEST_ROWS", 10)
    model.fit(X, y, sensitive_features=a)
    assert (seen[0], seen[-1]) == (3 * (1 + 3 + 2), 3 * (1 + 2))


def test_the_floor_and_the_margin_are_kept_on_the_rows_that_judge():
    X, y, a = people(2000)
    paid = {}
    for confidence in (0.5, 0.95):
        model = AANReweighting(
            LogisticRegression(), aim="demographic_parity", accuracy_drop=0.04, confidence=confidence
        )
        path = model.fit(X, y, sensitive_features=a).frontier_
        assert path.chosen.worst_group_accuracy >= path.plain.worst_group_accuracy
        paid[confidence] = path.plain.accuracy - path.chosen.accuracy
    assert 0 <= paid[0.95] < paid[0.5] <= 0.04


def test_a_choice_that_levels_down_warns():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 2000)
    y = (rng.random(2000) < np.where(a == 1, 0.4, 0.04)).astype(int)
    model = AANReweighting(
        LogisticRegression(), aim="demographic_parity", accuracy_drop=0.3, worst_group_drop=None
    )
    with (
        pytest.warns(UserWarning, match="one class for all"),
        pytest.warns(UserWarning, match="levels down"),
    ):
        model.fit(np.c_[y + rng.normal(size=2000), a], y, sensitive_features=a)


def test_weights_by_class_do_not_reach_the_models_of_groups():
    X, y, a = people()
    answer = np.array(["no", "yes"])[y]
    heavy = LogisticRegression(class_weight={"no": 1, "yes": 9})
    model = AANReweighting(heavy, aim="equalized_odds", accuracy_drop=0.02).fit(X, answer, sensitive_features=a)
    assert (model.predict(X) == "yes").mean() > 0.6


def test_an_estimator_without_scores_is_tuned_by_its_predictions_alone():
    X, y, a = people(2000)
    model = AANReweighting(Mute(), aim="worst_group", accuracy_drop=0.05).fit(X, y, sensitive_features=a)
    assert model.threshold_ is None
    assert model.frontier_.chosen.worst_group_accuracy > model.frontier_.plain.worst_group_accuracy + 0.05


def test_the_path_is_a_table_with_one_choice(tmp_path):
    X, y, a = people()
    model = AANReweighting(LogisticRegression(), aim="demographic_parity").fit(
        X, np.array(["no", "yes"])[y], sensitive_features=a
    )
    path = model.frontier_
    table = path.to_frame()
    assert len(table) == len(path)
    assert table["chosen"].sum() == 1
    row = table[table["chosen"]].iloc[0]
    assert row["allowed"]
    assert (row["threshold"], row["accuracy"]) == (path.chosen.threshold, path.chosen.accuracy)
    assert {"weight of no × 0", "weight of yes × 1", "temperature"} <= set(table)
    assert (table.loc[table["allowed"], "accuracy"] >= path.plain.accuracy - 0.005).all()
    assert path[-1] == path[1:][-1]
    assert "points" in repr(path)


def test_the_path_plots_itself(tmp_path):
    X, y, a = people()
    path = AANReweighting(LogisticRegression(), aim="demographic_parity").fit(X, y, sensitive_features=a).frontier_
    axes = path.plot()
    axes.figure.savefig(tmp_path / "path.png")
    assert axes.get_ylabel() == "demographic-parity gap (%)"
    (line,) = (line for line in axes.lines if line.get_label() == "trade-off")
    across, up = line.get_data()
    assert (np.diff(across) <= 0).all()
    assert (np.diff(up) < 0).all()
    own = Figure().subplots()
    assert path.plot(own) is own


def test_the_frontier_holds_no_point_that_another_betters():
    X, y, a = people()
    path = AANReweighting(LogisticRegression(), aim="worst_group").fit(X, y, sensitive_features=a).frontier_
    best = [path[place] for place in path.undominated()]
    for point in best:
        assert not any(
            p.accuracy >= point.accuracy and p.worst_group_accuracy > point.worst_group_accuracy for p in path
        )
    assert path.chosen in best


@pytest.mark.parametrize("aim", AIMS)
def test_more_than_two_classes_and_groups_are_tuned_without_a_threshold(aim):
    X, y, a = people(3000, groups=3)
    label = np.where((y == 1) & (X[:, 2] > 0), 2, y)
    model = AANReweighting(LogisticRegression(), aim=aim, accuracy_drop=0.04).fit(X, label, sensitive_features=a)
    assert model.threshold_ is None
    assert set(model.predict(X)) == {0, 1, 2}
    before, after = (getattr(point, AIMS[aim].metric) for point in (model.frontier_.plain, model.frontier_.chosen))
    assert (after - before if aim == "worst_group" else before - after) > 0.02
    judged = _unseen(LogisticRegression(), X, label, a, 3, model.sample_weight_).argmax(1)
    np.testing.assert_allclose(_measure(aim, label, judged, a), after)


def test_the_users_weights_are_part_of_every_fit():
    X, y, a = people()
    own = np.where(y == 1, 50.0, 1.0)
    for aim in (None, "worst_group"):
        model = AANReweighting(LogisticRegression(), aim=aim, accuracy_drop=0.0, strength=0.1)
        model.fit(X, y, sensitive_features=a, sample_weight=own)
        assert model.predict_proba(X)[:, 1].mean() > (0.7 if aim is None else 0.4)  # weights of cells are on top
    heavy = _unseen(LogisticRegression(), X, y, a, 3, own).argmax(1)
    assert model.frontier_.plain.accuracy == pytest.approx((heavy == y).mean())


def test_unknown_attributes_count_in_the_accuracy_only():
    X, y, a = people()
    known = a.astype(float)
    known[::3] = np.nan
    model = AANReweighting(LogisticRegression(), aim="worst_group")
    with pytest.warns(UserWarning, match="400 of 1200 samples keep weight 1: their attribute is unknown"):
        model.fit(X, y, sensitive_features=known)
    rest = np.isfinite(known)
    predicted = _unseen(LogisticRegression(), X, y, np.where(rest, a, -1), 3).argmax(1)
    assert model.frontier_.plain.accuracy == pytest.approx((predicted == y).mean())
    worst = metrics.worst_group_accuracy(y[rest], predicted[rest], sensitive_features=a[rest])
    assert model.frontier_.plain.worst_group_accuracy == pytest.approx(worst)
    if model.sample_weight_ is not None:
        assert (model.sample_weight_[::3] == 1).all()


def test_groups_too_rare_to_judge_by_are_named_and_left_out():
    X, y, a = people()
    group = np.array(["f", "m"], dtype=object)[a]
    group[:10] = "x"
    model = AANReweighting(LogisticRegression(), aim="equalized_odds")
    with pytest.warns(
        UserWarning, match="sensitive_features: x are too rare to judge the aim by, with fewer than 20"
    ):
        model.fit(X, y, sensitive_features=group)
    rest = group != "x"
    predicted = _unseen(LogisticRegression(), X, y, np.where(rest, a, -1), 3).argmax(1)
    gap = metrics.equalized_odds_gap(y[rest], predicted[rest], sensitive_features=group[rest])
    assert model.frontier_.plain.equalized_odds_gap == pytest.approx(gap)


def test_an_aim_that_compares_nothing_is_an_error():
    X, y, a = people()
    model = AANReweighting(LogisticRegression(), aim="equalized_odds")
    with pytest.raises(ValueError, match="sensitive_features: aim 'equalized_odds' compares groups, and 1 of 1"):
        model.fit(X, y, sensitive_features=np.zeros(len(y)))
    with pytest.raises(ValueError, match="0 of 2 attribute values have 20 rows or more of every class"):
        model.fit(X[:30], y[:30], sensitive_features=a[:30])
