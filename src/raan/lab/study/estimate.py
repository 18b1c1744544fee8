"""How long a study will take on this machine: a few steps of each kind of pack, timed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from raan.lab.datasets.dataset import Problem
from raan.lab.study.plan import Pack
from raan.lab.study.training import ARCHITECTURES, problem_of, schedule_of, steps_of
from raan.methods.method import Refit
from raan.training.stages import run_pack

SHORT, LONG = 10, 40
"""Steps that are timed: the difference of the two is steps alone, what they share is looking at the rows."""


@dataclass(frozen=True)
class Share:
    """The packs of one method on one data set in one style, and what they will take."""

    data: str
    style: str
    method: str
    runs: int
    seconds: float  # of one processor


def shares(left: Sequence[Pack]) -> list[Share]:
    """What is left to do, method by method, with the seconds each will take on one processor."""
    groups: dict[tuple[str, str, str], list[Pack]] = {}
    for pack in left:
        groups.setdefault((pack.data.title, pack.style, pack.candidates[0].entry.name), []).append(pack)
    return [
        Share(*names, runs=sum(len(pack.runs) for pack in several), seconds=_seconds(several))
        for names, several in groups.items()
    ]


def _seconds(several: Sequence[Pack]) -> float:
    """The time of packs that differ in numbers only, from a short trial of the first."""
    first = several[0]
    here = _trial(first) / len(first.runs)
    return sum(here * len(pack.runs) for pack in several)


def _trial(pack: Pack) -> float:
    """The seconds that the pack will take, from an untrained model's first steps."""
    problem = problem_of(pack)
    if isinstance(pack.candidates[0].method, Refit):
        return _timed(pack, problem, problem.split.train.shape[1])
    short, long = (_timed(pack, problem, steps * pack.second.batch_size) for steps in (SHORT, LONG))
    step = max(long - short, 0.0) / (LONG - SHORT)
    look = max(short - SHORT * step, 0.0) / 2  # before the first step and after the last
    schedule = schedule_of(pack.second, pack.style)
    return step * steps_of(pack) + look * (1 + sum(map(schedule.points_in, range(schedule.epochs))))


def _timed(pack: Pack, problem: Problem, rows: int) -> float:
    """Seconds of one epoch over so many of the training rows."""
    model = ARCHITECTURES[pack.data.architecture](problem.table).start(
        problem.table, problem.split.train, pack.seeds
    )
    split = problem.split._replace(train=problem.split.train[:, :rows])
    schedule = replace(schedule_of(pack.second, pack.style), epochs=1, points_per_epoch=1, first_epoch_points=1)
    began = time.perf_counter()
    for _ in run_pack(pack.candidates, model, problem.table, split, pack.seeds, schedule):
        pass
    return time.perf_counter() - began
