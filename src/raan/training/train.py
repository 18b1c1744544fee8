"""The training loop: one model or a hundred, one method, one stage."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch, batches, flat_index, gather
from raan.data.split import Split
from raan.data.table import Table
from raan.fairness.rule import LAST, Rule
from raan.methods.method import Memory, Method
from raan.models.model import Model
from raan.neighbourhood.pairs import as_setting
from raan.training.evaluate import Path, Point, Watch, extend
from raan.training.update import Moments, Update

Progress = Callable[[int, int], None]
"""Called with the number of steps done and of all whenever a point of the path is recorded."""


@dataclass(frozen=True)
class Schedule:
    """How a stage trains, and how often the validation rows are evaluated.

    Args:
        epochs: The number of epochs.
        batch_size: The number of rows in a batch, for each run.
        learning_rate: The learning rate: one number, or one for each run.
        update: The optimiser.
        points_per_epoch: How often the validation rows are evaluated in an epoch.
        first_epoch_points: The same for the first epoch; 0 if it does not differ.
        l2: Half of it times the squared norm of the parameters joins the loss: one number, or one for each run.
        watch_test: Whether test rows are evaluated too, for curves; no rule uses them.
        thresholds: The number of common thresholds at which decisions are counted too.
    """

    epochs: int = 10
    batch_size: int = 64
    learning_rate: float | Float[Tensor, "run"] = 1e-3
    update: Update = field(default_factory=Update)
    points_per_epoch: int = 4
    first_epoch_points: int = 0
    l2: float | Float[Tensor, "run"] = 0.0
    watch_test: bool = False
    thresholds: int = 0

    def points_in(self, epoch: int) -> int:
        """Return how often the validation rows are evaluated in an epoch."""
        return self.first_epoch_points if epoch == 0 and self.first_epoch_points else self.points_per_epoch

    def watch(self, model: Model, table: Table, split: Split) -> Watch:
        """Return what looks at the rows, the model given being the reference."""
        return Watch(model, table, split, self.watch_test, self.thresholds)


@dataclass(frozen=True)
class State:
    """All that a stage carries from epoch to epoch, and what the models predict where they stand.

    Random numbers are drawn by (seed, purpose, epoch), so there is no generator among it: training on from the
    state at the end of an epoch loses nothing.
    """

    epoch: int  # whole ones that are behind it
    step: int
    parameters: Float[Tensor, "run parameter"]
    moments: Moments
    memory: Memory
    failed: Int[Tensor, "run"]  # the step at which a run's loss or gradient was not finite; -1: never
    point: Point


class Finish(NamedTuple):
    """The last state of a stage, or the last so far, and the path to it."""

    state: State
    path: Path


def walk(
    method: Method,
    model: Model,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    schedule: Schedule = Schedule(),
    resume: State | None = None,
) -> Iterator[State]:
    """Train, and yield the state before the first step and after every part of an epoch that has a point.

    A run whose loss or gradient is not finite does not change from there on; the other runs continue. Training
    ends when no more states are taken. The memory of a state within an epoch is overwritten by later steps.

    Args:
        method: The method, whose hyperparameters are numbers or tensors with one value for each run.
        model: The model that training starts from.
        table: The table.
        split: The rows of each run.
        seeds: The seed of each run.
        schedule: How long and how fast to train.
        resume: The state at the end of an epoch, from which training continues; states after it are yielded.
    """
    watch = schedule.watch(model, table, split)
    state = resume or begin(method, model, table, split, schedule)
    if resume is None:
        yield state
    per_epoch = count_steps(split, replace(schedule, epochs=1))
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
        for first, last in _edges(per_epoch, schedule.points_in(epoch)):
            state = _follow(state, method, model, islice(drawn, last - first), schedule)
            here = watch(state.step, model.at(state.parameters))
            state = replace(state, epoch=epoch + (last == per_epoch), point=here)
            yield state


def begin(method: Method, model: Model, table: Table, split: Split, schedule: Schedule) -> State:
    """Return the state before the first step."""
    memory = method.prepare(model, table, split.train)
    start = schedule.watch(model, table, split)(0, model)
    return State(0, 0, model.parameters, schedule.update.start(model.parameters), memory, never(model), start)


def never(model: Model) -> Int[Tensor, "run"]:
    """Return the step at which each run failed, where none has."""
    return torch.full((len(model.parameters),), -1, device=model.parameters.device)


def train(
    method: Method,
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
) -> Finish:
    """Train for the scheduled epochs. A warning names the runs that diverged.

    Args:
        method: The method.
        model: The model that training starts from.
        table: The table.
        split: The rows of each run.
        seeds: The seed of each run.
        schedule: How long and how fast to train.
        rule: The rule that chooses the parameters of each run on its path.
        resume: The finish of an interrupted training, from which it continues.
        progress: Called with the number of steps done, and of all steps.
        keep: Called with the finish so far at the end of every epoch.

    Returns:
        The last state, each run's path, and the parameters that the rule chose on it.
    """
    states = walk(method, model, table, split, seeds, schedule, resume and resume.state)
    finish = fold(states, rule, count_steps(split, schedule), resume=resume, progress=progress, keep=keep)
    warn_failed(finish.state, seeds)
    return finish


def fold(
    states: Iterable[State],
    rule: Rule = LAST,
    steps: int = 1,
    *,
    resume: Finish | None = None,
    progress: Progress = lambda done, total: None,
    keep: Callable[[Finish], None] = lambda finish: None,
) -> Finish:
    """Return the last of the states, the path through all of them, and the best parameters under the rule."""
    finish = resume
    for state in states:
        before = finish.state.epoch if finish else 0
        finish = Finish(state, extend(finish and finish.path, state.parameters, state.point, rule))
        if state.step:
            progress(state.step, steps)
        if state.epoch > before:
            keep(finish)
    assert finish is not None  # there is a state before the first step
    return finish


def count_steps(split: Split, schedule: Schedule) -> int:
    """Return the number of steps of all epochs."""
    return schedule.epochs * -(-split.train.shape[1] // schedule.batch_size)


def _edges(steps: int, points: int) -> list[tuple[int, int]]:
    """Return where the parts of an epoch begin and end: as many nearly equal ones as it has points."""
    edges = [steps * point // points for point in range(points + 1)]
    return [(first, last) for first, last in pairwise(edges) if last > first]


def _follow(state: State, method: Method, model: Model, stretch: Iterable[Batch], schedule: Schedule) -> State:
    """Return the state after the batches: the hot path, free of synchronisation."""
    step, memory, failed = state.step, state.memory, state.failed
    # The loop writes into parameters and moments of its own; the state it came from stays as it was.
    parameters, moments = state.parameters.clone(), state.moments.clone()
    buffer = torch.empty_like(parameters)
    rate, penalty = (as_setting(each, parameters).reshape(-1, 1) for each in (schedule.learning_rate, schedule.l2))
    penalised = bool(penalty.any())
    for batch in stretch:
        step += 1
        leaf = parameters.detach().requires_grad_()
        loss, memory_after = method.loss(model.at(leaf), batch, read_rows(memory, batch))
        (gradient,) = torch.autograd.grad(loss.sum(), leaf)
        memory = write_rows(memory, batch, memory_after)
        if penalised:
            gradient = gradient + penalty * parameters
        broken = ~(loss.detach() + gradient.sum(-1)).isfinite()
        failed = torch.where(broken & (failed < 0), step, failed)
        schedule.update.move(parameters, gradient, moments, rate, buffer, (failed >= 0).unsqueeze(-1))
    return replace(state, step=step, parameters=parameters, moments=moments, memory=memory, failed=failed)


def read_rows(memory: Memory, batch: Batch) -> Memory:
    """Return the memory with the batch's rows only."""
    rows = memory.rows.shape[1]
    if not rows:
        return memory
    return memory._replace(rows=gather(memory.rows, batch.row))


def write_rows(memory: Memory, batch: Batch, after: Memory) -> Memory:
    """Return the memory with the batch's rows overwritten in place: O(batch), whatever the table's size."""
    rows = memory.rows.shape[1]
    if rows:
        where = flat_index(batch.row, rows).flatten()
        memory.rows.flatten(0, 1).index_copy_(0, where, after.rows.detach().flatten(0, 1))
    return Memory(memory.rows, after.whole.detach())


def warn_failed(state: State, seeds: Sequence[int]) -> None:
    """Warn once, with a message that names the runs that diverged."""
    failed = [
        f"run {run} (seed {seed}) at step {step}"
        for run, (seed, step) in enumerate(zip(seeds, state.failed.tolist(), strict=True))
        if step >= 0
    ]
    if failed:
        warnings.warn(
            f"the loss or its gradient was not finite in {', '.join(failed)}; there the parameters have not "
            "changed since. A smaller learning rate usually helps.",
            stacklevel=3,
        )
