"""Training and prediction read a table in one way: people have the same features, however they are written."""

import json
import os
import warnings
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commands import raan, said
from raan import load
from raan.data import DataWarning, Layout, Preprocessing, Rules, from_frame
from raan.errors import InputError, InputTypeError
from raan.fit import predictions
from raan.fit.classifier import TableClassifier

RNG = np.random.default_rng(0)
ROWS = 400
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, ROWS).astype(float),
        "income": RNG.normal(2000, 500, ROWS).round(2),
        "job": RNG.choice(["clerk", "cook", "judge"], ROWS),
        "code": RNG.integers(1, 4, ROWS),
        "member": RNG.choice([True, False], ROWS),
    }
)
PEOPLE.loc[::7, "age"] = np.nan
PEOPLE.loc[::11, "job"] = None


class Saved(NamedTuple):
    """What `raan fit` wrote, the model in it, and what it predicts of PEOPLE."""

    folder: Path
    model: TableClassifier
    prediction: np.ndarray
    probability: np.ndarray


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """Fit to a file with labels and groups, whose missing numbers are 999."""
    folder = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], ROWS)
    score = (
        (PEOPLE["income"] - 2000) / 500
        + PEOPLE["member"]
        + (PEOPLE["code"] == 2)
        + 0.02 * PEOPLE["age"].fillna(50)
    )
    people = PEOPLE.fillna({"age": 999}).assign(
        sex=sex, hired=np.where(score + rng.normal(size=ROWS) > 2, "yes", "no")
    )
    options = ("--label", "hired", "--attribute", "sex", "--category", "code", "--missing", 999, "--minutes", 0.05)
    result = raan("fit", write_csv(people, folder / "train.csv"), *options, "--out", folder / "fair")
    assert result.returncode in (0, 1), result.stderr
    model = load(folder / "fair" / "model")
    assert set(model.columns) == set(PEOPLE)
    return Saved(folder / "fair", model, model.predict(PEOPLE), model.predict_proba(PEOPLE))


in_tmp = settings(
    max_examples=int(os.environ.get("HYPOTHESIS_CASES", 50)),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def write_csv(frame: pd.DataFrame, path: Path, **options: object) -> Path:
    frame.to_csv(path, index=False, **options)
    return path


SPELLINGS = {  # of the values of a column: those that mean the same, and those that may only be refused or noted
    "age": {
        "same": [
            float,
            "Float64",
            "{:.0f}",
            "{:.1f}",
            "{:g}",
            "{:.3e}",
            "+{:.0f}",
            " {:.0f} ",
            "0{:.0f}",
            "float32",
        ],
        "other": ["{:.0f} years", "{:.0f}%", "1{:.0f}e5", "-{:.0f}99", "{:.0f}_0"],
    },
    "income": {
        "same": [float, "{:.2f}", "{!r}", "{:.4f}"],
        "other": ["{:,.2f}", "${:.2f}", "{:.2f}0000000"],
    },
    "job": {"same": [str, "category", " {} ", "{}\t"], "other": [str.upper, str.title, "{}s"]},
    "code": {
        "same": [int, float, str, "Int64", "category", "{}.0", " {}"],
        "other": ["0{}", "{}.5", "#{}", "1{}"],
    },
    "member": {"same": [bool, "boolean", str, str.upper, str.lower], "other": [int, "{}!", "member: {}"]},
}


def respell(column: pd.Series, spelling: object) -> pd.Series:
    """The column in another type, or each known value as text by a format or a function."""
    formatted = isinstance(spelling, str) and "{" in spelling
    if formatted or spelling in (str.upper, str.lower, str.title):
        write = spelling.format if isinstance(spelling, str) else lambda value: spelling(str(value))
        return column.map(write, na_action="ignore").astype(object)
    if spelling is str:
        return column.map(str, na_action="ignore").astype(object)
    return column.astype(spelling)


@st.composite
def writings(draw: st.DrawFn, which: str) -> dict[str, object]:
    """A way to write the people; of the columns, one is spelt in a way of this kind, and the others alike."""
    column = draw(st.sampled_from(list(SPELLINGS)))
    return {
        "kind": draw(
            st.sampled_from(["csv", "tsv", "csv.gz", "parquet", "pandas", "nullable", "arrow", "polars"])
        ),
        "column": column,
        "spelling": draw(st.sampled_from(SPELLINGS[column][which])),
        "order": draw(st.permutations(list(PEOPLE))),
        "extra": draw(st.booleans()),
        "missing": draw(st.sampled_from(["", "NA", "?", "999"])),
        "ends": draw(st.sampled_from(["\n", "\r\n", "\r"])),
        "quoting": draw(st.sampled_from([0, 1])),
        "encoding": draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])),
        "decimal": draw(st.sampled_from([".", ","])),
        "delimiter": draw(st.sampled_from([";", "|", "\t"])),
    }


def write_people(ways: dict[str, object], folder: Path) -> tuple[object, Layout | None]:
    """Write the people so; return what is written, and the layout to read it by."""
    frame = PEOPLE.assign(**{ways["column"]: respell(PEOPLE[ways["column"]], ways["spelling"])})[ways["order"]]
    if ways["missing"] == "999":  # in numbers and words alike
        for name in ("age", "job"):
            if not isinstance(frame[name].dtype, pd.CategoricalDtype):
                word = 999 if pd.api.types.is_numeric_dtype(frame[name]) else "999"
                frame[name] = frame[name].where(frame[name].notna(), word)
    if ways["extra"]:
        frame = frame.assign(more=1)
    kind = ways["kind"]
    if kind in ("csv", "tsv", "csv.gz"):
        # A number that is spelt with a point is another one, or none, where the decimal mark is a comma.
        spelt = ways["column"] in ("age", "income") or ways["spelling"] == "{}.0"
        decimal = "." if spelt else ways["decimal"]
        path = write_csv(
            frame,
            folder / f"people.{kind}",
            sep="\t" if kind == "tsv" else "," if decimal == "." else ways["delimiter"],
            na_rep=ways["missing"],
            lineterminator=ways["ends"],
            quoting=ways["quoting"],
            encoding=ways["encoding"],
            decimal=decimal,
        )
        return path, Layout(
            decimal=decimal,
            delimiter="\t" if kind == "csv" and ways["delimiter"] == "\t" and decimal == "," else None,
            encoding=ways["encoding"],
        )
    if kind == "parquet":
        frame.to_parquet(folder / "people.parquet")
        return folder / "people.parquet", None
    if kind == "nullable":
        return frame.convert_dtypes(), None
    if kind == "arrow":
        return frame.convert_dtypes(dtype_backend="pyarrow"), None
    return (pl.from_pandas(frame), None) if kind == "polars" else (frame, None)


def predict(saved: Saved, written: object, layout: Layout | None) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Predict in Python and, for files, by `raan predict`, which agree; return also the notes."""
    model = saved.model
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        features = model.preprocessing.transform(written, layout=layout)
    notes = [str(each.message) for each in caught]
    prediction, probability = model.predict_features(features), model.probabilities(features)
    if isinstance(written, Path):
        result, out = by_command(saved, written, layout)
        assert result.returncode == 0, result.stderr
        np.testing.assert_array_equal(out["prediction"], prediction)
        np.testing.assert_array_equal(out[["probability_no", "probability_yes"]], probability)
        assert json.loads(result.stdout)["notes"] == notes
    return prediction, probability, notes


def by_command(
    saved: Saved, written: Path, layout: Layout | None
) -> tuple[CompletedProcess[str], pd.DataFrame | None]:
    """Run `raan predict` on a file; return what it said and wrote."""
    out = written.with_name("predictions.parquet")
    layout = layout or Layout()
    options = ["--encoding", layout.encoding, "--decimal", layout.decimal]
    options += ["--delimiter", layout.delimiter] if layout.delimiter else []
    with pytest.MonkeyPatch.context() as patch:  # reading the model again would take most of the time
        patch.setattr(predictions, "load_model", lambda folder: saved.model)
        result = raan("predict", saved.folder, written, "--out", out, "--json", *options)
    return result, pd.read_parquet(out) if result.returncode == 0 else None


@in_tmp
@given(writings("same"))
def test_people_written_in_another_way_have_the_same_predictions(
    saved: Saved, tmp_path: Path, ways: dict[str, object]
) -> None:
    prediction, probability, notes = predict(saved, *write_people(ways, tmp_path))
    np.testing.assert_array_equal(prediction, saved.prediction)
    np.testing.assert_array_equal(probability, saved.probability)
    assert notes == []


@in_tmp
@given(writings("other"))
def test_people_written_as_something_else_are_refused_by_column_and_value_or_noted(
    saved: Saved, tmp_path: Path, ways: dict[str, object]
) -> None:
    """Values with units, thousands separators, codes or cases never change a prediction in silence."""
    column = f"the column {ways['column']!r}"
    written, layout = write_people(ways, tmp_path)
    refusal = None
    try:
        _, probability, notes = predict(saved, written, layout)
    except InputError as error:
        refusal = str(error)
    if refusal is None:
        assert np.array_equal(probability, saved.probability) or any(column in note for note in notes)
        return
    assert f"{column} is '" in refusal
    if isinstance(written, Path):
        result, _ = by_command(saved, written, layout)
        assert result.returncode == 2
        assert f"{column} is '" in said(result)


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_a_number_that_means_a_missing_value_in_training_does_so_in_new_rows(
    saved: Saved, tmp_path: Path, kind: str
) -> None:
    fitted = saved.model.preprocessing
    new = PEOPLE.assign(income=999.0)
    if kind == "csv":
        written: object = write_csv(new, tmp_path / "new.csv")
    elif kind == "parquet":
        new.to_parquet(tmp_path / "new.parquet")
        written = tmp_path / "new.parquet"
    else:
        written = new
    with pytest.warns(DataWarning, match="'income' is missing in 400 of 400 rows"):
        features = fitted.transform(written)
    place = fitted.spans["income"].start
    encoding = fitted.encodings[fitted.columns.index("income")]
    expected = (encoding.median - encoding.mean) / encoding.scale
    np.testing.assert_allclose(features[:, place], expected, rtol=1e-6)


def test_columns_that_are_the_same_once_stripped_are_refused_in_parquet_and_frames(
    saved: Saved, tmp_path: Path
) -> None:
    twice = PEOPLE.assign(**{"age ": 1.0})
    twice.to_parquet(tmp_path / "people.parquet")
    for written in (twice, tmp_path / "people.parquet"):
        with pytest.raises(ValueError, match="has 2 columns called 'age'"):
            saved.model.predict(written)


def test_a_decimal_comma_is_remembered_and_a_point_is_then_refused_with_its_line(tmp_path: Path) -> None:
    path = write_csv(PEOPLE, tmp_path / "people.csv", sep=";", decimal=",")
    fitted = Preprocessing.fit(path, layout=Layout(decimal=","))
    np.testing.assert_array_equal(fitted.transform(path), Preprocessing.fit(PEOPLE).transform(PEOPLE))
    again = Preprocessing.from_dict(fitted.to_dict())
    assert again == fitted
    path.write_text(path.read_text().replace(PEOPLE["income"].map(lambda x: f"{x}".replace(".", ","))[5], "1.595"))
    with pytest.raises(ValueError, match=r"people.csv, line 7: the column 'income' is '1.595'.*expected a number"):
        again.transform(path)


@pytest.mark.parametrize("written", ["whole", "missing", "text"])
def test_codes_that_floats_cannot_distinguish_are_refused_or_kept_exactly(tmp_path: Path, written: str) -> None:
    """9007199254740992 and 9007199254740993 are one float, and would be one group."""
    codes = pd.Series(2**53 + np.arange(300) % 2)
    if written == "missing":
        codes = codes.astype("Int64").where(codes.index > 9)
    frame = pd.DataFrame({"a": np.arange(300.0) % 7, "code": codes.astype(str) if written == "text" else codes})
    frame = frame.assign(y=np.arange(300) % 3 % 2)
    frame.to_csv(tmp_path / "people.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame).replace_schema_metadata(None), tmp_path / "people.parquet")
    tables = (frame, tmp_path / "people.csv", tmp_path / "people.parquet")
    for table in tables:
        with pytest.raises(InputError, match=r"'code' has numbers from 2\*\*53 up, .* pass types={'code': 'cat"):
            from_frame(table, "y", "code")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            loaded = from_frame(table, "y", "code", types={"code": "category"})
        assert loaded.attribute.names == ("9007199254740992", "9007199254740993")


@pytest.mark.parametrize(
    "values", [pd.to_datetime(["2020-01-01", "2021-01-01"]), pd.IntervalIndex.from_breaks([0, 1, 2])]
)
def test_categories_that_are_dates_or_intervals_are_left_out_or_refused(saved: Saved, values: pd.Index) -> None:
    column = pd.Categorical(values[np.arange(ROWS) % 2])
    with pytest.warns(DataWarning, match="unfit to learn from is left out"):
        assert Preprocessing.fit(PEOPLE.assign(job=column)).columns == ("age", "income", "code", "member")
    for name in ("age", "job"):
        with pytest.raises(InputTypeError, match=f"the column '{name}' holds .*; expected numbers or words"):
            saved.model.predict(PEOPLE.assign(**{name: column}))


@pytest.mark.parametrize("decimal", ["1", "e", "-", "_", " "])
def test_a_decimal_mark_that_numbers_contain_is_refused(decimal: str) -> None:
    with pytest.raises(InputError, match=r"decimal is '.'; expected '\.' or ','"):
        Layout(decimal=decimal)


@pytest.mark.parametrize("word", ["-9", "-9.0", " -9 ", "-9.00"])
@pytest.mark.parametrize("kind", ["number", "text"])
def test_a_missing_word_means_the_same_value_however_it_is_spelt(tmp_path: Path, word: str, kind: str) -> None:
    values = np.where(np.arange(60) % 3, np.arange(60) % 5, -9).astype(float)
    frame = pd.DataFrame({"a": values if kind == "number" else [f"{value:g}" for value in values], "b": values})
    frame.to_parquet(tmp_path / "people.parquet")
    write_csv(frame, tmp_path / "people.csv")
    for table in (frame, tmp_path / "people.parquet", tmp_path / "people.csv"):
        for types in ({}, {"a": "category"}):
            found = Preprocessing.fit(table, rules=Rules(missing=("", word), rare=1), types=types).encodings[0]
            assert found.absent == pytest.approx(1 / 3), (table, types)


@pytest.mark.parametrize("missing", ["999", (999,)])
def test_missing_words_that_are_no_words_are_refused(missing: object) -> None:
    """Of a text alone every letter would be a word: "999" would make each 9 a missing value."""
    with pytest.raises(InputTypeError, match=r"missing is .*; expected several words"):
        Rules(missing=missing)  # type: ignore[arg-type]
