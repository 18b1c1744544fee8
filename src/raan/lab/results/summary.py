"""From the runs of a study to what a declared rule chooses for each method and seed."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.metrics import Metrics, group_accuracy, metrics
from raan.fairness.rule import Rule
from raan.lab.results.records import Record
from raan.lab.results.statistics import Difference, difference

BASELINES = ("Vanilla", "Boosting", "Logistic")
"""The methods that know of no groups, one for each kind of model: what others of the kind are held against."""


@dataclass(frozen=True, eq=False)
class Paths:
    """All of one method's runs on one data set in one style.

    A path that is shorter than the longest, because its run diverged or its method takes one step, goes on with
    its last point: no rule prefers a repetition to the point itself.
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
    switched: Float[np.ndarray, "point candidate seed label slot"] | None = None  # None: some run does not say
    threshold: Float[np.ndarray, "point candidate seed"] | None = None  # None: no dial; nan: decided without one

    @cached_property
    def on_test(self) -> Metrics:
        """The metrics of every point on test rows."""
        return metrics(self.test)


@dataclass(frozen=True, eq=False)
class Choice:
    """The candidate and the point of its path that were chosen for each seed, and how good they are."""

    seeds: tuple[int, ...]
    candidate: Int[np.ndarray, "seed"]
    point: Int[np.ndarray, "seed"]
    validation: Metrics
    test: Metrics
    group: Float[np.ndarray, "seed label attribute"]  # test accuracy of each


@dataclass(frozen=True, eq=False)
class Comparison:
    """The methods that were run on one data set in one style."""

    data: str
    style: str
    classes: tuple[str, ...]
    attributes: tuple[str, ...]
    rule: Rule
    plain: str | None  # the method, by its name in the study, that knows of no groups: the first of `methods`
    methods: Mapping[str, Paths]
    unfinished: tuple[str, ...]  # methods without any seed that all of their candidates have
    records: tuple[Record, ...]


def comparisons(records: Sequence[Record], rule: Rule = Rule()) -> list[Comparison]:
    """One comparison for each data set and style, in the records' order."""
    several: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        several.setdefault((record.data, record.style), []).append(record)
    return [_comparison(data, style, here, rule) for (data, style), here in several.items()]


def choose(paths: Paths, rule: Rule) -> Choice:
    """For each seed, the candidate and point that the rule likes best on validation rows."""
    every = paths.validation.reshape(-1, *paths.validation.shape[2:])  # points outermost
    step = np.repeat(np.arange(len(paths.step)), len(paths.candidates))
    switched = None if paths.switched is None else paths.switched.reshape(-1, *paths.switched.shape[2:])
    # All candidates start at one point.
    best = np.maximum(rule.choose(every, paths.validation[0, 0], step, switched), 0)
    candidate = best % len(paths.candidates)
    last = paths.length[candidate, np.arange(len(paths.seeds))] - 1
    return _choice(paths, candidate, np.minimum(best // len(paths.candidates), last))


def start(paths: Paths) -> Choice:
    """Where every candidate starts: the end of plain training."""
    first = np.zeros(len(paths.seeds), dtype=np.int64)
    return _choice(paths, first, first)


def baseline(comparison: Comparison) -> tuple[str, Choice]:
    """What the others are held against: a plain method under the same rule, or plain training if none was run."""
    if comparison.plain is not None:
        return comparison.plain, choose(comparison.methods[comparison.plain], comparison.rule)
    return "plain training", start(next(iter(comparison.methods.values())))


def plain_method(records: Sequence[Record]) -> str | None:
    """The name, in the study, of the method that knows of no groups; None where there is none, or no single one.

    What a study calls a method is its own affair: the record's configuration says which method it is.
    """
    names = {record.method: record.configuration.get("method", record.method) for record in records}
    for known in BASELINES:
        called = [name for name, method in names.items() if method == known]
        if known in called or len(called) == 1:
            return known if known in called else called[0]
    return None


def paired(ours: Choice, theirs: Choice, measure: Callable[[Choice], np.ndarray]) -> Difference:
    """The difference of a measure, [seed], over the seeds that both have."""
    common = [seed for seed in ours.seeds if seed in theirs.seeds]
    left, right = (measure(side)[[side.seeds.index(seed) for seed in common]] for side in (ours, theirs))
    return difference(left, right)


def varying(candidates: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each candidate's hyperparameters without those that all have in common; of one alone, all."""
    shared = [
        name
        for name in candidates[0]
        if len(candidates) > 1
        and all(name in other and other[name] == candidates[0][name] for other in candidates)
    ]
    return [{name: value for name, value in candidate.items() if name not in shared} for candidate in candidates]


def _comparison(data: str, style: str, records: Sequence[Record], rule: Rule) -> Comparison:
    """The records of one data set and style, by method, the plain one first."""
    first = records[0]
    for record in records:
        if (*record.classes, None, *record.attributes) != (*first.classes, None, *first.attributes):
            raise ValueError(
                f"runs on {data!r} disagree on the groups: {list(first.classes)} x {list(first.attributes)} in "
                f"run {first.run}, {list(record.classes)} x {list(record.attributes)} in run {record.run}; "
                "report them apart, or give their data different names"
            )
    plain = plain_method(records)
    runs: dict[str, list[Record]] = {} if plain is None else {plain: []}
    for record in records:
        runs.setdefault(record.method, []).append(record)
    paths = {method: _paths(method, here) for method, here in runs.items()}
    return Comparison(
        data,
        style,
        tuple(first.classes),
        tuple(first.attributes),
        rule,
        plain if plain is not None and paths[plain] else None,
        {method: path for method, path in paths.items() if path},
        tuple(method for method, path in paths.items() if not path),
        tuple(records),
    )


def _paths(method: str, records: Sequence[Record]) -> Paths | None:
    """A method's runs over the seeds that all of its candidates have; None if there is no such seed."""
    runs = _by_candidate(records)
    seeds = sorted({record.seed for record in records})
    complete = [seed for seed in seeds if all(seed in of_candidate for of_candidate in runs.values())]
    if not complete:
        return None
    table = [[of_candidate[seed] for seed in complete] for of_candidate in runs.values()]
    points = max(len(record.step) for row in table for record in row)
    return Paths(
        method,
        tuple(row[0].hyperparameters for row in table),
        tuple(complete),
        tuple(seed for seed in seeds if seed not in complete),
        sum(record.diverged is not None for row in table for record in row),
        np.array([[len(record.step) for record in row] for row in table]),
        np.moveaxis(
            np.array([[_longer(np.array(record.step), points) for record in row] for row in table]), -1, 0
        ),
        _counts(table, points, "validation"),
        _counts(table, points, "test"),
        _switched(table, points),
        _thresholds(table, points),
    )


def _by_candidate(records: Sequence[Record]) -> dict[str, dict[int, Record]]:
    """Each candidate's runs by seed; two different runs of one candidate and seed are an error."""
    runs: dict[str, dict[int, Record]] = {}
    for record in records:
        seeds = runs.setdefault(json.dumps(record.hyperparameters, sort_keys=True), {})
        other = seeds.get(record.seed, record)
        if other.run != record.run:
            differ = ", ".join(_differences(other.configuration, record.configuration)) or "something unrecorded"
            raise ValueError(
                f"two runs of {record.method!r} on {record.data!r}, seed {record.seed}, have the same "
                f"hyperparameters and differ in {differ} (runs {other.run} and {record.run}); report them apart"
            )
        seeds[record.seed] = record
    return runs


def _differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """The names whose values differ."""
    return (name for name in {**left, **right} if left.get(name) != right.get(name))


def _counts(
    table: Sequence[Sequence[Record]], points: int, part: str
) -> Float[np.ndarray, "point candidate seed label slot prediction"]:
    """The counts of a table of runs, [candidate][seed]."""
    return np.moveaxis(_stack(table, lambda record: _longer(record.counts(part), points)), 2, 0)


def _switched(
    table: Sequence[Sequence[Record]], points: int
) -> Float[np.ndarray, "point candidate seed label slot"] | None:
    """How many validation rows switched, for a table of runs; None if one of them does not say."""
    known = [[record.switches() for record in row] for row in table]
    if any(each is None for row in known for each in row):
        return None
    return np.moveaxis(
        np.array([[_longer(each, points) for each in row if each is not None] for row in known]), 2, 0
    )


def _thresholds(
    table: Sequence[Sequence[Record]], points: int
) -> Float[np.ndarray, "point candidate seed"] | None:
    """The thresholds of a table of runs; None if one of them has none."""
    if not all(record.threshold for row in table for record in row):
        return None
    found = _stack(table, lambda record: _longer(np.array(record.threshold, dtype=np.float64), points))
    return np.moveaxis(found, 2, 0)


def _stack(table: Sequence[Sequence[Record]], of: Callable[[Record], np.ndarray]) -> np.ndarray:
    """An array of each run, [candidate, seed, ...]."""
    return np.array([[of(record) for record in row] for row in table])


def _longer(path: np.ndarray, points: int) -> np.ndarray:
    """The path, [point, ...], its last point repeated."""
    return path[np.minimum(np.arange(points), len(path) - 1)]


def _choice(paths: Paths, candidate: Int[np.ndarray, "seed"], point: Int[np.ndarray, "seed"]) -> Choice:
    """These points, one for each seed, with their metrics."""
    seed = np.arange(len(paths.seeds))
    test = paths.test[point, candidate, seed]
    return Choice(
        paths.seeds,
        candidate,
        point,
        metrics(paths.validation[point, candidate, seed]),
        metrics(test),
        group_accuracy(test),
    )
