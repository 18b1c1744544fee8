"""From the runs of a study to what a rule selects for each method and seed, and what fewer runs would select."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import comb
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.measures import AIMS, Measure
from raan.fairness.metrics import Metrics, accuracy, group_accuracy, metrics
from raan.fairness.rule import BUDGETS, CONFIDENCE, TOLERANCE, Rule, margin_of, paired_errors
from raan.lab.datasets.description import DESCRIPTIONS
from raan.lab.results.records import Record

AttributeUse = Literal["input", "unseen"]
"""Whether the attribute is a feature of the models."""

BASELINES = ("Vanilla", "Boosting", "Logistic")
"""The methods that ignore groups, one for each kind of model: others of the kind are compared with them."""


@dataclass(frozen=True, eq=False)
class Paths:
    """All of one method's runs on one data set in one style.

    A path that is shorter than the longest, because its run diverged or its method takes one step, is continued
    by its last point: no rule prefers a repetition to the point itself.
    """

    method: str
    candidates: tuple[Mapping[str, Any], ...]
    seeds: tuple[int, ...]
    left_out: tuple[int, ...]  # seeds that some candidate lacks
    diverged: int
    length: Int[np.ndarray, "candidate seed"]
    step: Int[np.ndarray, "point candidate seed"]
    validation: Float[np.ndarray, "point candidate seed label slot prediction"]
    test: Float[np.ndarray, "point candidate seed label slot prediction"]
    switched: Float[np.ndarray, "point candidate seed label slot"] | None = None  # None: unknown for some run
    threshold: Float[np.ndarray, "point candidate seed"] | None = (
        None  # None: not chosen; nan: decided without one
    )

    @cached_property
    def on_test(self) -> Metrics:
        """The metrics of every point on test rows."""
        return metrics(self.test)


@dataclass(frozen=True, eq=False)
class Choice:
    """The candidate and the point of its path that were selected for each seed, and their metrics."""

    seeds: tuple[int, ...]
    candidate: Int[np.ndarray, "seed"]
    point: Int[np.ndarray, "seed"]
    validation: Metrics
    test: Metrics
    group: Float[np.ndarray, "seed label attribute"]  # test accuracy of each


@dataclass(frozen=True, eq=False)
class Comparison:
    """The methods that were run on one data set in one style, and what a rule selects for each of them.

    Methods are compared with the plain one under the same rule; without one, with plain training, where all start.
    """

    data: str
    style: str
    classes: tuple[str, ...]
    attributes: tuple[str, ...]
    rule: Rule
    plain: str | None  # the method, by its name in the study, that ignores groups: the first of `methods`
    methods: Mapping[str, Paths]
    unfinished: tuple[str, ...]  # methods without any seed that all of their candidates have
    records: tuple[Record, ...]

    @property
    def name(self) -> str:
        """The data set, and the style if there is one."""
        return ", ".join(filter(None, (self.data, self.style)))

    @property
    def aim(self) -> Measure:
        """What the rule asks for."""
        return self.rule.goal

    @cached_property
    def start(self) -> Choice:
        """The end of plain training, where all methods start."""
        return start(next(iter(self.methods.values())))

    @cached_property
    def chosen(self) -> dict[str, Choice]:
        """What the rule selects for each method."""
        return {method: choose(paths, self.rule) for method, paths in self.methods.items()}

    @property
    def against(self) -> str:
        """The name of what the methods are compared with."""
        return self.plain or "plain training"

    @property
    def baseline(self) -> Choice:
        """What the methods are compared with."""
        return self.chosen[self.plain] if self.plain else self.start

    @property
    def others(self) -> tuple[str, ...]:
        """The methods without the baseline."""
        return tuple(method for method in self.methods if method != self.against)

    @property
    def attribute_use(self) -> AttributeUse | None:
        """Whether the attribute is a feature of the models; None if that is not known."""
        return find_attribute_use(self.records)


def comparisons(records: Sequence[Record], rule: Rule = Rule()) -> list[Comparison]:
    """Group records into one comparison for each data set and style, in the records' order.

    Raises:
        ValueError: Runs on one data set have different groups, or one candidate and seed has two different runs.
    """
    several: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        several.setdefault((record.data, record.style), []).append(record)
    found = []
    for (data, style), here in several.items():
        first = here[0]
        for record in here:
            if (*record.classes, None, *record.attributes) != (*first.classes, None, *first.attributes):
                raise ValueError(
                    f"runs on {data!r} disagree on the groups: {list(first.classes)} x {list(first.attributes)} "
                    f"in run {first.run}, {list(record.classes)} x {list(record.attributes)} in run {record.run}; "
                    "report them apart, or give their data different names"
                )
        plain = plain_method(here)
        runs: dict[str, list[Record]] = {} if plain is None else {plain: []}
        for record in here:
            runs.setdefault(record.method, []).append(record)
        paths = {method: _stack_paths(method, of_method) for method, of_method in runs.items()}
        found.append(
            Comparison(
                data,
                style,
                tuple(first.classes),
                tuple(first.attributes),
                rule,
                plain if plain is not None and paths[plain] else None,
                {method: path for method, path in paths.items() if path},
                tuple(method for method, path in paths.items() if not path),
                tuple(here),
            )
        )
    return found


def _stack_paths(method: str, records: Sequence[Record]) -> Paths | None:
    """Stack a method's runs over the seeds that all of its candidates have; None if there is no such seed."""
    runs: dict[str, dict[int, Record]] = {}  # by candidate, then by seed
    for record in records:
        of_candidate = runs.setdefault(json.dumps(record.hyperparameters, sort_keys=True), {})
        other = of_candidate.setdefault(record.seed, record)
        if other.run != record.run:
            ours, theirs = record.configuration, other.configuration
            names = [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]
            differ = ", ".join(names) or "something unrecorded"
            raise ValueError(
                f"two runs of {record.method!r} on {record.data!r}, seed {record.seed}, have the same "
                f"hyperparameters and differ in {differ} (runs {other.run} and {record.run}); report them apart"
            )
        of_candidate[record.seed] = record
    seeds = sorted({record.seed for record in records})
    complete = [seed for seed in seeds if all(seed in of_candidate for of_candidate in runs.values())]
    if not complete:
        return None
    table = [[of_candidate[seed] for seed in complete] for of_candidate in runs.values()]
    every = [record for row in table for record in row]
    points = np.arange(max(len(record.step) for record in every))

    def stack(part: Callable[[Record], Any]) -> np.ndarray:
        """Stack a part of each run, [point, ...], as [point, candidate, seed, ...]; repeat last points."""
        paths = [[np.asarray(part(record)) for record in row] for row in table]
        longer = [[path[np.minimum(points, len(path) - 1)] for path in row] for row in paths]
        return np.moveaxis(np.array(longer), 2, 0)

    return Paths(
        method,
        tuple(row[0].hyperparameters for row in table),
        tuple(complete),
        tuple(seed for seed in seeds if seed not in complete),
        sum(record.diverged is not None for record in every),
        np.array([[len(record.step) for record in row] for row in table]),
        stack(lambda record: record.step),
        stack(lambda record: record.counts("validation")),
        stack(lambda record: record.counts("test")),
        stack(Record.switches) if all(record.switched for record in every) else None,
        stack(lambda record: np.array(record.threshold, dtype=np.float64))
        if all(record.threshold for record in every)
        else None,
    )


def choose(paths: Paths, rule: Rule) -> Choice:
    """Choose for each seed the candidate and point that the rule prefers on validation rows."""
    every = paths.validation.reshape(-1, *paths.validation.shape[2:])  # points outermost
    step = np.repeat(np.arange(len(paths.step)), len(paths.candidates))
    switched = None if paths.switched is None else paths.switched.reshape(-1, *paths.switched.shape[2:])
    # All candidates start at one point.
    best = np.maximum(rule.choose(every, paths.validation[0, 0], step, switched), 0)
    candidate = best % len(paths.candidates)
    last = paths.length[candidate, np.arange(len(paths.seeds))] - 1
    return _measure_choice(paths, candidate, np.minimum(best // len(paths.candidates), last))


def start(paths: Paths) -> Choice:
    """Return the point where every candidate starts: the end of plain training."""
    first = np.zeros(len(paths.seeds), dtype=np.int64)
    return _measure_choice(paths, first, first)


def _measure_choice(paths: Paths, candidate: Int[np.ndarray, "seed"], point: Int[np.ndarray, "seed"]) -> Choice:
    """Compute the metrics of one point for each seed."""
    seed = np.arange(len(paths.seeds))
    validation, test = (each[point, candidate, seed] for each in (paths.validation, paths.test))
    return Choice(paths.seeds, candidate, point, metrics(validation), metrics(test), group_accuracy(test))


def plain_method(records: Sequence[Record]) -> str | None:
    """Return the name, in the study, of the method that ignores groups; None if there is none, or no single one.

    A study may give methods names of its own; the record's configuration holds the name of the method itself.
    """
    names = {record.method: record.configuration.get("method", record.method) for record in records}
    for known in BASELINES:
        called = [name for name, method in names.items() if method == known]
        if known in called or len(called) == 1:
            return known if known in called else called[0]
    return None


def varying(candidates: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each candidate's hyperparameters without those that all have in common; all of a single candidate."""
    shared = [
        name
        for name in candidates[0]
        if len(candidates) > 1
        and all(name in other and other[name] == candidates[0][name] for other in candidates)
    ]
    return [{name: value for name, value in candidate.items() if name not in shared} for candidate in candidates]


# Fewer configurations, and other accuracy budgets.


def distinct(candidates: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the places of the configurations that repeat none before them.

    At temperature inf every affinity is one and so is every average of them: the averaging rate has no effect.
    """
    first: dict[str, int] = {}
    for place, candidate in enumerate(candidates):
        balancing = str(candidate.get("temperature")) == "inf"
        acting = {key: value for key, value in candidate.items() if not (balancing and key == "averaging_rate")}
        first.setdefault(json.dumps(acting, sort_keys=True, default=str), place)
    return list(first.values())


def count_configurations(comparison: Comparison) -> dict[str, int]:
    """Count the distinct configurations of each method."""
    return {method: len(distinct(paths.candidates)) for method, paths in comparison.methods.items()}


def only(paths: Paths, places: Sequence[int]) -> Paths:
    """Keep the runs of some of the configurations."""
    parts = {each.name: getattr(paths, each.name) for each in fields(Paths)}
    arrays = {name: value for name, value in parts.items() if isinstance(value, np.ndarray)}
    taken = {name: value.take(places, axis=0 if name == "length" else 1) for name, value in arrays.items()}
    return Paths(**{**parts, **taken, "candidates": tuple(paths.candidates[place] for place in places)})


def expected(paths: Paths, rule: Rule, measure: Measure, size: int) -> float:
    """Compute the mean of the measure on test rows over seeds and all subsets of `size` distinct configurations.

    For each seed and subset the rule selects on validation rows. No subset is drawn: a configuration is selected
    from those subsets that hold it and none that the rule prefers, and these can be counted.
    """
    kept = only(paths, distinct(paths.candidates))
    many = len(kept.candidates)
    choices = [choose(only(kept, [place]), rule) for place in range(many)]
    point = np.stack([choice.point for choice in choices])
    candidate, seed = np.indices(point.shape)
    # As `choose` does: the least loss, of equal ones the earliest point, of those the first configuration.
    order = np.lexsort((candidate, point, rule.loss(kept.validation[point, candidate, seed])), axis=0)
    reached = np.take_along_axis(np.stack([measure.of(choice.test) for choice in choices]), order, axis=0)
    chances = np.array([comb(many - 1 - rank, size - 1) for rank in range(many)], dtype=float) / comb(many, size)
    return float((chances[:, None] * reached).sum(0).mean())


SWEPT = np.arange(-60, 201) / 2000
"""The accuracy budgets on validation rows that are tried: from a gain of three points to a loss of ten."""


@dataclass(frozen=True, eq=False)
class Spending:
    """What is lost and reached on test rows, in the mean over seeds, as the budget on validation rows grows."""

    lost: Float[np.ndarray, "budget"]
    reached: Float[np.ndarray, "budget"]

    def at(self, loss: float) -> float:
        """Return what is reached where so much accuracy is first lost; nan if the method never loses as much.

        Between two budgets the value is interpolated. Only this step looks at test rows: the point that a budget
        selects depends on validation rows alone, for each seed.
        """
        beyond = np.flatnonzero(self.lost >= loss)
        if not len(beyond):
            return float("nan")
        place = beyond[0]
        if place == 0 or self.lost[place] == loss:
            return float(self.reached[place])
        (low, high), (below, above) = self.lost[place - 1 : place + 1], self.reached[place - 1 : place + 1]
        return float(below + (above - below) * (loss - low) / (high - low))


def spend(paths: Paths, rule: Rule, measure: Measure) -> Spending:
    """Compute what the rule's aim costs and gains on test rows for every accuracy budget.

    The rule's own budget is ignored. A budget below zero asks for a gain of accuracy on validation rows; where no
    point has it, plain training is kept. So every curve begins where nothing is lost.
    """
    points = paths.validation.reshape(-1, *paths.validation.shape[2:])  # points outermost, as in `choose`
    objective = replace(rule, accuracy_drop=1.0).objective(points, paths.validation[0, 0])
    cost = accuracy(paths.validation[0, 0]) - accuracy(points)
    taken = np.zeros((len(SWEPT), len(paths.seeds)), dtype=np.int64)
    for seed in range(len(paths.seeds)):
        # For each budget the first of the best points that cost no more; the start where there is none.
        by_cost, by_objective = (np.argsort(each[:, seed], kind="stable") for each in (cost, objective))
        rank = np.empty(len(points), dtype=np.int64)
        rank[by_objective] = np.arange(len(points))
        best = by_objective[np.minimum.accumulate(rank[by_cost])]
        within = np.searchsorted(cost[by_cost, seed], SWEPT + TOLERANCE, side="right")
        taken[:, seed] = np.where(within > 0, best[np.maximum(within - 1, 0)], 0)
    on_test, aimed = (
        each.reshape(len(points), -1) for each in (paths.on_test.accuracy, measure.of(paths.on_test))
    )
    seeds = np.arange(len(paths.seeds))
    return Spending((on_test[0] - on_test[taken, seeds]).mean(1), aimed[taken, seeds].mean(1))


MARGINS = (0.0, margin_of(CONFIDENCE))
"""Standard errors with which readers of results may have the accuracy budget kept."""


def worth_keeping(
    validation: Float[np.ndarray, "point run label attribute prediction"],
    switched: Float[np.ndarray, "point run label attribute"],
    budgets: Sequence[float] = BUDGETS,
) -> list[Int[np.ndarray, "kept"]]:
    """Return for each run the places of its first point, the reference, and of points that a rule selects.

    The rules are those of every aim and budget, with and without a margin; of equally good points the most
    accurate is kept, and of these the first. Whoever chooses by such a rule from the kept points of several runs
    chooses as well as from all of them.
    """
    right = accuracy(validation)
    error, _ = paired_errors(validation, validation[0], switched)
    taken = [np.zeros(right.shape[1], dtype=np.int64)]
    for aim in AIMS.values():
        loss = aim.loss_of(validation)
        for margin in MARGINS:
            spared = right - margin * error
            for drop in budgets:
                allowed = (spared >= right[0] - drop - TOLERANCE) & ~np.isnan(loss)
                least = np.where(allowed, loss, np.inf).min(0)
                best = allowed & (loss == least) & np.isfinite(least)
                taken.append(np.where(best, right, -np.inf).argmax(0))  # the first point where there is none
    return [np.unique(places) for places in np.stack(taken, axis=1)]


# The conditions of the runs, which every table states.

KEPT = {name: each.keep_attribute for name, each in DESCRIPTIONS.items()}
"""Whether a data set's features contain the attribute by default, as its loader has it."""

SENTENCES: dict[AttributeUse | None, str] = {
    "input": "The attribute is one of the features: the models need it as an input.",
    "unseen": "The attribute is not among the features: the models see only what tells of it.",
    None: "",
}

CAPTIONS: dict[AttributeUse | None, str] = {
    "input": "the attribute is a feature",
    "unseen": "the attribute is not a feature",
    None: "",
}


def find_attribute_use(records: Iterable[Record]) -> AttributeUse | None:
    """Return "input" if the attribute is a feature of all models, "unseen" if of none, else None."""
    found = set()
    for record in records:
        data = record.configuration.get("data")
        data = data if isinstance(data, dict) else {}
        found.add(data.get("keep_attribute", KEPT.get(str(data.get("name")))))
    kept = found.pop() if len(found) == 1 else None
    return None if kept is None else "input" if kept else "unseen"


def describe_threshold(records: Iterable[Record]) -> str:
    """Return a sentence if the threshold was chosen too in these runs; an empty one if not."""
    # Methods that need the first stage only have decisions of their own in every study.
    if not any(record.threshold for record in records if "learning_rate" in record.hyperparameters):
        return ""
    threshold = "The decision threshold, one for all groups"
    return f"{threshold}, is a hyperparameter of every method, chosen on validation rows."


def describe_conditions(records: Sequence[Record]) -> list[str]:
    """Describe how the runs were made, in a sentence for each condition."""
    sentences = SENTENCES[find_attribute_use(records)], describe_threshold(records)
    return [sentence for sentence in sentences if sentence]
