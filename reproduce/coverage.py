"""Does `confidence` mean what it says? Choices from samples of large tables, evaluated on the rows left over.

`python -m reproduce.coverage` runs the draws that results/coverage.jsonl.gz does not hold yet, then prints the
tables of docs/coverage.md; `--table` only prints them, `--minutes 60` starts no draw after an hour, `--part 0/2`
takes every second draw, so that two processes can share the work, and `--apart` includes the tables that were kept
apart.

A draw takes a sample of a table, fits FairFrontier to it, chooses for every aim, budget and confidence, and
evaluates each choice on up to 40,000 of the other rows. Simulated tables are evaluated on 200,000 new rows. Three
tables (`APART`) were kept apart until the method was final, and run once.
"""

import argparse
import contextlib
import gzip
import io
import json
import math
import time
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raan import FairFrontier
from raan.fairness.evidence import support_budget, support_guard
from raan.fairness.measures import AIMS
from raan.fairness.metrics import NAMES, metrics, worst_group_accuracy
from raan.frontier.choice import find_path
from raan.frontier.decide import Evaluation
from raan.frontier.posterior import Recipe, Rows, average, cross_fit, give_attribute, soften
from reproduce.tables import SOURCES, Source, above, read_table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "coverage.jsonl.gz"
BUDGETS, CONFIDENCES = (0.005, 0.01, 0.02), (0.5, 0.8, 0.9, 0.95)
BEFORE = ROOT / "results" / "coverage-before.jsonl"
"""The same draws with version 0.2 (`--before`, with the sources of commit 163cced^ on PYTHONPATH)."""

MOST_TEST = 40_000

SEVERAL = 6
"""Draws that are evaluated at every confidence; the others at 0.9 only."""

DEVELOPED = ("adult", "meps", "gss", "cps", "union", "nass")
"""The tables on which the method was developed."""

APART = ("fertility", "nesarc", "mortgages")
"""The tables that were kept apart."""

SOURCES.update(
    {
        "fertility": Source("AER", "Fertility", lambda d: d.work > 0, "afam", ("work",)),
        "nesarc": Source("stevedata", "nesarc_drinkspd", lambda d: above(d.s2aq8b, 1), "sex", ("s2aq8b", "idnum")),
        "mortgages": Source(
            "causaldata", "mortgages", lambda d: d.home_ownership, "nonwhite", ("home_ownership",)
        ),
    }
)


class Draw(NamedTuple):
    """A sample: of which table, how many rows, for which model, how the attribute is used, which seed."""

    table: str
    rows: int
    model: str
    setting: str
    seed: int


def list_draws() -> Iterator[Draw]:
    """All draws, the first seeds of everything before the later ones."""
    blocks = [
        (DEVELOPED + APART, (1_000, 3_000, 10_000), "logistic", "unseen", 50),
        (("adult", "fertility", "mortgages"), (30_000,), "logistic", "unseen", 50),
        (("adult", "gss", "fertility"), (3_000, 10_000), "logistic", "feature", 25),
        (("adult", "gss", "fertility"), (3_000, 10_000), "logistic", "known", 25),
        (tuple(SIMULATED), (3_000, 10_000), "logistic", "unseen", 50),
        (("adult", "gss", "mortgages"), (10_000,), "boosting", "unseen", 12),
        (("adult", "nesarc"), (3_000,), "boosting", "unseen", 12),
    ]
    order = [
        Draw(table, rows, model, setting, seed)
        for tables, sizes, model, setting, seeds in blocks
        for table, rows, seed in product(tables, sizes, range(seeds))
        if not (table in ("meps", "union", "nass") and rows > 3_000)  # too few rows would be left over
    ]
    yield from sorted(order, key=lambda draw: draw.seed)


def simulate(name: str, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw rows from normal distributions, one for each cell."""
    share, classes = SIMULATED[name]
    share = share / share.sum()
    rng = np.random.default_rng([seed, 7])
    cell = rng.choice(share.size, rows, p=share.ravel())
    groups = share.shape[1]
    y, a = cell // groups, cell % groups
    first = rng.normal(1.3 * y + 0.25 * a * (y > 0), 1.0)
    second = rng.normal(0.9 * (a - (groups - 1) / 2), 1.0)
    third = rng.normal(0.8 * (y == classes - 1), 1.0)
    return np.c_[first, second, third], y, a


SIMULATED = {
    "two groups": (np.array([[0.4, 0.25], [0.1, 0.25]]), 2),
    "four groups": (np.array([[0.25, 0.15, 0.15, 0.1], [0.05, 0.1, 0.1, 0.1]]), 2),
    "rare group": (np.array([[0.045, 0.55], [0.015, 0.39]]), 2),
    "5 % positives": (np.array([[0.5, 0.45], [0.015, 0.035]]), 2),
    "three classes": (np.array([[0.25, 0.15], [0.15, 0.15], [0.08, 0.22]]), 3),
}


@lru_cache(2)
def load(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, classes and groups of a table."""
    with contextlib.redirect_stdout(io.StringIO()):
        X, y, attribute = read_table(name)
    return X, np.asarray(y).astype(int), pd.factorize(np.asarray(attribute).astype(str), sort=True)[0]


def sample(draw: Draw) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Training rows, and rows to evaluate on."""
    if draw.table in SIMULATED:
        return simulate(draw.table, draw.rows, draw.seed), simulate(draw.table, 200_000, 10_000 + draw.seed)
    X, y, a = load(draw.table)
    if draw.setting == "feature":
        X = np.c_[X, np.eye(int(a.max()) + 1)[a]]
    order = np.random.default_rng(draw.seed + 77).permutation(len(y))
    train, test = order[: draw.rows], order[draw.rows : draw.rows + MOST_TEST]
    return (X[train], y[train], a[train]), (X[test], y[test], a[test])


def run(draw: Draw, confidences: tuple[float, ...] | None = None) -> dict[str, Any]:
    """Fit once, choose for everything, and evaluate."""
    (X, y, a), (X_test, y_test, a_test) = sample(draw)
    boosting = draw.model == "boosting"
    model: Any = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    model = HistGradientBoostingClassifier(random_state=draw.seed) if boosting else model
    groups, given = int(a.max()) + 1, draw.setting == "known"
    recipe, rows = Recipe(model, soften(model), "chain", given), Rows(X, y, y, a, groups)
    models, q = cross_fit(recipe, rows, folds=3, repeats=1, seed=draw.seed, n_jobs=None, show=lambda *_: None)
    deployed = {"average": models} | ({"refit": [recipe.fit(rows)]} if boosting else {})
    tests = {}
    for name, several in deployed.items():
        if given:
            of_class = np.mean([each.label.predict_proba(X_test) for each in several], axis=0)  # type: ignore[union-attr]
            posterior = give_attribute(of_class, a_test, groups)
        else:
            posterior = average(several, X_test)
        tests[name] = Evaluation(posterior, y_test, a_test, **_parts_of(y_test))
    found, possible = {}, {}
    for confidence in confidences or (CONFIDENCES if draw.seed < SEVERAL else (0.9,)):
        fair = FairFrontier.from_posterior(q, y, a, confidence=confidence)
        for aim, budget in product(AIMS, BUDGETS):
            choice = fair.choose(aim=aim, accuracy_drop=budget)
            for name, evaluation in tests.items():
                key = f"{aim} {budget} {confidence}" + (" refit" if name == "refit" else "")
                found[key] = evaluate(choice, evaluation, aim)
            if confidence == 0.9 and hasattr(choice, "points_"):
                possible[f"{aim} {budget}"] = find_possible(choice, tests["average"], draw.rows)
    return draw._asdict() | {"left": len(y_test), "found": found, "possible": possible}


def _parts_of(y: np.ndarray) -> dict[str, Any]:
    """What version 0.2 needs besides to evaluate weights: all rows are one part."""
    return {"part": np.zeros(len(y), int), "parts": 1} if "part" in Evaluation.__dataclass_fields__ else {}


COLUMNS = (
    *("claimed", "loss", "fall", "before", "after", "low", "high", "loss high", "accuracy short", "needed"),
    "loss expected",
)


def evaluate(choice: FairFrontier, rows: Evaluation, aim: str) -> list[float]:
    """What new rows show of a choice, as `COLUMNS`."""
    weights = np.stack([np.ones_like(choice.weights_), choice.weights_])
    counts = rows.count(weights).counts
    counts = counts.sum(1) if counts.ndim == 5 else counts  # version 0.2 counts the parts of the rows apart
    plain, chosen = (metrics(each) for each in counts)
    worst = worst_group_accuracy(counts)
    metric = AIMS[aim].metric
    expected = choice.promise_.metrics
    values = (
        bool((choice.weights_ != 1).any()),
        plain.accuracy - chosen.accuracy,
        worst[0] - worst[1],
        getattr(plain, metric),
        getattr(chosen, metric),
        expected[metric].low,
        expected[metric].high,
        choice.promise_.accuracy_loss.high,
        expected[NAMES[0]].low - float(chosen.accuracy),
        getattr(getattr(choice, "choice_", None), "rows_needed", None) or 0,
        choice.promise_.accuracy_loss.value,
    )
    return [round(float(value), 5) for value in values]


def find_possible(choice: FairFrontier, rows: Evaluation, size: int) -> list[float]:
    """The gain of the best point of a choice's path, for somebody who knows what each does to new rows.

    First of the points that keep budget and guard; then of those that leave the margin that `size` rows need.
    """
    rule, points = choice.frontier_.rule, choice.points_
    counts, switched = rows.count(points.weights[np.r_[0, find_path(points, rule, rule.goal)]])
    scale = size / counts[0].sum()
    sized = (scale * counts, scale * counts[0], scale * switched)
    support = np.minimum(
        support_budget(*sized, rule.accuracy_drop), support_guard(*sized, float(rule.worst_group_drop or 0))
    )
    loss = rule.goal.loss_of(counts)
    return [round(float((loss[0] - loss)[support >= m].max(initial=0)), 5) for m in (0, rule.margin)]


def read(*paths: Path) -> list[dict[str, Any]]:
    """The draws run so far, those of other processes included; or those of some files, where these exist."""
    lines: list[dict[str, Any]] = []
    own = (path for path in sorted(RESULTS.parent.glob("coverage*.jsonl*")) if BEFORE.stem not in path.name)
    for path in filter(Path.exists, paths or own):
        content = path.read_bytes()
        text = gzip.decompress(content) if path.suffix == ".gz" else content
        lines += [json.loads(line) for line in text.decode().splitlines(keepends=True) if line.endswith("\n")]
    return lines


def binomial(share: float, draws: int) -> float:
    """The standard error of a share."""
    return sqrt(max(share * (1 - share), 0.25 / max(draws, 1)) / max(draws, 1))


def collect(records: list[dict[str, Any]], **wanted: Any) -> np.ndarray:
    """The choices of some draws, a row each: budget, confidence, aim, training rows for each test row, `COLUMNS`.

    What was not recorded in a draw is nan.
    """
    aims, refit = wanted.pop("aims", tuple(AIMS)), wanted.pop("refit", False)
    rows = []
    for record in records:
        if any(record[name] not in values for name, values in wanted.items()):
            continue
        ratio = record["rows"] / record["left"] if "left" in record else np.nan
        for key, values in record["found"].items():
            aim, budget, confidence, *other = key.split()
            if aim in aims and bool(other) == refit:
                unknown = [np.nan] * (len(COLUMNS) - len(values))
                rows.append([float(budget), float(confidence), list(AIMS).index(aim), ratio, *values, *unknown])
    return np.array(rows).reshape(-1, 4 + len(COLUMNS))


class Summary(NamedTuple):
    """What happened in some choices, as shares of all of them.

    `worse`, and the second of `missed` and `loss_missed`, are shares of the choices that claimed a gain. The
    intervals are widened for the error of the rows left over. The interval of a baseline that is kept is right.
    """

    choices: int
    exceeded: float
    broken: float
    worse: float
    missed: tuple[float, float]
    loss_missed: tuple[float, float]
    kept: float
    gain: float


def summarise(rows: np.ndarray) -> Summary:
    """Count how often a claim did not hold on new rows."""
    budget, _, aim, ratio, claimed, loss, fall, before, after, low, high, loss_high, _, _, expected = rows.T
    more = np.array([each.more_is_better for each in AIMS.values()])[aim.astype(int)]
    worse = np.where(more, after < before, after > before)
    wider = np.sqrt(1 + ratio)
    middle, half = (low + high) / 2, (high - low) / 2
    missed = np.where(more, after < middle - wider * half, after > middle + wider * half)
    gain = np.where(more, after - before, before - after)
    fair = claimed > 0
    lost_more = loss > expected + wider * (loss_high - expected)
    known = ~np.isnan(expected)

    def share(happened: np.ndarray, among: np.ndarray) -> float:
        return float((happened & fair)[among].mean()) if among.any() else math.nan

    return Summary(
        len(rows),
        float((loss > budget + 1e-9).mean()),
        float((fall > 1e-9).mean()),
        share(worse, fair),
        (share(missed, fair | ~fair), share(missed, fair)),
        (share(lost_more, known), share(lost_more, known & fair)),
        float(1 - fair.mean()),
        100 * float(gain.mean()),
    )


def run_before(seconds: float) -> None:
    """Run a few draws with the sources of version 0.2, which PYTHONPATH must name; see `BEFORE`."""
    until = time.monotonic() + seconds
    seeds: dict[tuple[Any, ...], int] = {}
    done = {tuple(record[name] for name in Draw._fields) for record in read(BEFORE)}
    for draw in list_draws():
        seeds[draw[:4]] = seeds.get(draw[:4], 0) + 1
        chosen = draw.model == "logistic" and draw.setting == "unseen" and draw.table in DEVELOPED
        if not chosen or seeds[draw[:4]] > 12 or tuple(draw) in done or time.monotonic() > until:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record = run(draw, (0.9,))
        with BEFORE.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(*draw, flush=True)


def main() -> None:
    """Run what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="only print the tables")
    parser.add_argument("--minutes", type=float, default=240)
    parser.add_argument("--apart", action="store_true", help="run the tables that are kept apart, too")
    parser.add_argument("--part", default="0/1", help="this process's share of the draws, such as 0/2")
    parser.add_argument("--before", action="store_true", help="with the sources of version 0.2: a few draws of it")
    options = parser.parse_args()
    if options.before:
        run_before(60 * options.minutes)
        return
    part, parts = map(int, options.part.split("/"))
    until = time.monotonic() + 60 * options.minutes
    done = {tuple(record[name] for name in Draw._fields) for record in read()}
    out = RESULTS.with_name(f"coverage-{part}.jsonl")
    for place, draw in enumerate(list_draws()):
        if options.table or time.monotonic() > until:
            break
        if draw.table in APART and not options.apart:
            continue
        if place % parts == part and tuple(draw) not in done:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                record = run(draw)
            with out.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(*draw, flush=True)
    records = read()
    for name, table in TABLES.items():
        print(f"\n{name}", *table(records), sep="\n")


HEAD = (
    "| | choices | budget exceeded | guard broken | aim worse | aim beyond its interval "
    "| loss beyond its interval | baseline kept | gain |\n|---|" + "---:|" * 8
)


def list_confidences(records: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each confidence: tables of development, simulated tables, and those kept apart."""
    yield HEAD
    kinds = {"developed on": DEVELOPED, "simulated": tuple(SIMULATED), "kept apart": APART}
    for (kind, tables), confidence in product(kinds.items(), CONFIDENCES):
        yield from _row(f"{confidence:g}, {kind}", collect(records, table=tables), confidence)


def list_sizes(records: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each number of training rows and for each way of deployment, at a confidence of 0.9."""
    yield HEAD
    for rows in (1_000, 3_000, 10_000, 30_000):
        some = collect(records, rows=(rows,), model=("logistic",), table=DEVELOPED + APART, setting=("unseen",))
        yield from _row(f"{rows:,} rows, logistic regression", some)
    for refit in (False, True):
        name = "one posterior fitted to all rows" if refit else "average of the folds"
        yield from _row(f"boosting, {name}", collect(records, model=("boosting",), refit=refit))


def list_aims(records: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each aim and budget at a confidence of 0.9: a larger budget must not give less."""
    yield HEAD
    for aim, budget in product(AIMS, BUDGETS):
        some = collect(records, aims=(aim,))
        yield from _row(f"{AIMS[aim].title}, {100 * budget:g} points", some[some[:, 0] == budget])


def list_draws_of_tables(records: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each table, model and setting at a confidence of 0.9."""
    yield HEAD
    order = [*DEVELOPED, *SIMULATED, *APART]
    names = ("table", "model", "setting")
    kinds = {tuple(record[name] for name in names) for record in records}
    for kind in sorted(kinds, key=lambda kind: (order.index(kind[0]), kind)):
        wanted = {name: (value,) for name, value in zip(names, kind, strict=True)}
        yield from _row(", ".join(kind), collect(records, **wanted))


def list_before(records: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each number of rows and aim: version 0.2 beside this one, on the same draws, at half a point."""
    before = read(*RESULTS.parent.glob(f"{BEFORE.stem}.jsonl*"))
    yield "| rows, aim | draws | gain, 0.2 | gain | exceeded, 0.2 | exceeded | broken, 0.2 | broken |"
    yield "|---|" + "---:|" * 7
    there = {tuple(record[name] for name in Draw._fields) for record in records}
    for rows, aim in product((1_000, 3_000, 10_000, 30_000), AIMS):
        same = [
            {tuple(r[name] for name in Draw._fields): r for r in several if r["rows"] == rows}
            for several in (before, records)
        ]
        both = sorted(set(same[0]) & set(same[1]) & there)
        if not both:
            continue
        found = []
        for each in same:
            cells = collect([each[draw] for draw in both], aims=(aim,))
            found.append(summarise(cells[(cells[:, 0] == BUDGETS[0]) & (cells[:, 1] == 0.9)]))
        old, new = found
        yield (
            f"| {rows:,} rows, {AIMS[aim].title} | {len(both)} | {old.gain:.1f} | {new.gain:.1f} "
            f"| {old.exceeded:.0%} | {new.exceeded:.0%} | {old.broken:.0%} | {new.broken:.0%} |"
        )


def list_possible(records: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each number of rows and aim: the gain, and the best gain on the same paths, at half a point."""
    yield "| rows, aim | draws | gain | the best that leaves the margin | the best that keeps budget and guard |"
    yield "|---|" + "---:|" * 4
    for rows, aim in product((1_000, 3_000, 10_000, 30_000), AIMS):
        key = f"{aim} {BUDGETS[0]}"
        some = [
            r for r in records if r["rows"] == rows and r["setting"] == "unseen" and key in r.get("possible", ())
        ]
        if some:
            gained = collect([r | {"found": {f"{key} 0.9": r["found"][f"{key} 0.9"]}} for r in some])
            most, with_margin = 100 * np.mean([r["possible"][key] for r in some], axis=0)
            gains = f"{summarise(gained).gain:.1f} | {with_margin:.1f} | {most:.1f}"
            yield f"| {rows:,} rows, {AIMS[aim].title} | {len(some)} | {gains} |"


TABLES = {
    "coverage by confidence": list_confidences,
    "coverage by rows": list_sizes,
    "coverage before": list_before,
    "coverage possible": list_possible,
    "coverage by aim": list_aims,
    "coverage by table": list_draws_of_tables,
}
"""The tables of docs/coverage.md."""


def _row(name: str, rows: np.ndarray, confidence: float = 0.9) -> Iterator[str]:
    some = rows[rows[:, 1] == confidence]
    if len(some):
        yield f"| {name} | {_cells(summarise(some))} |"


def _cells(found: Summary) -> str:
    several = ((found.exceeded,), (found.broken,), (found.worse,), found.missed, found.loss_missed, (found.kept,))
    cells = (" / ".join(f"{share:.1%}" for share in shares if not math.isnan(share)) for shares in several)
    return " | ".join([f"{found.choices:,}", *cells, f"{found.gain:.2f}"])


if __name__ == "__main__":
    main()
