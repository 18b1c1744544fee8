"""Runs that differ in numbers only, trained at once: the one way from candidates and seeds to states."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch

from raan.data.split import Split
from raan.data.table import Table
from raan.methods.method import Method, Refit, stack
from raan.models.model import Model
from raan.training.stages import walk_second_stage
from raan.training.train import Schedule, State


@dataclass(frozen=True)
class Candidate:
    """One configuration of a method."""

    method: Method | Refit
    learning_rate: float
    l2: float = 0.0


def run_pack(
    candidates: Sequence[Candidate],
    start: Model,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    schedule: Schedule = Schedule(),
) -> Iterator[State]:
    """The states of the second stage of all candidates times the seeds, candidates outermost.

    `start` and `split` have a run for each seed. The candidates' methods differ in numbers only (`alike`); their
    learning rates and penalties take the place of the schedule's. A state's parameters are of the whole model, or
    of its head where that alone is trained: `complete(start.repeat(len(candidates)), state.parameters)` is the
    model. Which runs diverged is in `state.failed`.
    """
    times = len(candidates)
    numbers = torch.tensor([(candidate.learning_rate, candidate.l2) for candidate in candidates])
    rates, penalties = numbers.repeat_interleave(len(seeds), dim=0).unbind(1)
    methods = [candidate.method for candidate in candidates for _ in seeds]
    return walk_second_stage(
        methods[0] if isinstance(methods[0], Refit) else cast(Method, stack(methods)),
        start.repeat(times),
        table,
        Split(*(part.repeat(times, 1) for part in split)),
        list(seeds) * times,
        replace(schedule, learning_rate=rates, l2=penalties),
    )
