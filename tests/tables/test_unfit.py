"""Identifiers, dates, names and free text are recognised; what merely has many values is not taken for them."""

import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from raan.errors import in_shell
from raan.lab.datasets.adult import COLUMNS
from raan.tables.checks import describe_unfit, find_unfit
from raan.tables.read import read

ROWS = 1000
RNG = np.random.default_rng(0)
DAYS = pd.Timestamp("1990-01-01") + pd.to_timedelta(RNG.integers(0, 9000, ROWS), "D")
FIRST = [f"{a}{b}" for a in ("Al", "Be", "Ca", "Do", "Ed") for b in ("a", "bert", "rl", "ris", "ie", "on")]

IDENTIFIERS = {
    "counted": np.arange(ROWS),
    "shuffled": RNG.permutation(ROWS) + 5_000_000,
    "by tens": RNG.permutation(ROWS) * 10,
    "in blocks": np.concatenate([10**9 + np.arange(500), 2 * 10**9 + np.arange(500)]),
    "with gaps": np.sort(RNG.choice(2 * ROWS, ROWS, replace=False)).astype(float),
    "words": [f"AC-{place:06d}" for place in RNG.integers(0, 10**6, ROWS)],
    "tokens": [uuid.UUID(int=int(place)).hex for place in RNG.integers(0, 2**62, ROWS)],
    "e-mails": [f"user{place}@mail.com" for place in RNG.integers(0, 300, ROWS)],
    "mostly numbers": [f"{place}" if place % 50 else f"A{place}" for place in range(ROWS)],
    "phone": RNG.integers(2 * 10**9, 9 * 10**9, ROWS),
    "patient_id": RNG.choice(RNG.integers(0, 10**9, ROWS // 3), ROWS),
    "patientID": RNG.choice(RNG.integers(0, 10**9, ROWS // 3), ROWS),
}
DATES = {
    "pandas": pd.Series(DAYS),
    "objects": list(DAYS.date),
    "ISO": DAYS.strftime("%Y-%m-%d"),
    "ISO with time": DAYS.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    "with zone": DAYS.strftime("%Y-%m-%d %H:%M:%S+01:00"),
    "American": DAYS.strftime("%m/%d/%Y"),
    "German": DAYS.strftime("%d.%m.%y"),
    "long": DAYS.strftime("%d %B %Y"),
    "short": DAYS.strftime("%b %d, %Y"),
    "month": DAYS.strftime("%Y-%m"),
    "time": [f"{hour}:{minute:02d}" for hour, minute in zip(*RNG.integers(0, 24, (2, ROWS)), strict=True)],
    "digits": DAYS.strftime("%Y%m%d").astype(int),
    "created_at": (DAYS - pd.Timestamp("1970-01-01")) // pd.Timedelta("1s"),
    "with gaps": np.where(np.arange(ROWS) % 7, DAYS.strftime("%Y-%m-%d"), None),
}
TEXTS = {
    "first_name": RNG.choice(FIRST, ROWS),
    "lastName": [f"Sm{place}th" for place in RNG.integers(0, 60, ROWS)],
    "who": [f"{first} Smith-{place}" for place, first in enumerate(RNG.choice(FIRST, ROWS))],
    "any name": [f"word{place}" for place in RNG.integers(0, 400, ROWS)],
    "comment": [" ".join(RNG.choice(["late", "paid", "again", "call"], 5)) for _ in range(ROWS)],
}
FIT = {
    "float": RNG.normal(size=ROWS),
    "income": np.round(np.exp(RNG.normal(10.3, 0.6, ROWS))),
    "all different incomes": RNG.choice(10**6, ROWS, replace=False),
    "weight": RNG.integers(12_000, 1_500_000, ROWS),
    "age": RNG.integers(17, 90, ROWS),
    "year": RNG.integers(1900, 2024, ROWS),
    "zip": RNG.integers(10_000, 99_999, ROWS),
    "number_of_children": RNG.integers(0, 9, ROWS),
    "job_id": RNG.integers(0, 30, ROWS),
    "city": [f"city {place}" for place in RNG.integers(0, 80, ROWS)],
    "a hundred and fifty words": [f"w{place}" for place in RNG.integers(0, 150, ROWS)],
    "name": RNG.choice(["clerk", "cook", "judge"], ROWS),
    "range": RNG.choice(["18-29", "30-44", "45-64", "65+"], ROWS),
    "years": RNG.choice(["1990-1999", "2000-2009"], ROWS),
    "dotted": RNG.choice(["1.2.3", "0.0.40"], ROWS),
    "comma": [f"{value:.2f}".replace(".", ",") for value in RNG.normal(size=ROWS)],
    "bool": RNG.integers(0, 2, ROWS).astype(bool),
    "empty": np.full(ROWS, np.nan),
    "one value": ["a"] * ROWS,
}


def seen(name: str, values: object) -> str | None:
    return find_unfit(name, read(pd.DataFrame({name: values})).frame[name])


def of(table: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("name", "values"), table.items(), ids=table.keys())


@of(IDENTIFIERS)
def test_identifiers_are_recognised(name: str, values: object) -> None:
    assert seen(name, values) == "identifiers"


@of(DATES)
def test_dates_and_times_are_recognised(name: str, values: object) -> None:
    assert seen(name, values) == "dates or times"


@of(TEXTS)
def test_names_and_free_text_are_recognised(name: str, values: object) -> None:
    assert seen(name, values) == ("free text" if name == "comment" else "names or free text")


def test_paths_of_images_are_recognised() -> None:
    assert seen("photo", [f"train/{row:05}.JPG" for row in range(ROWS)]) == "image files"
    assert seen("photo", [f"train/{row:05}.txt" for row in range(ROWS)]) == "identifiers"


@of(FIT)
def test_what_merely_has_many_values_is_none_of_them(name: str, values: object) -> None:
    assert seen(name, values) is None


def test_what_is_neither_numbers_nor_words_is_told_apart_from_dates() -> None:
    assert seen("lists", [[1], [2]]) == "neither numbers nor words"


def test_the_note_names_all_by_kind_and_says_how_to_keep_one() -> None:
    note = describe_unfit({"id": "identifiers", "born": "dates or times", "key": "identifiers"})
    assert note == (
        "3 columns that look unfit to learn from are left out (identifiers: id, key; dates or times: born); "
        "keep one by types={'id': 'category'}, or derive numbers or categories from it"
    )
    assert "keep one by --category id," in note.spell(in_shell())


@pytest.mark.parametrize("rows", [50, 100, 300, 2000, None])
def test_no_column_of_adult_is_taken_for_unfit(rows: int | None, real_data: Path) -> None:
    frame = pd.read_csv(real_data / "adult" / "adult.data", names=list(COLUMNS), skipinitialspace=True)
    for seed in range(3):
        some = frame if rows is None else frame.sample(rows, random_state=seed)
        assert {name: find_unfit(name, column) for name, column in read(some).frame.items()} == dict.fromkeys(
            COLUMNS
        )


@pytest.mark.parametrize("rows", [100, 2000, None])
@pytest.mark.parametrize("file", ["meps19_fy2015_mep1_processed.csv.gz", "rnf_meps_train.csv.gz"])
def test_no_column_of_meps_is_taken_for_unfit(file: str, rows: int | None, real_data: Path) -> None:
    if not (real_data / "meps" / file).is_file():
        pytest.skip(f"no {file}")
    frame = pd.read_csv(real_data / "meps" / file)
    some = frame if rows is None else frame.sample(rows, random_state=0)
    assert not [name for name, column in read(some).frame.items() if find_unfit(name, column)]
