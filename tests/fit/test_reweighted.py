import math

import numpy as np
import pandas as pd
import pytest

from raan.data.sets.adult import COLUMNS
from raan.fairness.rule import TIE, Rule
from raan.fit.boosting import Plain, boosting
from raan.fit.clock import Clock
from raan.fit.reweighted import GIVEN, Search, fit_given, fit_searched
from raan.fit.rows import Rows
from raan.fit.runs import Pick, choose
from raan.tabular.frame import from_frame


def test_a_run_along_reweighting_begins_with_plain_boosting(trained):
    plain, tuned, untuned = trained[-3:]
    assert np.array_equal(plain.validation[0], tuned.validation[0])
    assert np.array_equal(plain.validation[0], untuned.validation[0])
    assert len(tuned.step) > 1
    assert len(untuned.step) == len(GIVEN) + 1


def test_a_search_that_the_time_ends_leaves_no_run_and_given_weights_as_many_as_were_fitted(loaded):
    plain = Plain.fit(Rows(loaded))
    search = Search(len(loaded.split.train), boosting(0), 0)
    assert fit_searched(plain, search, Rule("worst_group", 0.05), Clock(0)) is None
    assert fit_given(plain, Clock(0)) is None
    ticks = []

    def show(what, done, planned):
        ticks.append(what)
        if len(ticks) == 3:
            raise KeyboardInterrupt

    clock = Clock(math.inf, show)
    assert len(fit_given(plain, clock).step) == 3  # the plain model and two more
    assert clock.interrupted


@pytest.mark.usefixtures("as_users_call")
def test_boosting_over_real_rows_is_made_fairer_within_the_allowance(real_data):
    columns = pd.read_csv(real_data / "adult" / "adult.data", names=COLUMNS, skipinitialspace=True, nrows=8000)
    rows = from_frame(columns, "income", "sex")
    plain = Plain.fit(Rows(rows))
    quick = boosting(0).set_params(max_iter=40, learning_rate=0.2)
    run = fit_searched(plain, Search(len(rows.split.train), quick, 0), Rule("worst_group", 0.01), Clock(math.inf))
    chosen = choose(Rule("worst_group", 0.01, tie=TIE), [plain.run, run], Pick(plain.run, 0))
    assert chosen.run is run
    before = Pick(plain.run, 0).test
    assert chosen.test.worst_group_accuracy - before.worst_group_accuracy > 0.02
    # A point and a half more than was allowed: that much is the noise of 1,600 test rows.
    assert chosen.test.accuracy > before.accuracy - 0.01 - 0.015
