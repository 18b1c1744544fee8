import hashlib
import time
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import torch

from raan.data import CorruptData, Table, adult, load_adult
from raan.data.download import DataFile
from raan.lab.datasets.adult import CATEGORICAL, COLUMNS, FILES, NUMERIC, SPLIT

DATA = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Sales, Not-in-family, White, Male, 217, 0, 40, Cuba, <=50K
50, Private, 83311, HS-grad, 9, Divorced, Sales, Husband, Black, Male, 0, 0, 13, Peru, >50K
38, ?, 215646, HS-grad, 9, Divorced, Sales, Not-in-family, White, Male, 0, 0, 40, Peru, <=50K

"""
TEST = """\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Sales, Own-child, Black, Female, 0, 5, 41, Cuba, <=50K.
28, Private, 336951, 11th, 12, Divorced, Sales, Husband, White, Female, 7, 0, 40, Cuba, >50K.

"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two small files, which pass for the published ones."""
    files = []
    for name, text in (("adult.data", DATA), ("adult.test", TEST)):
        (tmp_path / name).write_text(text, encoding="ascii")
        files.append(DataFile("adult", name, hashlib.sha256(text.encode()).hexdigest(), len(text)))
    monkeypatch.setattr(import_module("raan.lab.datasets.adult"), "FILES", tuple(files))
    return tmp_path


@cache
def published(folder: Path, attribute: str = "gender") -> Table:
    """The real table, read once for all tests."""
    return adult(folder, attribute=attribute)


def test_small_files_are_read_in_order_without_the_incomplete_rows(small: Path) -> None:
    table = adult(small)
    assert table.label.tolist() == [0, 1, 0, 1]
    assert table.attribute.tolist() == [1, 1, 0, 0]
    assert (table.class_names, table.attribute_names) == (("<=50K", ">50K"), ("Female", "Male"))
    assert table.features[:, : len(NUMERIC)].tolist() == [
        [39, 77516, 13, 217, 0, 40],
        [50, 83311, 9, 0, 0, 13],
        [25, 226802, 7, 0, 5, 41],
        [28, 336951, 12, 7, 0, 40],
    ]


def test_categories_are_one_hot_sorted_and_named(small: Path) -> None:
    table = adult(small)
    assert table.feature_names[:6] == NUMERIC
    assert table.feature_names[6:11] == (
        "workclass=Private",
        "workclass=State-gov",
        "education=11th",
        "education=Bachelors",
        "education=HS-grad",
    )
    assert table.features[:, 6:8].tolist() == [[0, 1], [1, 0], [1, 0], [1, 0]]
    assert table.features[:, 8:11].tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]]


def test_the_attribute_can_be_race(small: Path) -> None:
    table = adult(small, attribute="race")
    assert table.attribute_names == ("Black", "White")
    assert table.attribute.tolist() == [1, 0, 0, 1]


def test_race_and_gender_can_be_crossed(small: Path) -> None:
    table = adult(small, attribute="race x gender")
    assert table.attribute_names == ("Black × Female", "Black × Male", "White × Female", "White × Male")
    assert table.attribute.tolist() == [3, 1, 0, 2]


@pytest.mark.parametrize(
    ("attribute", "columns"), [("gender", {"sex"}), ("race", {"race"}), ("race x gender", {"race", "sex"})]
)
def test_the_columns_of_the_attribute_can_be_left_out(small: Path, attribute: str, columns: set[str]) -> None:
    whole = adult(small, attribute=attribute)
    without = adult(small, attribute=attribute, keep_attribute=False)
    stay = [name for name in whole.feature_names if name.partition("=")[0] not in columns]
    assert list(without.feature_names) == stay
    assert torch.equal(without.features, whole.features[:, [whole.feature_names.index(name) for name in stay]])
    assert torch.equal(without.attribute, whole.attribute)


def test_rows_with_missing_values_can_be_kept_and_missing_is_a_category(small: Path) -> None:
    table = adult(small, keep_missing=True)
    assert table.label.tolist() == [0, 1, 0, 0, 1]
    missing = table.features[:, table.feature_names.index("workclass=?")]
    assert missing.tolist() == [0, 0, 1, 0, 0]


def test_an_unknown_attribute_is_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match="attribute is 'age'; expected one of 'gender', 'race', 'race x gender'"):
        adult(attribute="age")


def test_one_of_the_files_stands_for_its_folder(small: Path) -> None:
    assert adult(small / "adult.test").rows == 4


def test_files_that_are_not_the_published_ones_are_corrupt(tmp_path: Path) -> None:
    (tmp_path / "adult.data").write_text(DATA)
    with pytest.raises(CorruptData, match=FILES[0].sha256):
        adult(tmp_path)


def test_the_published_files_hold_what_is_known_of_them(real_data: Path) -> None:
    table = published(real_data)
    assert table.rows == sum(SPLIT) == 45_222
    assert table.features.shape == (45_222, 104)
    assert len(set(table.feature_names)) == 104
    assert table.cells().tolist() == [[13_026, 20_988], [1_669, 9_539]]
    assert table.label[:30_162].double().mean().item() == pytest.approx(0.2489, abs=1e-4)


def test_the_published_files_hold_known_numbers_of_each_race(real_data: Path) -> None:
    table = published(real_data, "race")
    assert table.attribute_names == ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
    assert table.cells().sum(0).tolist() == [435, 1_303, 4_228, 353, 38_903]


def test_the_published_files_hold_ten_crossed_groups(real_data: Path) -> None:
    table = published(real_data, "race x gender")
    assert table.attributes == 10
    assert table.cells().sum() == 45_222
    races, genders = published(real_data, "race"), published(real_data)
    names = [
        f"{races.attribute_names[race]} × {genders.attribute_names[gender]}"
        for race, gender in zip(races.attribute.tolist(), genders.attribute.tolist(), strict=True)
    ]
    assert [table.attribute_names[group] for group in table.attribute.tolist()] == names


def test_the_published_files_have_3620_rows_with_missing_values(real_data: Path) -> None:
    table = adult(real_data, keep_missing=True)
    assert table.features.shape == (48_842, 108)
    assert table.cells().tolist() == [[14_423, 22_732], [1_769, 9_918]]
    unknown = table.features[:, [name.endswith("=?") for name in table.feature_names]]
    assert int(unknown.any(1).sum()) == 3_620
    assert unknown.sum(0).tolist() == [2_799, 2_809, 857]


@pytest.mark.parametrize(("attribute", "keep"), [("gender", False), ("race", True), ("race x gender", False)])
def test_the_data_frame_has_the_numbers_of_the_table(real_data: Path, attribute: str, keep: bool) -> None:
    X, y, groups = load_adult(real_data, attribute=attribute, keep_attribute=keep)
    table = adult(real_data, attribute=attribute, keep_attribute=keep)
    assert tuple(X.columns) == table.feature_names
    assert torch.equal(torch.tensor(X.to_numpy()), table.features)
    assert y.tolist() == table.label.tolist()
    assert groups.tolist() == [table.attribute_names[group] for group in table.attribute.tolist()]


def test_the_data_frame_can_keep_its_categories(small: Path) -> None:
    loaded = load_adult(small, one_hot=False, keep_missing=True)
    assert list(loaded.features) == [name for name in (*NUMERIC, *CATEGORICAL) if name != "sex"]
    assert loaded.features["workclass"].tolist() == ["State-gov", "Private", "?", "Private", "Private"]
    assert loaded.features["workclass"].dtype == "category"
    assert loaded.label.tolist() == [0, 1, 0, 0, 1]
    assert loaded.sensitive_features.tolist() == ["Male", "Male", "Male", "Female", "Female"]


def literal_rows(folder: Path) -> Iterator[dict[str, str]]:
    """The complete rows of the two files, by column."""
    for name in ("adult.data", "adult.test"):
        for line in (folder / name).read_text().splitlines():
            values = [value.strip(" .") for value in line.split(",")]
            if len(values) == len(COLUMNS) and "?" not in values:
                yield dict(zip(COLUMNS, values, strict=True))


def test_the_published_files_equal_a_literal_reading(real_data: Path) -> None:
    table = published(real_data)
    rows = list(literal_rows(real_data / "adult"))
    assert [table.class_names[label] for label in table.label.tolist()] == [row["income"] for row in rows]
    assert [table.attribute_names[group] for group in table.attribute.tolist()] == [row["sex"] for row in rows]
    for row in range(0, table.rows, 1000):
        features = dict(zip(table.feature_names, table.features[row].tolist(), strict=True))
        expected = dict.fromkeys(features, 0.0)
        expected |= {f"{column}={rows[row][column]}": 1.0 for column in CATEGORICAL}
        expected |= {column: float(rows[row][column]) for column in NUMERIC}
        assert features == expected


@pytest.mark.usefixtures("as_users_call")
def test_the_published_files_are_read_in_two_seconds(real_data: Path) -> None:
    start = time.process_time()
    adult(real_data)
    assert time.process_time() - start < 2
