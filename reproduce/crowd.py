"""A table of people of any size, made of Adult by resampling with noise: `python -m reproduce.crowd FOLDER ROWS`.

Each row is a person of Adult whose numbers are moved, and of whose categories a tenth is another person's; six
more numbers are noisy copies. The income is drawn by the probability that gradient boosting gives to these values,
sex included, so that a row that is like another one says no more of its class than any.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from raan.lab.datasets.adult import NUMERIC, load_adult

PART = 250_000
"""Rows of a file."""


def make_people(rows: int, seed: int = 0) -> pd.DataFrame:
    """Return so many people: 20 columns and the income."""
    return next(_draw_parts(rows, rows, seed))


def write_crowd(folder: Path, rows: int, seed: int = 0) -> list[Path]:
    """Write so many people as Parquet files of a folder; those that are there stay."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"part-{number:03}.parquet" for number in range(-(-rows // PART))]
    if not all(file.exists() for file in files):
        for file, part in zip(files, _draw_parts(rows, PART, seed), strict=True):
            part.to_parquet(file, index=False)
    return files


def _draw_parts(rows: int, size: int, seed: int) -> Iterator[pd.DataFrame]:
    known = load_adult(keep_attribute=True, one_hot=False)
    people = known.features.reset_index(drop=True)
    words = [name for name in people.columns if name not in NUMERIC]
    coded = people.assign(**{name: people[name].astype("category") for name in words})
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    model.fit(coded, known.label.to_numpy())
    rng = np.random.default_rng(seed)
    for start in range(0, rows, size):
        some = coded.iloc[rng.integers(len(coded), size=min(size, rows - start))].reset_index(drop=True)
        for name in words:
            others = coded[name].iloc[rng.integers(len(coded), size=len(some))].reset_index(drop=True)
            some[name] = some[name].where(rng.random(len(some)) > 0.1, others)
        for name in NUMERIC:
            moved = some[name] + 0.05 * people[name].std() * rng.standard_normal(len(some))
            some[name] = moved.clip(lower=0).round(1).where(some[name] != 0, 0.0)
        income = model.predict_proba(some)[:, 1] > rng.random(len(some))
        for name in NUMERIC:
            some[f"{name}-before"] = (some[name] * rng.uniform(0.7, 1.1, len(some))).round(1)
        yield some.assign(income=np.where(income, ">50K", "<=50K"))


if __name__ == "__main__":
    write_crowd(Path(sys.argv[1]), int(sys.argv[2]))
