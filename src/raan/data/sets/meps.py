"""MEPS panel 19, 2015: who makes ten or more visits to doctors, hospitals and the like in a year."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from raan.data.download.find import find, look, require
from raan.data.download.remote import Progress, RemoteFile, Url
from raan.data.sets.dataset import About, DataSet, Need, split_at_random, with_packed
from raan.data.sets.h181 import read_h181
from raan.data.split import Split
from raan.data.table import Table
from raan.tabular.numbers import Columns, read_numbers

SPLIT = (11_362, 1_200, 3_168)  # train, validation, test rows of the paper and of RNF, which published them

Layout = Literal["published", "panel", "h181"]

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

PANEL_NAMES = with_packed("meps19_fy2015_mep1_processed.csv", "mep1_processed.csv")
H181_NAMES = ("h181.ssp", "h181ssp.zip", "h181.dta", "h181dta.zip", "h181.dat", "h181dat.zip", "h181.csv")


@dataclass(frozen=True)
class _Known:
    """What a layout's file is known to hold, and what its two groups are called."""

    rows: int
    high: int  # rows of high utilisation
    white: range
    attribute_names: tuple[str, str] = ("Non-White", "White")


KNOWN: dict[Layout, _Known] = {
    "published": _Known(15_730, 2_703, range(5_625, 5_626)),
    # Its race is RACEV2X alone, and so counts Hispanic people who are White as White.
    "panel": _Known(15_830, 2_718, range(10_498, 10_499), ("not White", "White, Hispanic or not")),
    # 100 rows more than the published split; up to 60 of them, by the panel's race, can be non-Hispanic White.
    "h181": _Known(15_830, 2_718, range(5_625, 5_686)),
}


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
        "The file of the whole panel calls race 1 everybody of White race, Hispanic or not: another attribute, "
        "66 % against 36 % of the rows.",
        "PCS42, MCS42 and K6SUM42 hold -1 and -9 for people who were not asked, as numbers among the scores.",
        "Home care days that are not known (-9) lower the count of visits, as in the published preprocessing.",
        "The survey's weights (PERWT15F) are not used: the rows are not a sample of the population as they stand.",
    ),
    needs=tuple(Need("meps", _names(file), file) for file in FILES),
)


def meps(
    path: str | Path | None = None,
    *,
    layout: Layout = "published",
    keep_attribute: bool = True,
    statements: str | Path | None = None,
    check: bool = True,
    progress: Progress | None = None,
) -> Table:
    """MEPS panel 19 with its 138 published features, unscaled: AGE, RACE, three scores, 133 one-hot columns.

    Layout "published" is the split of the RNF paper, three CSV files whose rows follow each other as
    train, validation, test (`meps_split` gives the rows of each); "panel" the whole panel as one CSV file of
    raw codes; "h181" AHRQ's own file as SAS transport, Stata, fixed-width text (with its published
    programming statements, SAS or Stata, beside it or by path) or CSV, zipped or not, with AIF360's
    preprocessing. The path is the file or its folder. Only the published split can be fetched.

    A file whose numbers of rows, of high utilisation and of White people are not the known ones is
    refused, unless `check` is False. Without `keep_attribute` RACE is no feature.
    """
    match layout:
        case "published":
            columns = _read_published(path, check, progress)
        case "panel":
            columns = _read_panel(path)
        case "h181":
            columns = _read_h181(path, statements)
        case _:
            raise ValueError(f"layout is {layout!r}, expected one of {', '.join(map(repr, KNOWN))}")
    if check:
        _check_known(columns, layout)
    return _table(columns, layout, keep_attribute)


def meps_split() -> Split:
    """The published split, the same for every seed: rows of `meps(layout="published")`."""
    train, validation, test = torch.split(torch.arange(sum(SPLIT)), list(SPLIT))
    return Split(train, validation, test)


def _table(columns: Columns, layout: Layout, keep_attribute: bool) -> Table:
    """The published features, made one-hot where they are still codes, with label and attribute."""
    features = columns if FEATURES[-1] in columns else _one_hot(columns)
    names = [name for name in FEATURES if keep_attribute or name != "RACE"]
    # The panel's race is another one, and must not pass for RACE.
    called = {"RACE": "RACEV2X=1"} if layout == "panel" else {}
    return Table.of(
        np.stack([features[name] for name in names], axis=1),
        columns[LABEL],
        columns["RACE"],
        class_names=CLASSES,
        attribute_names=KNOWN[layout].attribute_names,
        feature_names=tuple(called.get(name, name) for name in names),
        name="meps",
    )


def _check_known(columns: Columns, layout: Layout) -> None:
    """Refuse columns that cannot be the real file's."""
    known = KNOWN[layout]
    found = (
        ("rows", len(columns[LABEL]), range(known.rows, known.rows + 1)),
        (f"rows of {CLASSES[1]}", int(columns[LABEL].sum()), range(known.high, known.high + 1)),
        (f"rows of attribute {known.attribute_names[1]}", int(columns["RACE"].sum()), known.white),
    )
    for what, count, expected in found:
        if count not in expected:
            bounds = " to ".join(dict.fromkeys((f"{expected[0]:,}", f"{expected[-1]:,}")))
            raise ValueError(
                f"MEPS in the layout {layout!r} has {count:,} {what}, expected {bounds}: "
                "it is incomplete or was changed. check=False takes it as it is"
            )


def _one_hot(columns: Columns) -> Columns:
    """The published features from the codes of the categorical columns."""
    hot = {name: columns[name] for name in NUMERIC}
    for column, codes in CODES.items():
        _check_codes(column, columns[column], codes)
        hot |= {f"{column}={code}": (columns[column] == code).astype(float) for code in codes}
    return hot


def _check_codes(column: str, values: Float[np.ndarray, "row"], codes: tuple[int, ...]) -> None:
    strange = ~np.isin(values, codes)
    if strange.any():
        row = int(strange.argmax())
        raise ValueError(
            f"MEPS: {column} is {values[row]:g} in row {row}, expected one of {', '.join(map(str, codes))}"
        )


# The three layouts.


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


def _read_panel(path: str | Path | None) -> Columns:
    """The codes of the whole panel, under the names of the published features."""
    advice = (
        "Get it by hand: Dataset/mep1_processed.csv of chenzhenpeng18/ICSE24-Multi-Attribute-Fairness on GitHub."
    )
    theirs = {"SEX": "sex", "RACE": "race", LABEL: "Probability"}
    needed = [theirs.get(name, name) for name in (*NUMERIC, *CODES, LABEL)]
    columns = read_numbers(require("meps", PANEL_NAMES, path, advice), needed)
    ours = {name: columns[theirs.get(name, name)] for name in (*NUMERIC, *CODES, LABEL)}
    return ours | {"SEX": ours["SEX"] + 1}  # 0 male and 1 female there, 1 and 2 in the survey


def _read_h181(path: str | Path | None, statements: str | Path | None) -> Columns:
    """The codes of panel 19 in AHRQ's own file."""
    advice = "Get it by hand: https://meps.ahrq.gov/mepsweb/data_files/pufs/h181ssp.zip (13,303,652 bytes)."
    return read_h181(require("meps", H181_NAMES, path, advice), statements)


# The published rows, split anew for each seed in the published sizes: one split would hide its own luck.
DATASET = DataSet(
    "meps",
    split_at_random(meps, SPLIT),
    ("path", "sizes", "layout", "keep_attribute", "statements"),
    about=ABOUT,
)
