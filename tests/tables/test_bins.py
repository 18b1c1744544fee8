import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raan.tables.columns import normalise
from raan.tables.load import as_groups, bin_numbers, find_cuts

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (np.repeat(np.arange(17, 91), 5), ("17-39", "40-64", "65+")),
        (RNG.normal(size=6000), ("below -0.5", "-0.5 to 0.5", "0.5 or more")),
        (np.arange(-50, 50), ("below -20", "-20 to 20", "20 or more")),
        (np.concatenate([np.zeros(500), np.arange(1, 30)]), ("0", "1+")),
        (
            1e12 + np.arange(9) / 10,
            ("below 1000000000000.3", "1000000000000.3 to 1000000000000.5", "1000000000000.5"),
        ),
    ],
    ids=["ages", "floats", "negative", "mostly zero", "far from zero"],
)
def test_bins_begin_at_round_numbers_and_are_called_by_them(values, names):
    found = bin_numbers(pd.Series(values.astype(float))).cat.categories
    assert [name[: len(start)] for name, start in zip(found, names, strict=True)] == list(names)


@given(
    st.lists(st.floats(-1e6, 1e6) | st.integers(0, 40).map(float), min_size=2).filter(lambda x: len(set(x)) > 1)
)
def test_no_bin_is_empty_and_each_row_is_in_the_bin_of_its_value(values):
    column = pd.Series(np.array(values))
    cuts, found = find_cuts(column.to_numpy()), bin_numbers(column)
    assert found.cat.codes.tolist() == [sum(value >= cut for cut in cuts) for value in values]
    assert set(found.cat.codes.tolist()) == set(range(len(found.cat.categories)))


def test_a_quantity_is_binned_with_a_note_that_names_the_bins_and_missing_values_stay():
    age = np.append(np.repeat(np.arange(17, 91), 5), np.nan).astype(float)
    groups, note = as_groups("age", pd.Series(age))
    assert groups.cat.codes.iloc[-1] == -1
    assert note == (
        "the attribute 'age' has 74 different numbers, and is binned: 17-39 (115 rows), 40-64 (125 rows), "
        "65+ (130 rows)"
    )


def test_few_numbers_and_words_are_groups_as_they_stand():
    groups, note = as_groups("race", pd.Series(np.arange(60.0) % 20))
    assert (len(groups.cat.categories), note) == (20, "")
    towns = normalise(pd.Series([f"town {place:02d}" for place in range(60)]))
    groups, note = as_groups("town", towns)
    assert (groups.tolist(), note) == (towns.tolist(), "")
