"""Adult, the UCI census income data: who earns more than 50,000 dollars a year.

`load_adult` gives it as pandas objects and needs no torch; `adult` gives the same numbers as a table of tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32

from raan.data.download import Progress, find_all
from raan.errors import needing
from raan.lab.datasets.description import CATALOGUE

if TYPE_CHECKING:
    from raan.data.table import Table

DESCRIPTION = CATALOGUE["adult"]
FILES = DESCRIPTION.files

SPLIT = (33_120, 3_000, 9_102)  # training, validation and test rows of the paper and of RNF

COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
CATEGORICAL = tuple(column for column in COLUMNS[:-1] if column not in NUMERIC)
CLASSES = ("<=50K", ">50K")
ATTRIBUTES = {"gender": ("sex",), "race": ("race",), "race x gender": ("race", "sex")}  # from these columns
MISSING = "?"  # in the categorical columns workclass, occupation and native-country only


class Adult(NamedTuple):
    """Adult as pandas objects with a common index."""

    features: pd.DataFrame
    label: pd.Series[int]  # 1 for an income above 50,000 dollars
    sensitive_features: pd.Series[str]


def load_adult(
    path: str | Path | None = None,
    *,
    attribute: str = "gender",
    keep_attribute: bool = False,
    keep_missing: bool = False,
    one_hot: bool = True,
    progress: Progress | None = None,
) -> Adult:
    """Load Adult as pandas objects, without torch.

    Args:
        path: the folder of adult.data and adult.test. By default they are looked for in $RAAN_DATA and in the
            cache, and downloaded if they are not there.
        attribute: the sensitive attribute: "gender", "race" or "race x gender", which crosses the two.
        keep_attribute: whether the attribute's columns are among the features.
        keep_missing: whether the 3,620 rows with a missing value are there, the value being a category "?".
        one_hot: whether categorical columns are one-hot encoded, as in `raan.data.adult`; otherwise they are
            columns of pandas' type category.
        progress: called with the bytes downloaded so far and their total.

    Returns:
        The features, the label (0 or 1) and the sensitive features (words) of 45,222 people.

    Raises:
        ValueError: The attribute is unknown.
        DataUnavailable: The files are neither on this machine nor can they be downloaded.

    Examples:
        >>> from raan import FairFrontier
        >>> from raan.data import load_adult
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y, gender = load_adult()  # doctest: +SKIP
        >>> model = FairFrontier(LogisticRegression()).fit(X, y, sensitive_features=gender)  # doctest: +SKIP
    """
    frame = _read(path, attribute, keep_missing, progress)
    columns = _feature_columns(attribute, keep_attribute)
    if one_hot:
        values, names = _encode(frame, columns)
        features = pd.DataFrame(values, columns=list(names))
    else:
        features = frame[list(columns)].astype({name: "category" for name in columns if name in CATEGORICAL})
    return Adult(
        features,
        (frame["income"] == CLASSES[1]).astype(int).rename("label"),
        pd.Series(_groups(frame, attribute), name=attribute),
    )


def adult(
    path: str | Path | None = None,
    *,
    attribute: str = "gender",
    keep_attribute: bool = DESCRIPTION.keep_attribute,
    keep_missing: bool = False,
    progress: Progress | None = None,
) -> Table:
    """Load the 45,222 complete rows of Adult as a table, those of adult.data before those of adult.test.

    There are 104 features: the six numeric columns as they are, then the eight categorical ones one-hot, each with
    its values sorted. (The paper has 120 inputs, and does not list them.) The arguments are those of `load_adult`,
    but the attribute's columns are among the features unless `keep_attribute` is False.
    """
    with needing("raan.data.adult"):
        import torch

        from raan.data.table import Table

    frame = _read(path, attribute, keep_missing, progress)
    features, feature_names = _encode(frame, _feature_columns(attribute, keep_attribute))
    attribute_names, group = np.unique(_groups(frame, attribute), return_inverse=True)
    return Table(
        torch.from_numpy(features),
        torch.from_numpy((frame["income"] == CLASSES[1]).to_numpy(np.int64)),
        torch.from_numpy(group),
        class_names=CLASSES,
        attribute_names=tuple(attribute_names.tolist()),
        feature_names=feature_names,
        name="adult",
    )


def _read(path: str | Path | None, attribute: str, keep_missing: bool, progress: Progress | None) -> pd.DataFrame:
    """Read the rows of both files, whose content is known by its checksum."""
    if attribute not in ATTRIBUTES:
        raise ValueError(f"attribute is {attribute!r}; expected one of {', '.join(map(repr, ATTRIBUTES))}")
    parts = [
        # adult.test begins with a remark after "|", and its labels end in a full stop.
        pd.read_csv(file, names=list(COLUMNS), comment="|", skipinitialspace=True, keep_default_na=False)
        for file in find_all(FILES, path, progress=progress)
    ]
    frame = pd.concat(parts, ignore_index=True)
    frame["income"] = frame["income"].str.removesuffix(".")
    complete = (frame[list(CATEGORICAL)] != MISSING).all(axis=1)
    return frame if keep_missing else frame[complete].reset_index(drop=True)


def _feature_columns(attribute: str, keep_attribute: bool) -> tuple[str, ...]:
    """List the columns that are features, the numeric ones first."""
    left_out = () if keep_attribute else ATTRIBUTES[attribute]
    return tuple(column for column in (*NUMERIC, *CATEGORICAL) if column not in left_out)


def _groups(frame: pd.DataFrame, attribute: str) -> list[str]:
    """Return each row's group; values of several columns are joined: "Black × Female"."""
    return [" × ".join(values) for values in zip(*(frame[name] for name in ATTRIBUTES[attribute]), strict=True)]


def _encode(
    frame: pd.DataFrame, columns: Sequence[str]
) -> tuple[Float32[np.ndarray, "row feature"], tuple[str, ...]]:
    """Return the numeric columns, then the categorical ones one-hot, and the names of the features."""
    blocks, names = [frame[list(NUMERIC)].to_numpy(np.float32)], list(NUMERIC)
    for column in columns[len(NUMERIC) :]:
        values, code = np.unique(frame[column].to_numpy(object), return_inverse=True)
        blocks.append(np.eye(len(values), dtype=np.float32)[code])
        names += [f"{column}={value}" for value in values]
    return np.concatenate(blocks, axis=1), tuple(names)
