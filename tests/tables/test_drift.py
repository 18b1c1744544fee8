"""New rows that differ from the training rows are named: by column, with counts, in text and in JSON."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from commands import people, raan, said
from raan import load
from raan.data import DataWarning, Preprocessing, Rules, from_frame
from raan.tables.preprocess import NEW_VALUES, Drift
from raan.tables.read import read

RNG = np.random.default_rng(0)
TRAIN = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, 400).astype(float),
        "city": RNG.choice(["Leeds", "New York", "Hull", "Bath", "Ely"], 400, p=[0.4, 0.3, 0.28, 0.01, 0.01]),
    }
)
TRAIN.loc[::20, "age"] = np.nan
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    FITTED = Preprocessing.fit(TRAIN)
    MERGED = Preprocessing.fit(TRAIN, rules=Rules(merge_spellings=True))


def notes_on(frame, fitted=FITTED):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Preprocessing.from_dict(json.loads(json.dumps(fitted.to_dict()))).transform(frame)
    assert {each.category for each in caught} <= {DataWarning}
    return [str(each.message) for each in caught]


def test_rows_like_the_training_rows_have_no_note():
    assert notes_on(TRAIN) == []
    assert notes_on(TRAIN[:5]) == []


def test_new_categories_are_counted_though_rare_ones_are_pooled():
    assert "(other)" in FITTED.encodings[1].categories
    new = TRAIN.assign(city=np.where(np.arange(400) < 3, "York", TRAIN["city"]))
    assert notes_on(new) == [
        "the column 'city' has categories that no training row had in 3 of 400 rows: 'York' (3 rows)"
    ]
    assert notes_on(TRAIN[TRAIN["city"].isin(["Bath", "Ely"])]) == []  # pooled, but known


def test_a_category_in_another_spelling_is_named_with_the_known_one():
    (note,) = notes_on(TRAIN.assign(city=TRAIN["city"].replace("New York", "new  york")))
    count = (TRAIN["city"] == "New York").sum()
    assert f"'new  york' ({count} rows, which differs from 'New York' only by case or spaces)" in note


def test_spellings_that_were_merged_in_training_are_merged_in_new_rows():
    new = TRAIN.assign(city=TRAIN["city"].str.upper().str.replace(" ", "  "))
    assert notes_on(new, MERGED) == []
    np.testing.assert_array_equal(MERGED.transform(new), FITTED.transform(TRAIN))


def test_numbers_far_outside_the_training_range_are_counted():
    for value in (-999, 1e30):
        new = TRAIN.assign(age=np.where(np.arange(400) < 7, value, TRAIN["age"]))
        what = "the column 'age' is far outside the training rows' range (18 to 79)"
        assert notes_on(new) == [f"{what} in 7 of 400 rows, such as {value:.6g}"]
    assert notes_on(TRAIN.assign(age=100)) == []  # outside, but not far


def test_many_more_missing_values_than_in_training_are_counted():
    new = TRAIN.assign(age=np.where(np.arange(400) < 150, np.nan, TRAIN["age"]))
    (note,) = notes_on(new)
    assert (
        f"'age' is missing in {new['age'].isna().sum()} of 400 rows, and was in 5.0% of the training rows" in note
    )
    assert notes_on(TRAIN.assign(city=None)) == [
        "the column 'city' is missing in 400 of 400 rows, and was in 0.0% of the training rows"
    ]
    assert notes_on(TRAIN.assign(age=np.nan)[:9]) == []  # too few rows to say


def drift_of(frame):
    drift = Drift()
    FITTED.encode(read(frame), drift=drift)
    return drift


def test_the_counts_of_parts_add_up_to_those_of_the_whole_also_after_they_were_written():
    new = TRAIN.assign(age=TRAIN["age"].where(np.arange(400) % 9 != 8, -900 - np.arange(400)))
    new = new.assign(city=[f"town {row}" if row % 7 == 6 else city for row, city in enumerate(new["city"])])
    new.loc[::3, "city"] = "Leith"
    new.loc[1::3, "age"] = np.nan
    parts = [drift_of(new[:5]), drift_of(new[5:150]), drift_of(new[150:])]
    written = [Drift.from_dict(json.loads(json.dumps(each.to_dict()))) for each in parts]
    whole = drift_of(new)
    assert len(whole.notes) == 3
    assert sum(parts, Drift()).notes == whole.notes
    assert sum(written, Drift(encodings=FITTED.encodings)).notes == whole.notes
    assert parts[1].rows == 145  # which adding does not change


def test_of_very_many_new_categories_the_sum_names_as_many_as_one_table():
    first, second = (pd.DataFrame({"age": 30.0, "city": [f"{a}{row}" for row in range(800)]}) for a in "ab")
    both, whole = drift_of(first) + drift_of(second), drift_of(pd.concat([first, second], ignore_index=True))
    assert len(both.new["city"]) == len(whole.new["city"]) == NEW_VALUES + 1
    assert both.new["city"][""] == whole.new["city"][""] == 600


class TestTraining:
    """What may be read otherwise than it is meant is named when a model is fitted."""

    @pytest.mark.parametrize("written", ["frame", "csv", "parquet"])
    def test_codes_units_and_sentinels_are_named(self, tmp_path, written):
        frame = TRAIN.assign(
            zip=[f"{code:05d}" for code in RNG.integers(1, 60, 400)],
            share=[f"{value}%" for value in RNG.integers(1, 9, 400)],
            price=[f"${value}" for value in RNG.integers(1, 9, 400)],
            grade=RNG.choice(["A1", "B2", "C3"], 400),
            wage=np.where(np.arange(400) % 50, RNG.integers(10, 60, 400), -999),
            size=np.where(np.arange(400) % 50, RNG.integers(10, 60, 400), 1e38),
        )
        frame.to_csv(tmp_path / "people.csv", index=False)
        frame.to_parquet(tmp_path / "people.parquet")
        table = frame if written == "frame" else tmp_path / f"people.{written}"
        with pytest.warns(DataWarning) as caught:
            fitted = Preprocessing.fit(table)
        notes = [str(each.message) for each in caught if "pooled" not in str(each.message)]
        first = frame["zip"][0]
        assert sorted(notes) == sorted(
            [
                f"the column 'zip' is read as numbers, and has some with leading zeros, such as {first!r}; if "
                "they are codes, pass types={'zip': 'category'}",
                "the column 'share' is read as categories, and has numbers with signs, such as '1%'; write the "
                "numbers alone to have them read as numbers",
                "the column 'price' is read as categories, and has numbers with signs, such as '$1'; write the "
                "numbers alone to have them read as numbers",
                "the column 'wage' has the number -999 in 8 of 400 training rows, far from the others (10 to "
                "59); if it means a missing value, pass Rules(missing=(*MISSING, '-999'))",
                "the column 'size' has the number 1e+38 in 8 of 400 training rows, far from the others (10 to "
                "59); if it means a missing value, pass Rules(missing=(*MISSING, '1e+38'))",
            ]
        )
        assert fitted.encodings[2].kind == "number"  # zip, wherever it is read from

    def test_rows_of_a_test_file_that_differ_are_noted(self):
        people = TRAIN.assign(sex=RNG.choice(["f", "m"], 400), hired=RNG.choice(["no", "yes"], 400))
        later = people.assign(age=-999.0, city="York")
        with pytest.warns(DataWarning) as caught:
            loaded = from_frame(people, "hired", "sex", test=later)
        said = [str(each.message) for each in caught if "in the test rows" in str(each.message)]
        assert [note for note in loaded.warnings if "in the test rows" in note] == said
        assert said[0].startswith("in the test rows, the column 'age' is far outside the training rows' range")
        assert said[1:] == [
            "in the test rows, the column 'city' has categories that no training row had in 400 of 400 rows: "
            "'York' (400 rows)"
        ]

    @pytest.mark.parametrize("merge", [False, True])
    def test_spellings_are_named_and_merged_when_asked(self, merge):
        frame = TRAIN.assign(city=np.where(np.arange(400) % 3, TRAIN["city"], TRAIN["city"].str.lower()))
        with pytest.warns(DataWarning) as caught:
            fitted = Preprocessing.fit(frame, rules=Rules(merge_spellings=merge))
        notes = [str(each.message) for each in caught if "differ only by case or spaces" in str(each.message)]
        assert len(notes) == (not merge)
        assert ("leeds" in fitted.encodings[1].categories) is not merge
        assert merge or notes[0].endswith("to merge them, pass Rules(merge_spellings=True)")

    def test_a_missing_word_that_is_a_number_has_its_effect_in_a_frame_of_numbers(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = Preprocessing.fit(TRAIN.fillna({"age": 999}), rules=Rules(missing=("999",)))
        assert fitted.encodings[0] == FITTED.encodings[0]

    def test_points_under_a_decimal_comma_are_refused_with_advice(self, tmp_path):
        table = people(tmp_path / "people.csv", rows=400)
        result = raan(
            "fit", table, "--label", "hired", "--attribute", "sex", "--decimal", ",", "--out", tmp_path / "out"
        )
        assert result.returncode == 2
        assert "the column 'score' is" in said(result)
        assert "if the point marks decimals, leave out --decimal ,;" in said(result)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drift")
    table = people(folder / "people.csv", rows=400)
    frame = pd.read_csv(table, dtype=str, keep_default_na=False)
    frame["sex"] = np.where(np.arange(400) % 4, frame["sex"], frame["sex"].str.upper())
    frame.to_csv(folder / "spelt.csv", index=False)
    options = ("--label", "hired", "--attribute", "sex", "--ignore", "id", "--minutes", 0.05)
    merged = raan("fit", folder / "spelt.csv", *options, "--out", folder / "out", "--merge-spellings")
    assert merged.returncode in (0, 1), merged.stderr
    assert "differ only by case" not in merged.stderr
    return folder, options


class TestCommands:
    """`raan predict` and `raan audit` print the notes, have them in their JSON, and refuse them with --strict."""

    def test_fit_names_spellings_unless_they_are_merged(self, fitted, tmp_path):
        folder, options = fitted
        result = raan("fit", folder / "spelt.csv", *options, "--out", tmp_path / "out")
        assert "the column 'sex' has values that differ only by case or spaces" in said(result)
        assert "to merge them, pass --merge-spellings" in said(result)
        assert load(folder / "out" / "model").classifier.groups_ == ("f", "m")

    def test_predict(self, fitted, tmp_path):
        folder, _ = fitted
        frame = pd.read_csv(folder / "people.csv", dtype=str, keep_default_na=False)
        frame.assign(age="-999", city=np.where(np.arange(400) < 9, "Ely", frame["city"])).to_csv(
            tmp_path / "new.csv", index=False
        )
        command = ("predict", folder / "out", tmp_path / "new.csv", "--out", tmp_path / "p.csv")
        shown = raan(*command)
        assert shown.returncode == 0
        assert "note: the column 'age' is far outside the training rows' range" in said(shown)
        assert "note: the column 'city' has categories that no training row had in 9 of 400 rows" in said(shown)
        found = json.loads(raan(*command, "--json").stdout)
        assert found["drift"] == [
            {"column": "age", "kind": "out of range", "affected": 400, "rows": 400},
            {"column": "city", "kind": "new category", "affected": 9, "rows": 400},
        ]
        assert len(found["notes"]) == 2
        (tmp_path / "p.csv").write_text("before")
        strict = raan(*command, "--strict")
        assert strict.returncode == 2
        assert "in 9 of 400 rows: 'Ely' (9 rows); expected rows like the training rows, as --strict asks" in said(
            strict
        )
        assert (tmp_path / "p.csv").read_text() == "before"
        same = ("predict", folder / "out", folder / "people.csv", "--out", tmp_path / "p.csv", "--strict")
        assert raan(*same).returncode == 0

    def test_audit(self, fitted):
        folder, _ = fitted
        columns = ("--label", "hired", "--prediction", "hired", "--attribute", "sex")
        command = ("audit", folder / "spelt.csv", *columns)
        shown = raan(*command)
        assert "The attribute has values that differ only by case or spaces" in shown.stdout
        assert "to merge them, pass --merge-spellings." in shown.stdout
        (note,) = json.loads(raan(*command, "--json").stdout)["notes"]
        assert "'f' (" in note
        strict = raan(*command, "--strict")
        assert strict.returncode == 2
        assert "differ only by case or spaces" in said(strict)
        merged = json.loads(raan(*command, "--merge-spellings", "--strict", "--json").stdout)
        assert [group["name"] for group in merged["groups"]] == ["f", "m"]
        assert merged["notes"] == []
