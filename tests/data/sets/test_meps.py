"""MEPS: the published split."""

import gzip
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raan.data import DataUnavailable, Split, Table, meps, meps_split
from raan.lab.datasets.meps import CODES, FEATURES, FILES, SPLIT


@cache
def real(folder: Path) -> Table:
    """The real table, read once for all tests."""
    if not (folder / "meps").is_dir():
        pytest.skip(f"no real MEPS: {folder / 'meps'} is missing")
    return meps(folder)


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
    with pytest.raises(ValueError, match=r"meps_train.csv has 6 rows; expected 11,362"):
        meps(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "AGE,RACE",
            "AGES,RACE",
            r"meps_val.csv lacks 1 of 139 columns \(AGE\); it has 139 \(AGES, RACE, ",
        ),
        ("50.5", "fifty", r"meps_val.csv cannot be read: In CSV column #2: .* invalid value 'fifty'"),
        ("50.5", "", r"meps_val.csv cannot be read: In CSV column #2: .* invalid value ''"),
        ("50.5", "nan", r"1 values that are nan .* in row 6, column 2 \(PCS42\)"),
        ("50.5,", "50.5,0,", r"meps_val.csv cannot be read: .* Row #2: Expected 139 columns, got 140"),
        ("50.5,", "", r"meps_val.csv cannot be read: .* Row #2: Expected 139 columns, got 138"),
        ("0.0,", "1.0,", r"meps_val.csv, line 2: not exactly one of REGION's columns is 1"),
        ("1.0,", "0.5,", r"meps_val.csv, line 2: not exactly one of REGION's columns is 1"),
        (",1,50.5", ",0.5,50.5", r"attribute is 0.5 in row \d; expected whole numbers"),
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
    with pytest.raises(ValueError, match=r"meps_test.csv.gz cannot be read: Compressed file ended"):
        meps(tmp_path, check=False)


def test_a_file_that_is_nowhere_is_asked_for(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_sources = tuple(replace(file, urls=()) for file in FILES)
    monkeypatch.setattr(import_module("raan.lab.datasets.meps"), "FILES", without_sources)
    with pytest.raises(DataUnavailable, match=r"meps_train.csv of the data set meps was not found"):
        meps()


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
