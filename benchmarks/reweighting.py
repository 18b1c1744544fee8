"""AANReweighting against the plain estimator, reweighing and fairlearn's ExponentiatedGradient, on Adult and MEPS.

`python -m benchmarks.reweighting` runs what results/reweighting.jsonl does not hold yet, a line for each fitted model,
and prints the table; `--table` only prints it, `--figure` draws docs/images/which-balance.png from it.

Every method trains on the same rows. The rivals' settings are chosen on validation rows: the best for the aim within
the allowance of the plain estimator, which is one of the choices. AANReweighting chooses by itself and never sees
these rows. Test rows judge, and do nothing else. Seconds are one core's; a rival's are those of all its settings.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from raan import aan_weights, metrics
from raan.data.adult import SPLIT as ADULT_SPLIT
from raan.data.adult import adult
from raan.data.meps import SPLIT as MEPS_SPLIT
from raan.data.meps import meps
from raan.data.split import split

ROOT = Path(__file__).parents[1]
RESULTS = Path(os.environ.get("RW_OUT") or ROOT / "results" / "reweighting.jsonl")
SEEDS = (10, 11, 12, 13, 14)
DROPS = (0.005, 0.02)
AIMS = {
    "equalized_odds": "equalized_odds_gap",
    "demographic_parity": "demographic_parity_gap",
    "worst_group": "worst_group_accuracy",
}
METRICS = ("accuracy", *AIMS.values())
CONSTRAINTS = {"EO": EqualizedOdds, "DP": DemographicParity}
BOUNDS = (0.01, 0.05)

Record = dict[str, Any]


class Rows(NamedTuple):
    """Standardised features, class and attribute of some rows."""

    X: np.ndarray
    y: np.ndarray
    a: np.ndarray


class Task(NamedTuple):
    """One comparison: a data set, with or without the attribute among its features, a split, an estimator."""

    data: str
    attribute_kept: bool
    estimator: str
    seed: int


def load(task: Task) -> tuple[Rows, Rows, Rows]:
    """The training, validation and test rows, standardised by the training rows."""
    folder = Path(os.environ.get("RAAN_DATA") or ROOT.parent / "shared" / "data") / task.data
    reader, sizes = {"adult": (adult, ADULT_SPLIT), "meps": (meps, MEPS_SPLIT)}[task.data]
    table = reader(folder if folder.is_dir() else None, keep_attribute=task.attribute_kept)
    parts = [part.numpy() for part in split(table.rows, sizes, task.seed)]
    features, label, attribute = (part.numpy() for part in (table.features, table.label, table.attribute))
    scaler = StandardScaler().fit(features[parts[0]])
    train, validation, test = (Rows(scaler.transform(features[p]), label[p], attribute[p]) for p in parts)
    return train, validation, test


class Remembered(HistGradientBoostingClassifier):  # type: ignore[misc]
    """Gradient boosting that fits each problem once, and counts the seconds that memory saved it.

    The searches for the three aims and two allowances share most of their fits; each is charged for all of its own.
    """

    _memory: dict[str, tuple[dict[str, Any], float]] = {}  # noqa: RUF012  (shared by all on purpose)
    saved = 0.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Remembered":
        """Fit, or recall the fit of the same rows and weights."""
        start = time.process_time()
        key = joblib.hash((X, y, sample_weight))
        if key not in self._memory:
            super().fit(X, y, sample_weight)
            self._memory[key] = dict(vars(self)), time.process_time() - start
            return self
        state, seconds = self._memory[key]
        vars(self).update(state)
        Remembered.saved += seconds - (time.process_time() - start)
        return self

    @classmethod
    def forget(cls) -> None:
        """Forget all fits."""
        cls._memory.clear()


def estimator(task: Task) -> Any:
    """The estimator that all methods of the task share."""
    return LogisticRegression(max_iter=1000) if task.estimator == "logistic" else Remembered(random_state=task.seed)


def measure(predict: Callable[[np.ndarray], np.ndarray], rows: Rows) -> dict[str, float]:
    """The four metrics of the predictions for some rows."""
    predicted = predict(rows.X)
    return {
        name: round(getattr(metrics, name)(rows.y, predicted, sensitive_features=rows.a), 5) for name in METRICS
    }


def fitted(task: Task, method: str, setting: str, train: Rows) -> Any:
    """A function that predicts, fitted by the method; and what is worth noting about it."""
    model = estimator(task)
    if method == "plain":
        return model.fit(train.X, train.y).predict
    if method == "reweighing":
        weight = aan_weights(train.X, train.y, train.a, temperature=float("inf"), balance="independence")
        return model.fit(train.X, train.y, sample_weight=weight).predict
    if method == "ExponentiatedGradient":
        kind, bound = setting.split()
        rival = ExponentiatedGradient(model, CONSTRAINTS[kind](difference_bound=float(bound)))
        rival.fit(train.X, train.y, sensitive_features=train.a)
        # It draws among its classifiers at each prediction; the seed makes the draw repeatable.
        return lambda X: rival.predict(X, random_state=task.seed)
    raise ValueError(method)


def settings(task: Task) -> Iterator[tuple[str, str]]:
    """Every method with each of its settings."""
    yield "plain", ""
    yield "reweighing", ""
    yield from (("ExponentiatedGradient", f"{kind} {bound}") for kind, bound in product(CONSTRAINTS, BOUNDS))


def run(tasks: Sequence[Task], until: float) -> None:
    """Fit what is missing, and append a line for each; stop when the time is up."""
    done = {_key(record) for record in read()}
    RESULTS.parent.mkdir(exist_ok=True)
    for task in tasks:
        missing = [pair for pair in settings(task) if (*task, *pair) not in done]
        if missing:
            train, validation, test = load(task)
        for method, setting in missing:
            if time.monotonic() > until:
                return
            Remembered.saved, start = 0.0, time.process_time()
            predict = fitted(task, method, setting, train)
            seconds = time.process_time() - start + Remembered.saved
            record = task._asdict() | {"method": method, "setting": setting, "seconds": round(seconds, 1)}
            record |= {"validation": measure(predict, validation), "test": measure(predict, test)}
            with RESULTS.open("a") as stream:
                stream.write(json.dumps(record) + "\n")
            print(*task, method, setting, f"{seconds:.1f} s", record["test"], flush=True)
        Remembered.forget()


def read() -> list[Record]:
    """The lines written so far."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def _key(record: Record) -> tuple[Any, ...]:
    return (*(record[name] for name in Task._fields), record["method"], record["setting"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--data", nargs="+", default=["meps", "adult"])
    parser.add_argument("--estimators", nargs="+", default=["logistic", "boosting"])
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--without", action="store_true")
    o = parser.parse_args()
    run([Task(d, not o.without, e, s) for e, s, d in product(o.estimators, o.seeds, o.data)], time.monotonic() + 60 * o.minutes)
