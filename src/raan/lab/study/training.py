"""A pack trained: from its candidates and seeds to the records of its runs."""

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from raan._version import versions
from raan.fairness.rule import BUDGETS, LAST, Rule
from raan.io.files import write_whole
from raan.lab.datasets.catalogue import DATA
from raan.lab.datasets.dataset import Problem
from raan.lab.results.records import Record, flatten, hash_of
from raan.lab.results.thin import worth_keeping
from raan.lab.study.plan import Pack
from raan.lab.study.study import Stage
from raan.methods.method import Refit
from raan.models.model import Architecture, Model, linear, mlp
from raan.training.decided import EVEN, Decided, Point
from raan.training.stages import Trained, first_stage, run_pack
from raan.training.train import Schedule, State, count_steps, fold
from raan.training.update import Update

Progress = Callable[[int, int], None]

ARCHITECTURES = {"mlp": mlp, "linear": linear}


def train_pack(
    pack: Pack,
    store: Path,
    progress: Progress = lambda done, total: None,
    problem: Problem | None = None,
) -> list[Record]:
    """The records of the pack's runs; the first stage is taken from the store, or trained and left there.

    Without the problem, its data are read here.
    """
    problem = problem or problem_of(pack)
    return _records(pack, problem, train(pack, problem, store, progress=progress))


def train(
    pack: Pack,
    problem: Problem,
    store: Path,
    rule: Rule = LAST,
    progress: Progress = lambda done, total: None,
) -> Trained:
    """The pack at the end of its second stage, from the first stage that the store holds or comes to hold."""
    start = start_of(pack, problem, store)
    finish = fold(states(pack, problem, start), rule, steps_of(pack, problem), progress=progress)
    return Trained.of(start.repeat(len(pack.candidates)), finish)


def states(pack: Pack, problem: Problem, start: Model) -> Iterator[State]:
    """The states of the pack's second stage; what diverged is in the records, so nothing warns of it."""
    schedule = schedule_of(pack.second, pack.style)
    return run_pack(pack.candidates, start, problem.table, problem.split, pack.seeds, schedule)


def steps_of(pack: Pack, problem: Problem | None = None) -> int:
    """The steps of the pack's second stage."""
    if isinstance(pack.candidates[0].method, Refit):
        return 1
    return count_steps((problem or problem_of(pack)).split, schedule_of(pack.second, pack.style))


def schedule_of(stage: Stage, style: str) -> Schedule:
    """The stage's schedule, test rows watched; its learning rate and penalty are the first of their grids."""
    return Schedule(
        epochs=stage.epochs,
        batch_size=stage.batch_size,
        points_per_epoch=stage.points_per_epoch,
        learning_rate=stage.learning_rate[0],
        update=Update(style=cast(Any, style)),
        l2=stage.l2[0],
        watch_test=True,
        first_epoch_points=stage.first_epoch_points,
        thresholds=stage.thresholds,
    )


def problem_of(pack: Pack) -> Problem:
    """The pack's data and rows."""
    return _problem(pack.data.name, json.dumps(pack.data.options), pack.seeds)


@lru_cache(maxsize=6)
def _problem(name: str, options: str, seeds: tuple[int, ...]) -> Problem:
    """The data, read once in a process; tables of five seeds stay there."""
    return DATA[name].load(json.loads(options), seeds)


def start_of(pack: Pack, problem: Problem, store: Path) -> Model:
    """Every seed's model at the end of the first stage, which all packs of these data and seeds share.

    A method that holds training rows out of the first stage, as DFR does, has a first stage of its own.
    """
    architecture: Architecture = ARCHITECTURES[pack.data.architecture](problem.table)
    split = pack.candidates[0].method.first_split(problem.split)
    model = architecture.start(problem.table, split.train, pack.seeds)
    place = store / f"{first_stage_name(pack, problem)}.pt"
    if place.exists():
        return model.at(torch.load(place, weights_only=True))
    schedule = replace(schedule_of(pack.first, pack.first.style), watch_test=False, points_per_epoch=1)
    trained = first_stage(architecture, problem.table, split, pack.seeds, schedule).last
    with write_whole(place) as part:
        torch.save(trained.parameters, part)
    return trained


def first_stage_name(pack: Pack, problem: Problem) -> str:
    """What the pack's first stage is called in a store: packs that begin alike share it."""
    split = problem.split
    held_out = split.train.shape[1] - pack.candidates[0].method.first_split(split).train.shape[1]
    return f"{first_stage_key(pack)}{f'-{held_out}' if held_out else ''}"


def first_stage_key(pack: Pack) -> str:
    """A name for what the first stage depends on."""
    return hash_of({**pack.configuration(), "second": None, "seeds": pack.seeds})


def _records(pack: Pack, problem: Problem, trained: Trained) -> list[Record]:
    """A record for each run, candidates outermost."""
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
    paths = paths_of(trained.path.points, pack.accuracy_drop)
    return [
        Record(
            run=pack.runs[number],
            method=candidate.entry.name,
            seed=seed,
            hyperparameters=candidate.hyperparameters,
            configuration={"method": candidate.entry.method, **pack.configuration()},
            diverged=None if failed[number] < 0 else failed[number],
            **path,
            **common,
        )
        for number, ((candidate, seed), path) in enumerate(zip(runs, paths, strict=True))
    ]


def paths_of(points: Sequence[Point], accuracy_drop: float = 0.0) -> Iterator[dict[str, Any]]:
    """Each run's path as its record has it: every point, or of many decisions at each those worth keeping.

    Those are what rules of the usual allowances take, and of the one given.
    """
    if any(point.decided for point in points):
        yield from _thinned(points, sorted({*BUDGETS, accuracy_drop}))
        return
    step = [point.step for point in points]
    validation = np.stack([point.validation_counts for point in points])
    test = np.stack([cast(np.ndarray, point.test_counts) for point in points])
    for run in range(validation.shape[1]):
        yield {"step": step, "validation": flatten(validation[:, run]), "test": flatten(test[:, run])}


def _thinned(points: Sequence[Point], allowances: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Each run's decisions that are worth keeping, the start's first."""
    several = [_as_decided(point) for point in points]
    every = Decided(*(np.concatenate(part, axis=1).swapaxes(0, 1) for part in zip(*several, strict=True)))
    step = np.repeat([point.step for point in points], [each.threshold.shape[1] for each in several])
    for run, kept in enumerate(worth_keeping(every.validation, every.switched, allowances)):
        threshold = every.threshold[kept, run].tolist()
        yield {
            "step": step[kept].tolist(),
            "validation": flatten(every.validation[kept, run]),
            "test": flatten(every.test[kept, run]),
            "threshold": [None if math.isnan(each) else round(each, 4) for each in threshold],
            "switched": flatten(every.switched[kept, run]),
        }


def _as_decided(point: Point) -> Decided:
    """The point's decisions; where it has none but the likeliest class, as at the start, those."""
    if point.decided is not None:
        return point.decided
    validation, test = point.validation_counts[:, None], cast(np.ndarray, point.test_counts)[:, None]
    return Decided(np.full(validation.shape[:2], EVEN), validation, test, np.zeros(validation.shape[:-1]))


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread here and in the processes started from here, and as it was before in the end.

    Sums are then added in one order, and the same study gives the same bytes.
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
