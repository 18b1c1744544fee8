"""From a study to its runs, and from runs to packs that share the run axis."""

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

PACK = 25
"""Runs that train at once: more cost no less per run, since their numbers leave the processor's cache."""


@dataclass(frozen=True)
class Candidate(stages.Candidate):
    """One setting of one method of the study."""

    entry: Entry = field(kw_only=True)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The learning rate, if the method has one, every field of the method, and the penalty if there is one."""
        own = {each.name: plain(getattr(self.method, each.name)) for each in fields(self.method)}  # type: ignore[arg-type]
        penalty = {"l2": self.l2} if self.l2 else {}
        return own if isinstance(self.method, Refit) else {"learning_rate": self.learning_rate, **own, **penalty}


@dataclass(frozen=True)
class Pack:
    """Candidates times seeds that train at once; the whole of it is done, or none."""

    study: str
    data: Data
    style: str
    first: Stage
    second: Stage
    candidates: tuple[Candidate, ...]
    seeds: tuple[int, ...]
    accuracy_drop: float = 0.0  # the study's own allowance: what it takes is kept, whatever it is

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """The hash of each run, candidates outermost."""
        return tuple(
            hash_of(self.definition(candidate, seed)) for candidate, seed in product(self.candidates, self.seeds)
        )

    def configuration(self) -> dict[str, Any]:
        """What the pack's runs have in common."""
        return {
            "data": {"name": self.data.name, **self.data.options},
            "architecture": self.data.architecture,
            "first": describe_stage(self.first),
            "second": describe_stage(replace(self.second, learning_rate=(), style=self.style, l2=(0.0,))),
        }

    def definition(self, candidate: Candidate, seed: int) -> dict[str, Any]:
        """All that a run's outcome depends on, but the data themselves."""
        return {
            "format": 1,
            **self.configuration(),
            "class": type(candidate.method).__name__,
            "hyperparameters": candidate.hyperparameters,
            "seed": seed,
        }


def describe_stage(stage: Stage) -> dict[str, Any]:
    """The stage as a run's definition has it; a penalty that is none, and what is not asked for, is not in it."""
    absent = {"l2": any(stage.l2), "first_epoch_points": stage.first_epoch_points, "thresholds": stage.thresholds}
    return {key: value for key, value in asdict(stage).items() if absent.get(key, True)}


def packs(study: Study, size: int = PACK) -> list[Pack]:
    """The study's packs, in the order of its file; they depend on nothing but the study."""
    return [
        Pack(study.results, data, style, study.first, study.second, together, seeds, study.select.accuracy_drop)
        for style, data, entry in product(study.styles, study.data, study.methods)
        for seeds in _seeds(study, data)
        for together in _together(list(candidates(entry, study)), max(1, size // len(seeds)))
    ]


def candidates(entry: Entry, study: Study) -> Iterator[Candidate]:
    """Every setting of the method: those listed, or its grid, or so many of it as the study draws."""
    if entry.settings or not study.configurations:
        return _grid(entry, study)
    return iter(draw(list(_grid(entry, study, study.configurations)), study.configurations))


def _grid(entry: Entry, study: Study, least: int = 0) -> Iterator[Candidate]:
    """The settings listed, or the dials' values crossed, with learning rates and penalties: at least so many."""
    method = METHODS[entry.method]
    rates, penalties = entry.learning_rate or study.second.learning_rate, study.second.l2
    crossed = [dict(zip(entry.dials, values, strict=True)) for values in product(*entry.dials.values())]
    if isinstance(method, Refit):  # it takes no steps
        rates, penalties = rates[:1], (0.0,)
    elif len(rates) * len(penalties) * len(crossed) < least:
        rates = _finer(rates, -(-least // (len(penalties) * len(crossed))))
    for l2, setting in product(penalties, entry.settings or crossed):
        turned = replace(method, **{key: setting[key] for key in setting if key != "learning_rate"})  # type: ignore[type-var]
        own = (setting["learning_rate"],) if "learning_rate" in setting else rates
        yield from (Candidate(turned, rate, l2, entry=entry) for rate in own)


def draw(grid: Sequence[Candidate], many: int) -> list[Candidate]:
    """So many candidates of a grid, or all of a smaller one, in its order: nearly as many of each learning rate.

    Within a learning rate they come in the order of the hashes of method and setting. So the draw depends on names
    and values alone, and that of fewer is a part of that of more.
    """
    turns: dict[float, list[Candidate]] = {}
    for candidate in sorted(grid, key=_hash):
        turns.setdefault(candidate.learning_rate, []).append(candidate)
    ranked = [(turn, _hash(each), each) for of_rate in turns.values() for turn, each in enumerate(of_rate)]
    drawn = {key for _, key, _ in sorted(ranked, key=lambda each: each[:2])[:many]}
    return [candidate for candidate in grid if _hash(candidate) in drawn]


def _hash(candidate: Candidate) -> str:
    return hash_of({"method": candidate.entry.method, **candidate.hyperparameters})


def _finer(rates: tuple[float, ...], many: int) -> tuple[float, ...]:
    """So many learning rates between the largest and the smallest, evenly in their logarithm, to three digits."""
    return tuple(float(f"{rate:.3g}") for rate in np.geomspace(max(rates), min(rates), many))


def _seeds(study: Study, data: Data) -> list[tuple[int, ...]]:
    """The seeds that may share a pack: all, or each alone where each has a table of its own."""
    return [(seed,) for seed in study.seeds] if DATA[data.name].own_tables else [study.seeds]


def _together(several: Sequence[Candidate], most: int) -> Iterator[tuple[Candidate, ...]]:
    """The candidates that differ in numbers only, so many at a time; a refit stands alone."""
    for group in alike(several):
        yield from _batched(group, 1 if isinstance(group[0].method, Refit) else most)


def _batched(several: Sequence[Candidate], most: int) -> Iterator[tuple[Candidate, ...]]:
    for start in range(0, len(several), most):
        yield tuple(several[start : start + most])


def plain(value: Any) -> Any:
    """A value that JSON knows; infinity is the string "inf"."""
    if isinstance(value, Enum):
        return value.value
    return "inf" if value == float("inf") else value


def keep_planned(records: Sequence[Record], study: Study) -> list[Record]:
    """The records that are the study's as its file is now; those of another grid or schedule stay unread."""
    runs = {run for pack in packs(study) for run in pack.runs}
    return [record for record in records if record.run in runs]


def view(records: Sequence[Record], study: Study) -> list[Record]:
    """The study's records of the data sets, styles and methods that its [report] names, all where it names none.

    With `by`, a method that has this dial stands there once for each of its values: an ablation.
    """
    report = study.report
    wanted = {"data": report.get("data"), "style": report.get("styles"), "method": report.get("methods")}
    kept = [
        record
        for record in keep_planned(records, study)
        if all(names is None or getattr(record, what) in names for what, names in wanted.items())
    ]
    return [_split(record, report["by"]) for record in kept] if "by" in report else kept


def _split(record: Record, dial: str) -> Record:
    """The record as of a method of its own, called by the dial's value."""
    if dial not in record.hyperparameters:
        return record
    return replace(
        record,
        method=f"{record.method}, {dial.replace('_', ' ')} {record.hyperparameters[dial]}",
        configuration={"method": record.method, **record.configuration},
    )
