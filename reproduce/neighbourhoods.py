"""Where a neighbourhood adds something that no threshold and no cell weights give: weights at finite temperatures.

`python -m reproduce.neighbourhoods` fits what results/neighbourhoods.jsonl does not hold yet, a line for each
mixture and seed, and then writes the tables and the figure of docs/guides/when-neighbourhoods.md; `--table` only
writes them.

Four families over one penalised logistic regression, of twelve fits each: plain with twelve penalties; weights by
cell (temperature inf); weights by neighbourhood (finite temperatures); and FairFrontier, whose posterior is fitted
with two of the penalties, six models each and their folds. Every fit of the first three offers 33 common
thresholds. A family's point is chosen on validation rows, by one rule for all: the best worst group at any
accuracy, or within a point of plain training's. FairFrontier is evaluated on training rows in cross-validation,
as for its users, and validation rows choose its penalty.
"""

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from raan import FairFrontier, aan_weights
from raan.fairness.counts import Counts, count
from raan.fairness.rule import TIE, Rule
from reproduce.mixtures import MIXTURES, Parts, Rows

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "neighbourhoods.jsonl"
SEEDS = tuple(range(5))
DROPS = {"free": 1.0, "within a point": 0.01}
FAMILIES = ("plain", "threshold", "cells", "neighbourhoods", "FairFrontier")
PENALTIES = (0.01, 0.1, 1.0)
SHIFTS = np.linspace(-4, 4, 33)
"""Of the log-odds: the common thresholds; the middle one is none."""

EVEN = "inf"
TEMPERATURES = ("0.05", "0.2")
FIXED = ("0.05", "0.1", "0.2", "0.5", "1", EVEN)
"""Temperatures that are also told side by side, all else fixed and nothing chosen."""


class Setting(NamedTuple):
    """What one fit is weighted by."""

    balance: str
    temperature: str
    strength: float
    penalty: float


SETTINGS: dict[str, list[Setting]] = {
    "threshold": [
        Setting("group", EVEN, 0.0, penalty) for penalty in np.geomspace(0.001, 3, 12).round(5).tolist()
    ],
    "cells": [
        Setting(balance, EVEN, strength, penalty)
        for balance, strength, penalty in product(("group", "sample"), (1.0, 0.5), PENALTIES)
    ],
    "neighbourhoods": [
        Setting(balance, temperature, 1.0, penalty)
        for balance, temperature, penalty in product(("group", "sample"), TEMPERATURES, PENALTIES)
    ],
}


class Bench:
    """One mixture and seed: its rows, scaled by training rows, and the weights of each temperature."""

    def __init__(self, parts: Parts) -> None:
        scaler = StandardScaler().fit(parts[0].X)
        self.train, self.validation, self.test = (each._replace(X=scaler.transform(each.X)) for each in parts)
        self.groups = int(self.train.a.max()) + 1
        self.shapes: dict[tuple[str, str], np.ndarray] = {}
        self.frontiers: dict[float, FairFrontier] = {}

    def weights(self, setting: Setting) -> np.ndarray:
        """The exact weights, computed once for each balance and temperature."""
        key = setting.balance, setting.temperature
        if key not in self.shapes:
            self.shapes[key] = np.asarray(
                aan_weights(*self.train, temperature=float(setting.temperature), balance=setting.balance)  # type: ignore[arg-type]
            )
        return np.asarray((1 - setting.strength) + setting.strength * self.shapes[key])

    def model(self, penalty: float) -> LogisticRegression:
        """Logistic regression whose penalty is on the mean loss."""
        return LogisticRegression(C=1 / (penalty * len(self.train.y)), max_iter=200, tol=1e-3)

    def odds(self, setting: Setting) -> tuple[np.ndarray, np.ndarray]:
        """The log-odds of validation and of test rows."""
        model = self.model(setting.penalty).fit(self.train.X, self.train.y, sample_weight=self.weights(setting))
        return model.decision_function(self.validation.X), model.decision_function(self.test.X)

    def frontier(self, penalty: float) -> FairFrontier:
        """FairFrontier, fitted once for each penalty; no cell is too rare for it here."""
        if penalty not in self.frontiers:
            model = FairFrontier(self.model(penalty), aim="worst_group", min_count=2)
            self.frontiers[penalty] = model.fit(self.train.X, self.train.y, sensitive_features=self.train.a)
        return self.frontiers[penalty]

    def count(self, rows: Rows, decided: np.ndarray) -> Counts:
        """Decisions, counted."""
        return count(rows.y.astype(np.int64), rows.a.astype(np.int64), decided.astype(np.int64), 2, self.groups)

    def shifted(self, rows: Rows, odds: np.ndarray) -> np.ndarray:
        """The counts at every threshold."""
        return np.stack([self.count(rows, odds + shift > 0) for shift in SHIFTS])


def measure(bench: Bench) -> dict[str, Any]:
    """Test counts of every family's choice for each allowance, and of each temperature with all else fixed."""
    offered = {name: _offer(bench, settings) for name, settings in SETTINGS.items()}
    validation, test = offered["threshold"]
    unmoved = slice(len(SHIFTS) // 2, None, len(SHIFTS))
    reference = validation[unmoved][_best(Rule("accuracy", 1.0), validation[unmoved], validation[0])]
    offered = {"plain": (validation[unmoved], test[unmoved]), **offered}
    chosen = {}
    for allowance, drop in DROPS.items():
        rule = Rule("worst_group", drop, tie=TIE)
        aims = {name: rule if name != "plain" else Rule("accuracy", 1.0) for name in offered}
        found = {name: both[1][_best(aims[name], both[0], reference)] for name, both in offered.items()}
        found["FairFrontier"] = _frontier(bench, drop, rule, reference)
        chosen[allowance] = {name: _plain(found[name]) for name in FAMILIES}
    fixed = {
        temperature: _plain(bench.count(bench.test, bench.odds(Setting("group", temperature, 1.0, 0.1))[1] > 0))
        for temperature in FIXED
    }
    return {"chosen": chosen, "fixed": fixed}


def _offer(bench: Bench, settings: Sequence[Setting]) -> tuple[np.ndarray, np.ndarray]:
    """Validation and test counts of every point: settings outermost, then thresholds."""
    both = [bench.odds(setting) for setting in settings]
    validation = np.concatenate([bench.shifted(bench.validation, each[0]) for each in both])
    return validation, np.concatenate([bench.shifted(bench.test, each[1]) for each in both])


def _frontier(bench: Bench, drop: float, rule: Rule, reference: np.ndarray) -> np.ndarray:
    """FairFrontier's test counts: its own choice for each penalty, of which validation rows take one."""
    validation, test = [], []
    for penalty in PENALTIES[:2]:
        model = bench.frontier(penalty).choose(aim="worst_group", accuracy_drop=drop)
        validation.append(bench.count(bench.validation, model.predict(bench.validation.X)))
        test.append(bench.count(bench.test, model.predict(bench.test.X)))
    place = _best(rule, np.stack(validation), reference)
    return np.asarray(test[place])


def _best(rule: Rule, points: np.ndarray, reference: np.ndarray) -> int:
    """The place of the point that the rule takes; the most accurate where none is allowed."""
    place = int(rule.choose(points, reference))
    return place if place >= 0 else int(Rule("accuracy", 1.0).choose(points, reference))


def _plain(counts: np.ndarray) -> list[Any]:
    """Counts of known groups as JSON has them."""
    return list(counts[:, :-1].astype(int).tolist())


def run(seeds: Sequence[int] = SEEDS, without: Sequence[str] = ()) -> None:
    """Fit what is missing, seed by seed, and append a line for each mixture."""
    done = {(record["kind"], record["data"], record["title"], record["seed"]) for record in read()}
    for seed, mixture in product(seeds, MIXTURES):
        if (*mixture[:3], seed) in done or mixture.data in without:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (ConvergenceWarning, UserWarning))
            begun = time.process_time()
            found = measure(Bench(mixture.draw(seed)))
        record = {**dict(zip(("kind", "data", "title"), mixture[:3], strict=True)), "seed": seed, **found}
        with RESULTS.open("a") as stream:
            stream.write(json.dumps(record, separators=(",", ":")) + "\n")
        print(*mixture[:3], seed, f"{time.process_time() - begun:.1f} s", flush=True)


def read() -> list[dict[str, Any]]:
    """The lines written so far."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def settle() -> None:
    """The lines in the order of the experiment, whoever wrote them first."""
    place = {mixture[:3]: number for number, mixture in enumerate(MIXTURES)}
    lines = sorted(read(), key=lambda r: (place[r["kind"], r["data"], r["title"]], r["seed"]))
    RESULTS.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def main() -> None:
    """Fit what is missing, then tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="only write the table and the figure")
    parser.add_argument("--seeds", nargs="*", type=int, default=SEEDS, help="the draws to fit, all by default")
    parser.add_argument("--without", nargs="*", default=[], help="data that are not at hand")
    options = parser.parse_args()
    if not options.table:
        run(options.seeds, options.without)
        settle()
    from reproduce import neighbourhoods_told  # it reads what is written here

    neighbourhoods_told.write()


if __name__ == "__main__":
    main()
