"""Tables with the many numbers of texts or images: what is quick comes first, and the time is kept."""

import warnings

import numpy as np
import pytest

from fit.conftest import SOURCE
from raan.data.split import stratified_split
from raan.fairness.groups import Codes
from raan.fit.clock import Clock
from raan.fit.families import BOOSTING, LOGISTIC, in_order
from raan.fit.fit import FitOptions, fit
from raan.fit.rows import Rows
from raan.tables.load import Loaded
from raan.tables.media import Encoder
from raan.tables.preprocess import Embedded, Preprocessing

WIDTH = 300


@pytest.fixture(scope="module")
def texts():
    """Six hundred texts as three hundred numbers, of which a few tell the class."""
    rng = np.random.default_rng(0)
    group, noise = rng.integers(0, 2, 600), rng.normal(size=(600, WIDTH))
    label = (noise[:, :10].sum(1) + 2 * group + rng.normal(size=600) > 1).astype(int)
    embedded = Embedded("comment", Encoder("text", "any", "package", "0"), (0.0,) * WIDTH, (1.0,) * WIDTH)
    split = stratified_split(label, group, (0.6, 0.2, 0.2), 0)
    features = noise.astype(np.float32)
    codes = Codes(label, ("no", "yes")), Codes(group, ("f", "m"))
    return Loaded("texts", features, *codes, split, Preprocessing((embedded,)), (), ())


def test_texts_begin_with_logistic_regression_and_other_tables_with_boosting(texts, rows):
    assert in_order(Rows.of(texts)) == (LOGISTIC, BOOSTING)
    assert in_order(rows) == (BOOSTING, LOGISTIC)
    assert (Rows.of(texts).width, rows.width) == (WIDTH, 0)


@pytest.mark.filterwarnings("ignore:within this accuracy budget")
def test_boosting_is_left_out_where_it_would_take_more_than_its_share_of_the_time(texts):
    with warnings.catch_warnings(action="ignore"):  # so few rows support no choice
        found = fit(texts, FitOptions(seconds=1), Clock(1), SOURCE)
    assert found.outcome.facts.trained == ("logistic regression",)


def test_the_penalty_grows_with_the_numbers_so_that_probabilities_hold_on_rows_not_seen(texts):
    rows = Rows.of(texts)
    train, test = rows.features(rows.training), rows.features(rows.test)

    def log_loss(model):
        said = model.fit(train, rows.label(rows.training)).predict_proba(test)
        return -np.log(said[np.arange(len(test)), rows.label(rows.test)]).mean()

    assert log_loss(LOGISTIC.make(0, rows.width)) < 0.8 * log_loss(LOGISTIC.make(0, 0))
