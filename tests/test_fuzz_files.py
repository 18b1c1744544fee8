"""Mutants of every file of a model folder and of an outcome: refused, or the same; never a crash, a hang or more.

A mutant whose checksum is not the manifest's must be refused, or predict as before. A mutant that someone sealed
with the right checksum is a model of their own: it is refused, or it predicts, in bounded time and memory.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mutants
from commands import raan
from fitted_runs import table_of, write_table
from raan import AANReweighting, FairFrontier, RAANClassifier
from systems import posix

KINDS = ["table", "outcome", "boosting", "frontier", "network"]
FEW, MANY = 400, int(os.environ.get("RAAN_MUTANTS", 20_000))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder of every kind, and rows to predict beside it."""
    place = tmp_path_factory.mktemp("saved")
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 200)
    X = pd.DataFrame({"a": rng.normal(size=200) + group, "b": rng.integers(0, 4, 200).astype(float)})
    y = (X["a"] + X["b"] % 2 + rng.normal(size=200) > 1).astype(int)
    write_table(place / "people.csv", rows=300)
    options = ("--label", "hired", "--attribute", "sex", "--minutes", 0.05, "--quiet")
    assert raan("fit", place / "people.csv", *options, "--out", place / "out").returncode in (0, 1)
    (place / "out" / "model").rename(place / "table")
    (place / "outcome").mkdir()
    (place / "out" / "outcome.npz").rename(place / "outcome" / "outcome.npz")
    boosting = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=8)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    models = {
        "boosting": AANReweighting(boosting, temperature=float("inf")),
        "frontier": FairFrontier(pipeline, min_count=2, folds=2),
        "network": RAANClassifier((3,), epochs=1, random_state=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, model in models.items():
            model.fit(X, y, sensitive_features=group).save(place / kind)
    for kind in KINDS:
        (table_of(rows=20) if kind in ("table", "outcome") else X[:20]).to_pickle(place / f"{kind}.rows")
    return place


@posix
@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("kind", KINDS)
def test_mutants_are_refused_or_the_same(saved, tmp_path, kind, number):
    counts, faults = mutants.run(saved / kind, Path(tmp_path) / "mutant", range(number // len(KINDS)))
    print(kind, dict(counts))  # noqa: T201
    assert faults == []
    assert counts["refused"] > number // len(KINDS) / 6
