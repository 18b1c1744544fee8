"""MEPS in its three layouts: the published split, the whole panel, and AHRQ's own file in every form of it."""

import gzip
import zipfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import meps_files
from meps_files import Person
from raan.data import DataUnavailable, Split, Table, meps, meps_split, split
from raan.data.sets.h181 import COLUMNS
from raan.data.sets.meps import ABOUT, CODES, FEATURES, FILES, KNOWN, SPLIT

Layout = Literal["published", "panel"]


@cache
def real(folder: Path, layout: Layout = "published") -> Table:
    """The real table, read once for all tests."""
    if not (folder / "meps").is_dir():
        pytest.skip(f"no real MEPS: {folder / 'meps'} is missing")
    return meps(folder, layout=layout)


# The published split.


def published_row(rng: np.random.Generator) -> list[float]:
    """One row of the published layout: every block of one-hot columns has exactly one 1."""
    hot = [code for codes in CODES.values() for code in rng.permutation(np.eye(len(codes))[0]).tolist()]
    return [rng.integers(0, 86), rng.integers(0, 2), 50.5, 51.25, rng.integers(0, 25), *hot, rng.integers(0, 2)]


def write_published(folder: Path, sizes: Sequence[int] = (6, 2, 4), before: str = "", packed: str = "") -> None:
    rng = np.random.default_rng(0)
    for part, size in zip(("train", "val", "test"), sizes, strict=True):
        rows = [published_row(rng) for _ in range(size)]
        text = "\n".join(",".join(map(str, line)) for line in ([*FEATURES, "UTILIZATION"], *rows)) + "\n"
        path = folder / f"{before}meps_{part}.csv{packed}"
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())


@pytest.mark.parametrize(("before", "packed"), [("", ""), ("", ".gz"), ("rnf_", ""), ("rnf_", ".gz")])
def test_the_three_files_follow_each_other_under_any_of_their_names(
    tmp_path: Path, before: str, packed: str
) -> None:
    write_published(tmp_path, before=before, packed=packed)
    table = meps(tmp_path, check=False)
    expected = pd.concat(
        [pd.read_csv(tmp_path / f"{before}meps_{part}.csv{packed}") for part in ("train", "val", "test")]
    )
    assert table.features.tolist() == expected[list(FEATURES)].to_numpy(np.float32).tolist()
    assert table.label.tolist() == expected["UTILIZATION"].tolist()
    assert table.attribute.tolist() == expected["RACE"].tolist()
    assert table.attribute_names == ("Non-White", "White")


def test_one_of_the_three_files_stands_for_its_folder(tmp_path: Path) -> None:
    write_published(tmp_path)
    assert meps(tmp_path / "meps_val.csv", check=False).rows == 12


def test_race_can_be_left_out_of_the_features(tmp_path: Path) -> None:
    write_published(tmp_path)
    whole, without = (meps(tmp_path, check=False, keep_attribute=keep) for keep in (True, False))
    assert len(whole.feature_names) == 138
    assert without.feature_names == tuple(name for name in whole.feature_names if name != "RACE")
    assert torch.equal(without.attribute, whole.attribute)


def test_a_file_with_another_number_of_rows_is_refused(tmp_path: Path) -> None:
    write_published(tmp_path)
    with pytest.raises(ValueError, match=r"meps_train.csv has 6 rows, expected 11,362"):
        meps(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "AGE,RACE",
            "AGES,RACE",
            r"meps_val.csv lacks 1 of 139 columns \(AGE\): expected .* 139 \(AGES, RACE, ",
        ),
        ("50.5", "fifty", r"meps_val.csv, line 2: PCS42 is 'fifty': expected a number"),
        ("50.5", "", r"meps_val.csv, line 2: PCS42 is '': expected a number"),
        ("50.5", "nan", r"meps_val.csv, line 2: PCS42 is 'nan': expected a number"),
        ("50.5,", "50.5,0,", r"meps_val.csv, line 2 has 140 values: expected 139 as in the header"),
        ("50.5,", "", r"meps_val.csv, line 2 has 138 values: expected 139 as in the header"),
        ("0.0,", "1.0,", r"meps_val.csv, line 2: not exactly one of REGION's columns is 1"),
        ("1.0,", "0.5,", r"meps_val.csv, line 2: not exactly one of REGION's columns is 1"),
        (",1,50.5", ",0.5,50.5", r"attribute is 0.5 in row \d, expected whole numbers"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_by_line_and_column(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    write_published(tmp_path)
    path = tmp_path / "meps_val.csv"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        meps(tmp_path, check=False)


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    write_published(tmp_path, packed=".gz")
    path = tmp_path / "meps_test.csv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"meps_test.csv.gz cannot be read .Compressed file ended"):
        meps(tmp_path, check=False)


def test_a_file_that_is_nowhere_is_asked_for(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_sources = tuple(type(file)(file.dataset, file.name, file.sha256, file.size) for file in FILES)
    monkeypatch.setattr(import_module("raan.data.sets.meps"), "FILES", without_sources)
    with pytest.raises(DataUnavailable, match=r"meps_train.csv of the data set meps was not found"):
        meps()


@pytest.mark.usefixtures("as_users_call")
def test_an_unknown_layout_is_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match="layout is 'raw', expected one of 'published', 'panel', 'h181'"):
        meps(layout="raw")  # type: ignore[arg-type]


def test_the_published_split_is_three_ranges_of_rows() -> None:
    parts = meps_split()
    assert tuple(map(len, parts)) == SPLIT == (11_362, 1_200, 3_168)
    assert torch.equal(torch.cat(parts), torch.arange(15_730))


def test_the_real_split_holds_what_is_known_of_it(real_data: Path) -> None:
    table = real(real_data)
    assert table.features.shape == (15_730, 138)
    assert table.cells().tolist() == [[8_840, 4_187], [1_265, 1_438]]
    parts = [table.label[rows].double().mean().item() for rows in meps_split()]
    assert parts == pytest.approx([1_961 / 11_362, 194 / 1_200, 548 / 3_168])
    assert [int(table.attribute[rows].sum()) for rows in meps_split()] == [4_099, 433, 1_093]


def test_242_distinct_rows_of_the_real_split_stand_in_train_and_in_test(real_data: Path) -> None:
    table = real(real_data)
    rows = torch.cat([table.features, table.label[:, None]], dim=1).numpy()
    train, test = ({row.tobytes() for row in rows[part]} for part in (meps_split().train, meps_split().test))
    assert len(train & test) == 242


def balanced_accuracy(table: Table, parts: Split, shift: int) -> float:
    """How well a logistic regression predicts the label of the row so many rows on."""
    label = torch.roll(table.label, shift).numpy()
    probe = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=200))
    probe.fit(table.features[parts.train].numpy(), label[parts.train])
    return balanced_accuracy_score(label[parts.test], probe.predict(table.features[parts.test].numpy()))


def test_the_labels_belong_to_their_rows_of_the_real_split(real_data: Path) -> None:
    table = real(real_data)
    assert balanced_accuracy(table, meps_split(), shift=0) > 0.75
    assert balanced_accuracy(table, meps_split(), shift=1) < 0.55


# The whole panel.


def test_the_real_panel_holds_what_is_known_of_it(real_data: Path) -> None:
    table = real(real_data, "panel")
    assert table.features.shape == (15_830, 138)
    assert table.cells().tolist() == [[4_583, 8_529], [749, 1_969]]


def test_the_panel_calls_another_race_by_another_name(real_data: Path) -> None:
    table = real(real_data, "panel")
    assert table.attribute_names == ("not White", "White, Hispanic or not")
    assert table.feature_names[:3] == ("AGE", "RACEV2X=1", "PCS42")
    assert table.feature_names[2:] == real(real_data).feature_names[2:]


def test_all_rows_but_100_of_the_real_panel_are_in_the_real_split(real_data: Path) -> None:
    def rows(table: Table) -> dict[bytes, int]:
        stay = [name not in ("RACE", "RACEV2X=1") for name in table.feature_names]
        both = torch.cat([table.features[:, stay], table.label[:, None]], dim=1).numpy()
        values, counts = np.unique(both, axis=0, return_counts=True)
        return {value.tobytes(): int(count) for value, count in zip(values, counts, strict=True)}

    panel, published = rows(real(real_data, "panel")), rows(real(real_data))
    assert all(panel.get(row, 0) >= count for row, count in published.items())
    assert sum(panel.values()) - sum(published.values()) == 100


def test_the_labels_belong_to_their_rows_of_the_real_panel(real_data: Path) -> None:
    table = real(real_data, "panel")
    parts = split(table.rows, (0.7, 0.0, 0.3), seed=0)
    # Members of a family follow each other: the next row's label is not quite foreign.
    assert balanced_accuracy(table, parts, shift=0) - balanced_accuracy(table, parts, shift=1) > 0.15


def test_a_code_that_the_panel_does_not_have_is_named(tmp_path: Path, real_data: Path) -> None:
    source = next((real_data / "meps").glob("*mep1_processed.csv.gz"))
    frame = pd.read_csv(source, nrows=50)
    frame.loc[7, "MARRY"] = 11
    frame.to_csv(tmp_path / "mep1_processed.csv", index=False)
    with pytest.raises(ValueError, match=r"MEPS: MARRY is 11 in row 7, expected one of 1, 2, "):
        meps(tmp_path, layout="panel", check=False)


def test_a_part_of_the_panel_is_refused_by_its_number_of_rows(tmp_path: Path, real_data: Path) -> None:
    source = next((real_data / "meps").glob("*mep1_processed.csv.gz"))
    pd.read_csv(source, nrows=50).to_csv(tmp_path / "part.csv", index=False)
    with pytest.raises(
        ValueError, match=r"MEPS in the layout 'panel' has 50 rows, expected 15,830: .*check=False"
    ):
        meps(tmp_path / "part.csv", layout="panel")


# AHRQ's own file, by small files in its forms.

RENAMED = {
    "REGION53": "REGION",
    "AGE53X": "AGE",
    "MARRY53X": "MARRY",
    "FTSTU53X": "FTSTU",
    "ACTDTY53": "ACTDTY",
    "HONRDC53": "HONRDC",
    "RTHLTH53": "RTHLTH",
    "MNHLTH53": "MNHLTH",
    "CHBRON53": "CHBRON",
    "JTPAIN53": "JTPAIN",
    "PREGNT53": "PREGNT",
    "WLKLIM53": "WLKLIM",
    "ACTLIM53": "ACTLIM",
    "SOCLIM53": "SOCLIM",
    "COGLIM53": "COGLIM",
    "EMPST53": "EMPST",
    "POVCAT15": "POVCAT",
    "INSCOV15": "INSCOV",
}
VISITS = ("OBTOTV15", "OPTOTV15", "ERTOT15", "IPNGTD15", "HHTOTD15")


def person(rng: np.random.Generator) -> Person:
    """Somebody of the survey, who may be of another panel or have refused an answer."""
    codes = {RENAMED_BACK.get(name, name): float(rng.choice(values)) for name, values in CODES.items()}
    if rng.random() < 0.3:
        codes[str(rng.choice(list(codes)))] = float(rng.choice([-1, -7, -8, -9]))
    education = {name: float(rng.choice([-9, -1, 1, 8], p=[0.05, 0.15, 0.4, 0.4])) for name in ("EDUCYR", "HIDEG")}
    visits = {name: float(rng.integers(0, 5)) for name in VISITS}
    return {
        "PANEL": float(rng.choice([19, 20], p=[0.8, 0.2])),
        "AGE53X": float(rng.integers(-1, 86)),
        "RACEV2X": float(rng.integers(1, 5)),
        "HISPANX": float(rng.integers(1, 3)),
        "PCS42": 25.93,
        "MCS42": -9.0,
        "K6SUM42": float(rng.integers(0, 25)),
        "TOTEXP15": 12_345.0,
        **codes,
        **education,
        **visits,
    }


RENAMED_BACK = {ours: theirs for theirs, ours in RENAMED.items()}


def literal_row(someone: Person) -> Person | None:
    """One person after the published preprocessing, written out; nothing if the row is dropped."""
    row = {RENAMED.get(name, name): value for name, value in someone.items()}
    if row["PANEL"] != 19:
        return None
    if row["REGION"] < 0 or row["AGE"] < 0 or row["MARRY"] < 0 or row["ASTHDX"] < 0:
        return None
    for name in [*CODES, "EDUCYR", "HIDEG"]:
        if name != "SEX" and row[name] < -1:
            return None
    visits = sum(row[name] for name in VISITS)
    features = {"AGE": row["AGE"], "RACE": 1.0 if row["RACEV2X"] == 1 and row["HISPANX"] == 2 else 0.0}
    features |= {name: row[name] for name in ("PCS42", "MCS42", "K6SUM42")}
    features |= {f"{name}={code}": float(row[name] == code) for name, codes in CODES.items() for code in codes}
    return features | {"UTILIZATION": 1.0 if visits >= 10 else 0.0}


@pytest.fixture(scope="module")
def people() -> list[Person]:
    """Enough people for every cell, without codes that the real panel 19 has none of after preprocessing."""
    rng = np.random.default_rng(1)
    drawn = (person(rng) for _ in range(2_500))
    known = {RENAMED_BACK.get(name, name): codes for name, codes in CODES.items()}
    return [
        someone
        for someone in drawn
        if literal_row(someone) is None or all(someone[name] in codes for name, codes in known.items())
    ]


def fixed_width(statements: Callable[[Sequence[str]], str], name: str) -> Callable[[Path, list[Person]], Path]:
    def write(path: Path, people: list[Person]) -> Path:
        (path.parent / name).write_text(statements(list(people[0])))
        return meps_files.write_fixed_width(path, people)

    return write


def comma_separated(path: Path, people: list[Person]) -> Path:
    pd.DataFrame(people).to_csv(path, index=False)
    return path


FORMS: dict[str, tuple[str, Callable[[Path, list[Person]], Path]]] = {
    "SAS transport": ("h181.ssp", meps_files.write_transport),
    "Stata": ("h181.dta", meps_files.write_stata),
    "fixed width with SAS statements": ("h181.dat", fixed_width(meps_files.sas_statements, "h181su.txt")),
    "fixed width with Stata statements": ("h181.dat", fixed_width(meps_files.stata_statements, "h181stu.txt")),
    "CSV": ("h181.csv", comma_separated),
}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_ahrqs_file_gives_the_published_preprocessing(
    tmp_path: Path, people: list[Person], form: str, zipped: bool
) -> None:
    name, write = FORMS[form]
    path = write(tmp_path / name, people)
    if zipped:
        packed = tmp_path / f"h181{path.suffix[1:]}.zip"
        with zipfile.ZipFile(packed, "w") as archive:
            archive.write(path, name.upper())
        path.unlink()
    table = meps(tmp_path if form != "CSV" or not zipped else packed, layout="h181", check=False)
    expected = [row for someone in people if (row := literal_row(someone))]
    assert 500 < len(expected) < len(people)
    wanted = np.array([[row[name] for name in FEATURES] for row in expected], np.float32)
    assert np.array_equal(table.features.numpy(), wanted)
    assert table.feature_names == FEATURES
    assert table.label.tolist() == [row["UTILIZATION"] for row in expected]
    assert table.attribute.tolist() == [row["RACE"] for row in expected]


def test_the_statements_may_lie_elsewhere(tmp_path: Path, people: list[Person]) -> None:
    path = meps_files.write_fixed_width(tmp_path / "h181.dat", people)
    elsewhere = tmp_path / "elsewhere.sas"
    elsewhere.write_text(meps_files.sas_statements(list(people[0])))
    assert meps(path, layout="h181", statements=elsewhere, check=False).rows > 500


def test_fixed_width_text_without_statements_is_refused_with_advice(tmp_path: Path, people: list[Person]) -> None:
    path = meps_files.write_fixed_width(tmp_path / "h181.dat", people[:3])
    with pytest.raises(FileNotFoundError, match=r"h181.dat is fixed-width .* as h181su.txt or h181stu.txt, or"):
        meps(path, layout="h181")


def test_statements_that_lack_a_column_are_refused(tmp_path: Path, people: list[Person]) -> None:
    path = meps_files.write_fixed_width(tmp_path / "h181.dat", people[:3])
    (tmp_path / "h181su.txt").write_text(meps_files.sas_statements(["PANEL", "SEX"]))
    with pytest.raises(ValueError, match=rf"h181su.txt lacks {len(COLUMNS) - 2} of {len(COLUMNS)} columns"):
        meps(path, layout="h181")


def test_a_place_of_the_text_that_holds_no_number_is_named(tmp_path: Path, people: list[Person]) -> None:
    path = meps_files.write_fixed_width(tmp_path / "h181.dat", people[:3])
    path.write_text(path.read_text().replace("25.93", "25,93", 1))
    (tmp_path / "h181su.txt").write_text(meps_files.sas_statements(list(people[0])))
    message = r"line 1 of the fixed-width file: PCS42 \(characters \d+ to \d+\) is '   25,93', expected a number"
    with pytest.raises(ValueError, match=message):
        meps(path, layout="h181")


def test_a_file_that_lacks_columns_is_refused(tmp_path: Path, people: list[Person]) -> None:
    short = [{name: value for name, value in someone.items() if name != "HIDEG"} for someone in people[:3]]
    path = meps_files.write_stata(tmp_path / "h181.dta", short)
    with pytest.raises(ValueError, match=r"h181.dta lacks 1 of 50 columns \(HIDEG\)"):
        meps(path, layout="h181")


def test_an_answer_that_is_missing_is_not_taken_for_non_white(tmp_path: Path, people: list[Person]) -> None:
    path = meps_files.write_stata(tmp_path / "h181.dta", [*people[:2], people[2] | {"RACEV2X": np.nan}])
    with pytest.raises(ValueError, match=r"h181.dta: RACEV2X is missing in row 2"):
        meps(path, layout="h181")


def test_a_file_in_no_known_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "h181.xlsx").write_bytes(b"")
    with pytest.raises(ValueError, match=r"ends in '.xlsx', expected one of .ssp, .xpt, .dta, .csv, .dat"):
        meps(tmp_path / "h181.xlsx", layout="h181")


def test_an_archive_of_several_files_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "h181ssp.zip", "w") as archive:
        archive.writestr("h181.ssp", b"")
        archive.writestr("readme.txt", b"")
    with pytest.raises(ValueError, match=r"h181ssp.zip holds 2 files, expected one"):
        meps(tmp_path, layout="h181")


def test_a_small_file_is_not_taken_for_ahrqs(tmp_path: Path, people: list[Person]) -> None:
    path = comma_separated(tmp_path / "h181.csv", people)
    with pytest.raises(ValueError, match=r"MEPS in the layout 'h181' has [\d,]+ rows, expected 15,830"):
        meps(path, layout="h181")


def test_a_file_that_is_not_here_is_asked_for_with_its_address(cache: Path) -> None:
    with pytest.raises(
        DataUnavailable, match=r"(?s)h181.ssp or h181ssp.zip or .*h181ssp.zip \(13,303,652 bytes\)"
    ):
        meps(layout="h181")


def test_the_known_counts_of_the_layouts_fit_together() -> None:
    assert KNOWN["published"].rows == sum(SPLIT)
    assert KNOWN["h181"].rows == KNOWN["panel"].rows == 15_830
    assert KNOWN["h181"].high == KNOWN["panel"].high
    assert KNOWN["published"].white.start in KNOWN["h181"].white


def test_what_is_to_be_known_of_meps_names_its_files() -> None:
    assert ABOUT.name == "meps"
    assert [need.names[0] for need in ABOUT.needs] == ["meps_train.csv", "meps_val.csv", "meps_test.csv"]


@pytest.mark.parametrize("broken", [b"PK nothing", b"PK\x05\x06" + bytes(10)])
def test_a_broken_archive_of_h181_is_named(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "h181ssp.zip").write_bytes(broken)
    with pytest.raises(ValueError, match=r"h181ssp\.zip is a broken archive"):
        meps(tmp_path, layout="h181")
