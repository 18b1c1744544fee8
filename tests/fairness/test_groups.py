import datetime
import re
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from raan.fairness import UNKNOWN, Codes, check_lengths, encode_attribute, encode_classes, encode_label
from raan.fairness.groups import cross_codes, keep_large_groups

TEXT = ["Male", "Female", None, "Female"]
INTEGERS = [10, 9, None, 9]
FLOATS = [10.0, 9.0, float("nan"), 9.0]
BOOLS = [True, False, None, False]

SAME_TEXT = {
    "list": TEXT,
    "tuple": tuple(TEXT),
    "list with nan": ["Male", "Female", float("nan"), "Female"],
    "list with pandas.NA": ["Male", "Female", pd.NA, "Female"],
    "numpy object": np.array(TEXT, dtype=object),
    "numpy masked": np.ma.array(["Male", "Female", "?", "Female"], mask=[0, 0, 1, 0]),
    "pandas object": pd.Series(TEXT, dtype=object),
    "pandas str": pd.Series(TEXT, dtype="str"),
    "pandas string": pd.Series(TEXT, dtype="string"),
    "pandas categorical": pd.Series(TEXT).astype("category"),
    "pandas bare categorical": pd.Categorical(TEXT),
    "pandas frame": pd.DataFrame({"sex": TEXT}),
    "pandas other index": pd.Series(TEXT, index=[7, 7, 1, 0]),
    "polars": pl.Series(TEXT),
    "polars categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "polars enum": pl.Series(TEXT, dtype=pl.Enum(["Male", "Female"])),
    "polars frame": pl.DataFrame({"sex": TEXT}),
}
SAME_NUMBERS = {
    "list": INTEGERS,
    "list of floats": FLOATS,
    "list with pandas.NA": [10, 9, pd.NA, 9],
    "numpy float": np.array(FLOATS),
    "numpy half": np.array(FLOATS, dtype=np.float16),
    "numpy masked": np.ma.array([10, 9, 0, 9], mask=[0, 0, 1, 0]),
    "torch": torch.tensor(FLOATS),
    "torch with gradient": torch.tensor(FLOATS, requires_grad=True),
    "torch bfloat16": torch.tensor(FLOATS, dtype=torch.bfloat16),
    "pandas float": pd.Series(FLOATS),
    "pandas Int64": pd.Series(INTEGERS, dtype="Int64"),
    "pandas Float64": pd.Series(INTEGERS, dtype="Float64"),
    "pandas object": pd.Series(INTEGERS, dtype=object),
    "pandas categorical": pd.Series(INTEGERS).astype("category"),
    "pandas frame": pd.DataFrame({"age": pd.array(INTEGERS, dtype="Int64")}),
    "polars": pl.Series(INTEGERS),
    "polars small": pl.Series(INTEGERS, dtype=pl.UInt8),
    "polars frame": pl.DataFrame({"age": INTEGERS}),
}
SAME_BOOLS = {
    "list": BOOLS,
    "numpy object": np.array(BOOLS, dtype=object),
    "pandas boolean": pd.Series(BOOLS, dtype="boolean"),
    "pandas object": pd.Series(BOOLS, dtype=object),
    "polars": pl.Series(BOOLS),
}
SAME_LABELS = {
    "list": [2, 0, 2, 5],
    "floats": [2.0, 0.0, 2.0, 5.0],
    "numpy": np.array([2, 0, 2, 5], dtype=np.uint8),
    "torch": torch.tensor([2, 0, 2, 5]),
    "pandas": pd.Series([2, 0, 2, 5]),
    "pandas Int64": pd.Series([2, 0, 2, 5], dtype="Int64"),
    "pandas categorical": pd.Series([2, 0, 2, 5]).astype("category"),
    "polars": pl.Series([2, 0, 2, 5]),
}


def cases(columns):
    return pytest.mark.parametrize("column", columns.values(), ids=columns.keys())


def check(codes, expected, names):
    assert codes.codes.dtype == np.int64
    assert codes.codes.tolist() == expected
    assert codes.names == names


@cases(SAME_TEXT)
def test_text_has_the_same_codes_from_every_library(column):
    check(encode_attribute(column), [1, 0, UNKNOWN, 0], ("Female", "Male"))


@cases(SAME_NUMBERS)
def test_numbers_are_sorted_by_value_and_integral_floats_are_shown_as_integers(column):
    check(encode_attribute(column), [1, 0, UNKNOWN, 0], ("9", "10"))


@cases(SAME_BOOLS)
def test_bools_have_the_same_codes_from_every_library(column):
    check(encode_attribute(column), [1, 0, UNKNOWN, 0], ("False", "True"))


@cases(SAME_LABELS)
def test_labels_have_the_same_codes_from_every_library(column):
    check(encode_label(column), [1, 0, 1, 2], ("0", "2", "5"))


def test_attribute_keeps_fractions_negatives_and_dates_as_they_are():
    check(encode_attribute([0.5, -1.0, 0.5]), [1, 0, 1], ("-1", "0.5"))
    check(encode_attribute(np.array([0.1, 2], dtype=np.float32)), [0, 1], ("0.1", "2"))
    check(encode_attribute([np.inf, 0.0]), [1, 0], ("0", "inf"))
    dates = np.array(["2021-05-01", "NaT", "2020-01-01"], dtype="datetime64[D]")
    check(encode_attribute(dates), [1, UNKNOWN, 0], ("2020-01-01", "2021-05-01"))
    days = [datetime.date(2021, 5, 1), pd.NaT, datetime.date(2020, 1, 1)]
    check(encode_attribute(days), [1, UNKNOWN, 0], ("2020-01-01", "2021-05-01"))


def test_mixed_kinds_are_sorted_as_text_and_values_of_one_name_are_one_group():
    check(encode_attribute(["b", 10, 9, None]), [2, 0, 1, UNKNOWN], ("10", "9", "b"))
    check(encode_attribute(["1", 1, "x"]), [0, 0, 1], ("1", "x"))


def test_bytes_are_read_as_text():
    check(encode_attribute(np.array([b"b", b"a"])), [1, 0], ("a", "b"))


def test_the_text_nan_is_a_value_like_any_other():
    check(encode_attribute(["nan", "a", ""]), [2, 1, 0], ("", "a", "nan"))


CROSSED = {
    "list": [["White", "F"], ["Black", "M"], ["Black", "F"], ["Black", None], ["White", "F"]],
    "pandas": pd.DataFrame(
        {"race": ["White", "Black", "Black", "Black", "White"], "sex": ["F", "M", "F", None, "F"]}
    ),
    "polars": pl.DataFrame(
        {"race": ["White", "Black", "Black", "Black", "White"], "sex": ["F", "M", "F", None, "F"]}
    ),
}


@cases(CROSSED)
def test_columns_are_crossed_into_the_combinations_that_occur(column):
    check(encode_attribute(column), [2, 1, 0, UNKNOWN, 2], ("Black × F", "Black × M", "White × F"))


def test_crossing_keeps_each_columns_own_order():
    check(encode_attribute(np.array([[10, 1], [9, 2], [9, 1]])), [2, 1, 0], ("9 × 1", "9 × 2", "10 × 1"))
    frame = pd.DataFrame({"age": [10, 9], "sex": ["F", "M"]})
    check(encode_attribute(frame), [1, 0], ("9 × M", "10 × F"))


def test_many_columns_of_many_values_do_not_overflow():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 1000, (500, 8)).astype(str)  # 1000**8 combinations exceed a 64-bit integer
    codes = encode_attribute(table)
    rows = [" × ".join(row) for row in table]
    assert [codes.names[code] for code in codes.codes] == rows


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(0).normal(size=6000),
        np.arange(6000),
        [None, *range(101)],
        pd.Series([*range(101), None], dtype="Int64"),
        torch.linspace(0, 1, 400),
        np.c_[np.arange(400) / 7, np.arange(400) % 2],
        pd.DataFrame({"age": np.arange(400) / 7, "sex": ["f", "m"] * 200}),
    ],
    ids=["floats", "integers", "list", "nullable", "tensor", "crossed", "frame"],
)
def test_a_quantity_is_refused_as_an_attribute_at_once(column):
    start = time.perf_counter()
    message = message_of(ValueError, encode_attribute, column)
    assert time.perf_counter() - start < 2
    assert re.match(
        r"sensitive_features holds [\d,]+ different numbers in [\d,]+ rows; expected groups, ", message
    )
    assert "bin them first, e.g. by pandas.cut" in message


def test_a_hundred_numbers_and_any_number_of_words_may_be_groups():
    assert len(encode_attribute(np.arange(300) % 100).names) == 100
    assert len(encode_attribute([f"{row // 2:03d}" for row in range(300)]).names) == 150
    crossed = encode_attribute(np.c_[np.arange(3000) % 50, np.arange(3000) // 50])
    assert len(crossed.names) == 3000  # each column is one of groups, however many combinations there are


def test_a_quantity_may_be_encoded_where_it_is_allowed():
    assert len(encode_attribute(np.arange(300), allow_quantity=True).names) == 300


def test_crossed_codes_keep_the_order_of_names_and_drop_those_unused():
    left = Codes(np.array([2, 0, UNKNOWN, 2]), ("5-9", "10-14", "15+"))
    right = Codes(np.array([0, 1, 1, 1]), ("f", "m"))
    check(cross_codes([left]), [1, 0, UNKNOWN, 1], ("5-9", "15+"))
    check(cross_codes([left, right]), [1, 0, UNKNOWN, 2], ("5-9 × m", "15+ × f", "15+ × m"))


def test_a_memory_map_is_accepted(tmp_path):
    np.save(tmp_path / "column.npy", np.array([3, 1, 3]))
    check(encode_attribute(np.load(tmp_path / "column.npy", mmap_mode="r")), [1, 0, 1], ("1", "3"))


def test_labels_may_be_text_or_bools():
    check(encode_label(["yes", "no"]), [1, 0], ("no", "yes"))
    check(encode_label(np.array([True, False])), [1, 0], ("False", "True"))
    check(encode_label(pl.Series([">50K", "<=50K"], dtype=pl.Categorical)), [1, 0], ("<=50K", ">50K"))


def test_classes_are_numbered_over_the_union_of_columns():
    label, prediction = encode_classes(y_true=["a", "c", "a"], y_pred=pl.Series(["b", "c"]))
    check(label, [0, 2, 0], ("a", "b", "c"))
    check(prediction, [1, 2], ("a", "b", "c"))


def test_bools_floats_and_integers_are_the_same_classes():
    label, decided, given = encode_classes(
        y_true=np.array([0, 1, 10]), y_pred=np.array([False, True]), other=torch.tensor([1.0, 0.0])
    )
    check(label, [0, 1, 2], ("0", "1", "10"))
    check(decided, [0, 1], ("0", "1", "10"))
    check(given, [1, 0], ("0", "1", "10"))


def test_a_million_rows_of_text_are_encoded_quickly():
    column = np.random.default_rng(0).choice(["Male", "Female"], 1_000_000)
    start = time.perf_counter()
    codes = encode_attribute(column)
    assert time.perf_counter() - start < 5  # about 0.2 s
    assert np.array_equal(np.array(codes.names)[codes.codes], column)


FAULTY_LABELS = {
    "missing": (
        ["a", None, "b", None],
        "label is missing in 2 of 4 rows, first at row 1; expected a class for every sample; drop",
    ),
    "nan": (np.array([0, 1, np.nan]), "label is missing in 1 of 3 rows, first at row 2"),
    "pandas.NA": (pd.Series([0, None, 1], dtype="Int64"), "label is missing in 1 of 3 rows, first at row 1"),
    "negative": (
        [1, 1, 1, -1, -1],
        "label holds -1 at row 3; expected classes: numbers from 0 up or strings; e.g. map {-1, 1} to {0, 1}",
    ),
    "fraction": (
        [0, 1, 0.25],
        "label holds 0.25 at row 2; expected classes: numbers from 0 up or strings; e.g. take",
    ),
    "infinite": ([0, np.inf], "label holds inf at row 1; expected classes: numbers from 0 up or strings"),
    "date": (np.array(["2020-01-01"], dtype="datetime64[D]"), "label holds 2020-01-01 at row 0; expected classes"),
    "one class": ([3, 3, 3], "label holds one class only, '3'; expected at least two"),
    "empty": ([], "label is empty; expected at least one row"),
    "two columns": (np.zeros((4, 2)), "label has shape (4, 2); expected one dimension, one class per row"),
    "frame": (
        pl.DataFrame({"y": [0, 1]}),
        "label has shape (2, 1); expected one dimension, one class per row",
    ),
}
FAULTY_ATTRIBUTES = {
    "unknown": (
        [None, None],
        "sensitive_features is unknown (None or NaN) in all 2 rows; expected at least one",
    ),
    "polars unknown": (pl.Series([None, None]), "sensitive_features is unknown (None or NaN) in all 2 rows"),
    "crossed unknown": (
        [["a", None], [None, "b"]],
        "sensitive_features is unknown (None or NaN) in all 2 rows",
    ),
    "empty": ([], "sensitive_features has shape (0,); expected at least one row"),
    "no column": (
        np.zeros((3, 0)),
        "sensitive_features has shape (3, 0); expected at least one row, and one column",
    ),
    "cube": (np.zeros((3, 1, 1)), "sensitive_features has shape (3, 1, 1); expected at least one row"),
    "ragged": ([["a", "b"], ["a"]], "sensitive_features cannot be read as an array"),
}


def faults(table):
    return pytest.mark.parametrize(("column", "message"), table.values(), ids=table.keys())


def message_of(error, call, *arguments, **keywords):
    with pytest.raises(error) as caught:
        call(*arguments, **keywords)
    return str(caught.value)


@faults(FAULTY_LABELS)
def test_a_faulty_label_is_refused_with_what_came_and_what_was_expected(column, message):
    assert message in message_of(ValueError, encode_label, column)


@faults(FAULTY_ATTRIBUTES)
def test_a_faulty_attribute_is_refused_with_what_came_and_what_was_expected(column, message):
    assert message in message_of(ValueError, encode_attribute, column)


def test_advice_fits_the_fault():
    assert "e.g. take scores > 0.5" in message_of(ValueError, encode_label, [0.1, 0.9])
    assert "e.g. write them as strings" in message_of(ValueError, encode_label, [datetime.date(2020, 1, 1)])


@pytest.mark.parametrize("column", ["abc", 3, {"sex": ["F"]}, {"F", "M"}, None])
def test_what_is_no_column_is_refused_by_its_type(column):
    message = message_of(TypeError, encode_attribute, column)
    assert f"sensitive_features is a {type(column).__name__}; expected a list, a numpy array" in message


def test_values_that_cannot_be_grouped_are_refused():
    column = pd.Series([["a"], ["b"]])
    message = message_of(TypeError, encode_attribute, column)
    assert "sensitive_features holds values that cannot be grouped" in message


def test_errors_name_the_callers_argument():
    assert message_of(ValueError, encode_label, [], argument="y").startswith("y is empty")
    assert message_of(ValueError, encode_attribute, [None], argument="sex").startswith("sex is unknown")
    assert message_of(ValueError, encode_classes, y_true=[0], y_pred=[-1]).startswith("y_pred holds -1")


def test_lengths_that_differ_are_all_named():
    message = message_of(ValueError, check_lengths, X=[1, 2], y=np.zeros(3), sensitive_features=torch.zeros(2))
    assert message == (
        "the numbers of rows differ: X has 2, y has 3, sensitive_features has 2; "
        "expected one row per sample in each"
    )


def test_equal_lengths_pass():
    check_lengths(X=[1, 2], y=np.zeros(2))


def test_groups_with_too_few_rows_of_some_class_become_unknown_and_the_others_are_numbered_anew():
    attribute = Codes(np.array([0, 1, 2, 2, UNKNOWN, 1]), ("a", "b", "c"))
    judged = keep_large_groups(attribute, np.array([[5, 2, 3], [5, 9, 3]]), 3)
    assert judged.names == ("a", "c")
    assert judged.codes.tolist() == [0, UNKNOWN, 1, 1, UNKNOWN, UNKNOWN]
    assert keep_large_groups(attribute, np.array([[5, 2, 3], [5, 9, 3]]), 6).names == ()
