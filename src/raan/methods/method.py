"""What a method is: a frozen dataclass of hyperparameters, and a pure loss."""

import dataclasses
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.table import Table
from raan.models.model import Model


class Scope(Enum):
    """Which parameters a method trains in the second stage."""

    HEAD = "head"
    MODEL = "model"  # "RL-" in the paper


class Memory(NamedTuple):
    """What a method carries from batch to batch. The training loop owns it; a loss only reads and returns."""

    rows: Float[Tensor, "run row slot"]  # a few numbers for each row of the table
    whole: Float[Tensor, "run slot"]  # a few numbers for each run


def no_memory(model: Model) -> Memory:
    """The memory of a method that needs none."""
    runs = len(model.parameters)
    return Memory(model.parameters.new_zeros(runs, 0, 0), model.parameters.new_zeros(runs, 0))


@runtime_checkable
class Method(Protocol):
    """A way to train: its fields are hyperparameters, each one number or one for each run.

    `loss` is pure: it reads its arguments and returns new values, draws no random numbers, calls no `.item()`,
    and selects by weights, never by boolean masks. Runs share nothing, so the gradient of `loss.sum()` with
    respect to the parameters is each run's own.
    """

    @property
    def scope(self) -> Scope:
        """What is trained in the second stage."""
        ...

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """The memory at the start, from the training rows of each run."""
        ...

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Each run's loss on its batch, and the memory after it; `memory.rows` holds the batch's rows only."""
        ...


M = TypeVar("M", bound=Any)


def stack(methods: Sequence[M]) -> M:
    """One method for a pack of runs: each numeric field becomes a tensor with one value for each run."""
    first = methods[0]
    values = {
        field.name: [getattr(method, field.name) for method in methods] for field in dataclasses.fields(first)
    }
    return dataclasses.replace(first, **{name: _stacked(name, column) for name, column in values.items()})


def _stacked(name: str, column: list[Any]) -> Any:
    """Numbers as a tensor; what is not a number must be the same in all runs of a pack."""
    if all(isinstance(value, float | int) and not isinstance(value, bool) for value in column):
        return torch.tensor([float(value) for value in column], dtype=torch.float64)
    if any(value != column[0] for value in column):
        raise ValueError(f"runs of one pack differ in {name}: {column}; put them into packs of their own")
    return column[0]


def cross_entropy(logit: Float[Tensor, "*lead label"], label: Int[Tensor, "*lead"]) -> Float[Tensor, "*lead"]:
    """Minus the log probability of each sample's label."""
    return logit.logsumexp(-1) - logit.gather(-1, label.unsqueeze(-1)).squeeze(-1)
