"""The training loop: one model or a hundred, one method, one stage."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch, batches, flat_index
from raan.data.split import Split
from raan.data.table import Table
from raan.fairness.rule import LAST, Rule
from raan.methods.method import Memory, Method
from raan.models.model import Model
from raan.training.evaluate import group_counts
from raan.training.path import Path, Point
from raan.training.update import Moments, Update

Progress = Callable[[int, int], None]
"""Told how many steps are done, and of how many, whenever a point of the path is recorded."""


@dataclass(frozen=True)
class Schedule:
    """How long, how large, how fast, and how often to look at the validation rows."""

    epochs: int = 10
    batch_size: int = 64
    learning_rate: float | Float[Tensor, "run"] = 1e-3
    update: Update = field(default_factory=Update)
    points_per_epoch: int = 4
    l2: float | Float[Tensor, "run"] = 0.0  # half of it times the squared norm of the parameters joins the loss
    watch_test: bool = False  # record the test rows' metrics too, for curves; no rule ever sees them


@dataclass(frozen=True)
class State:
    """All that a stage carries from epoch to epoch: training on from a saved state loses nothing.

    Random numbers are drawn by (seed, purpose, epoch), so there is no generator among it.
    """

    epoch: int
    step: int
    parameters: Float[Tensor, "run parameter"]
    moments: Moments
    memory: Memory
    failed: Int[Tensor, "run"]  # the step at which a run's loss or gradient was not finite; -1: never
    path: Path


def begin(method: Method, model: Model, table: Table, split: Split, schedule: Schedule, rule: Rule) -> State:
    """The state before the first step; the model as it comes is the first point of the path."""
    memory = method.prepare(model, table, split.train)
    start = point(0, model, table, split, schedule)
    moments = schedule.update.start(model.parameters)
    never = torch.full((len(model.parameters),), -1, device=model.parameters.device)
    path = Path.start(model.parameters, start, rule)
    return State(0, 0, model.parameters, moments, memory, never, path)


def train(
    method: Method,
    model: Model,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    schedule: Schedule = Schedule(),
    rule: Rule = LAST,
    *,
    resume: State | None = None,
    progress: Progress = lambda done, total: None,
) -> State:
    """The state after the scheduled epochs: each run's path, and the parameters that the rule chose on it.

    A run whose loss or gradient is not finite stands still from there on, and a warning names it; the others
    of its pack go on. With `resume`, training goes on from the end of that state's epoch.
    """
    state = resume or begin(method, model, table, split, schedule, rule)
    per_epoch = -(-split.train.shape[1] // schedule.batch_size)
    for epoch in range(state.epoch, schedule.epochs):
        drawn = batches(
            table,
            split.train,
            seeds,
            batch_size=schedule.batch_size,
            epoch=epoch,
            units=model.units,
            dropout=model.dropout,
            sampling=method.sampling,
        )
        # The loop owns its memory and writes into it; the state it came from stays as it was.
        state = replace(state, memory=Memory(*(part.clone() for part in state.memory)))
        for stretch in _stretches(drawn, per_epoch, schedule.points_per_epoch):
            state = _follow(state, method, model, stretch, schedule)
            here = point(state.step, model.at(state.parameters), table, split, schedule)
            state = replace(state, path=state.path.then(state.parameters, here, rule))
            progress(state.step, per_epoch * schedule.epochs)
        state = replace(state, epoch=epoch + 1)
    _warn_failed(state, seeds)
    return state


def point(step: int, model: Model, table: Table, split: Split, schedule: Schedule) -> Point:
    """What the model predicts where it stands, counted."""
    test = group_counts(model, table, split.test) if schedule.watch_test else None
    return Point(step, group_counts(model, table, split.validation), test)


def _stretches(drawn: Iterator[Batch], total: int, points: int) -> Iterator[Iterator[Batch]]:
    """An epoch's batches in as many nearly equal parts as it has points."""
    edges = [total * point // points for point in range(points + 1)]
    for first, last in pairwise(edges):
        if last > first:
            yield islice(drawn, last - first)


def _follow(state: State, method: Method, model: Model, stretch: Iterable[Batch], schedule: Schedule) -> State:
    """The state after the batches: the hot path, free of synchronisation."""
    step, parameters, moments, memory, failed = (
        state.step,
        state.parameters,
        state.moments,
        state.memory,
        state.failed,
    )
    rate, penalty = (
        torch.as_tensor(each, dtype=parameters.dtype).reshape(-1, 1)
        for each in (schedule.learning_rate, schedule.l2)
    )
    penalised = bool(penalty.any())
    for batch in stretch:
        step += 1
        leaf = parameters.detach().requires_grad_()
        loss, memory_after = method.loss(model.at(leaf), batch, _read(memory, batch))
        (gradient,) = torch.autograd.grad(loss.sum(), leaf)
        memory = _written(memory, batch, memory_after)
        if penalised:
            gradient = gradient + penalty * parameters
        moved, moments = schedule.update(parameters, gradient, moments, rate)
        broken = ~(loss.detach() + gradient.sum(-1)).isfinite()
        failed = torch.where(broken & (failed < 0), step, failed)
        parameters = torch.where((failed < 0).unsqueeze(-1), moved, parameters)
    return replace(state, step=step, parameters=parameters, moments=moments, memory=memory, failed=failed)


def _read(memory: Memory, batch: Batch) -> Memory:
    """The memory with the batch's rows only."""
    rows = memory.rows.shape[1]
    if not rows:
        return memory
    return memory._replace(rows=memory.rows.flatten(0, 1)[flat_index(batch.row, rows)])


def _written(memory: Memory, batch: Batch, after: Memory) -> Memory:
    """The memory with the batch's rows overwritten in place: O(batch), whatever the table's size."""
    rows = memory.rows.shape[1]
    if rows:
        where = flat_index(batch.row, rows).flatten()
        memory.rows.flatten(0, 1).index_copy_(0, where, after.rows.detach().flatten(0, 1))
    return Memory(memory.rows, after.whole.detach())


def _warn_failed(state: State, seeds: Sequence[int]) -> None:
    """One warning that names the runs that diverged."""
    failed = [
        f"run {run} (seed {seed}) at step {step}"
        for run, (seed, step) in enumerate(zip(seeds, state.failed.tolist(), strict=True))
        if step >= 0
    ]
    if failed:
        warnings.warn(
            f"the loss or its gradient was not finite in {', '.join(failed)}; there the parameters stand still "
            "since. A smaller learning rate helps most often.",
            stacklevel=3,
        )
