import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raan.tables import checks as module
from raan.tables.checks import areas_under_curve, measure_leak
from raan.tables.columns import normalise


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=30))
def test_the_area_under_the_curve_is_that_of_a_literal_count(rows: list[tuple[int, int]]) -> None:
    score, codes = (np.array(column) for column in zip(*rows, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MIN_AUC_ROWS", 1)
        areas = areas_under_curve(score.astype(float), codes, 3)
    for value in range(3):
        of_it, others = score[codes == value], score[codes != value]
        wins = [float(one > other) + 0.5 * float(one == other) for one in of_it for other in others]
        assert areas[value] == pytest.approx(np.mean(wins) if wins else 0.5)


def test_too_few_rows_say_nothing() -> None:
    assert areas_under_curve(np.arange(12.0), np.repeat([0, 1], [9, 3]), 2).tolist() == [0.5, 0.5]


def test_a_category_that_was_never_seen_tells_nothing() -> None:
    codes = np.tile([0, 1], 100)
    alone = normalise(pd.Series([f"value {row}" for row in range(200)]))
    assert measure_leak(alone, codes, 2).tolist() == [0.5, 0.5]


def test_a_code_in_no_order_is_judged_as_a_category() -> None:
    codes = np.random.default_rng(0).integers(0, 2, 400)
    number = 2.0 * np.random.default_rng(1).integers(0, 10, 400) + codes  # odd or even
    assert measure_leak(pd.Series(number), codes, 2).tolist() == [1, 1]
    assert measure_leak(pd.Series(number + np.arange(400) / 1e6), codes, 2).max() < 0.7
