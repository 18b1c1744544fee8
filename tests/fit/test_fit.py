from dataclasses import replace

import numpy as np
import pytest

from fit.conftest import SOURCE
from raan.fit.clock import Clock
from raan.fit.fit import FitOptions, expect_with_known_groups, fit

OPTIONS = FitOptions("demographic_parity", accuracy_drop=0.03, seconds=0)


def test_without_time_there_is_boosting_and_its_whole_trade_off(loaded):
    found = fit(loaded, OPTIONS, Clock(0), SOURCE)
    assert found.outcome.facts.trained == ("gradient boosting",)
    assert len(found.outcome.test) > 20


def test_test_rows_neither_train_nor_choose(loaded):
    """Whatever the labels of test rows are, the same point is chosen."""
    codes = loaded.label.codes.copy()
    codes[loaded.split.test] = 1 - codes[loaded.split.test]
    other = replace(loaded, label=replace(loaded.label, codes=codes))
    first, second = (fit(each, OPTIONS, Clock(0), SOURCE) for each in (loaded, other))
    assert first.outcome.place == second.outcome.place > 0
    assert np.array_equal(first.model.classifier.weights_, second.model.classifier.weights_)
    assert not np.array_equal(first.outcome.test, second.outcome.test)


def test_knowing_the_groups_of_new_rows_is_expected_to_be_at_least_about_as_good(boosting):
    known = expect_with_known_groups(boosting)
    assert set(known) == {"worst_group", "demographic_parity", "equalized_odds", "equal_opportunity"}
    promised = boosting.frontier.promise_.metrics["demographic_parity_gap"].value
    assert known["demographic_parity"] < promised + 0.05


def test_an_interruption_before_the_first_family_passes(loaded):
    def interrupt(*shown):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(loaded, FitOptions(seconds=60), Clock(60, interrupt), SOURCE)


def test_the_models_decide_on_test_rows_as_the_outcome_counts_them(fitted, rows):
    features, label, group = rows.features(rows.test), rows.label(rows.test), rows.group(rows.test)
    for model, place in ((fitted.model, fitted.outcome.place), (fitted.baseline, 0)):
        decided = np.asarray(model.classifier.predict(features)).astype(int)
        expected = np.zeros((2, 3, 2))
        for y, a, d in zip(label, group, decided, strict=True):
            expected[y, a, d] += 1
        assert np.array_equal(expected, fitted.outcome.test[place])
