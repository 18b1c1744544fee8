"""MEPS panel 19, 2015: who makes ten or more visits to doctors, hospitals and the like in a year."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch

from raan.data.download import Progress, find, locate
from raan.data.split import Split
from raan.data.table import Table
from raan.lab.datasets.dataset import read_csv
from raan.lab.datasets.description import CATALOGUE

DESCRIPTION = CATALOGUE["meps"]
FILES = DESCRIPTION.files

SPLIT = (11_362, 1_200, 3_168)  # training, validation and test rows of the paper and of RNF, which published them

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
KNOWN = {"rows": sum(SPLIT), f"rows of {CLASSES[1]}": 2_703, f"rows of {ATTRIBUTES[1]} people": 5_625}
"""Counts in the published split."""


def meps(
    path: str | Path | None = None,
    *,
    keep_attribute: bool = DESCRIPTION.keep_attribute,
    check: bool = True,
    progress: Progress | None = None,
) -> Table:
    """Load MEPS panel 19 with its 138 published features, unscaled: AGE, RACE, three scores, 133 one-hot columns.

    The rows are those of the split that the RNF paper published: the training rows, then the validation rows, then
    the test rows. `meps_split` gives the rows of each part.

    Args:
        path: the folder of the three CSV files, gzipped or not, or one of them. Files that are not there are
            looked for in $RAAN_DATA and in the cache, and downloaded.
        keep_attribute: whether RACE is a feature.
        check: whether to refuse files whose numbers of rows, of people with ten or more visits and of White people
            are not those of the published split.
        progress: called with the bytes downloaded so far and their total.

    Returns:
        A table of 15,730 rows; the label is ten or more visits, the attribute is White or Non-White.

    Raises:
        ValueError: The files are incomplete or were changed.
        DataUnavailable: The files are neither on this machine nor can they be downloaded.
    """
    given = None if path is None else Path(path).expanduser()
    folder = given.parent if given is not None and given.is_file() else given
    parts = []
    for file, rows in zip(FILES, SPLIT, strict=True):
        place = locate(file, folder) or find(file, folder, progress=progress)
        part = read_csv(place, (*FEATURES, LABEL))
        for column, codes in CODES.items():  # columns that are shifted or mixed up would be noticed here
            block = part[[f"{column}={code}" for code in codes]].to_numpy()
            wrong = (block.sum(1) != 1) | ~np.isin(block, (0, 1)).all(1)
            if wrong.any():
                raise ValueError(f"{place}, line {wrong.argmax() + 2}: not exactly one of {column}'s columns is 1")
        if check and len(part) != rows:
            raise ValueError(f"{place} has {len(part):,} rows; expected {rows:,}")
        parts.append(part)
    frame = pd.concat(parts, ignore_index=True)
    counts = (len(frame), int(frame[LABEL].sum()), int(frame["RACE"].sum()))
    for count, (what, expected) in zip(counts, KNOWN.items(), strict=True):
        if check and count != expected:
            raise ValueError(
                f"MEPS has {count:,} {what}; expected {expected:,}. The files are incomplete or were changed; "
                "check=False takes them as they are."
            )
    names = [name for name in FEATURES if keep_attribute or name != "RACE"]
    return Table.of(
        frame[names].to_numpy(),
        frame[LABEL].to_numpy(),
        frame["RACE"].to_numpy(),
        class_names=CLASSES,
        attribute_names=ATTRIBUTES,
        feature_names=tuple(names),
        name="meps",
    )


def meps_split() -> Split:
    """Return the published split, the same for every seed: rows of `meps()`."""
    train, validation, test = torch.split(torch.arange(sum(SPLIT)), list(SPLIT))
    return Split(train, validation, test)
