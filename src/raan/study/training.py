"""A pack trained: from its candidates and seeds to the records of its runs."""

import json
import platform
import warnings
from collections.abc import Callable
from dataclasses import astuple, replace
from functools import lru_cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from raan.data.sets.catalogue import DATA
from raan.data.sets.dataset import Problem
from raan.data.split import Split
from raan.fairness.metrics import Metrics, metrics
from raan.fairness.rule import LAST, Rule
from raan.files.write import write_whole
from raan.methods.method import Method, Refit, stack
from raan.models.model import Architecture, Model, linear, mlp
from raan.study.plan import Pack, hash_of
from raan.study.results import Record
from raan.study.study import Stage
from raan.training.stages import Trained, first_stage, second_stage
from raan.training.train import Schedule
from raan.training.update import Update

Progress = Callable[[int, int], None]

ARCHITECTURES = {"mlp": mlp, "linear": linear}


def train_pack(pack: Pack, rule: Rule, store: Path, progress: Progress = lambda done, total: None) -> list[Record]:
    """The records of the pack's runs; the first stage is taken from the store, or trained and left there."""
    problem = problem_of(pack)
    return _records(pack, problem, trained(pack, problem, store, progress=progress), rule)


def trained(
    pack: Pack,
    problem: Problem,
    store: Path,
    rule: Rule = LAST,
    progress: Progress = lambda done, total: None,
) -> Trained:
    """The pack at the end of its second stage, from the first stage that the store holds or comes to hold."""
    start = start_of(pack, problem, store)
    times = len(pack.candidates)
    numbers = torch.tensor([(candidate.learning_rate, candidate.l2) for candidate in pack.candidates])
    rates, penalties = numbers.repeat_interleave(len(pack.seeds), dim=0).unbind(1)
    with warnings.catch_warnings():
        # What diverged is in the records.
        warnings.filterwarnings("ignore", message="the loss or its gradient was not finite")
        return second_stage(
            stacked(pack),
            start.repeat(times),
            problem.table,
            Split(*(part.repeat(times, 1) for part in problem.split)),
            list(pack.seeds) * times,
            replace(schedule_of(pack.second, pack.style), learning_rate=rates, l2=penalties),
            rule,
            progress=progress,
        )


def steps_of(pack: Pack) -> int:
    """The steps of the pack's second stage."""
    if isinstance(pack.candidates[0].method, Refit):
        return 1
    problem = problem_of(pack)
    return pack.second.epochs * -(-problem.split.train.shape[1] // pack.second.batch_size)


def stacked(pack: Pack) -> Method | Refit:
    """One method for all runs of the pack."""
    methods = [candidate.method for candidate in pack.candidates for _ in pack.seeds]
    return methods[0] if isinstance(methods[0], Refit) else cast(Method, stack(methods))


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
    held_out = problem.split.train.shape[1] - split.train.shape[1]
    place = store / f"{first_stage_key(pack)}{f'-{held_out}' if held_out else ''}.pt"
    if place.exists():
        return model.at(torch.load(place, weights_only=True))
    schedule = replace(schedule_of(pack.first, pack.first.style), watch_test=False, points_per_epoch=1)
    trained = first_stage(architecture, problem.table, split, pack.seeds, schedule).last
    with write_whole(place) as part:
        torch.save(trained.parameters, part)
    return trained


def first_stage_key(pack: Pack) -> str:
    """A name for what the first stage depends on."""
    return hash_of({**pack.configuration(), "second": None, "seeds": pack.seeds})


def _records(pack: Pack, problem: Problem, trained: Trained, rule: Rule) -> list[Record]:
    """A record for each run, candidates outermost."""
    points = trained.state.path.points
    validation = np.stack([point.validation_counts for point in points])
    test = np.stack([cast(np.ndarray, point.test_counts) for point in points])
    failed = trained.state.failed.tolist()
    common: dict[str, Any] = {
        "study": pack.study,
        "data": pack.data.title,
        "style": pack.style,
        "data_hash": problem.hash,
        "versions": versions(),
        "classes": problem.table.class_names,
        "attributes": problem.table.attribute_names,
        "step": [point.step for point in points],
    }
    return [
        Record(
            run=pack.runs[number],
            method=candidate.entry.name,
            seed=seed,
            hyperparameters=candidate.hyperparameters,
            configuration={"method": candidate.entry.method, **pack.configuration()},
            diverged=None if failed[number] < 0 else failed[number],
            validation=_flat(validation[:, number]),
            test=_flat(test[:, number]),
            chosen=chosen(rule, validation[:, number], test[:, number]),
            **common,
        )
        for number, (candidate, seed) in enumerate(product(pack.candidates, pack.seeds))
    ]


def _flat(counts: np.ndarray) -> list[list[int]]:
    return counts.reshape(len(counts), -1).astype(np.int64).tolist()


def chosen(rule: Rule, validation: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    """The point of one run's path that the rule likes best on validation, and its metrics on both parts."""
    point = max(int(rule.choose(validation, validation[0])), 0)
    return {
        "rule": {"aim": rule.aim, "accuracy_drop": rule.accuracy_drop},
        "point": point,
        "validation": _rounded(metrics(validation[point])),
        "test": _rounded(metrics(test[point])),
    }


def _rounded(several: Metrics) -> dict[str, float | None]:
    """The metrics by name; undefined is null, which JSON knows."""
    names = tuple(Metrics.__dataclass_fields__)
    values = (round(float(value), 6) for value in astuple(several))
    return {name: None if value != value else value for name, value in zip(names, values, strict=True)}


@lru_cache
def versions(*more: str) -> dict[str, str]:
    """The versions of what the numbers may depend on."""
    named = {name: version(name) for name in ("raan", "torch", "numpy", *more)}
    return {**named, "python": platform.python_version()}
