"""What a method is: a frozen dataclass of hyperparameters, and a pure loss; the terms that losses share."""

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from raan.data.batches import Batch, Sampling
from raan.data.split import Split
from raan.data.table import Table
from raan.models.model import Model
from raan.neighbourhood.pairs import as_setting


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
    """Return the memory of a method that needs none."""
    runs = len(model.parameters)
    return Memory(model.parameters.new_zeros(runs, 0, 0), model.parameters.new_zeros(runs, 0))


class Debiasing(Protocol):
    """What every method states of itself."""

    def __post_init__(self) -> None:
        """Hyperparameters out of range are errors here, not odd numbers later."""
        for field in dataclasses.fields(cast(Any, self)):
            if "range" in field.metadata:
                least, most = field.metadata["range"]
                values = torch.as_tensor(getattr(self, field.name), dtype=torch.float64)
                if not bool(((values >= least) & (values <= most)).all()):
                    raise ValueError(f"{field.name} is {values.tolist()}; expected {least} to {most}")

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
        """Return the split for the first stage: training rows that the method keeps for itself are not in it."""
        return split


@runtime_checkable
class Method(Debiasing, Protocol):
    """Base class of methods: the fields are hyperparameters, each one number or one for each run.

    `loss` is pure: it reads its arguments and returns new values, draws no random numbers, calls no `.item()`,
    and selects by weights, never by boolean masks. Runs share nothing, so the gradient of `loss.sum()` with
    respect to the parameters is each run's own. Derive from this class for what most methods have in common.
    """

    @property
    def sampling(self) -> Sampling:
        """How its batches are drawn."""
        return Sampling.SHUFFLED

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """Return the memory before the first step.

        Args:
            model: The model that training starts from.
            table: The table.
            train: The training rows of each run.
        """
        return no_memory(model)

    @abstractmethod
    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Compute each run's loss on its batch.

        Args:
            model: The model at its current parameters.
            batch: The rows of each run.
            memory: The memory before the batch; `memory.rows` contains the batch's rows only.

        Returns:
            The loss of each run, and the memory after the batch.
        """
        ...


class Decisions(NamedTuple):
    """The classes given to each run's validation and test rows by several rules."""

    validation: Int[np.ndarray, "run rule row"]
    test: Int[np.ndarray, "run rule row"]


@runtime_checkable
class Refit(Debiasing, Protocol):
    """Base class of methods whose second stage is not a gradient loop but a refit of the first stage's model."""

    @abstractmethod
    def refit(self, model: Model, table: Table, split: Split, seeds: Sequence[int]) -> Model:
        """Fit the model of each run anew.

        Args:
            model: The model at the end of the first stage.
            table: The table.
            split: The rows of each run.
            seeds: The seed of each run.
        """
        ...

    @property
    def thresholds(self) -> int:
        """Common thresholds at which its decisions are counted even in a study where they are no setting."""
        return 0

    def decide(self, model: Model, table: Table, split: Split) -> Decisions | None:
        """Decisions that are not the model's own, several for each run; None where the model decides."""
        return None


def check_choice(name: str, choice: str, choices: Mapping[str, str]) -> None:
    """Raise an error for a choice that is none; the choices come with what they mean."""
    if choice not in choices:
        named = ", or ".join(f'"{known}", {meaning}' for known, meaning in choices.items())
        raise ValueError(f"{name} is {choice!r}; expected {named}")


def check_attribute(method: object, table: Table) -> None:
    """Raise an error for a method that cannot do without the attribute, and a table that has none."""
    if not bool((table.attribute >= 0).any()):
        name = type(method).__name__
        raise ValueError(f"{name} needs the attribute, and it is unknown in every row of {table.name!r}")


def hyperparameter(default: float, grid: Sequence[float] = (), least: float = 0, most: float = math.inf) -> Any:
    """Declare a hyperparameter of a method.

    Args:
        default: The default value.
        grid: The values that studies tune it over.
        least: The smallest value allowed.
        most: The largest value allowed.
    """
    return dataclasses.field(default=default, metadata={"grid": tuple(grid), "range": (least, most)})


def grid(method: Any) -> dict[str, tuple[float, ...]]:
    """Return the grid of each hyperparameter that is tuned.

    A hyperparameter with a value that is neither the default nor on its grid is not tuned, such as an averaging
    rate of 1, which is BSGD.
    """
    grids = {field.name: (field.default, *field.metadata.get("grid", ())) for field in dataclasses.fields(method)}
    return {name: values[1:] for name, values in grids.items() if values[1:] and getattr(method, name) in values}


M = TypeVar("M", bound=Any)


def kind(method: Any) -> tuple[object, ...]:
    """Return what methods must have in common to share a pack: their class and all fields that are not numbers."""
    values = (getattr(method, field.name) for field in dataclasses.fields(method))
    return type(method), *(None if _is_number(value) else value for value in values)


def alike(several: Sequence[M]) -> list[list[M]]:
    """Group candidates into packs that can share the run axis: those whose methods differ in numbers only."""
    packs: dict[tuple[object, ...], list[M]] = {}
    for each in several:
        packs.setdefault(kind(each.method), []).append(each)
    return list(packs.values())


def stack(methods: Sequence[M]) -> M:
    """Combine methods into one for a pack of runs: numeric fields become tensors with one value for each run."""
    stacked: dict[str, Any] = {}
    for name in (field.name for field in dataclasses.fields(methods[0])):
        column = [getattr(method, name) for method in methods]
        if all(map(_is_number, column)):
            stacked[name] = torch.tensor([float(value) for value in column], dtype=torch.float64)
        elif any(value != column[0] for value in column):
            raise ValueError(f"runs of one pack differ in {name}: {column}; put them into packs of their own")
    return dataclasses.replace(methods[0], **stacked)


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def cross_entropy(logit: Float[Tensor, "*lead label"], label: Int[Tensor, "*lead"]) -> Float[Tensor, "*lead"]:
    """Return minus the log probability of each sample's label."""
    return logit.logsumexp(-1) - logit.gather(-1, label.unsqueeze(-1)).squeeze(-1)


__all__ = ["as_setting", "membership", "same", "weighted_mean", "with_gradient"]


def membership(code: Int[Tensor, "*lead"], count: int, like: Tensor) -> Float[Tensor, "*lead {count}"]:
    """Return a one where the code is 0, 1, ... and zeros elsewhere; -1 (unknown) is zeros alone."""
    return (code.unsqueeze(-1) == torch.arange(count, device=code.device)).to(like.dtype)


def same(code: Int[Tensor, "*lead row"]) -> Bool[Tensor, "*lead row row"]:
    """Return which pairs of samples have the same code; -1 (unknown) is the same as nothing."""
    return (code.unsqueeze(-1) == code.unsqueeze(-2)) & (code >= 0).unsqueeze(-1)


def weighted_mean(value: Float[Tensor, "*lead row"], weight: Float[Tensor, "*lead row"]) -> Float[Tensor, "*lead"]:
    """Return the mean over the last axis; 0, with a gradient of 0, where all weights are."""
    return (value * weight).sum(-1) / weight.sum(-1).clamp(min=torch.finfo(weight.dtype).tiny)


def with_gradient(
    value: Float[Tensor, "run"],
    parameters: Float[Tensor, "run parameter"],
    gradient: Float[Tensor, "run parameter"],
) -> Float[Tensor, "run"]:
    """Return a loss of this value whose gradient with respect to the parameters is the one given."""
    slope = (parameters * gradient.detach()).sum(-1)
    return value.detach() + (slope - slope.detach())
