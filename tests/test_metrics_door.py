import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import torch
from fairlearn import metrics as fairlearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raan.metrics import (
    UndefinedMetricWarning,
    accuracy,
    demographic_parity_gap,
    equalized_odds_gap,
    worst_group_accuracy,
)

GAPS = [demographic_parity_gap, equalized_odds_gap, worst_group_accuracy]


def people(rows=300, seed=0, groups=("f", "m")):
    rng = np.random.default_rng(seed)
    sex = rng.choice(groups, rows)
    y = (rng.random(rows) < np.where(sex == groups[0], 0.3, 0.6)).astype(int)
    prediction = np.where(rng.random(rows) < np.where(sex == groups[0], 0.7, 0.85), y, 1 - y)
    return y, prediction, sex


def test_the_numbers_are_those_of_scikit_learn_and_fairlearn():
    y, prediction, sex = people(groups=("a", "b", "c"))
    assert accuracy(y, prediction) == pytest.approx(accuracy_score(y, prediction))
    cells = [(y == c) & (sex == a) for c in (0, 1) for a in "abc"]
    worst = min(accuracy_score(y[cell], prediction[cell]) for cell in cells)
    assert worst_group_accuracy(y, prediction, sensitive_features=sex) == pytest.approx(worst)
    assert demographic_parity_gap(y, prediction, sensitive_features=sex) == pytest.approx(
        fairlearn.demographic_parity_difference(y, prediction, sensitive_features=sex)
    )
    assert equalized_odds_gap(y, prediction, sensitive_features=sex, aggregate="max") == pytest.approx(
        fairlearn.equalized_odds_difference(y, prediction, sensitive_features=sex)
    )


def test_the_gap_in_odds_is_the_papers_sum_unless_told_otherwise():
    y, prediction, sex = people()

    def rate(label, group):
        return prediction[(y == label) & (sex == group)].mean()

    parts = [abs(rate(label, "f") - rate(label, "m")) for label in (0, 1)]
    for aggregate, expected in [("sum", sum(parts)), ("max", max(parts)), ("mean", sum(parts) / 2)]:
        found = equalized_odds_gap(y, prediction, sensitive_features=sex, aggregate=aggregate)
        assert found == pytest.approx(expected)
    assert equalized_odds_gap(y, prediction, sensitive_features=sex) == pytest.approx(sum(parts))
    with pytest.raises(ValueError, match="aggregate is 'product'; expected one of 'sum', 'max', 'mean'"):
        equalized_odds_gap(y, prediction, sensitive_features=sex, aggregate="product")


@pytest.mark.parametrize("metric", GAPS)
def test_columns_of_any_kind_give_the_same_float(metric):
    y, prediction, sex = people()
    plain = metric(y, prediction, sensitive_features=sex)
    assert type(plain) is float
    words = np.array(["no", "yes"])
    assert metric(words[y], words[prediction], sensitive_features=sex.tolist()) == plain
    assert metric(torch.tensor(y), prediction.astype(bool), sensitive_features=pd.Series(sex)) == plain
    assert metric(pl.Series(y), pd.Series(prediction), sensitive_features=pl.DataFrame({"sex": sex})) == plain
    crossed = pd.DataFrame({"sex": sex, "planet": "earth"})
    assert metric(y, prediction, sensitive_features=crossed) == plain


@pytest.mark.parametrize(
    ("metric", "columns", "reason"),
    [
        (demographic_parity_gap, ([0, 1], [0, 1], ["a", "a"]), "only one attribute value, 'a'"),
        (equalized_odds_gap, ([0, 1, 0], [0, 1, 0], ["a", "a", "b"]), "no sample of class '1' with attribute 'b'"),
        (
            worst_group_accuracy,
            ([0, 1, 0], [0, 1, 0], ["a", "a", "b"]),
            "no sample of class '1' with attribute 'b'",
        ),
        (equalized_odds_gap, ([1, 1], [1, 1], ["a", "b"]), "only one class, '1', in y_true and y_pred"),
    ],
)
def test_an_undefined_metric_is_nan_with_the_reason(metric, columns, reason):
    y, prediction, group = columns
    with pytest.warns(UndefinedMetricWarning, match=f"{metric.__name__} is nan: {reason}"):
        assert math.isnan(metric(y, prediction, sensitive_features=group))


@pytest.mark.parametrize("metric", GAPS)
def test_groups_smaller_than_the_least_count_are_undefined(metric):
    y, prediction, sex = people(40)
    with pytest.warns(UndefinedMetricWarning, match=r"only \d+ samples .* \(min_count is 30\)"):
        assert math.isnan(metric(y, prediction, sensitive_features=sex, min_count=30))
    with pytest.raises(ValueError, match="min_count is 0; expected at least 1"):
        metric(y, prediction, sensitive_features=sex, min_count=0)


@pytest.mark.parametrize("metric", GAPS)
def test_samples_of_unknown_attribute_do_not_count(metric):
    y, prediction, sex = people()
    known = np.arange(300) % 3 > 0
    partly = np.where(known, sex, None)
    expected = metric(y[known], prediction[known], sensitive_features=sex[known])
    assert metric(y, prediction, sensitive_features=partly) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [accuracy, *GAPS])
def test_columns_of_different_lengths_are_an_error(metric):
    with pytest.raises(ValueError, match="y_true has 2, y_pred has 3"):
        metric([0, 1], [0, 1, 1], sensitive_features=["a", "b"])


# In other people's hands


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_a_grid_search_scores_with_routed_sensitive_features():
    rng = np.random.default_rng(0)
    y, _, sex = people(400)
    x = np.stack([y + rng.normal(size=400), (sex == "m") + 0.5 * rng.normal(size=400)], 1)
    scoring = {
        "accuracy": make_scorer(accuracy),
        "odds": make_scorer(equalized_odds_gap, greater_is_better=False, aggregate="max"),
        "worst": make_scorer(worst_group_accuracy),
    }
    for scorer in scoring.values():
        scorer.set_score_request(sensitive_features=True)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    folds = StratifiedKFold(3)
    search = GridSearchCV(
        pipeline, {"logisticregression__C": [1e-3, 1.0]}, scoring=scoring, refit="worst", cv=folds
    )
    search.fit(x, y, sensitive_features=sex)
    for place, setting in enumerate(search.cv_results_["params"]):
        for fold, (train, test) in enumerate(folds.split(x, y)):
            predicted = pipeline.set_params(**setting).fit(x[train], y[train]).predict(x[test])
            options = dict(sensitive_features=sex[test])
            expected = {
                "accuracy": accuracy_score(y[test], predicted),
                "odds": -equalized_odds_gap(y[test], predicted, aggregate="max", **options),
                "worst": worst_group_accuracy(y[test], predicted, **options),
            }
            for name, value in expected.items():
                assert search.cv_results_[f"split{fold}_test_{name}"][place] == pytest.approx(value)
    assert search.best_index_ == search.cv_results_["mean_test_worst"].argmax()


def test_a_metric_frame_gives_the_accuracy_of_each_group():
    y, prediction, sex = people()
    frame = fairlearn.MetricFrame(metrics=accuracy, y_true=y, y_pred=prediction, sensitive_features=sex)
    assert frame.overall == pytest.approx(accuracy_score(y, prediction))
    for group in ("f", "m"):
        assert frame.by_group[group] == pytest.approx(accuracy_score(y[sex == group], prediction[sex == group]))


def test_a_metric_frame_accepts_a_group_in_which_all_is_one_class():
    y, prediction, sex = np.array([1, 1, 0, 1]), np.array([1, 1, 1, 0]), np.array(["a", "a", "b", "b"])
    frame = fairlearn.MetricFrame(metrics=accuracy, y_true=y, y_pred=prediction, sensitive_features=sex)
    assert frame.by_group.to_dict() == {"a": 1.0, "b": 0.0}


def test_a_metric_frame_gives_gaps_within_the_levels_of_another_column():
    y, prediction, sex = people(600)
    region = np.where(np.arange(600) % 2, "north", "south")
    frame = fairlearn.MetricFrame(
        metrics={"gap": demographic_parity_gap},
        y_true=y,
        y_pred=prediction,
        sensitive_features=region,
        sample_params={"gap": {"sensitive_features": sex}},
    )
    for level in ("north", "south"):
        rows = region == level
        expected = demographic_parity_gap(y[rows], prediction[rows], sensitive_features=sex[rows])
        assert frame.by_group["gap"][level] == pytest.approx(expected)
