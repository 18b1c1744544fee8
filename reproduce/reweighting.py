"""AANReweighting against the plain estimator, reweighing and fairlearn's ExponentiatedGradient, on Adult and MEPS.

`python -m reproduce.reweighting` runs what results/reweighting.jsonl does not hold yet, a line for each fitted
model, and prints the table; `--table` only prints it.

Every method trains on the same rows. One threshold on the plain estimator, and one on a reweighed estimator, are
judged as AANReweighting judges itself: in cross-validation on training rows, with its floor and margin, as in
reproduce.frontier. ExponentiatedGradient's settings, and reweighing without a threshold, are chosen on validation
rows: the best for the aim within the allowance of the plain estimator, which is one of the choices. Test rows
judge, and do nothing else. Seconds are of one core; a rival has those of all its settings.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
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
from raan.data.split import split
from raan.fairness.metrics import metrics as count_metrics
from raan.lab.datasets.adult import SPLIT as ADULT_SPLIT
from raan.lab.datasets.adult import adult
from raan.lab.datasets.meps import SPLIT as MEPS_SPLIT
from raan.lab.datasets.meps import meps

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "reweighting.jsonl"
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
RIVAL, OURS = "ExponentiatedGradient", "AANReweighting"
THRESHOLDED = ("plain + threshold", "reweighing + threshold")
"""The rivals under the judge of AANReweighting: one fit in folds for all aims and allowances."""
COMPARED = ("plain", *THRESHOLDED, RIVAL, OURS)
METHODS = (*COMPARED[:1], "reweighing", *COMPARED[1:])

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
    path = folder if folder.is_dir() else None
    if task.data == "adult":
        table, sizes = adult(path, keep_attribute=task.attribute_kept), ADULT_SPLIT
    else:
        table, sizes = meps(path, keep_attribute=task.attribute_kept), MEPS_SPLIT
    parts = [part.numpy() for part in split(table.rows, sizes, task.seed)]
    features, label, attribute = (part.numpy() for part in (table.features, table.label, table.attribute))
    scaler = StandardScaler().fit(features[parts[0]])
    train, validation, test = (Rows(scaler.transform(features[p]), label[p], attribute[p]) for p in parts)
    return train, validation, test


class Remembered(HistGradientBoostingClassifier):  # type: ignore[misc]
    """Gradient boosting that fits each problem once, and counts the seconds that memory saved it.

    Searches for different aims and allowances share most of their fits; each is charged for all of its own.
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
        self.__dict__.update(state)
        Remembered.saved += seconds - (time.process_time() - start)
        return self

    @classmethod
    def forget(cls) -> None:
        """Forget all fits."""
        cls._memory.clear()


def estimator(task: Task) -> Any:
    """The estimator that all methods of the task share."""
    return (
        LogisticRegression(max_iter=1000) if task.estimator == "logistic" else Remembered(random_state=task.seed)
    )


def measure(predict: Callable[[np.ndarray], np.ndarray], rows: Rows) -> dict[str, float]:
    """The four metrics of the predictions for some rows."""
    predicted = predict(rows.X)
    return {
        name: round(getattr(metrics, name)(rows.y, predicted, sensitive_features=rows.a), 5) for name in METRICS
    }


def fitted(task: Task, method: str, setting: str, train: Rows) -> tuple[Callable[[np.ndarray], np.ndarray], str]:
    """How the method predicts once it is fitted, and a note on what it chose."""
    model = estimator(task)
    match method:
        case "plain":
            return model.fit(train.X, train.y).predict, ""
        case "reweighing":
            weight = aan_weights(train.X, train.y, train.a, temperature=float("inf"), balance="independence")
            return model.fit(train.X, train.y, sample_weight=weight).predict, ""
        case "ExponentiatedGradient":
            kind, bound = setting.split()
            rival = ExponentiatedGradient(model, CONSTRAINTS[kind](difference_bound=float(bound)))
            rival.fit(train.X, train.y, sensitive_features=train.a)
            # It draws among its classifiers at each prediction; the seed makes the draw repeatable.
            return partial(rival.predict, random_state=task.seed), f"{len(rival.predictors_)} fits"
    raise ValueError(f"{method} is no longer run; its results are of an earlier version")


@lru_cache(1)
def bench_of(task: Task) -> tuple[float, Any]:
    """The judge of reproduce.frontier over the same rows, and the seconds that its fit in folds took."""
    from reproduce.frontier import Bench  # which imports this module

    bench = Bench(task, *(part._replace(X=part.X.astype(np.float64)) for part in load(task)))
    start = time.process_time()
    bench.frontier  # noqa: B018  (fitted when it is asked for)
    return time.process_time() - start, bench


@lru_cache(1)
def thresholded(task: Task, method: str) -> tuple[float, str, dict[str, dict[str, float]]]:
    """The seconds of a rival with a threshold, a note, and its test metrics for each aim and allowance."""
    from reproduce.frontier import METHODS as OFFERS
    from reproduce.frontier import Asked

    fitting, bench = bench_of(task)
    start = time.process_time()
    found = OFFERS[method](bench)
    seconds = time.process_time() - start + fitting
    reached = {}
    for aim, drop in product(AIMS, DROPS):
        measured = count_metrics(found[Asked(aim, drop, 0.0).key])
        reached[f"{aim} {drop}"] = {name: round(float(getattr(measured, name)), 5) for name in METRICS}
    return seconds, "all aims at once", reached


def settings() -> Iterator[tuple[str, str]]:
    """Every method with each of its settings."""
    yield "plain", ""
    yield "reweighing", ""
    yield from ((RIVAL, f"{kind} {bound}") for kind, bound in product(CONSTRAINTS, BOUNDS))
    yield from ((method, f"{aim} {drop}") for method in THRESHOLDED for aim, drop in product(AIMS, DROPS))


def run(tasks: Sequence[Task], methods: Sequence[str], until: float) -> None:
    """Fit what is missing, and append a line for each; stop when the time is up."""
    done = {_key(record) for record in read()}
    RESULTS.parent.mkdir(exist_ok=True)
    for task in tasks:
        missing = [pair for pair in settings() if pair[0] in methods and (*task, *pair) not in done]
        parts = load(task) if missing else ()
        for method, setting in missing:
            if time.monotonic() > until:
                return
            record = one(task, method, setting, *parts)
            with RESULTS.open("a") as stream:
                stream.write(json.dumps(record) + "\n")
            print(*task, method, setting, record["seconds"], *record["test"].values(), record["note"], flush=True)
        Remembered.forget()


def one(task: Task, method: str, setting: str, train: Rows, validation: Rows, test: Rows) -> Record:
    """Fit one method with one setting, and measure it."""
    if method in THRESHOLDED:
        seconds, note, found = thresholded(task, method)
        record = task._asdict() | {
            "method": method,
            "setting": setting,
            "seconds": round(seconds, 1),
            "note": note,
        }
        return record | {"test": found[setting]}
    Remembered.saved, start = 0.0, time.process_time()
    predict, note = fitted(task, method, setting, train)
    seconds = time.process_time() - start + Remembered.saved
    record = task._asdict() | {"method": method, "setting": setting, "seconds": round(seconds, 1), "note": note}
    return record | {"validation": measure(predict, validation), "test": measure(predict, test)}


def read() -> list[Record]:
    """The lines written so far."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def chosen(records: Sequence[Record], method: str, aim: str, drop: float) -> Record | None:
    """Of one task's records the one that the method stands by; a rival's is chosen on validation rows."""
    if method in (*THRESHOLDED, OURS):
        return next((r for r in records if (r["method"], r["setting"]) == (method, f"{aim} {drop}")), None)
    plain = next(record for record in records if record["method"] == "plain")
    own = [record for record in records if record["method"] == method]
    if len(own) < sum(1 for name, _ in settings() if name == method):
        return None
    sign = 1 if aim == "worst_group" else -1
    least = plain["validation"]["accuracy"] - drop
    best = max(
        (record for record in (plain, *own) if record["validation"]["accuracy"] >= least),
        key=lambda record: float(sign * record["validation"][AIMS[aim]]),
    )
    return best | {"seconds": sum(record["seconds"] for record in own)}


def summaries(records: Sequence[Record]) -> Iterator[tuple[tuple[str, bool, str, str, float, str], np.ndarray]]:
    """For each data set, estimator, aim, allowance and method: test metrics and seconds, a row for each split.

    Splits that some method has not finished are left out, so that all are compared on the same ones.
    """
    tasks = sorted({Task(*(record[name] for name in Task._fields)) for record in records})
    by_task = {task: [r for r in records if _key(r)[:4] == tuple(task)] for task in tasks}
    kinds = sorted({task[:3] for task in tasks}, key=lambda kind: (kind[0], not kind[1], kind[2] != "logistic"))
    for kind, aim, drop in product(kinds, AIMS, DROPS):
        splits = [
            [chosen(by_task[task], method, aim, drop) for method in COMPARED] for task in tasks if task[:3] == kind
        ]
        complete = [found for found in splits if all(found)]
        for method, found in zip(COMPARED, zip(*complete, strict=True), strict=bool(complete)):
            rows = [[100 * r["test"][m] for m in METRICS] + [r["seconds"]] for r in found if r is not None]
            yield (*kind, aim, drop, method), np.array(rows)


def table() -> None:
    """Print the mean and standard deviation over the splits, a line for each method, aim and allowance."""
    print(f"{'':66s} accuracy         EO (sum)         DP               worst group      seconds")
    for (data, kept, name, aim, drop, method), rows in summaries(read()):
        label = f"{data} {'' if kept else 'blind '}{name}, {aim} within {100 * drop:g}: {method}"
        numbers = "".join(
            f"{m:6.1f} ± {s:4.1f}    " for m, s in zip(rows.mean(0)[:4], _spread(rows)[:4], strict=True)
        )
        print(f"{label:66s} {numbers} {rows[:, 4].mean():5.0f}   ({len(rows)} splits)")


def _spread(rows: np.ndarray) -> np.ndarray:
    return rows.std(0, ddof=1) if len(rows) > 1 else np.zeros(rows.shape[1])


def _key(record: Record) -> tuple[Any, ...]:
    return (*(record[name] for name in Task._fields), record["method"], record["setting"])


def main() -> None:
    """Run, then print the table; or only print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="only print the table")
    parser.add_argument("--minutes", type=float, default=600, help="begin no fit after so many")
    parser.add_argument("--data", nargs="+", default=["meps", "adult"])
    parser.add_argument("--estimators", nargs="+", default=["logistic", "boosting"])
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--blind", action="store_true", help="without the attribute among the features")
    options = parser.parse_args()
    if not options.table:
        picked = product(options.estimators, options.seeds, options.data)
        tasks = [Task(d, not options.blind, e, s) for e, s, d in picked]
        run(tasks, options.methods, time.monotonic() + 60 * options.minutes)
    table()


if __name__ == "__main__":
    main()
