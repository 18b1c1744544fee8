"""Alg. 1: two stages, plain training of the whole model first, then a method on its scope."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor

from raan.data.split import Split
from raan.data.table import Table
from raan.fairness.rule import LAST, Rule
from raan.methods.erm import ERM
from raan.methods.method import Method, Refit, Scope, no_memory, stack
from raan.models.model import Architecture, Model
from raan.training.evaluate import Path, count_decisions, embed_table
from raan.training.train import (
    Finish,
    Progress,
    Schedule,
    State,
    count_steps,
    fold,
    never,
    train,
    walk,
    warn_failed,
)


@dataclass(frozen=True)
class Trained:
    """The end of a stage: the model that the rule chose, the one at the end, and how it came to be."""

    model: Model
    last: Model
    state: State
    path: Path

    @classmethod
    def of(cls, start: Model, finish: Finish) -> "Trained":
        """Return the models at the finish of a stage that began at the start."""
        chosen, last = complete(start, finish.path.chosen), complete(start, finish.state.parameters)
        return cls(chosen, last, *finish)


def complete(model: Model, parameters: Float[Tensor, "run parameter"]) -> Model:
    """Return the model with the parameters that a stage trained: all of its own, or those of its head."""
    head_alone = parameters.shape[1] < model.parameters.shape[1]
    return model.with_head(parameters) if head_alone else model.at(parameters)


def first_stage(
    architecture: Architecture,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    schedule: Schedule = Schedule(),
    *,
    progress: Progress = lambda done, total: None,
) -> Trained:
    """Train the whole model by cross-entropy, from each seed's own starting values.

    Args:
        architecture: The shape of the model.
        table: The table.
        split: The rows of each run.
        seeds: The seed of each run.
        schedule: How long and how fast to train.
        progress: Called with the number of steps done, and of all steps.
    """
    model = architecture.start(table, split.train, seeds)
    return Trained.of(model, train(ERM(), model, table, split, seeds, schedule, progress=progress))


def second_stage(
    method: Method | Refit,
    model: Model,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    schedule: Schedule = Schedule(),
    rule: Rule = LAST,
    *,
    resume: Finish | None = None,
    progress: Progress = lambda done, total: None,
    keep: Callable[[Finish], None] = lambda finish: None,
) -> Trained:
    """Train the second stage of Alg. 1.

    Args:
        method: The method.
        model: The model at the end of the first stage.
        table: The table.
        split: The rows of each run.
        seeds: The seed of each run.
        schedule: How long and how fast to train.
        rule: The rule that chooses the point of each run.
        resume: The finish of an interrupted stage, from which it continues.
        progress: Called with the number of steps done, and of all steps.
        keep: Called with the finish so far at the end of every epoch.

    Returns:
        The model that the rule chose, the last one, and the path.
    """
    states = walk_second_stage(method, model, table, split, seeds, schedule, resume and resume.state)
    steps = 1 if isinstance(method, Refit) else count_steps(split, schedule)
    finish = fold(states, rule, steps, resume=resume, progress=progress, keep=keep)
    warn_failed(finish.state, seeds)
    return Trained.of(model, finish)


def walk_second_stage(
    method: Method | Refit,
    model: Model,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    schedule: Schedule = Schedule(),
    resume: State | None = None,
) -> Iterator[State]:
    """Yield the states of the second stage, in which the method trains the parameters of its scope.

    A fixed encoder is a table embedded once, without dropout: what is left to train is an ordinary model, and the
    states have its parameters. A method that refits takes one step, and has two states.
    """
    if isinstance(method, Refit):
        return _refit(method, model, table, split, seeds, schedule)
    on = partial(walk, method, split=split, seeds=seeds, schedule=schedule, resume=resume)
    if method.scope is Scope.MODEL:
        return on(model, table)
    return on(model.without_encoder(), embed_table(model, table))


def _refit(
    method: Refit, model: Model, table: Table, split: Split, seeds: Sequence[int], schedule: Schedule
) -> Iterator[State]:
    """The model as it came, and fitted anew; where the method decides by more than a model, its decisions too."""
    watch = replace(schedule, thresholds=schedule.thresholds or method.thresholds).watch(model, table, split)
    for step, here in enumerate((model, method.refit(model, table, split, seeds))):
        moments, at = schedule.update.start(here.parameters), watch(step, here)
        decisions = method.decide(here, table, split) if step else None
        if decisions is not None:
            at = replace(at, decided=count_decisions(decisions, watch.rows))
        yield State(0, step, here.parameters, moments, no_memory(here), never(model), at)


@dataclass(frozen=True)
class Candidate:
    """One configuration of a method: hyperparameters, learning rate and L2 penalty."""

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
    """Return the states of the second stage of all candidates times the seeds, candidates outermost.

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
