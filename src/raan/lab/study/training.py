"""Train a pack: from its candidates and seeds to the records of its runs."""

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from typing import Any, cast

import numpy as np
import torch

from raan._version import versions
from raan.fairness.rule import BUDGETS, LAST
from raan.lab.datasets.catalogue import DATA
from raan.lab.datasets.dataset import Problem
from raan.lab.results.records import Record, flatten
from raan.lab.results.summary import worth_keeping
from raan.lab.study.plan import Pack
from raan.lab.study.study import Stage
from raan.methods.method import Refit
from raan.models.model import Architecture, Model, linear, mlp
from raan.training.evaluate import EVEN, Decided, Point
from raan.training.stages import Trained, first_stage, run_pack
from raan.training.train import Schedule, State, count_steps, fold
from raan.training.update import Style, Update

Progress = Callable[[int, int], None]

ARCHITECTURES = {"mlp": mlp, "linear": linear}


def train_pack(pack: Pack, progress: Progress = lambda done, total: None) -> list[Record]:
    """Train a pack and return the records of its runs, candidates outermost.

    Args:
        pack: What to train. Its data are read, and its first stage is trained, once in a process.
        progress: Called after each step with the number of steps taken and their total.
    """
    problem = load_problem(pack)
    start = train_first_stage(pack, problem)
    finish = fold(walk_pack(pack, problem, start), LAST, count_pack_steps(pack, problem), progress=progress)
    trained = Trained.of(start.repeat(len(pack.candidates)), finish)
    failed = trained.state.failed.tolist()
    common: dict[str, Any] = {
        "study": pack.study,
        "data": pack.data.title,
        "style": pack.style,
        "data_hash": problem.hash,
        "versions": versions(),
        "classes": problem.table.class_names,
        "attributes": problem.table.attribute_names,
    }
    runs = product(pack.candidates, pack.seeds)
    return [
        Record(
            run=pack.runs[number],
            method=candidate.entry.name,
            seed=seed,
            hyperparameters=candidate.hyperparameters,
            configuration={"method": candidate.entry.method, **pack.configuration},
            diverged=None if failed[number] < 0 else failed[number],
            **path,
            **common,
        )
        for number, ((candidate, seed), path) in enumerate(
            zip(runs, _describe_paths(trained.path.points, pack.accuracy_drop), strict=True)
        )
    ]


def walk_pack(pack: Pack, problem: Problem, start: Model) -> Iterator[State]:
    """Iterate over the states of the pack's second stage; runs that diverge are recorded, without a warning."""
    schedule = schedule_of(pack.second, pack.style)
    return run_pack(pack.candidates, start, problem.table, problem.split, pack.seeds, schedule)


def count_pack_steps(pack: Pack, problem: Problem | None = None) -> int:
    """Count the steps of the pack's second stage."""
    if isinstance(pack.candidates[0].method, Refit):
        return 1
    return count_steps((problem or load_problem(pack)).split, schedule_of(pack.second, pack.style))


def schedule_of(stage: Stage, style: Style) -> Schedule:
    """Return the stage's schedule, with test rows watched, at the first learning rate and penalty of its grids."""
    return Schedule(
        epochs=stage.epochs,
        batch_size=stage.batch_size,
        points_per_epoch=stage.points_per_epoch,
        learning_rate=stage.learning_rate[0],
        update=Update(style=style),
        l2=stage.l2[0],
        watch_test=True,
        first_epoch_points=stage.first_epoch_points,
        thresholds=stage.thresholds,
    )


def load_problem(pack: Pack) -> Problem:
    """Load the pack's data and split, once in a process."""
    return _load_problem(pack.data.name, json.dumps(pack.data.options), pack.seeds)


@lru_cache(maxsize=6)  # tables of five seeds, and one more
def _load_problem(name: str, options: str, seeds: tuple[int, ...]) -> Problem:
    return DATA[name].load(json.loads(options), seeds)


@dataclass(frozen=True)
class _FirstStage:
    """What a first stage depends on; `pack` is any of those that begin with it."""

    data: str
    stage: Stage
    seeds: tuple[int, ...]
    held_out: int  # training rows that the second stage needs unseen, as DFR does
    pack: Pack = field(compare=False)


def train_first_stage(pack: Pack, problem: Problem) -> Model:
    """Return every seed's model at the end of the first stage, which packs that begin alike share in a process."""
    split = problem.split
    held_out = split.train.shape[1] - pack.candidates[0].method.first_split(split).train.shape[1]
    data = json.dumps([pack.data.name, pack.data.options, pack.data.architecture])
    return _train_first_stage(_FirstStage(data, pack.first, pack.seeds, held_out, pack))


@lru_cache(maxsize=100)
def _train_first_stage(start: _FirstStage) -> Model:
    pack, problem = start.pack, load_problem(start.pack)
    architecture: Architecture = ARCHITECTURES[pack.data.architecture](problem.table)
    split = pack.candidates[0].method.first_split(problem.split)
    schedule = replace(schedule_of(pack.first, pack.first.style), watch_test=False, points_per_epoch=1)
    return first_stage(architecture, problem.table, split, pack.seeds, schedule).last


def _describe_paths(points: Sequence[Point], accuracy_drop: float) -> Iterator[dict[str, Any]]:
    """Describe each run's path as its record has it.

    That is every point or, of many decisions at each point, those that rules with the usual accuracy budgets, or
    the one given, may select.
    """
    if not any(point.decided for point in points):
        validation = np.stack([point.validation_counts for point in points])
        test = np.stack([cast(np.ndarray, point.test_counts) for point in points])
        step = [point.step for point in points]
        for run in range(validation.shape[1]):
            yield {"step": step, "validation": flatten(validation[:, run]), "test": flatten(test[:, run])}
        return
    several = [point.decided or _decide_likeliest(point) for point in points]
    every = Decided(*(np.concatenate(part, axis=1).swapaxes(0, 1) for part in zip(*several, strict=True)))
    steps = np.repeat([point.step for point in points], [each.threshold.shape[1] for each in several])
    budgets = sorted({*BUDGETS, accuracy_drop})
    for run, kept in enumerate(worth_keeping(every.validation, every.switched, budgets)):
        threshold = every.threshold[kept, run].tolist()
        yield {
            "step": steps[kept].tolist(),
            "validation": flatten(every.validation[kept, run]),
            "test": flatten(every.test[kept, run]),
            "threshold": [None if math.isnan(each) else round(each, 4) for each in threshold],
            "switched": flatten(every.switched[kept, run]),
        }


def _decide_likeliest(point: Point) -> Decided:
    """Return the only decision of a point without thresholds, such as the start: the likeliest class."""
    validation, test = point.validation_counts[:, None], cast(np.ndarray, point.test_counts)[:, None]
    return Decided(np.full(validation.shape[:2], EVEN), validation, test, np.zeros(validation.shape[:-1]))


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread here and in processes started from here, and restore the number of threads at the end.

    Sums are then added in one order, so that the same study gives the same bytes.
    """
    before, names = torch.get_num_threads(), ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    kept = {name: os.environ.get(name) for name in names}
    torch.set_num_threads(1)
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        torch.set_num_threads(before)
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
