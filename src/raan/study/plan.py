"""From a study to its runs, and from runs to packs that share the run axis."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum
from functools import cached_property
from itertools import product
from typing import Any

from raan.data.sets.catalogue import DATA
from raan.methods import METHODS, Method, Refit
from raan.methods.method import alike
from raan.study.study import Data, Entry, Stage, Study

PACK = 25
"""Runs that train at once: more cost no less per run, since their numbers leave the processor's cache."""


@dataclass(frozen=True)
class Candidate:
    """One setting of one method of the study."""

    entry: Entry
    method: Method | Refit
    learning_rate: float
    l2: float = 0.0

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
            "first": stage_told(self.first),
            "second": stage_told(replace(self.second, learning_rate=(), style=self.style, l2=(0.0,))),
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


def stage_told(stage: Stage) -> dict[str, Any]:
    """The stage as a run's definition has it; a penalty that is none is not in it."""
    told = asdict(stage)
    return told if any(stage.l2) else {key: value for key, value in told.items() if key != "l2"}


def packs(study: Study, size: int = PACK) -> list[Pack]:
    """The study's packs, in the order of its file; they depend on nothing but the study."""
    return [
        Pack(study.results, data, style, study.first, study.second, together, seeds)
        for style, data, entry in product(study.styles, study.data, study.methods)
        for seeds in _seeds(study, data)
        for together in _together(list(candidates(entry, study)), max(1, size // len(seeds)))
    ]


def candidates(entry: Entry, study: Study) -> Iterator[Candidate]:
    """Every setting of the method: its dials' values crossed, the learning rates and the penalties."""
    method = METHODS[entry.method]
    rates, penalties = entry.learning_rate or study.second.learning_rate, study.second.l2
    if isinstance(method, Refit):  # it takes no steps
        rates, penalties = rates[:1], (0.0,)
    for l2, *values in product(penalties, *entry.dials.values()):
        turned = replace(method, **dict(zip(entry.dials, values, strict=True)))  # type: ignore[type-var]
        yield from (Candidate(entry, turned, rate, l2) for rate in rates)


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


def hash_of(definition: Mapping[str, Any]) -> str:
    """A short name for what is defined."""
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:16]
