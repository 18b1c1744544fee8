"""FairFrontier against its rivals on Adult and MEPS: the same splits, rows, judge, threshold and rule for all.

`python -m reproduce.frontier` runs what results/frontier.jsonl does not hold yet, a line for each method and
task, and prints the tables; `--table` only prints them. It needs `pip install oxonfair`.

A method offers points, and one rule takes the best for each aim, budget and guard, evaluated in cross-validation
on training rows against the plain estimator, with FairFrontier's margin. It is then applied to test rows by the
mean of the folds' models, for all methods alike. Three settings are never mixed: "input", the attribute is a
feature of the model; "unseen", the model does not see it; "known", thresholds by group that need the attribute to
predict. OxonFair and ThresholdOptimizer choose by themselves, as their documentation has it.

ExponentiatedGradient of fairlearn trains dozens of models for each setting and is not judged in folds here: it
stands in results/reweighting.jsonl with two bounds for each constraint, chosen on validation rows, on five other
splits.
"""

import argparse
import json
import logging
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from raan import FairFrontier, aan_weights
from raan.fairness.counts import Counts, count
from raan.fairness.measures import AIMS
from raan.fairness.metrics import metrics
from raan.fairness.rule import Rule
from raan.frontier.choice import choose
from raan.frontier.decide import Counted, decide
from raan.frontier.posterior import Recipe, Rows, cross_fit
from raan.frontier.programme import Programme
from reproduce.reweighting import Rows as TableRows
from reproduce.reweighting import Task, load

RESULTS = Path(__file__).parents[1] / "results" / "frontier.jsonl"
SEEDS = tuple(range(20, 30))
AIMED = ("equalized_odds", "demographic_parity", "worst_group")
DROPS = (0.005, 0.01, 0.02)
FLOORS = (0.0, None)
MARGIN = 1.2816  # FairFrontier's default: nine tenths sure
RATIOS = np.geomspace(1 / 50, 50, 400)
KNOWN = ("ThresholdOptimizer", "FairFrontier, attribute known")
"""The methods that must be told the attribute to predict."""


class Asked(NamedTuple):
    """An aim, what it may cost, and whether the worst group has a floor."""

    aim: str
    drop: float
    floor: float | None

    @property
    def rule(self) -> Rule:
        """The rule that every method obeys."""
        return Rule(self.aim, self.drop, self.floor, margin=MARGIN)

    @property
    def key(self) -> str:
        """A name for the results."""
        return f"{self.aim} {self.drop} {'floor' if self.floor is not None else 'free'}"


ASKED = [Asked(*each) for each in product(AIMED, DROPS, FLOORS)]
Found = dict[str, Counts]
"""Test rows counted, by what was asked for."""


class Scores(NamedTuple):
    """Probabilities of the classes and of the groups of some rows."""

    label: np.ndarray
    group: np.ndarray


def estimator(task: Task) -> Any:
    """The estimator that all methods of the task share."""
    return (
        LogisticRegression(max_iter=1000)
        if task.estimator == "logistic"
        else HistGradientBoostingClassifier(random_state=task.seed)
    )


@dataclass(frozen=True, eq=False)
class Bench:
    """One task: its rows, the plain estimator fitted to them, and FairFrontier with `parameters`."""

    task: Task
    train: TableRows
    validation: TableRows
    test: TableRows
    parameters: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    @cached_property
    def frontier(self) -> FairFrontier:
        """FairFrontier, fitted: its posterior is what other methods are given too."""
        model = FairFrontier(estimator(self.task), **self.parameters)
        return model.fit(self.train.X, self.train.y, sensitive_features=self.train.a)

    @cached_property
    def known(self) -> FairFrontier:
        """FairFrontier with thresholds by known group."""
        model = FairFrontier(estimator(self.task), attribute_at_prediction=True, **self.parameters)
        return model.fit(self.train.X, self.train.y, sensitive_features=self.train.a)

    @cached_property
    def plain(self) -> Any:
        """The plain estimator, fitted to all training rows."""
        return clone(estimator(self.task)).fit(self.train.X, self.train.y)

    @cached_property
    def test_posterior(self) -> np.ndarray:
        """P(y, a | x) of test rows."""
        return self.frontier.posterior(self.test.X)

    @property
    def plain_decisions(self) -> np.ndarray:
        """What the plain estimator decides of training rows, in cross-validation."""
        return np.asarray(self.frontier.evaluation_.posterior.sum(2).argmax(1))

    def count(self, decided: np.ndarray) -> Counts:
        """Decisions on test rows, counted."""
        return count(self.test.y, self.test.a, np.asarray(decided).astype(np.int64), 2, 2)

    def take(self, weights: np.ndarray, counted: Counted, posterior: np.ndarray) -> Found:
        """What the rule takes among a baseline's points, the plain one first, applied to test rows.

        The margin is ours. Baselines choose among all of their points, FairFrontier tests a path in order.
        """
        places = {asked.key: take_place(asked, counted) for asked in ASKED}
        return {key: self.count(decide(posterior, weights[place])) for key, place in places.items()}

    def take_chosen(self, fair: FairFrontier, posterior: np.ndarray) -> Found:
        """What FairFrontier chooses, applied to test rows."""
        points = fair.points_
        rules = {asked.key: asked.rule.with_noise_of(points.counts[0]) for asked in ASKED}
        places = {key: choose(points, rule).place for key, rule in rules.items()}
        return {key: self.count(decide(posterior, points.weights[place])) for key, place in places.items()}


def take_place(asked: Asked, counted: Counted) -> int:
    """The point that the rule takes; the first where it takes none."""
    rule = asked.rule.with_noise_of(counted.counts[0])
    return max(int(rule.choose(counted.counts, counted.counts[0], switched=counted.switched)), 0)


def offer_plain(bench: Bench) -> Found:
    """The plain estimator: the mean of the folds' models."""
    counted = bench.count(bench.test_posterior.sum(2).argmax(1))
    return {asked.key: counted for asked in ASKED}


def offer_threshold(bench: Bench) -> Found:
    """One threshold on the plain estimator's probability."""
    weights = np.concatenate([np.ones((1, 2, 2)), np.ones((len(RATIOS), 2, 2))])
    weights[1:, 1] = RATIOS[:, None]
    return bench.take(weights, bench.frontier.evaluation_.count(weights), bench.test_posterior)


def offer_reweighing(bench: Bench) -> Found:
    """Weights that make class and attribute independent, and one threshold."""
    train = bench.train
    weight = aan_weights(train.X, train.y, train.a, temperature=float("inf"), balance="independence")
    rows = Rows(train.X, train.y, train.y, train.a, 2, weight)
    model = estimator(bench.task)
    models, posterior = cross_fit(
        Recipe(model, model, attribute_given=True), rows, folds=3, repeats=1, seed=0, n_jobs=None, show=_silent
    )
    of_class = posterior.sum(2, keepdims=True) / 2 * np.ones((1, 1, 2))
    judge = replace(bench.frontier.evaluation_, posterior=of_class, reference=bench.plain_decisions)
    weights = np.ones((len(RATIOS), 2, 2))
    weights[:, 1] = RATIOS[:, None]
    plain_point = bench.frontier.evaluation_.count(np.ones((1, 2, 2)))
    counted = Counted(*(np.concatenate(pair) for pair in zip(plain_point, judge.count(weights), strict=True)))
    weights = np.concatenate([np.ones((1, 2, 2)), weights])
    mean = np.mean([each.label.predict_proba(bench.test.X) for each in models], axis=0)  # type: ignore[union-attr]
    found = bench.take(weights, counted, mean[:, :, None] / 2 * np.ones((1, 1, 2)))
    plain = bench.count(bench.test_posterior.sum(2).argmax(1))
    return {asked.key: found[asked.key] if take_place(asked, counted) else plain for asked in ASKED}


def offer_programme(bench: Bench) -> Found:
    """Linear post-processing: programmes on the posterior for many budgets, as they come."""
    posterior = bench.frontier.evaluation_.posterior
    some = np.random.default_rng(0).permutation(len(posterior))[:4000]
    programme = Programme(posterior[some], np.ones(len(some)))
    budgets = (0.001, 0.002, 0.003, 0.004, 0.006, 0.008, 0.012, 0.016, 0.02)
    guard = np.full((2, 2), programme.plain_accuracy.min())
    solved = (programme.solve(*each) for each in product(AIMS, budgets, (guard, None)))
    weights = np.stack([np.ones((2, 2)), *(each for each in solved if each is not None)])
    return bench.take(weights, bench.frontier.evaluation_.count(weights), bench.test_posterior)


def offer_frontier(bench: Bench) -> Found:
    """FairFrontier."""
    return bench.take_chosen(bench.frontier, bench.test_posterior)


def offer_known(bench: Bench) -> Found:
    """FairFrontier with thresholds by known group."""
    posterior = bench.known.posterior(bench.test.X, sensitive_features=bench.test.a)
    return bench.take_chosen(bench.known, posterior)


def offer_thresholds(bench: Bench) -> Found:
    """ThresholdOptimizer of fairlearn: thresholds by known group for two aims, whatever they cost."""
    found = offer_plain(bench)
    for aim, constraint in (("equalized_odds", "equalized_odds"), ("demographic_parity", "demographic_parity")):
        model = ThresholdOptimizer(
            estimator=bench.plain, constraints=constraint, prefit=True, predict_method="predict_proba"
        )
        model.fit(bench.train.X, bench.train.y, sensitive_features=bench.train.a)
        decided = model.predict(bench.test.X, sensitive_features=bench.test.a, random_state=bench.task.seed)
        found |= {asked.key: bench.count(decided) for asked in ASKED if asked.aim == aim}
    return found


def offer_oxonfair(bench: Bench) -> Found:
    """OxonFair as documented: the fitted classifier, groups inferred by another, thresholds by validation rows."""
    return _oxonfair(bench, bench.validation, *score_as_documented(bench))


def score_as_documented(bench: Bench) -> Iterator[Scores]:
    """What OxonFair decides by, of validation rows and of test rows."""
    groups = clone(estimator(bench.task)).fit(bench.train.X, bench.train.a)
    for rows in (bench.validation, bench.test):
        yield Scores(bench.plain.predict_proba(rows.X), groups.predict_proba(rows.X))


def offer_oxonfair_on_posterior(bench: Bench) -> Found:
    """OxonFair given the posterior of FairFrontier, in cross-validation."""
    both = (bench.frontier.evaluation_.posterior, bench.test_posterior)
    return _oxonfair(bench, bench.train, *(Scores(q.sum(2), q.sum(1)) for q in both))


def decide_by_oxonfair(rows: TableRows, held: Scores, test: Scores, *wanted: Any, **options: Any) -> np.ndarray:
    """What OxonFair decides of test rows, fitted to scores of other rows by its objective and constraint.

    By default, rows whose group is less than two thirds sure are in a group of their own. OxonFair 0.3 ends with
    an error where there are none of these, or none of some group: then each row is in its most probable group.
    """
    from oxonfair import FairPredictor  # so that the tables can be read without it

    sure = held.group >= 2 / 3
    apart = sure.any(0).all() and not sure.any(1).all()
    fair = FairPredictor(
        None,
        {"data": held.label, "target": rows.y, "groups": rows.a},
        inferred_groups=lambda x: held.group if len(x) == len(held.group) else test.group,
        **({} if apart else {"threshold": 0}),
    )
    fair.fit(*wanted, **options)
    return np.asarray(fair.predict({"data": test.label}))


def _oxonfair(bench: Bench, rows: TableRows, held: Scores, test: Scores) -> Found:
    """OxonFair's search on scores of class and group, for each aim, under the allowance of accuracy."""
    from oxonfair import group_metrics as measures

    aims = {
        "equalized_odds": measures.equalized_odds,
        "demographic_parity": measures.demographic_parity,
        "worst_group": measures.recall.min,  # of these tables the worst cell is always one of the second class
    }
    accuracy = float((held.label.argmax(1) == rows.y).mean())
    found = {}
    for asked in ASKED:
        floor = [] if asked.floor is None else [(measures.recall.min, _worst(held.label, rows.y, rows.a))]
        wanted = aims[asked.aim], measures.accuracy, accuracy - asked.drop
        decided = decide_by_oxonfair(rows, held, test, *wanted, additional_constraints=floor)
        found[asked.key] = bench.count(decided)
    return found


def _worst(score: np.ndarray, label: np.ndarray, group: np.ndarray) -> float:
    """The plain classifier's worst recall of a group."""
    decided = score.argmax(1)
    return min(float(decided[(label == 1) & (group == a)].mean()) for a in (0, 1))


METHODS = {
    "plain": offer_plain,
    "plain + threshold": offer_threshold,
    "reweighing + threshold": offer_reweighing,
    "linear programme": offer_programme,
    "OxonFair": offer_oxonfair,
    "OxonFair on our posterior": offer_oxonfair_on_posterior,
    "FairFrontier": offer_frontier,
    "ThresholdOptimizer": offer_thresholds,
    "FairFrontier, attribute known": offer_known,
}
SHARED = ("plain + threshold", "linear programme", "OxonFair on our posterior", "FairFrontier")
"""The methods that need the posterior: its fit is part of their time."""


def run(tasks: Sequence[Task], methods: Sequence[str], until: float) -> None:
    """Fit what is missing, and append a line for each; stop when the time is up."""
    done = {(Task(*(r[name] for name in Task._fields)), r["method"]) for r in read()}
    for task in tasks:
        # Where the attribute is an input no row's group is in doubt, and OxonFair's thresholds are by known group.
        own = [method for method in methods if not (task.attribute_kept and method.startswith("OxonFair"))]
        missing = [method for method in own if (task, method) not in done]
        if not missing or time.monotonic() > until:
            continue
        # Doubles: ThresholdOptimizer takes no others.
        bench = Bench(task, *(part._replace(X=part.X.astype(np.float64)) for part in load(task)))
        plain = _seconds(lambda: bench.plain)[0]  # noqa: B023
        posterior = _seconds(lambda: bench.frontier)[0]  # noqa: B023
        for method in missing:
            spent, found = _seconds(lambda: METHODS[method](bench))  # noqa: B023
            seconds = spent + (posterior if method in SHARED else 0)
            record = task._asdict() | {"method": method, "seconds": round(seconds, 2), "plain": round(plain, 2)}
            record["test"] = {key: value[:, :2].astype(int).tolist() for key, value in found.items()}
            with RESULTS.open("a") as stream:
                stream.write(json.dumps(record) + "\n")
            print(*task, method, f"{seconds:.1f} s, {seconds / plain:.1f} plain fits", flush=True)


def _seconds(work: Any) -> tuple[float, Any]:
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def _silent(done: int, of: int) -> None:
    """No progress is shown."""


def read() -> list[dict[str, Any]]:
    """The lines written so far."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


class Cell(NamedTuple):
    """What a method reaches in the mean over splits, in points: the aim, its error, what it loses, worst group."""

    aim: float
    error: float
    lost: float
    worst: float
    fits: float
    splits: int


def summarise(records: Sequence[dict[str, Any]], asked: Asked) -> Iterator[tuple[tuple[Any, ...], Cell]]:
    """For each data set, regime, estimator and method, what it reaches on test rows."""
    kinds: dict[tuple[Any, ...], list[np.ndarray]] = {}
    plain = {_task(r): r["test"][asked.key] for r in records if r["method"] == "plain"}
    for record in records:
        reached, before = (metrics(_padded(each)) for each in (record["test"][asked.key], plain[_task(record)]))
        aim = AIMS[asked.aim]
        row = [aim.of(reached), before.accuracy - reached.accuracy, reached.worst_group_accuracy]
        key = (record["data"], record["attribute_kept"], record["estimator"], record["method"])
        kinds.setdefault(key, []).append(
            np.array([*(100 * float(x) for x in row), record["seconds"] / record["plain"]])
        )
    for key, rows in kinds.items():
        table = np.stack(rows)
        error = table[:, 0].std(ddof=1) / np.sqrt(len(table)) if len(table) > 1 else np.nan
        mean = table.mean(0)
        yield key, Cell(mean[0], error, mean[1], mean[2], float(np.median(table[:, 3])), len(table))


def _task(record: dict[str, Any]) -> Task:
    return Task(*(record[name] for name in Task._fields))


def _padded(cells: list[Any]) -> Counts:
    """Counts with an empty place for the unknown attribute."""
    return np.pad(np.array(cells, dtype=float), ((0, 0), (0, 1), (0, 0)))


def table() -> None:
    """Print what each method reaches: the aim, the accuracy that it costs, and the worst group."""
    records = read()
    for asked in ASKED:
        floor = "with the floor" if asked.floor is not None else "without a floor"
        print(f"\n{AIMS[asked.aim].title}, {100 * asked.drop:g} points, {floor}: aim ± s.e. (lost; worst group)")
        for key, cell in sorted(summarise(records, asked)):
            data, kept, name, method = key
            regime = "known" if method in KNOWN else "input" if kept else "unseen"
            print(
                f"{data:6s} {name:9s} {regime:7s} {method:30s} {cell.aim:6.1f} ± {cell.error:3.1f} "
                f"({cell.lost:5.2f}; {cell.worst:5.1f})  {cell.fits:6.1f} plain fits, {cell.splits} splits"
            )


def main() -> None:
    """Run, then print the tables; or only print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="only print the tables")
    parser.add_argument("--minutes", type=float, default=600, help="begin no task after so many")
    parser.add_argument("--data", nargs="+", default=["meps", "adult"])
    parser.add_argument("--estimators", nargs="+", default=["logistic", "boosting"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    options = parser.parse_args()
    if not options.table:
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        picked = product(options.seeds, options.estimators, options.data, (False, True))
        tasks = [Task(data, kept, name, seed) for seed, name, data, kept in picked]
        run(tasks, options.methods, time.monotonic() + 60 * options.minutes)
    table()


if __name__ == "__main__":
    main()
