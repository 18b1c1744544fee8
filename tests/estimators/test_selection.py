"""Who trains and who validates, which point is kept, and what the history says of it."""

import math

import numpy as np
import pytest

from crowd import crowd
from raan.estimators import RAANClassifier
from raan.estimators.network import divide
from raan.fairness.counts import count
from raan.fairness.frontier import Frontier
from raan.fairness.measures import MEASURES
from raan.fairness.metrics import metrics

AIMS = {
    "worst_group": lambda point: -point.worst_group_accuracy,
    "equalized_odds": lambda point: point.equalized_odds_gap,
    "demographic_parity": lambda point: point.demographic_parity_gap,
}


def fitted(rows=600, **settings):
    X, y, a = crowd(rows)
    defaults = dict(hidden_layer_sizes=(8,), head_layer_sizes=(), epochs=8, lr=5e-3, strength=1.0, random_state=0)
    return RAANClassifier(**defaults | settings).fit(X, y, sensitive_features=a)


@pytest.mark.parametrize("fraction", [0.1, 0.3])
def test_every_cell_is_divided_alike_and_no_row_is_in_both_parts(fraction):
    _, y, a = crowd(500, classes=3)
    a[::7] = -1  # unknown attributes are a cell too
    train, validation, test = (part[0].numpy() for part in divide(y, a, np.arange(500), fraction, seed=3))
    assert sorted([*train, *validation]) == list(range(500))
    assert test.size == 0
    for cell in {*zip(y, a, strict=True)}:
        size = sum(1 for pair in zip(y, a, strict=True) if pair == cell)
        held = sum(1 for pair in zip(y[validation], a[validation], strict=True) if pair == cell)
        assert held == max(1, round(fraction * size))
    assert not np.array_equal(divide(y, a, np.arange(500), fraction, seed=4).validation[0], validation)


def test_a_cell_of_two_rows_is_in_both_parts_and_one_of_a_single_row_trains():
    y, a = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 0, 0, 1])
    train, validation, _ = divide(y, a, np.arange(6), 0.1, seed=0)
    assert {2, 5} <= set(train[0].tolist())
    assert len(validation[0]) == 2
    assert set(y[validation[0]]) == {0, 1}


def test_rows_that_are_left_out_are_in_neither_part():
    _, y, a = crowd(100)
    train, validation, _ = divide(y, a, np.arange(0, 100, 2), 0.2, seed=0)
    assert not any(row % 2 for part in (train, validation) for row in part[0].tolist())


@pytest.mark.parametrize("aim", AIMS)
def test_the_point_kept_is_the_best_one_for_the_aim_within_the_allowance(aim):
    history = fitted(aim=aim, accuracy_drop=0.15).frontier_
    path = [point for point in history if point.stage == "raan"]
    allowed = [point for point in path if point.accuracy >= history.plain.accuracy - 0.15 - 1e-9]
    assert history.chosen == min(allowed, key=AIMS[aim])
    assert history.plain == path[0]
    assert len(path) > 20
    assert history.chosen != path[0]  # else this says little


def test_the_model_kept_is_the_one_at_the_selected_point():
    X, y, a = crowd(600)
    model = fitted(accuracy_drop=0.15)
    rows = divide(y, a, np.arange(600), 0.1, seed=0).validation[0]
    judged = metrics(count(y[rows], a[rows], model.predict(X[rows]), 2, 2))
    selected = model.frontier_.chosen
    assert judged.accuracy == selected.accuracy
    assert judged.worst_group_accuracy == selected.worst_group_accuracy
    assert judged.equalized_odds_gap == selected.equalized_odds_gap
    assert judged.demographic_parity_gap == selected.demographic_parity_gap


def test_an_allowance_of_nothing_keeps_the_accuracy_of_plain_training():
    history = fitted(accuracy_drop=0.0).frontier_
    assert history.chosen.accuracy >= history.plain.accuracy


def test_without_an_aim_the_last_point_is_kept():
    history = fitted(aim=None).frontier_
    assert history.chosen == history[-1]
    assert history.chosen.step == 8 * math.ceil(540 / 64)


def test_without_validation_rows_every_row_trains_and_there_is_no_history():
    model = fitted(aim=None, validation_fraction=0.0)
    assert model.frontier_ == Frontier.empty()
    assert model.frontier_.traded == {}
    assert str(model.frontier_) == "no rows were evaluated, so there is no trade-off"
    assert model.frontier_.to_frame().empty
    assert not np.array_equal(model.predict_proba(crowd(600).X), fitted(aim=None).predict_proba(crowd(600).X))


def test_the_history_tells_what_was_traded():
    history = fitted(accuracy_drop=0.15).frontier_
    start, selected = history.traded["worst_group_accuracy"]
    assert (start, selected) == (history.plain.worst_group_accuracy, history.chosen.worst_group_accuracy)
    assert selected > start
    assert set(history.traded) == {measure.metric for measure in MEASURES}
    assert f"worst-group accuracy {100 * start:.1f} -> {100 * selected:.1f} %" in str(history)
    assert f"step {history.chosen.step} chosen" in str(history)


def test_the_history_as_a_frame_has_a_row_a_point_and_marks_the_selected_one():
    history = fitted(accuracy_drop=0.15).frontier_
    frame = history.to_frame()
    assert len(frame) == len(history)
    assert list(frame.stage.unique()) == ["plain", "raan"]
    (row,) = frame[frame.chosen].to_dict("records")
    assert {name: row[name] for name in history.chosen.to_dict()} == history.chosen.to_dict()


def test_plain_training_ends_where_debiasing_starts():
    history = fitted().frontier_
    last_plain = [point for point in history if point.stage == "plain"][-1]
    assert np.array_equal(history.plain.counts, last_plain.counts)
    assert history.plain.step == 0


@pytest.mark.parametrize("aim", ["worst_group", "equalized_odds"])
def test_where_the_aim_is_undefined_a_warning_says_why_and_the_last_point_within_is_kept(aim):
    X, y, a = crowd(300, classes=3)
    a[y == 2] = 0  # a cell that does not occur
    model = RAANClassifier((8,), aim=aim, epochs=3, strength=1.0, random_state=0, accuracy_drop=0.04)
    with pytest.warns(
        UserWarning, match=rf"aim='{aim}' is undefined .*\(no sample of class '2' with attribute '1'\)"
    ):
        history = model.fit(X, y, sensitive_features=a).frontier_
    path = [point for point in history if point.stage == "raan"]
    assert history.chosen == [p for p in path if p.accuracy >= history.plain.accuracy - 0.04 - 1e-9][-1]
