"""What a method is: a frozen dataclass of hyperparameters, and a pure loss."""

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch, Sampling
from raan.data.split import Split
from raan.data.table import Table
from raan.models.model import Model
from raan.neighbourhood.estimator import Setting


class Scope(Enum):
    """Which parameters a method trains in the second stage."""

    HEAD = "head"
    MODEL = "model"  # "RL-" in the paper


Part = Literal["encoder", "head"]
Knowledge = Literal["", "attribute", "environment"]


@dataclass(frozen=True)
class GroupUse:
    """Which knowledge of groups is used, and where; "" is none.

    Of the method alone: a rule that selects by fairness uses the validation rows' attribute whatever the method.
    """

    training: Knowledge = ""
    validation: Knowledge = ""
    prediction: Knowledge = ""


class Memory(NamedTuple):
    """What a method carries from batch to batch. The training loop owns it; a loss only reads and returns."""

    rows: Float[Tensor, "run row slot"]  # a few numbers for each row of the table
    whole: Float[Tensor, "run slot"]  # a few numbers for each run


def no_memory(model: Model) -> Memory:
    """The memory of a method that needs none."""
    runs = len(model.parameters)
    return Memory(model.parameters.new_zeros(runs, 0, 0), model.parameters.new_zeros(runs, 0))


class Debiasing(Protocol):
    """What every method states of itself."""

    def __post_init__(self) -> None:
        """Hyperparameters out of range are errors here, not odd numbers later."""
        for field in dataclasses.fields(cast(Any, self)):
            if "range" in field.metadata:
                _check_range(field.name, getattr(self, field.name), *field.metadata["range"])

    @property
    @abstractmethod
    def scope(self) -> Scope:
        """What is trained in the second stage."""
        ...

    @property
    def debiases(self) -> tuple[Part, ...]:
        """What the method makes fair: the paper's Table 1."""
        return ("head",) if self.scope is Scope.HEAD else ("encoder", "head")

    @property
    def group_use(self) -> GroupUse:
        """Which knowledge of groups the method uses."""
        return GroupUse(training="attribute")

    def first_split(self, split: Split) -> Split:
        """The split for the first stage: training rows that the method keeps for itself are not in it."""
        return split


@runtime_checkable
class Method(Debiasing, Protocol):
    """A way to train: its fields are hyperparameters, each one number or one for each run.

    `loss` is pure: it reads its arguments and returns new values, draws no random numbers, calls no `.item()`,
    and selects by weights, never by boolean masks. Runs share nothing, so the gradient of `loss.sum()` with
    respect to the parameters is each run's own. Derive from this class for what most methods have in common.
    """

    @property
    def sampling(self) -> Sampling:
        """How its batches are drawn."""
        return Sampling.SHUFFLED

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """The memory at the start, from the training rows of each run."""
        return no_memory(model)

    @abstractmethod
    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Each run's loss on its batch, and the memory after it; `memory.rows` holds the batch's rows only."""
        ...


class Decisions(NamedTuple):
    """The classes given to each run's validation and test rows by several rules."""

    validation: Int[np.ndarray, "run rule row"]
    test: Int[np.ndarray, "run rule row"]


@runtime_checkable
class Refit(Debiasing, Protocol):
    """A second stage that is no gradient loop: from the first stage's model straight to another."""

    @abstractmethod
    def refit(self, model: Model, table: Table, split: Split, seeds: Sequence[int]) -> Model:
        """The model of each run, fitted anew."""
        ...

    @property
    def thresholds(self) -> int:
        """Common thresholds at which its decisions are counted even in a study where they are no setting."""
        return 0

    def decide(self, model: Model, table: Table, split: Split) -> Decisions | None:
        """Decisions that are not the model's own, several for each run; None where the model decides."""
        return None


def _check_range(name: str, setting: Setting, least: float, most: float) -> None:
    """An error for a setting, or any run's value of it, outside its range."""
    values = torch.as_tensor(setting, dtype=torch.float64)
    if not bool(((values >= least) & (values <= most)).all()):
        raise ValueError(f"{name} is {values.tolist()}; expected {least} to {most}")


def check_choice(name: str, choice: str, choices: Mapping[str, str]) -> None:
    """An error for a choice that is none; the choices come with what they mean."""
    if choice not in choices:
        named = ", or ".join(f'"{known}", {meaning}' for known, meaning in choices.items())
        raise ValueError(f"{name} is {choice!r}; expected {named}")


def check_attribute(method: object, table: Table) -> None:
    """An error for a method that cannot do without the attribute, and a table that has none."""
    if not bool((table.attribute >= 0).any()):
        name = type(method).__name__
        raise ValueError(f"{name} needs the attribute, and it is unknown in every row of {table.name!r}")


def hyperparameter(default: float, grid: Sequence[float] = (), least: float = 0, most: float = math.inf) -> Any:
    """A hyperparameter's default, the grid that it is tuned over, and its range."""
    return dataclasses.field(default=default, metadata={"grid": tuple(grid), "range": (least, most)})


def grid(method: Any) -> dict[str, tuple[float, ...]]:
    """The grid of each hyperparameter that has one, and is not what the method is about.

    BSGD is an averaging rate of 1: a value that is neither the default nor on the grid is there to stay.
    """
    grids = {field.name: (field.default, *field.metadata.get("grid", ())) for field in dataclasses.fields(method)}
    return {name: values[1:] for name, values in grids.items() if values[1:] and getattr(method, name) in values}


M = TypeVar("M", bound=Any)


def kind(method: Any) -> tuple[object, ...]:
    """What methods must have in common to share a pack: their class, and all fields that are not numbers."""
    values = (getattr(method, field.name) for field in dataclasses.fields(method))
    return type(method), *(None if _is_number(value) else value for value in values)


def alike(several: Sequence[M]) -> list[list[M]]:
    """What has a method, in packs that can share the run axis: those whose methods differ in numbers only."""
    packs: dict[tuple[object, ...], list[M]] = {}
    for each in several:
        packs.setdefault(kind(each.method), []).append(each)
    return list(packs.values())


def stack(methods: Sequence[M]) -> M:
    """One method for a pack of runs: each numeric field becomes a tensor with one value for each run."""
    first = methods[0]
    values = {
        field.name: [getattr(method, field.name) for method in methods] for field in dataclasses.fields(first)
    }
    return dataclasses.replace(first, **{name: _stack_field(name, column) for name, column in values.items()})


def _stack_field(name: str, column: list[Any]) -> Any:
    """Numbers as a tensor; what is not a number must be the same in all runs of a pack."""
    if all(map(_is_number, column)):
        return torch.tensor([float(value) for value in column], dtype=torch.float64)
    if any(value != column[0] for value in column):
        raise ValueError(f"runs of one pack differ in {name}: {column}; put them into packs of their own")
    return column[0]


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def cross_entropy(logit: Float[Tensor, "*lead label"], label: Int[Tensor, "*lead"]) -> Float[Tensor, "*lead"]:
    """Minus the log probability of each sample's label."""
    return logit.logsumexp(-1) - logit.gather(-1, label.unsqueeze(-1)).squeeze(-1)
