"""Any aim, performance, limit and positive class; weights and repeated persons; why decisions are changed."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import raan
from raan import measures as m
from raan.errors import InputError
from raan.fairness.counts import count, effective_weights
from raan.frontier.decide import Evaluation, decide
from raan.frontier.plan import RATIOS, find_reference
from raan.frontier.posterior import deal_folds

ROWS = 6_000


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, ROWS)
    y = (rng.random(ROWS) < np.where(group == 1, 0.45, 0.2)).astype(int)
    X = np.c_[y + rng.normal(0, 1.1, ROWS), group + rng.normal(0, 0.7, ROWS), rng.normal(0, 1, ROWS)]
    return X, y, group


@pytest.fixture(scope="module")
def fair(people):
    X, y, group = people
    with warnings.catch_warnings(action="ignore"):
        return raan.FairFrontier(LogisticRegression(), confidence=0.8).fit(X, y, sensitive_features=group)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings(action="ignore"):
        yield


def counts_of(model):
    frontier = model.frontier_
    return frontier.plain.counts, frontier.chosen.counts


@pytest.mark.parametrize(
    "aim",
    [
        "selection_rate.ratio",
        m.recall.min,
        "false_positive_rate.max",
        m.recall.gap,
        "recall.gap + specificity.gap",
    ],
)
def test_any_measure_that_compares_groups_can_be_the_aim(fair, aim):
    chosen = fair.choose(aim=aim, accuracy_drop=0.02)
    before, after = counts_of(chosen)
    goal = m.read_measure(aim)
    assert goal.gain(float(goal(after)) - float(goal(before))) > 0.005
    assert float(m.accuracy(after)) >= float(m.accuracy(before)) - 0.02
    assert chosen.promise_.metrics[goal.key].value == pytest.approx(float(goal(after)))


@pytest.mark.parametrize("name", ["balanced_accuracy", "f1", "cost(fp=1, fn=4)"])
def test_the_reference_of_a_performance_is_its_best_common_threshold(fair, name):
    evaluation, currency = fair.evaluation_, m.read_measure(name)
    found = find_reference(evaluation, currency)
    losses = []
    for ratio in RATIOS:
        decided = (evaluation.posterior[:, 1].sum(1) * ratio > evaluation.posterior[:, 0].sum(1)).astype(int)
        losses.append(float(currency.loss_of(count(evaluation.label, evaluation.group, decided, 2, 2))))
    assert found[1, 0] / found[0, 0] == pytest.approx(RATIOS[int(np.argmin(losses))])
    assert np.ptp(found, axis=1).max() == 0


@pytest.mark.parametrize(
    ("performance", "drop"), [(m.balanced_accuracy, 0.02), ("f1", 0.03), (m.cost(fp=1, fn=4), 0.03)]
)
def test_the_budget_is_of_the_performance_against_the_best_threshold_for_it(fair, performance, drop):
    chosen = fair.choose(aim="demographic_parity", performance=performance, max_drop=drop, worst_group_drop=None)
    before, after = counts_of(chosen)
    currency = m.read_measure(performance)
    assert currency.gain(float(currency(before)) - float(currency(after))) <= drop
    assert float(m.selection_rate.gap(after)) < float(m.selection_rate.gap(before)) - 0.02
    assert np.array_equal(chosen.points_.weights[0], find_reference(fair.evaluation_, currency))
    loss = chosen.promise_.performance_loss
    assert loss.low <= loss.value <= loss.high


def test_no_weights_of_a_grid_have_a_smaller_gap_within_a_budget_of_costs(fair):
    currency, evaluation = m.cost(fp=1, fn=4), fair.evaluation_
    chosen = fair.choose(aim="equal_opportunity", performance=currency, max_drop=0.02, worst_group_drop=None)
    points = chosen.points_
    loss = currency(points.expected) - currency(points.expected[0])
    best = float(m.recall.gap(points.expected)[loss <= 0.02].min())
    grid = np.geomspace(0.2, 20, 25)
    weights = np.ones((25 * 25, 2, 2))
    weights[:, 1] = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
    q = evaluation.posterior
    for each in weights:
        decided = decide(q, each)
        table = np.zeros((2, 3, 2))
        for k in range(2):
            table[:, :-1, k] = q[decided == k].sum(0)
        if float(currency(table)) - float(currency(points.expected[0])) <= 0.02:
            assert float(m.recall.gap(table)) >= best - 0.01


@pytest.mark.parametrize(
    ("side", "measure", "value"),
    [
        ("at_least", m.selection_rate.ratio, 0.7),
        ("at_most", m.selection_rate, 0.12),
        ("at_most", m.false_positive_rate.max, 0.06),
        ("at_least", m.precision, 0.68),
    ],
)
def test_a_limit_is_kept_at_the_least_cost(fair, side, measure, value):
    chosen = fair.choose(worst_group_drop=None, **{side: {measure: value}})
    limit = chosen.frontier_.rule.limits[0]
    before, after = counts_of(chosen)
    assert float(limit.spare(before)) < 0 <= float(limit.spare(after))
    assert chosen.choice_.place > 0
    # A stricter limit costs no less.
    strict = value * (1.05 if side == "at_least" else 0.9)
    stricter = fair.choose(worst_group_drop=None, **{side: {measure: strict}})
    assert float(m.accuracy(counts_of(stricter)[1])) <= float(m.accuracy(after)) + 1e-9


def test_a_limit_that_no_point_keeps_is_answered_with_the_nearest(fair):
    with pytest.warns(UserWarning, match=r"no point .* precision of at least 99.9 %, and the largest is \d"):
        assert fair.choose(at_least={"precision.min": 0.999}, worst_group_drop=None).choice_.place == 0


def test_several_limits_are_all_kept(fair):
    chosen = fair.choose(at_most={"demographic_parity": 0.15}, at_least={"accuracy": 0.7}, worst_group_drop=None)
    after = counts_of(chosen)[1]
    assert float(m.selection_rate.gap(after)) <= 0.15
    assert float(m.accuracy(after)) >= 0.7


def test_the_positive_class_is_the_one_that_is_named(people):
    X, y, group = people
    words = np.where(y == 1, "approve", "deny")
    turned = raan.FairFrontier(LogisticRegression(), aim="equal_opportunity", confidence=0.5, pos_label="approve")
    turned.fit(X, words, sensitive_features=group)
    usual = raan.FairFrontier(LogisticRegression(), aim="equal_opportunity", confidence=0.5)
    usual.fit(X, y, sensitive_features=group)
    assert turned.pos_label_ == "approve"
    assert turned.promise_.metrics["equal_opportunity_gap"].value == pytest.approx(
        usual.promise_.metrics["equal_opportunity_gap"].value, abs=0.01
    )
    with pytest.raises(InputError, match="pos_label is 'grant'; expected one of the classes 'approve', 'deny'"):
        raan.FairFrontier(LogisticRegression(), pos_label="grant").fit(X, words, sensitive_features=group)


def test_weights_count_in_the_evaluation(people, fair):
    X, y, group = people
    weight = np.random.default_rng(0).exponential(1, ROWS)
    weighted = raan.FairFrontier(LogisticRegression(), confidence=0.5)
    weighted.fit(X, y, sensitive_features=group, sample_weight=weight)
    decided = decide(weighted.evaluation_.posterior, weighted.weights_)
    scaled = effective_weights(weight, None, y * 3 + group + 1)
    expected = count(y, group, decided, 2, 2, scaled)
    np.testing.assert_allclose(weighted.frontier_.chosen.counts, expected)
    assert scaled.sum() < 0.6 * ROWS  # weights of an exponential distribution halve the effective sample size
    widths = [
        each.promise_.plain["accuracy"].high - each.promise_.plain["accuracy"].low for each in (weighted, fair)
    ]
    assert widths[0] > 1.2 * widths[1]


def test_all_rows_of_a_person_are_in_one_fold_and_count_as_one(people):
    person = np.random.default_rng(1).integers(0, 900, ROWS)
    fold = deal_folds(np.arange(ROWS) % 4, person, 3, seed=0)
    assert all(len({*fold[person == each]}) == 1 for each in np.unique(person))
    assert np.bincount(fold, minlength=3).min() > ROWS / 4
    X, y, group = people
    # The same people three times over: without the groups a third fold would know the others' answers.
    thrice = (np.concatenate([each] * 3) for each in people)
    X3, y3, group3 = thrice
    once = raan.FairFrontier(LogisticRegression()).fit(X, y, sensitive_features=group)
    again = raan.FairFrontier(LogisticRegression()).fit(
        X3, y3, sensitive_features=group3, groups=np.tile(np.arange(ROWS), 3)
    )
    assert again.frontier_.plain.counts.sum() == pytest.approx(ROWS)
    assert again.promise_.plain["accuracy"].value == pytest.approx(once.promise_.plain["accuracy"].value, abs=0.01)


def test_contributions_add_up_to_the_margin_and_name_no_probability_of_a_group(people, fair):
    X = people[0]
    chosen = fair.choose(aim="demographic_parity", accuracy_drop=0.03, worst_group_drop=None)
    table = chosen.explain(X)
    added = table[[name for name in table if name.startswith("added by")]].sum(axis=1)
    np.testing.assert_allclose(table["margin"], table["baseline_margin"] + added, atol=1e-12)
    assert np.array_equal(table["decision"], chosen.predict(X))
    assert np.array_equal(table["baseline"], chosen.plain().predict(X))
    assert np.array_equal(table["changed"], table["decision"] != table["baseline"])
    assert 0 < table["changed"].mean() < 0.3
    assert (table["margin"] >= -1e-9).all()
    assert (table.loc[table["changed"], "baseline_margin"] <= 1e-9).all()
    q = chosen.posterior(X)
    for column in table.select_dtypes("number"):
        assert not any(np.allclose(table[column], q.sum(1)[:, a]) for a in range(2))
    assert 0.5 < chosen.stability(X) <= 1


def test_goals_are_kept_in_a_file(people, fair, tmp_path):
    X = people[0]
    own = m.Rate("fn / (tn + fn)", "regret", better=False)
    chosen = fair.choose(aim=own.max, performance=m.cost(fp=1, fn=3), max_drop=0.05)
    limited = fair.choose(at_least={m.selection_rate.ratio: 0.6}, worst_group_drop=None)
    for place, model in enumerate((chosen, limited)):
        model.save(tmp_path / str(place))
        again = raan.load(tmp_path / str(place))
        assert np.array_equal(again.predict(X), model.predict(X))
        assert again.frontier_.rule.limits == model.frontier_.rule.limits
        assert again.frontier_.rule.goal == model.frontier_.rule.goal
        assert again.frontier_.rule.performance == model.frontier_.rule.performance
    again = raan.load(tmp_path / "1")
    assert again.choose(aim="precision.gap", accuracy_drop=0.02).choice_ is not None
    with pytest.raises(InputError, match=r"performance is 'f1'.*choose before saving"):
        again.choose(performance="f1", max_drop=0.01)


def test_more_than_two_classes_have_any_goal():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 5_000)
    y = np.clip(rng.integers(0, 2, 5_000) + (rng.random(5_000) < 0.2 + 0.3 * group), 0, 2)
    X = np.c_[y + rng.normal(0, 0.8, 5_000), group + rng.normal(0, 0.6, 5_000)]
    fair = raan.FairFrontier(LogisticRegression(), aim="recall.gap", accuracy_drop=0.03, confidence=0.5)
    fair.fit(X, y, sensitive_features=group)
    for model in (fair, fair.choose(aim="selection_rate.ratio", performance=m.balanced_accuracy, max_drop=0.05)):
        before, after = counts_of(model)
        goal = model.frontier_.rule.goal
        assert goal.gain(float(goal(after)) - float(goal(before))) > 0
    assert np.array_equal(fair.explain(X)["decision"], fair.predict(X))


def test_an_evaluation_with_weights_is_that_of_repeated_rows():
    rng = np.random.default_rng(2)
    q = rng.dirichlet(np.ones(4), 200).reshape(-1, 2, 2)
    y, a, times = rng.integers(0, 2, 200), rng.integers(-1, 2, 200), rng.integers(1, 4, 200)
    weights = rng.uniform(0.5, 2, (5, 2, 2))
    once = Evaluation(q, y, a, weight=times.astype(float)).count(weights)
    again = Evaluation(*(np.repeat(each, times, axis=0) for each in (q, y, a))).count(weights)
    for each in range(2):
        np.testing.assert_allclose(once[each], again[each])
