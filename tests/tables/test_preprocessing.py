"""Columns become features by their training rows, and new rows become the same features."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raan.data import DataWarning, Preprocessing, Rules

LENIENT = Rules(rare=1)
FRAME = pd.DataFrame(
    {
        "age": [20.0, 30.0, math.nan, 60.0, 40.0, 50.0],
        "job": ["cook", "clerk", "cook", None, "judge", "clerk"],
        "hours": [10, 20, 30, 40, 50, 60],
    }
)
TRAIN = np.arange(5)


def fitted(frame: object = FRAME, train: np.ndarray | None = TRAIN, **options: object) -> Preprocessing:
    return Preprocessing.fit(frame, train, **{"rules": LENIENT, **options})


# Fitting.


def test_features_are_what_a_literal_computation_gives() -> None:
    age, hours = [20, 30, 35, 60, 40, 50], [10, 20, 30, 40, 50, 60]  # the median of 20, 30, 60 and 40 is 35
    jobs = ["cook", "clerk", "cook", "(missing)", "judge", "clerk"]
    expected = []
    for row in range(6):
        line = [(age[row] - np.mean(age[:5])) / np.std(age[:5]), float(row == 2)]
        line += [float(jobs[row] == job) for job in ("clerk", "cook", "judge", "(missing)")]
        line += [(hours[row] - np.mean(hours[:5])) / np.std(hours[:5])]
        expected.append(line)
    preprocessing = fitted()
    np.testing.assert_allclose(preprocessing.transform(FRAME), expected, rtol=1e-6)
    assert preprocessing.feature_names == (
        "age",
        "age=(missing)",
        "job=clerk",
        "job=cook",
        "job=judge",
        "job=(missing)",
        "hours",
    )
    assert preprocessing.columns == ("age", "job", "hours")


def test_features_are_of_single_precision() -> None:
    assert fitted().transform(FRAME).dtype == np.float32


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), st.text(max_size=5))
def test_rows_that_do_not_train_change_nothing(numbers: list[float], word: str) -> None:
    other = pd.DataFrame({"age": numbers, "job": [word] * len(numbers), "hours": [7] * len(numbers)})
    both = pd.concat([FRAME[:5], other], ignore_index=True)
    assert fitted(both) == fitted(FRAME[:5], None)


def test_training_rows_have_mean_zero_and_deviation_one() -> None:
    hours = fitted().transform(FRAME)[:5, -1]
    np.testing.assert_allclose([hours.mean(), hours.std()], [0, 1], atol=1e-6)


def test_rare_categories_are_pooled_and_warned_of_with_their_counts() -> None:
    frame = pd.DataFrame({"job": ["a"] * 6 + ["b"] * 5 + ["c"] * 2 + ["d"]})
    with pytest.warns(
        DataWarning, match=r"fewer than 5 .* are pooled as '\(other\)': 2 of 'job' \('c' 2, 'd' 1\)"
    ):
        preprocessing = Preprocessing.fit(frame, rules=Rules(rare=5))
    assert preprocessing.feature_names == ("job=a", "job=b", "job=(other)")
    assert preprocessing.transform(frame).sum(0).tolist() == [6, 5, 3]


def test_of_ten_thousand_categories_the_most_frequent_are_kept() -> None:
    often = np.repeat([f"often {place}" for place in range(5)], 20)
    frame = pd.DataFrame(
        {"job": [*often, *(f"seldom {place}" for place in range(10_000)), *["seldom 7"] * 19_000]}
    )
    with pytest.warns(DataWarning, match="beyond the 5 most frequent of their column, .*: 10,000 of 'job'"):
        preprocessing = Preprocessing.fit(frame, rules=Rules(categories=5))
    assert preprocessing.feature_names == (
        *(f"job=often {place}" for place in range(4)),
        "job=seldom 7",
        "job=(other)",
    )


def test_a_column_that_hardly_repeats_is_left_out_unless_it_is_asked_for() -> None:
    x = np.random.default_rng(0).normal(size=200)
    frame = pd.DataFrame({"id": [f"p{place}" for place in range(200)], "x": x})
    with pytest.warns(DataWarning, match=r"is left out \(identifiers: id\); keep one by types={'id': 'category'}"):
        assert Preprocessing.fit(frame).columns == ("x",)
    assert Preprocessing.fit(frame, ignore=["i*"]).columns == ("x",)
    kept = Preprocessing.fit(frame, types={"id": "category"}, rules=Rules(rare=1, categories=200))
    assert kept.columns == ("id", "x")


def test_a_value_that_is_called_like_the_pool_joins_it() -> None:
    frame = pd.DataFrame({"job": ["a"] * 9 + ["(other)"] * 9 + ["(missing)"] * 9})
    with pytest.warns(DataWarning, match="pooled"):
        preprocessing = fitted(frame, None)
    assert preprocessing.feature_names == ("job=a", "job=(other)")
    assert preprocessing.transform(frame).sum(0).tolist() == [9, 18]


@pytest.mark.parametrize("column", [[1.0] * 6, ["a"] * 6, [None] * 6, [1, 1, 1, 1, 1, 2]])
def test_a_column_that_does_not_vary_in_the_training_rows_is_left_out(column: list[object]) -> None:
    with pytest.warns(DataWarning, match="the column 'x' is the same in all 5 training rows, and is left out"):
        preprocessing = fitted(FRAME[["hours"]].assign(x=column))
    assert preprocessing.columns == ("hours",)


def test_a_number_that_is_constant_where_it_is_known_keeps_its_indicator() -> None:
    features = fitted(pd.DataFrame({"x": [0.1, 0.1, math.nan, 0.1, 0.1, 0.1]})).transform(
        pd.DataFrame({"x": [0.1, math.nan]})
    )
    assert features.tolist() == [[0, 0], [0, 1]]


def test_nothing_to_learn_from_is_refused() -> None:
    with (
        pytest.raises(ValueError, match="no column is left to learn from, of x; expected one that varies"),
    ):
        fitted(pd.DataFrame({"x": [1] * 6}))


def test_numbers_too_large_to_be_standardised_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'x' reaches from -1e\+308 to 1e\+308, too far to be standardised"):
        fitted(pd.DataFrame({"x": [1e308, -1e308, 0, 1, 2]}))


@pytest.mark.parametrize(("argument", "value"), [("types", {"agee": "number"}), ("ignore", ["agee"])])
def test_a_name_that_is_no_columns_is_told_with_the_nearest(argument: str, value: object) -> None:
    with pytest.raises(
        ValueError, match=rf"{argument} names the column 'agee', which frame does not have; .*; is it 'age'"
    ):
        fitted(**{argument: value})


# New rows.


def test_reordered_and_further_columns_change_nothing() -> None:
    preprocessing = fitted()
    other = FRAME[["hours", "job", "age"]].assign(more=1)
    assert np.array_equal(preprocessing.transform(other), preprocessing.transform(FRAME))


def test_rows_are_transformed_one_at_a_time_as_together() -> None:
    preprocessing = fitted()
    rows = [preprocessing.transform(FRAME[row : row + 1]) for row in range(6)]
    assert np.array_equal(np.concatenate(rows), preprocessing.transform(FRAME))


def test_missing_columns_are_all_named_with_what_is_there_instead() -> None:
    with pytest.raises(ValueError, match=r"frame lacks 2 of the 3 .*; expected 'age' \(it has 'Age'\), 'job'"):
        fitted().transform(FRAME.rename(columns={"age": "Age", "job": "x"}))


def test_an_unknown_category_is_zeros_where_nothing_was_pooled_and_is_warned_of() -> None:
    frame = FRAME.assign(job="pilot")
    with pytest.warns(
        DataWarning, match=r"'job' has categories that no training row had in 6 of 6 rows: 'pilot' \(6 rows\)"
    ):
        features = fitted().transform(frame)
    assert features[:, 2:6].tolist() == [[0] * 4] * 6


def test_an_unknown_category_is_other_where_some_were_pooled() -> None:
    frame = pd.DataFrame({"job": ["a"] * 6 + ["b"]})
    with pytest.warns(DataWarning, match="pooled"):
        preprocessing = Preprocessing.fit(frame, rules=Rules(rare=5))
    with pytest.warns(DataWarning, match="'job' has categories that no training row had in 1 of 3 rows: 'z'"):
        features = preprocessing.transform(pd.DataFrame({"job": ["z", "b", None]}))
    assert features.tolist() == [[0, 1], [0, 1], [0, 0]]


def test_missing_values_that_no_training_row_had_are_the_median_and_zeros() -> None:
    preprocessing = fitted(FRAME[["hours", "job"]][:3], None)
    features = preprocessing.transform(pd.DataFrame({"hours": [None, 20.0], "job": [None, "cook"]}))
    assert features.tolist() == [[0, 0, 0], [0, 0, 1]]


def test_a_word_where_the_training_rows_had_numbers_is_told() -> None:
    with pytest.raises(ValueError, match=r"frame, row 1: the column 'hours' is 'many'; expected a number"):
        fitted().transform(FRAME[:2].assign(hours=["1", "many"]))


def test_numbers_are_taken_as_words_where_the_training_rows_had_words() -> None:
    frame = pd.DataFrame({"code": ["1", "2", "1"]})
    assert fitted(frame, None, types={"code": "category"}).transform(
        pd.DataFrame({"code": [2, 1.0]})
    ).tolist() == [[0, 1], [1, 0]]


def test_a_number_too_far_from_the_training_rows_is_told() -> None:
    with pytest.raises(
        ValueError,
        match=r"frame, row 1: the column 'hours' is 1e\+300, too far to be used; expected a",
    ):
        fitted().transform(FRAME[:2].assign(hours=[1, 1e300]))


def test_a_file_of_new_rows_keeps_the_spelling_of_its_categories(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("zip,x\n00501,1\nA1,2\n00501,3\n")
    preprocessing = fitted(path, None, types={"zip": "category"})
    path.write_text("x,zip\n3,00501\n")
    assert preprocessing.transform(path)[0, :2].tolist() == [1, 0]


def test_bools_are_the_same_however_a_file_spells_them(tmp_path: Path) -> None:
    preprocessing = fitted(pd.DataFrame({"member": [True, False, None]}), None)
    assert preprocessing.feature_names == ("member=False", "member=True", "member=(missing)")
    (tmp_path / "table.csv").write_text("member,x\ntrue,1\nFALSE,2\nTrue,3\n")
    assert preprocessing.transform(tmp_path / "table.csv").tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0]]


def test_frames_of_polars_and_files_are_transformed_alike(tmp_path: Path) -> None:
    preprocessing, expected = fitted(), fitted().transform(FRAME)
    FRAME.to_csv(tmp_path / "table.csv", index=False)
    FRAME.to_csv(tmp_path / "table.tsv", index=False, sep="\t")
    FRAME.to_parquet(tmp_path / "table.parquet")
    for frame in (pl.from_pandas(FRAME), *(tmp_path / f"table.{kind}" for kind in ("csv", "tsv", "parquet"))):
        assert np.array_equal(preprocessing.transform(frame), expected)


# Saving.


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), min_size=4, max_size=10),
    st.lists(st.text(max_size=4), min_size=2, max_size=10, unique=True),
)
@pytest.mark.filterwarnings("ignore::raan.data.DataWarning")
def test_what_went_through_json_gives_identical_features(numbers: list[float], words: list[str]) -> None:
    frame = pd.DataFrame({"word": (words * 10)[:10], "number": (numbers * 10)[:10], "place": range(10)})
    frame["word"] = frame["word"].astype(object)
    preprocessing = fitted(frame, None)
    again = Preprocessing.from_dict(json.loads(json.dumps(preprocessing.to_dict(), allow_nan=False)))
    assert again == preprocessing
    assert np.array_equal(again.transform(frame), preprocessing.transform(frame))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "has version 2; expected 3; fit the model again"),
        ({"columns": []}, "has no columns"),
        ({"columns": None}, "cannot be read: TypeError"),
        ({"columns": [{"type": "number"}]}, "cannot be read: KeyError: 'column'"),
        (
            {
                "columns": [
                    dict(
                        type="number",
                        column="x",
                        median=0,
                        mean=0,
                        scale=0,
                        low=0,
                        high=1,
                        absent=0,
                        indicator=False,
                    )
                ]
            },
            "'x' has .*; expected finite numbers and a scale above 0",
        ),
        (
            {
                "columns": [
                    dict(
                        type="number",
                        column="x",
                        median="nan",
                        mean=0,
                        scale=1,
                        low=0,
                        high=1,
                        absent=0,
                        indicator=False,
                    )
                ]
            },
            "'x' has .*; expected finite numbers and a scale above 0",
        ),
    ],
)
def test_what_to_dict_did_not_give_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"the preprocessing .*{message}"):
        Preprocessing.from_dict({**fitted().to_dict(), **change})


def test_a_preprocessing_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        fitted().encodings = ()  # type: ignore[misc]
