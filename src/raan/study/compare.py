"""Train every candidate of every method from the same first stage, and read off what a declared rule chooses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from raan.data.split import Split
from raan.data.table import Table
from raan.fairness.counts import Counts
from raan.fairness.metrics import Metrics, metrics
from raan.fairness.rule import Rule
from raan.methods.erm import ERM
from raan.methods.method import Scope, alike, stack
from raan.methods.raan import RAAN
from raan.models.model import Architecture, Model
from raan.training.pack import Candidate
from raan.training.stages import first_stage, second_stage
from raan.training.train import Schedule

Progress = Callable[[str, int, int], None]
"""Told the name of what is trained, how many steps of it are done, and of how many."""


def four_each() -> dict[str, list[Candidate]]:
    """The same budget for every method, Vanilla included: four configurations each.

    "group" lifts the worst group, "sample" narrows the gaps between groups.
    """

    def grid(scope: Scope) -> list[Candidate]:
        return [
            Candidate(RAAN(strength=strength, balance="group", scope=scope), rate)
            for rate, strength in ((1e-3, 0.25), (1e-4, 0.5))
        ] + [
            Candidate(RAAN(strength=strength, balance="sample", scope=scope), rate)
            for rate, strength in ((1e-3, 0.25), (1e-4, 1.0))
        ]

    return {
        "Vanilla": [Candidate(ERM(), rate) for rate in (3e-3, 1e-3, 3e-4, 1e-4)],
        "RAAN": grid(Scope.HEAD),
        "RL-RAAN": grid(Scope.MODEL),
    }


@dataclass(frozen=True)
class Curves:
    """Counts along the paths of all of a method's candidates, [point, candidate, seed, ...] each."""

    validation: Counts
    test: Counts

    @property
    def start(self) -> Metrics:
        """Each seed's test metrics before the second stage; all candidates start there."""
        return metrics(self.test[0, 0])

    def choose(self, rule: Rule) -> Metrics:
        """For each seed, the test metrics of the point and candidate that the rule likes best on validation."""
        validation, test = (part.reshape(-1, *part.shape[2:]) for part in (self.validation, self.test))
        points, candidates = self.validation.shape[:2]
        step = np.repeat(np.arange(points), candidates)
        best = np.maximum(rule.choose(validation, self.validation[0, 0], step), 0)
        return metrics(test[best, np.arange(len(best))])


def compare(
    candidates: Mapping[str, Sequence[Candidate]],
    architecture: Architecture,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    first: Schedule = Schedule(),
    second: Schedule = Schedule(),
    *,
    progress: Progress = lambda name, done, total: None,
) -> dict[str, Curves]:
    """Each method's curves: its candidates times the seeds train in packs, from one first stage for all."""
    plain = first_stage(
        architecture, table, split, seeds, first, progress=lambda done, total: progress("stage one", done, total)
    )

    def trained(name: str, several: Sequence[Candidate]) -> Curves:
        packs = alike(several)
        parts = [
            _curves(pack, plain.model, table, split, seeds, second, _share(progress, name, number, len(packs)))
            for number, pack in enumerate(packs)
        ]
        validation, test = ([getattr(part, name) for part in parts] for name in ("validation", "test"))
        return Curves(np.concatenate(validation, axis=1), np.concatenate(test, axis=1))

    return {name: trained(name, several) for name, several in candidates.items()}


def _share(progress: Progress, name: str, number: int, packs: int) -> Callable[[int, int], None]:
    """Progress of one pack, told as progress of all of a method's packs."""
    return lambda done, total: progress(name, number * total + done, packs * total)


def _curves(
    candidates: Sequence[Candidate],
    model: Model,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    schedule: Schedule,
    progress: Callable[[int, int], None],
) -> Curves:
    """One pack's second stage: all of its candidates times the seeds at once, candidates outermost."""
    times = len(candidates)
    rates = torch.tensor([candidate.learning_rate for candidate in candidates]).repeat_interleave(len(seeds))
    trained = second_stage(
        stack([candidate.method for candidate in candidates for _ in seeds]),
        model.repeat(times),
        table,
        Split(*(part.repeat(times, 1) for part in split)),
        list(seeds) * times,
        replace(schedule, learning_rate=rates, watch_test=True),
        progress=progress,
    )
    points = trained.path.points
    test = [point.test_counts for point in points if point.test_counts is not None]
    return Curves(_by_candidate([point.validation_counts for point in points], times), _by_candidate(test, times))


def _by_candidate(points: Sequence[np.ndarray], candidates: int) -> np.ndarray:
    """The path's counts as [point, candidate, seed, ...]."""
    whole = np.stack(points)
    return whole.reshape(len(points), candidates, -1, *whole.shape[2:])
