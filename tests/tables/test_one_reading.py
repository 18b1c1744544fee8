"""Training and prediction read a table in one way: people have the same features, however they are written."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raan.data import DataWarning, Layout, Preprocessing, Rules

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, 120).astype(float),
        "income": RNG.normal(2000, 500, 120).round(2),
        "job": RNG.choice(["clerk", "cook", "judge"], 120),
        "code": RNG.integers(1, 4, 120),
        "member": RNG.choice([True, False], 120),
    }
)
PEOPLE.loc[::7, "age"] = np.nan
PEOPLE.loc[::11, "job"] = None
RULES = Rules(rare=1, missing=(*Rules().missing, "999"))
FITTED = Preprocessing.fit(PEOPLE, rules=RULES, types={"code": "category"})
FEATURES = FITTED.transform(PEOPLE)

in_tmp = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write_csv(frame: pd.DataFrame, path: Path, **options: object) -> Path:
    frame.to_csv(path, index=False, **options)
    return path


@st.composite
def writings(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    """A way to write the people, and how it differs."""
    kind = draw(st.sampled_from(["csv", "tsv", "parquet", "pandas", "nullable", "arrow", "polars"]))
    return kind, {
        "order": draw(st.permutations(list(PEOPLE))),
        "extra": draw(st.booleans()),
        "missing": draw(st.sampled_from(["", "NA", "?", "999"])),
        "codes": draw(st.sampled_from([int, float, str])),
        "ends": draw(st.sampled_from(["\n", "\r\n"])),
        "quoting": draw(st.sampled_from([0, 1])),
        "encoding": draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])),
    }


@in_tmp
@given(writings())
def test_people_written_in_another_way_have_the_same_features(
    tmp_path: Path, writing: tuple[str, dict[str, object]]
) -> None:
    kind, ways = writing
    frame = PEOPLE[ways["order"]].assign(code=PEOPLE["code"].astype(ways["codes"]))
    if ways["missing"] == "999":  # in numbers and words alike
        frame = frame.assign(age=frame["age"].fillna(999), job=frame["job"].fillna("999"))
    if ways["extra"]:
        frame = frame.assign(more=1)
    written: object = frame
    if kind in ("csv", "tsv"):
        written = write_csv(
            frame,
            tmp_path / f"people.{kind}",
            sep="," if kind == "csv" else "\t",
            na_rep=ways["missing"],
            lineterminator=ways["ends"],
            quoting=ways["quoting"],
            encoding=ways["encoding"],
        )
    elif kind == "parquet":
        frame.to_parquet(tmp_path / "people.parquet")
        written = tmp_path / "people.parquet"
    elif kind == "nullable":
        written = frame.convert_dtypes()
    elif kind == "arrow":
        written = frame.convert_dtypes(dtype_backend="pyarrow")
    elif kind == "polars":
        written = pl.from_pandas(frame)
    np.testing.assert_array_equal(FITTED.transform(written), FEATURES)


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_a_number_that_means_a_missing_value_in_training_does_so_in_new_rows(tmp_path: Path, kind: str) -> None:
    new = PEOPLE.assign(income=999.0)
    if kind == "csv":
        written: object = write_csv(new, tmp_path / "new.csv")
    elif kind == "parquet":
        new.to_parquet(tmp_path / "new.parquet")
        written = tmp_path / "new.parquet"
    else:
        written = new
    with pytest.warns(DataWarning, match="'income' is missing in all 120 rows"):
        features = FITTED.transform(written)
    place = FITTED.spans["income"].start
    encoding = FITTED.encodings[FITTED.columns.index("income")]
    expected = (encoding.median - encoding.mean) / encoding.scale
    np.testing.assert_allclose(features[:, place], expected, rtol=1e-6)


def test_columns_that_are_the_same_once_stripped_are_refused_in_parquet_and_frames(tmp_path: Path) -> None:
    twice = PEOPLE.assign(**{"age ": 1.0})
    twice.to_parquet(tmp_path / "people.parquet")
    for written in (twice, tmp_path / "people.parquet"):
        with pytest.raises(ValueError, match="has 2 columns called 'age'"):
            FITTED.transform(written)


def test_a_decimal_comma_is_remembered_and_a_point_is_then_refused_with_its_line(tmp_path: Path) -> None:
    path = write_csv(PEOPLE, tmp_path / "people.csv", sep=";", decimal=",")
    fitted = Preprocessing.fit(path, rules=RULES, types={"code": "category"}, layout=Layout(decimal=","))
    np.testing.assert_allclose(fitted.transform(path), FEATURES, atol=1e-6)
    again = Preprocessing.from_dict(fitted.to_dict())
    assert again == fitted
    path.write_text(path.read_text().replace(PEOPLE["income"].map(lambda x: f"{x}".replace(".", ","))[5], "1.595"))
    with pytest.raises(ValueError, match=r"people.csv, line 7: the column 'income' is '1.595'.*expected a number"):
        again.transform(path)
