"""From a study to its runs, and from runs to packs that train together."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from raan.lab.datasets.catalogue import DATA
from raan.lab.results.records import Record, hash_of
from raan.lab.study.study import Data, Entry, Stage, Study
from raan.methods import METHODS, Refit
from raan.methods.method import alike
from raan.training import stages
from raan.training.update import Style

PACK = 25
"""Runs that train at once: more of them cost no less per run, since their numbers leave the processor's cache."""


@dataclass(frozen=True)
class Candidate(stages.Candidate):
    """One combination of hyperparameters of one method of the study."""

    entry: Entry = field(kw_only=True)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The learning rate, if the method has one, every field of the method, and the penalty if there is one."""
        own = {each.name: to_plain(getattr(self.method, each.name)) for each in fields(self.method)}  # type: ignore[arg-type]
        penalty = {"l2": self.l2} if self.l2 else {}
        return own if isinstance(self.method, Refit) else {"learning_rate": self.learning_rate, **own, **penalty}


@dataclass(frozen=True)
class Pack:
    """Candidates times seeds that train at once; all of its runs are finished, or none."""

    study: str
    data: Data
    style: Style
    first: Stage
    second: Stage
    candidates: tuple[Candidate, ...]
    seeds: tuple[int, ...]
    accuracy_drop: float = 0.0  # the study's accuracy budget: points that it may select are kept

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """The hash of each run, candidates outermost."""
        return tuple(
            hash_of(self.define(candidate, seed)) for candidate, seed in product(self.candidates, self.seeds)
        )

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """What the pack's runs have in common."""
        return {
            "data": {"name": self.data.name, **self.data.options},
            "architecture": self.data.architecture,
            "first": describe_stage(self.first),
            "second": describe_stage(replace(self.second, learning_rate=(), style=self.style, l2=(0.0,))),
        }

    def define(self, candidate: Candidate, seed: int) -> dict[str, Any]:
        """Return all that a run's outcome depends on, except the data themselves."""
        return {
            "format": 1,
            **self.configuration,
            "class": type(candidate.method).__name__,
            "hyperparameters": candidate.hyperparameters,
            "seed": seed,
        }


def describe_stage(stage: Stage) -> dict[str, Any]:
    """Return the stage as it enters a run's hash: without later additions where they are unused."""
    used = {"l2": any(stage.l2), "first_epoch_points": stage.first_epoch_points, "thresholds": stage.thresholds}
    return {key: value for key, value in asdict(stage).items() if used.get(key, True)}


def packs(study: Study, size: int = PACK) -> list[Pack]:
    """List the study's packs in the order of its file.

    They depend on nothing but the study, never on what is finished. Candidates share a pack if they differ in
    numbers only; a refit is alone, and so is each seed where each has a table of its own.
    """
    listed = []
    for style, data, entry in product(study.styles, study.data, study.methods):
        for seeds in [(seed,) for seed in study.seeds] if DATA[data.name].own_tables else [study.seeds]:
            for group in alike(list(candidates(entry, study))):
                most = 1 if isinstance(group[0].method, Refit) else max(1, size // len(seeds))
                for start in range(0, len(group), most):
                    together = tuple(group[start : start + most])
                    drop = study.select.accuracy_drop
                    listed.append(
                        Pack(study.results, data, style, study.first, study.second, together, seeds, drop)
                    )
    return listed


def candidates(entry: Entry, study: Study) -> Iterator[Candidate]:
    """List a method's combinations: those given, or its grid, or as many of the grid as the study draws."""
    if entry.settings or not study.configurations:
        return _cross(entry, study)
    return iter(draw(list(_cross(entry, study, study.configurations)), study.configurations))


def _cross(entry: Entry, study: Study, least: int = 0) -> Iterator[Candidate]:
    """Cross hyperparameters with penalties and learning rates; a smaller grid than `least` gets more rates."""
    method = METHODS[entry.method]
    rates, penalties = entry.learning_rate or study.second.learning_rate, study.second.l2
    crossed = [dict(zip(entry.grid, values, strict=True)) for values in product(*entry.grid.values())]
    if isinstance(method, Refit):  # it takes no steps
        rates, penalties = rates[:1], (0.0,)
    elif len(rates) * len(penalties) * len(crossed) < least:
        many = -(-least // (len(penalties) * len(crossed)))
        rates = tuple(float(f"{rate:.3g}") for rate in np.geomspace(max(rates), min(rates), many))
    for l2, setting in product(penalties, entry.settings or crossed):
        changed = replace(method, **{key: setting[key] for key in setting if key != "learning_rate"})  # type: ignore[type-var]
        own = (setting["learning_rate"],) if "learning_rate" in setting else rates
        yield from (Candidate(changed, rate, l2, entry=entry) for rate in own)


def draw(grid: Sequence[Candidate], many: int) -> list[Candidate]:
    """Draw candidates from a grid, in its order and nearly as many of each learning rate.

    Within a learning rate they come in the order of the hashes of method and hyperparameters. So the draw depends
    on names and values alone, and a draw of fewer is part of a draw of more.
    """
    hashes = {id(each): hash_of({"method": each.entry.method, **each.hyperparameters}) for each in grid}
    turns: dict[float, int] = {}
    ranked = []
    for candidate in sorted(grid, key=lambda each: hashes[id(each)]):
        turn = turns[candidate.learning_rate] = turns.get(candidate.learning_rate, -1) + 1
        ranked.append((turn, hashes[id(candidate)]))
    drawn = {key for _, key in sorted(ranked)[:many]}
    return [candidate for candidate in grid if hashes[id(candidate)] in drawn]


def to_plain(value: Any) -> Any:
    """Turn a hyperparameter into a value of JSON; infinity is the string "inf"."""
    if isinstance(value, Enum):
        return value.value
    return "inf" if value == float("inf") else value


def keep_planned(records: Sequence[Record], study: Study) -> list[Record]:
    """Keep the records that the study plans now, and none of another grid or schedule."""
    runs = {run for pack in packs(study) for run in pack.runs}
    return [record for record in records if record.run in runs]


def view(records: Sequence[Record], study: Study) -> list[Record]:
    """Select the study's records of the data sets, styles and methods that its [report] names; by default all.

    With `by`, a method that has this hyperparameter becomes one method for each of its values: an ablation.
    """
    report = study.report
    wanted = {"data": report.get("data"), "style": report.get("styles"), "method": report.get("methods")}
    kept = [
        record
        for record in keep_planned(records, study)
        if all(names is None or getattr(record, what) in names for what, names in wanted.items())
    ]
    by = str(report.get("by", ""))
    return [
        replace(
            record,
            method=f"{record.method}, {by.replace('_', ' ')} {record.hyperparameters[by]}",
            configuration={"method": record.method, **record.configuration},
        )
        if by in record.hyperparameters
        else record
        for record in kept
    ]
