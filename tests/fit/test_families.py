import numpy as np

from raan.fit.families import BOOSTING, estimate_seconds, fit_in_time


def test_a_family_judges_every_training_row_by_a_model_that_has_not_seen_it(boosting, rows):
    judge, features = boosting.frontier.evaluation_, rows.features(rows.training)
    assert judge.rows == len(rows.training)
    said = np.stack([model(features) for model in boosting.frontier.models_])
    differs = np.abs(said - judge.posterior).max((2, 3))
    assert np.allclose(differs.min(0), 0)  # one of the folds said so
    right = (judge.posterior.sum(2).argmax(1) == judge.label).mean()
    seen = (said.mean(0).sum(2).argmax(1) == judge.label).mean()
    assert right < seen


def test_fewer_rows_are_taken_where_all_would_take_too_long_each_cell_in_proportion(rows):
    whole = len(rows.training)
    assert fit_in_time(lambda size: 1.0, rows, 2.0) is rows
    assert len(fit_in_time(lambda size: size, rows, 100.0).training) == whole  # never fewer than the least
    few = rows.few(360)
    assert len(few.training) == 360
    assert set(few.training) <= set(rows.training)
    assert np.array_equal(few.test, rows.test)

    def shares(some):
        return np.bincount(2 * some.label(some.training) + some.group(some.training)) / len(some.training)

    assert np.allclose(shares(few), shares(rows), atol=0.01)


def test_a_larger_table_is_estimated_to_take_longer(rows):
    seconds = estimate_seconds(BOOSTING, rows)
    assert 0 < seconds(700) < seconds(70_000) < seconds(700_000)
