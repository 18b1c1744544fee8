"""MEPS panel 19, 2015: who makes ten or more visits to doctors, hospitals and the like in a year."""

from pathlib import Path

import numpy as np
import torch

from raan.data.download.find import find, look
from raan.data.download.remote import Progress, RemoteFile, Url
from raan.data.split import Split
from raan.data.table import Table
from raan.lab.datasets.dataset import About, DataSet, Need, split_at_random, with_packed
from raan.tables.numbers import Columns, read_numbers

SPLIT = (11_362, 1_200, 3_168)  # train, validation, test rows of the paper and of RNF, which published them

NUMERIC = ("AGE", "RACE", "PCS42", "MCS42", "K6SUM42")
YES_NO = (-1, 1, 2)  # inapplicable, yes, no
# The codes that each categorical column takes in panel 19, in the order of the published features.
CODES: dict[str, tuple[int, ...]] = {
    "REGION": (1, 2, 3, 4),
    "SEX": (1, 2),
    "MARRY": tuple(range(1, 11)),
    "FTSTU": (-1, 1, 2, 3),
    "ACTDTY": (1, 2, 3, 4),
    "HONRDC": (1, 2, 3, 4),
    "RTHLTH": (-1, 1, 2, 3, 4, 5),
    "MNHLTH": (-1, 1, 2, 3, 4, 5),
    **dict.fromkeys(("HIBPDX", "CHDDX", "ANGIDX", "MIDX", "OHRTDX", "STRKDX", "EMPHDX", "CHBRON"), YES_NO),
    **dict.fromkeys(("CHOLDX", "CANCERDX", "DIABDX", "JTPAIN", "ARTHDX"), YES_NO),
    "ARTHTYPE": (-1, 1, 2, 3),
    "ASTHDX": (1, 2),
    **dict.fromkeys(("ADHDADDX", "PREGNT", "WLKLIM", "ACTLIM", "SOCLIM", "COGLIM"), YES_NO),
    **dict.fromkeys(("DFHEAR42", "DFSEE42", "ADSMOK42"), YES_NO),
    "PHQ242": (-1, 0, 1, 2, 3, 4, 5, 6),
    "EMPST": (-1, 1, 2, 3, 4),
    "POVCAT": (1, 2, 3, 4, 5),
    "INSCOV": (1, 2, 3),
}
FEATURES = (*NUMERIC, *(f"{column}={code}" for column, codes in CODES.items() for code in codes))  # 138
LABEL = "UTILIZATION"
CLASSES = ("< 10 visits", ">= 10 visits")

ATTRIBUTES = ("Non-White", "White")
HIGH, WHITE = 2_703, 5_625
"""Rows of high utilisation and of White people in the published split."""


def _file(name: str, sha256: str, size: int) -> RemoteFile:
    commit = "98aa84e245735d9b2823d2a80cbd761e436486f2"
    source = Url(f"https://raw.githubusercontent.com/mndu/RNF-Fairness/{commit}/{name}")
    return RemoteFile("meps", name, sha256, size, (source,))


def _names(file: RemoteFile) -> tuple[str, ...]:
    """The names that a published file may go by: its own or that of its paper, packed or not."""
    return with_packed(file.name, f"rnf_{file.name}")


FILES = (
    _file("meps_train.csv", "650ae1325bb0f78418df97d713a6401227f54ac4ff92ef81f245029a2273baae", 3_248_276),
    _file("meps_val.csv", "2a8f192d1b4d48f3ca9c2f594710ab1882e95216e933448597ef26c9a1bfc6db", 344_272),
    _file("meps_test.csv", "1ad5ffc725a8988985bee2363dce6799ed6bc1d87406558620908c75500face5", 906_608),
)

ABOUT = About(
    name="meps",
    title="MEPS, the Medical Expenditure Panel Survey, panel 19, 2015",
    task="whether a person made ten or more visits to doctors, hospitals and home care within 2015",
    attribute="race as the household reported it: White is White and not Hispanic, Non-White everybody else",
    licence="public use, under AHRQ's data use agreement: statistics only, nobody may be identified",
    citation="Agency for Healthcare Research and Quality (2017). MEPS HC-181, 2015 Full Year Consolidated Data.",
    cautions=(
        "Utilisation stands for need, and understates it in groups that reach care less easily "
        "(Obermeyer et al. 2019).",
        "Rows repeat: 242 distinct rows of the published split stand in train and in test.",
        "The published split has 15,730 of the panel's 15,830 rows; nobody says why 100 are left out.",
        "PCS42, MCS42 and K6SUM42 hold -1 and -9 for people who were not asked, as numbers among the scores.",
        "Home care days that are not known (-9) lower the count of visits, as in the published preprocessing.",
        "The survey's weights (PERWT15F) are not used: the rows are not a sample of the population as they stand.",
    ),
    needs=tuple(Need("meps", _names(file), file) for file in FILES),
)


def meps(
    path: str | Path | None = None,
    *,
    keep_attribute: bool = True,
    check: bool = True,
    progress: Progress | None = None,
) -> Table:
    """MEPS panel 19 with its 138 published features, unscaled: AGE, RACE, three scores, 133 one-hot columns.

    The rows are those of the split that the RNF paper published, three CSV files whose rows follow each other as
    train, validation, test (`meps_split` gives the rows of each). The path is their folder, or one of them; files
    that are not there are fetched.

    Files whose numbers of rows, of high utilisation and of White people are not the known ones are refused, unless
    `check` is False. Without `keep_attribute` RACE is no feature.
    """
    columns = _read_published(path, check, progress)
    if check:
        _check_known(columns)
    names = [name for name in FEATURES if keep_attribute or name != "RACE"]
    return Table.of(
        np.stack([columns[name] for name in names], axis=1),
        columns[LABEL],
        columns["RACE"],
        class_names=CLASSES,
        attribute_names=ATTRIBUTES,
        feature_names=tuple(names),
        name="meps",
    )


def meps_split() -> Split:
    """The published split, the same for every seed: rows of `meps()`."""
    train, validation, test = torch.split(torch.arange(sum(SPLIT)), list(SPLIT))
    return Split(train, validation, test)


def _check_known(columns: Columns) -> None:
    """Refuse columns that cannot be the real files'."""
    found = (
        ("rows", len(columns[LABEL]), sum(SPLIT)),
        (f"rows of {CLASSES[1]}", int(columns[LABEL].sum()), HIGH),
        (f"rows of attribute {ATTRIBUTES[1]}", int(columns["RACE"].sum()), WHITE),
    )
    for what, count, expected in found:
        if count != expected:
            raise ValueError(
                f"MEPS has {count:,} {what}, expected {expected:,}: it is incomplete or was changed. check=False "
                "takes it as it is"
            )


def _read_published(path: str | Path | None, check: bool, progress: Progress | None) -> Columns:
    """The features and the label of the three files, train before validation before test."""
    parts = []
    for rows, where in zip(SPLIT, _published_files(path, progress), strict=True):
        columns = read_numbers(where, (*FEATURES, LABEL))
        _check_published(where, columns)
        if check and len(columns[LABEL]) != rows:
            raise ValueError(f"{where} has {len(columns[LABEL]):,} rows, expected {rows:,}")
        parts.append(columns)
    return {name: np.concatenate([columns[name] for columns in parts]) for name in parts[0]}


def _published_files(path: str | Path | None, progress: Progress | None) -> list[Path]:
    """The three files: as published or under the name of their paper, packed or not; fetched if need be."""
    given = None if path is None else Path(path).expanduser()
    folder = given.parent if given is not None and given.is_file() else given
    return [look("meps", _names(file), folder) or find(file, folder, progress=progress) for file in FILES]


def _check_published(where: Path, columns: Columns) -> None:
    """Refuse columns that are shifted or mixed up: each block of one-hot columns has exactly one 1."""
    for column, codes in CODES.items():
        names = [f"{column}={code}" for code in codes]
        block = np.stack([columns[name] for name in names])
        wrong = (block.sum(0) != 1) | ~np.isin(block, (0, 1)).all(0)
        if wrong.any():
            raise ValueError(
                f"{where}, line {int(wrong.argmax()) + 2}: not exactly one of {column}'s columns is 1"
            )


# The published rows, split anew for each seed in the published sizes: one split would hide its own luck.
DATASET = DataSet(
    "meps",
    split_at_random(meps, SPLIT),
    ("path", "sizes", "keep_attribute"),
    about=ABOUT,
)
