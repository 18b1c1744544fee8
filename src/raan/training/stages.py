"""Alg. 1: two stages, plain training of the whole model first, then a method on its scope."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from raan.data.split import Split
from raan.data.table import Table
from raan.fairness.rule import LAST, Rule
from raan.methods.erm import ERM
from raan.methods.method import Method, Refit, Scope, no_memory
from raan.models.model import Architecture, Model
from raan.training.evaluate import embedded
from raan.training.path import Path
from raan.training.train import Progress, Schedule, State, point, train


@dataclass(frozen=True)
class Trained:
    """The end of a stage: the model that the rule chose, the one at the end, and how it came to be."""

    model: Model
    last: Model
    state: State


def first_stage(
    architecture: Architecture,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    schedule: Schedule = Schedule(),
    *,
    progress: Progress = lambda done, total: None,
) -> Trained:
    """The whole model trained by cross-entropy, from each seed's own start."""
    model = architecture.start(table, split.train, seeds)
    state = train(ERM(), model, table, split, seeds, schedule, progress=progress)
    return Trained(model.at(state.path.chosen), model.at(state.parameters), state)


def second_stage(
    method: Method | Refit,
    model: Model,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    schedule: Schedule = Schedule(),
    rule: Rule = LAST,
    *,
    progress: Progress = lambda done, total: None,
) -> Trained:
    """SCRAAN, Alg. 1, from the end of its first stage: the method trains what its scope says.

    A fixed encoder is a table embedded once, without dropout: what is left to train is an ordinary model.
    A method that refits takes one step, and its path has two points.
    """
    if isinstance(method, Refit):
        refitted = _refitted(method, model, table, split, seeds, schedule, rule)
        progress(1, 1)
        return refitted
    if method.scope is Scope.MODEL:
        state = train(method, model, table, split, seeds, schedule, rule, progress=progress)
        return Trained(model.at(state.path.chosen), model.at(state.parameters), state)
    head, points = model.without_encoder(), embedded(model, table)
    state = train(method, head, points, split, seeds, schedule, rule, progress=progress)
    return Trained(model.with_head(state.path.chosen), model.with_head(state.parameters), state)


def _refitted(
    method: Refit,
    model: Model,
    table: Table,
    split: Split,
    seeds: Sequence[int],
    schedule: Schedule,
    rule: Rule,
) -> Trained:
    """The model fitted anew, and the path from the one to the other."""
    after = method.refit(model, table, split, seeds)
    path = Path.start(model.parameters, point(0, model, table, split, schedule), rule)
    path = path.then(after.parameters, point(1, after, table, split, schedule), rule)
    never = torch.full((len(seeds),), -1, device=model.parameters.device)
    moments = schedule.update.start(after.parameters)
    state = State(0, 1, after.parameters, moments, no_memory(after), never, path)
    return Trained(model.at(path.chosen), after, state)
