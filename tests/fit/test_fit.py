from dataclasses import replace

import numpy as np
import pytest

from raan.fit.clock import Clock
from raan.fit.fit import Wish, fit, tell_known


def test_without_time_there_is_boosting_and_its_whole_trade_off(loaded):
    found = fit(loaded, Wish("demographic_parity", accuracy_drop=0.03, seconds=0), Clock(0))
    assert [each.family.name for each in found.settled.trade_offs] == ["Boosting"]
    assert len(found.settled.best.test) > 20
    assert any("Networks were not trained" in text for text in found.notes)


def test_test_rows_neither_train_nor_choose(loaded):
    """Whatever the labels of test rows are, the same point is chosen."""
    codes = loaded.label.codes.copy()
    codes[loaded.split.test] = 1 - codes[loaded.split.test]
    other = replace(loaded, label=replace(loaded.label, codes=codes))
    wish = Wish("demographic_parity", accuracy_drop=0.03, seconds=0)
    first, second = (fit(each, wish, Clock(0)) for each in (loaded, other))
    assert first.settled.best.place == second.settled.best.place > 0
    assert np.array_equal(first.settled.best.frontier.weights_, second.settled.best.frontier.weights_)
    assert not np.array_equal(first.settled.best.test, second.settled.best.test)


def test_knowing_the_groups_of_new_rows_is_promised_at_least_about_as_much(boosting):
    known = tell_known(boosting)
    assert set(known) == {"worst_group", "demographic_parity", "equalized_odds", "equal_opportunity"}
    promised = boosting.frontier.promise_.metrics["demographic_parity_gap"].value
    assert known["demographic_parity"] < promised + 0.05


def test_an_interruption_before_the_first_family_passes(loaded):
    def interrupt(*shown):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(loaded, Wish(seconds=60), Clock(60, interrupt))
