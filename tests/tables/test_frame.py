"""One call makes a table of a frame or file, and says what looks wrong with it."""

import math
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from raan.data import DataWarning, Loaded, Preprocessing, Rules, from_frame
from raan.lab.datasets.adult import COLUMNS

quiet = pytest.mark.filterwarnings("ignore::raan.data.DataWarning")


def people(rows: int = 600, seed: int = 0) -> pd.DataFrame:
    """A table in which nothing is wrong."""
    generator = np.random.default_rng(seed)
    age = generator.normal(40, 10, rows)
    return pd.DataFrame(
        {
            "age": age,
            "job": generator.choice(["clerk", "cook", "judge"], rows),
            "sex": generator.choice(["f", "m"], rows),
            "origin": generator.choice(["north", "south"], rows),
            "rich": np.where(age + generator.normal(0, 10, rows) > 40, "yes", "no"),
        }
    )


PEOPLE = people()


def load(frame: object = PEOPLE, **options: object) -> Loaded:
    return from_frame(frame, **{"label": "rich", "attribute": "sex", **options})


def warned(frame: object, **options: object) -> list[str]:
    """What is warned of, which is also what is kept."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = load(frame, **options)
    assert {each.category for each in caught} <= {DataWarning}
    assert tuple(str(each.message) for each in caught) == loaded.warnings
    return list(loaded.warnings)


# The table.


def test_a_table_is_made_without_a_word_where_nothing_is_wrong() -> None:
    loaded = load()
    assert loaded.warnings == ()
    assert repr(loaded.table) == "Table(frame: 600 rows × 6 features, 2 classes, 2 attribute values)"
    assert loaded.table.feature_names == (
        "age",
        "job=clerk",
        "job=cook",
        "job=judge",
        "origin=north",
        "origin=south",
    )
    assert (loaded.table.class_names, loaded.table.attribute_names) == (("no", "yes"), ("f", "m"))
    assert [loaded.table.class_names[code] for code in loaded.table.label] == PEOPLE["rich"].tolist()
    assert [loaded.table.attribute_names[code] for code in loaded.table.attribute] == PEOPLE["sex"].tolist()
    assert [len(part) for part in loaded.split] == [360, 120, 120]


def test_numbers_are_standardised_by_the_training_rows_only() -> None:
    loaded = load()
    train = PEOPLE["age"].to_numpy()[loaded.split.train]
    expected = (PEOPLE["age"].to_numpy() - train.mean()) / train.std()
    np.testing.assert_allclose(loaded.table.features[:, 0], expected, rtol=1e-5, atol=1e-6)


def test_test_rows_change_neither_the_preprocessing_nor_the_training_rows_features() -> None:
    first = load()
    changed = PEOPLE.copy()
    rows = np.concatenate([first.split.validation, first.split.test])
    changed.loc[rows, "age"] += 1000.0
    changed.loc[rows, "job"] = "pilot"
    second = load(changed)
    assert second.preprocessing == first.preprocessing
    train = first.split.train
    assert torch.equal(second.table.features[train], first.table.features[train])


def test_the_preprocessing_gives_the_tables_features() -> None:
    loaded = load()
    assert np.array_equal(loaded.preprocessing.transform(PEOPLE), loaded.table.features)
    again = Preprocessing.from_dict(loaded.preprocessing.to_dict())
    assert np.array_equal(again.transform(PEOPLE.drop(columns=["rich", "sex"])), loaded.table.features)


def test_pandas_polars_csv_tsv_and_parquet_give_the_same_table(tmp_path: Path) -> None:
    frame = people(300).assign(
        member=lambda frame: frame["age"] > 35,
        children=lambda frame: (frame["age"] // 10).where(frame["age"] > 30),
    )
    frame.to_csv(tmp_path / "pandas.csv", index=False)
    frame.to_csv(tmp_path / "pandas.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "pandas.parquet")
    pl.from_pandas(frame).write_csv(tmp_path / "polars.csv")
    expected = load(frame, ignore=["origin"], rules=Rules(rare=1))
    others = [pl.from_pandas(frame), *sorted(tmp_path.iterdir())]
    assert len(others) == 5
    for other in others:
        loaded = load(other, ignore=["origin"], rules=Rules(rare=1))
        assert torch.equal(loaded.table.features, expected.table.features)
        assert torch.equal(loaded.table.label, expected.table.label)
        assert torch.equal(loaded.table.attribute, expected.table.attribute)
        assert loaded.table.feature_names == expected.table.feature_names
        assert loaded.preprocessing == expected.preprocessing


def test_several_attribute_columns_are_crossed() -> None:
    loaded = load(attribute=["sex", "origin"])
    assert loaded.table.attribute_names == ("f × north", "f × south", "m × north", "m × south")
    assert loaded.table.feature_names == ("age", "job=clerk", "job=cook", "job=judge")


def test_the_attribute_can_be_kept_as_a_feature() -> None:
    loaded = load(keep_attribute=True)
    assert loaded.warnings == ()
    assert {"sex=f", "sex=m"} <= set(loaded.table.feature_names)


def test_columns_are_ignored_and_types_are_said() -> None:
    frame = PEOPLE.assign(when=pd.Timestamp("2020-01-01"), floor=np.arange(600) % 3)
    loaded = load(frame, ignore=["when", "origin"], types={"floor": "category"})
    assert loaded.table.feature_names[-3:] == ("floor=0", "floor=1", "floor=2")


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([0, 1], ("0", "1")),
        ([-1, 1], ("-1", "1")),
        ([10, 2], ("2", "10")),
        ([True, False], ("False", "True")),
        ([1.0, 0.0], ("0", "1")),
    ],
)
def test_classes_are_words_bools_or_whole_numbers(values: list[object], names: tuple[str, ...]) -> None:
    frame = PEOPLE.assign(rich=(values * 300)[:600])
    assert load(frame).table.class_names == names


def test_the_seed_decides_the_split() -> None:
    first, again, other = load(seed=1), load(seed=1), load(seed=2)
    assert np.array_equal(first.split.train, again.split.train)
    assert not np.array_equal(first.split.train, other.split.train)


def test_each_cell_has_its_share_of_the_split() -> None:
    loaded = load(sizes=(300, 150, 150))
    cells = loaded.table.cells()
    for part in loaded.split:
        label, attribute = loaded.table.label[part], loaded.table.attribute[part]
        for y in range(2):
            for a in range(2):
                found = ((label == y) & (attribute == a)).sum()
                assert abs(found - cells[y, a] * len(part) / 600) <= 2


def test_the_description_shows_what_became_of_each_column() -> None:
    frame = PEOPLE.assign(id=[f"p{row}" for row in range(600)], same=1)
    frame.loc[:9, "age"] = math.nan
    with pytest.warns(DataWarning, match="'same' is the same in all"):
        loaded = load(frame, ignore=["id"])
    lines = [line.split(maxsplit=5) for line in loaded.describe().splitlines()]
    assert lines[0] == ["column", "role", "type", "values", "missing", "encoded"]
    assert [line[:3] for line in lines[1:8]] == [
        ["age", "feature", "number"],
        ["job", "feature", "category"],
        ["sex", "attribute", "category"],
        ["origin", "feature", "category"],
        ["rich", "label", "category"],
        ["id", "ignored", "category"],
        ["same", "left", "out"],
    ]
    assert lines[2][3:] == ["3", "0", "one-hot: clerk, cook, judge"]
    assert lines[3][3:] == ["2", "0", "f, m"]
    assert "10       (x - " in loaded.describe().splitlines()[1]
    assert "missing as " in loaded.describe().splitlines()[1]
    assert "split: 360 rows train, 120 validate, 120 test" in loaded.describe()
    assert loaded.table.describe() in loaded.describe()


def test_progress_is_told_for_a_file(tmp_path: Path) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    told: list[tuple[int, int | None]] = []
    loaded = load(tmp_path / "people.csv", progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    assert loaded.table.name == "people.csv"


# What is left out.


def raw(rows: int = 600) -> pd.DataFrame:
    """The people, with columns as raw tables have them."""
    generator = np.random.default_rng(1)
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(generator.integers(0, 20_000, rows), "D")
    return people(rows).assign(
        id=generator.permutation(rows),
        mail=[f"p{row}@mail.com" for row in range(rows)],
        born=born,
        joined=born.strftime("%d/%m/%Y"),
        first_name=generator.choice([f"{a}{b}a" for a in "ABCDEFG" for b in "aeiou"], rows),
        income=np.round(np.exp(generator.normal(10, 1, rows))),
    )


def test_all_that_is_unfit_to_learn_from_is_left_out_with_one_note(tmp_path: Path) -> None:
    raw().to_csv(tmp_path / "raw.csv", index=False)
    for frame in (raw(), tmp_path / "raw.csv"):
        assert warned(frame) == [
            "5 columns that look unfit to learn from are left out (identifiers: id, mail; dates or times: born, "
            "joined; names or free text: first_name); keep one by types={'id': 'category'}, or derive numbers or "
            "categories from it"
        ]


@quiet
def test_what_is_left_out_is_described_as_such_and_kept_where_its_type_is_said() -> None:
    loaded = load(raw(), types={"id": "number", "first_name": "category"})
    assert loaded.preprocessing.columns == ("age", "job", "origin", "id", "first_name", "income")
    assert "left out (dates or times)" in loaded.describe()


@pytest.mark.usefixtures("as_users_call")
def test_a_table_of_nothing_else_is_refused_with_what_was_left_out() -> None:
    frame = raw()[["id", "mail", "sex", "rich"]]
    with pytest.raises(
        ValueError, match=r"has no other columns to learn from; .* \(identifiers: id, mail\); keep"
    ):
        load(frame)


def test_columns_are_ignored_by_patterns() -> None:
    loaded = load(raw(), ignore=["[ibj]*", "mail", "first*"])
    assert loaded.warnings == ()
    assert loaded.preprocessing.columns == ("age", "origin")


def test_a_pattern_spares_the_label_and_the_attribute() -> None:
    assert load(ignore=["*i*", "job"]).preprocessing.columns == ("age",)


def test_a_column_whose_name_is_a_pattern_is_ignored_by_its_name() -> None:
    loaded = load(PEOPLE.rename(columns={"job": "j[o]b"}), ignore="j[o]b")
    assert loaded.preprocessing.columns == ("age", "origin")


def test_integers_may_be_names_of_columns() -> None:
    frame = PEOPLE.set_axis(range(5), axis=1)
    loaded = load(frame, label=4, attribute=[2], ignore=[3], types={1: "category"})
    assert loaded.preprocessing.columns == ("0", "1")
    assert np.array_equal(loaded.features, load(ignore="origin").features)


# A second table for the test rows.


def test_a_second_table_gives_the_test_rows_and_the_first_the_others(tmp_path: Path) -> None:
    new = people(200, seed=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    alone = load()
    for test in (new, tmp_path / "new.csv"):
        loaded = load(test=test)
        assert [len(part) for part in loaded.split] == [450, 150, 200]
        assert loaded.split.test.tolist() == list(range(600, 800))
        assert sorted(np.concatenate(loaded.split[:2])) == list(range(600))
        assert [loaded.label.names[code] for code in loaded.label.codes[600:]] == new["rich"].tolist()
        assert [loaded.attribute.names[code] for code in loaded.attribute.codes[600:]] == new["sex"].tolist()
        assert np.array_equal(loaded.features[600:], loaded.preprocessing.transform(new))
        train = PEOPLE["age"].to_numpy()[loaded.split.train]
        np.testing.assert_allclose(loaded.preprocessing.encodings[0].mean, train.mean())
    assert load(test=new, sizes=(300, 100, 0)).split.train.shape == (300,)
    assert alone.feature_names == loaded.feature_names


def test_rows_of_either_table_without_a_label_are_dropped_from_their_own_part() -> None:
    first = PEOPLE.assign(rich=PEOPLE["rich"].where(PEOPLE.index >= 50))
    second = people(200, seed=1)
    second["rich"] = second["rich"].where(second.index >= 20)
    with pytest.warns(DataWarning, match="is missing in 70 of 800 rows"):
        loaded = load(first, test=second)
    assert [len(part) for part in loaded.split] == [412, 138, 180]
    assert loaded.features.shape[0] == 730


def test_words_keep_the_spelling_that_they_have_in_the_first_table(tmp_path: Path) -> None:
    code = np.random.default_rng(0).choice(["007", "x1"], 600)
    PEOPLE.assign(code=code).to_csv(tmp_path / "first.csv", index=False)
    people(200, seed=1).assign(code="007").to_csv(tmp_path / "second.csv", index=False)
    loaded = load(tmp_path / "first.csv", test=tmp_path / "second.csv")
    assert loaded.features[600:, loaded.feature_names.index("code=007")].min() == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": None}, "test lacks 1 of the 5 columns of frame that are not ignored; expected 'age'"),
        ({"rich": "very"}, "test has the class 'very'; expected those of frame, no, yes"),
        ({"age": "old"}, r"test, row 0: the column 'age' is 'old'; expected a number"),
        ({"rich": math.nan}, "test has no row with a label"),
    ],
)
@pytest.mark.usefixtures("as_users_call")
@quiet
def test_a_second_table_that_does_not_go_with_the_first_is_refused(
    change: dict[str, object], message: str
) -> None:
    second = people(50, seed=1)
    second = second.drop(columns="age") if change == {"age": None} else second.assign(**change)
    with pytest.raises(ValueError, match=message):
        load(test=second)


# A quantity as the attribute.


def test_an_age_as_the_attribute_is_binned_with_a_note() -> None:
    frame = people(3000)
    frame["age"] = frame["age"].round()
    note, *_ = warned(frame, attribute="age")
    assert note.startswith("the attribute 'age' has ")
    assert " different numbers, and is binned: " in note
    assert note.endswith("to have a group of each pass types={'age': 'category'}")
    with pytest.warns(DataWarning):
        names = load(frame, attribute=["age", "sex"]).attribute.names
    assert len(names) == 6
    assert names[0].endswith("-34 × f")


@quiet
def test_a_float_as_the_attribute_is_no_hang() -> None:
    assert len(load(people(6000), attribute="age").attribute.names) == 3


# Missing values.


def test_rows_without_a_label_are_dropped_with_their_count() -> None:
    frame = PEOPLE.assign(rich=PEOPLE["rich"].where(PEOPLE.index >= 7))
    assert warned(frame) == ["the label 'rich' is missing in 7 of 600 rows, which are dropped"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = load(frame).table
    assert table.rows == 593
    assert [table.attribute_names[code] for code in table.attribute] == PEOPLE["sex"][7:].tolist()


def test_rows_without_a_label_are_refused_where_asked(tmp_path: Path) -> None:
    PEOPLE.assign(rich=PEOPLE["rich"].where(PEOPLE.index != 7)).to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(ValueError, match=r"'rich' is missing in 1 of 600 rows, the first at .*people.csv, line 9"):
        load(tmp_path / "people.csv", rules=Rules(missing_label="refuse"))


def test_errors_in_rows_after_dropped_ones_name_the_line_of_the_file(tmp_path: Path) -> None:
    frame = PEOPLE.assign(rich=PEOPLE["rich"].where(PEOPLE.index >= 7))
    frame.loc[20, "age"] = math.inf
    frame.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(ValueError, match=r"people.csv, line 22: the column 'age' is inf"):
        load(tmp_path / "people.csv")


def test_a_missing_attribute_is_unknown() -> None:
    frame = PEOPLE.assign(sex=PEOPLE["sex"].where(PEOPLE.index >= 7))
    said = warned(frame)
    assert said == ["the attribute is unknown in 7 of 600 rows: they train, but belong to no group"]


@quiet
def test_a_missing_attribute_is_minus_one_also_where_crossed() -> None:
    frame = PEOPLE.assign(
        sex=PEOPLE["sex"].where(PEOPLE.index != 3), origin=PEOPLE["origin"].where(PEOPLE.index != 5)
    )
    attribute = load(frame, attribute=["sex", "origin"]).table.attribute
    assert torch.nonzero(attribute == -1).flatten().tolist() == [3, 5]


# What looks wrong.


def answer(frame: pd.DataFrame) -> pd.Series:
    return (frame["rich"] == "yes").astype(float)


@pytest.mark.parametrize(
    "leak",
    [
        lambda frame: frame["rich"],
        lambda frame: answer(frame),
        lambda frame: 3 - 2 * answer(frame),
        lambda frame: answer(frame) + np.random.default_rng(0).normal(0, 0.1, len(frame)),
        lambda frame: np.where(answer(frame) == 1, np.random.default_rng(0).normal(size=len(frame)), math.nan),
        lambda frame: 2 * (frame.index % 5) + answer(frame),
        lambda frame: frame["rich"] + (frame.index % 5).astype(str),
    ],
    ids=["the label", "as a number", "reversed", "with noise", "by being missing", "as a code", "as words"],
)
def test_a_feature_that_gives_the_label_away_is_warned_of(leak: Callable[[pd.DataFrame], pd.Series]) -> None:
    said = warned(PEOPLE.assign(leak=leak(PEOPLE)))
    assert len(said) == 1
    assert said[0].startswith("the column 'leak' alone tells the label ")
    assert "AUC" in said[0]
    assert "ignore=['leak']" in said[0]


def test_a_feature_that_nearly_gives_the_label_away_is_warned_of() -> None:
    nearly = np.where(PEOPLE.index % 200 == 0, "no", PEOPLE["rich"])
    assert len(warned(PEOPLE.assign(nearly=nearly))) == 1


def test_a_feature_that_tells_one_class_of_three_is_warned_of() -> None:
    frame = PEOPLE.assign(rich=np.where(PEOPLE.index % 3 == 0, "very", PEOPLE["rich"]))
    noise = np.random.default_rng(0).normal(size=600)
    said = warned(frame.assign(leak=noise - 10 * (frame["rich"] == "very")))
    assert len(said) == 1
    assert "the column 'leak' alone tells the label 'very' from the rest" in said[0]


def test_a_feature_that_duplicates_the_attribute_is_warned_of() -> None:
    said = warned(PEOPLE.assign(title=PEOPLE["sex"].map({"f": "Ms", "m": "Mr"})))
    assert len(said) == 1
    assert said[0].startswith("the column 'title' alone tells the attribute 'f' from the rest (AUC 1.000")
    assert "it is a proxy of the attribute" in said[0]


def test_many_rare_categories_are_no_leak() -> None:
    words = [f"word {row}" for row in range(600)]
    said = warned(PEOPLE.assign(word=words), rules=Rules(rare=1, categories=1000))
    assert not any("alone tells" in each for each in said)


def test_whole_numbers_that_never_repeat_but_may_be_a_quantity_stay_and_are_warned_of() -> None:
    said = warned(PEOPLE.assign(wealth=np.random.default_rng(0).choice(10**8, 600, replace=False)))
    assert said == [
        "the column 'wealth' is a whole number that differs in all 600 rows: is it an identifier? "
        "Leave it out by ignore=['wealth']"
    ]


def test_tiny_cells_are_warned_of_with_their_counts() -> None:
    frame = pd.concat([PEOPLE, PEOPLE[PEOPLE["rich"] == "no"][:5].assign(sex="x", age=np.arange(5) / 7)])
    said = warned(frame)
    assert said[0] == (
        "2 of 6 (class, attribute) cells have fewer than 30 rows, too few to evaluate: x with no 5, x with yes 0"
    )


def test_rows_that_stand_in_several_parts_are_warned_of_with_their_counts() -> None:
    frame = pd.concat([PEOPLE[:300]] * 2, ignore_index=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = load(frame)
    train = {*map(tuple, frame.iloc[loaded.split.train].to_numpy().tolist())}
    again = [
        sum(tuple(row) in train for row in frame.iloc[part].to_numpy().tolist())
        for part in (loaded.split.validation, loaded.split.test)
    ]
    assert min(again) > 0
    assert loaded.warnings == (
        f"{again[0]} of 120 validation rows and {again[1]} of 120 test rows repeat a training row in every "
        "column: a model has seen those before",
    )


def test_an_attribute_of_one_value_is_warned_of() -> None:
    assert warned(PEOPLE.assign(sex="f")) == [
        "the attribute has one value only, 'f': there are no groups to compare"
    ]


# What is refused.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "Rich "}, r"label names the column 'Rich ', which frame does not have; .*; is it 'rich'\?"),
        ({"label": "income"}, r"label names the column 'income', .*; expected one of age, job, sex, origin, rich"),
        ({"attribute": "gender"}, "attribute names the column 'gender'"),
        ({"attribute": ["sex", "origins"]}, r"attribute names the column 'origins', .*; is it 'origin'"),
        ({"ignore": ["agee"]}, r"ignore names the column 'agee', .*; is it 'age'"),
        ({"types": {"agee": "number"}}, "types names the column 'agee'"),
        ({"types": {"age": "numeric"}}, "types holds 'numeric'; expected 'number' or 'category'"),
        ({"attribute": "rich"}, "the column 'rich' is named twice"),
        ({"ignore": ["sex"]}, "the column 'sex' is named twice"),
        ({"attribute": []}, "; expected an attribute, and at least"),
        ({"ignore": ["age", "job", "origin"]}, "at least one more column to learn from"),
        ({"label": "age"}, r"frame, row 0: the label 'age' is 4.*; expected classes, as words or whole numbers"),
        (
            {"attribute": "age", "types": {"age": "category"}},
            "'age' has 600 values; expected 100 at most; group them",
        ),
        ({"label": None}, "label is None, of type NoneType; expected the name of a column"),
        ({"attribute": None}, "attribute is None, of type NoneType"),
        ({"attribute": ["sex", None]}, "attribute is None"),
        ({"ignore": [2.5]}, "ignore is 2.5, of type float"),
        (
            {"ignore": ["*_id"]},
            r"ignore is the pattern '\*_id', which matches no .*; they are age, job, sex, origin",
        ),
        ({"ignore": ["sex*"]}, "ignore is the pattern 'sex.*, which matches no column"),
    ],
)
@pytest.mark.usefixtures("as_users_call")
def test_impossible_roles_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(**options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rich": "yes"}, "frame: the label 'rich' has one value only, 'yes', in 600 rows; expected 2 or more"),
        ({"rich": None}, "frame: the label 'rich' has no value in 600 rows"),
        ({"rich": [f"class {row}" for row in range(600)]}, "'rich' has 600 values; expected 100 at most"),
        ({"sex": None}, "the attribute 'sex' has no value"),
    ],
)
def test_labels_and_attributes_that_are_none_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(PEOPLE.assign(**change))


# Real data.


def test_adult_as_a_users_own_file_has_the_known_counts(real_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "adult.csv"
    path.write_text(",".join(COLUMNS) + "\n" + (real_data / "adult" / "adult.data").read_text())
    with pytest.warns(DataWarning) as caught:
        loaded = load(path, label="income")
    assert loaded.table.cells().tolist() == [[9_592, 15_128], [1_179, 6_662]]
    assert {"workclass=(missing)", "native-country=(other)", "education-num"} <= set(loaded.table.feature_names)
    assert not any(" alone tells " in str(each.message) for each in caught)
