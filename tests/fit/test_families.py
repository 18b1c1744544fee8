import numpy as np

from raan.fit.families import BOOSTING, MAX_SHARE, Pace, fit_family


def test_a_family_judges_every_training_row_by_a_model_that_has_not_seen_it(boosting, rows):
    judge, features = boosting.frontier.evaluation_, rows.features(rows.training)
    assert judge.rows == len(rows.training)
    said = np.stack([model(features) for model in boosting.frontier.models_])
    differs = np.abs(said - judge.posterior).max((2, 3))
    assert np.allclose(differs.min(0), 0)  # one of the folds said so
    right = (judge.posterior.sum(2).argmax(1) == judge.label).mean()
    seen = (said.mean(0).sum(2).argmax(1) == judge.label).mean()
    assert right < seen


def test_some_rows_train_one_posterior_and_all_others_evaluate_it(rows):
    family = fit_family(BOOSTING, rows, {}, train_size=500)
    evaluation = family.frontier.evaluation_
    assert evaluation.rows == len(rows.training) - 500
    assert len(family.frontier.models_) == 1
    assert (family.frontier.points_.counts.sum((1, 2, 3)) == evaluation.rows).all()


def test_fewer_rows_train_where_more_would_take_too_long():
    pace = Pace(fixed=0.1, learning=1e-4, asking=1e-5, test=1_000)
    assert pace.find_train_size(100_000, 1e6) == MAX_SHARE * 100_000
    assert pace.find_train_size(100_000, 0.0) == 5_000  # never fewer
    size = pace.find_train_size(100_000, 8.0)
    assert 5_000 < size < 75_000
    assert pace.held_out(size, 100_000 - size) <= 8 < pace.held_out(int(1.1 * size), 100_000 - size)


def test_a_part_of_the_rows_has_each_cell_in_proportion(rows):
    few = rows.few(360)
    assert len(few.training) == 360
    assert set(few.training) <= set(rows.training)
    assert np.array_equal(few.test, rows.test)

    def shares(some):
        return np.bincount(2 * some.label(some.training) + some.group(some.training)) / len(some.training)

    assert np.allclose(shares(few), shares(rows), atol=0.01)


def test_a_larger_table_is_estimated_to_take_longer(rows):
    pace = Pace.measure(BOOSTING, rows)
    for seconds in (pace.in_folds, lambda size: pace.held_out(size, size)):
        assert 0 < seconds(700) < seconds(70_000) < seconds(700_000)
