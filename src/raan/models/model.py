"""A model of many runs: an encoder, a head, and one row of parameters for each run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import gather
from raan.data.streams import stream
from raan.data.table import Table
from raan.models.modules import autocast


@runtime_checkable
class Encoder(Protocol):
    """From features to an embedding; its numbers are a row of parameters for each run, handed in at every call."""

    @property
    def sizes(self) -> list[int]:
        """How many numbers each of its parameters has, in the order in which they are kept."""
        ...

    @property
    def units(self) -> int:
        """How many units dropout may silence."""
        ...

    def draw(self, rng: np.random.Generator) -> Float[np.ndarray, "parameter"]:
        """Starting values for one run."""
        ...

    def __call__(
        self,
        parameters: Sequence[Tensor],
        inputs: Float[Tensor, "run batch input"],
        keep: Float[Tensor, "run batch unit"] | None = None,
    ) -> Float[Tensor, "run batch output"]:
        """Return the embedding, from the parameters ([run, size] each, as in `sizes`)."""
        ...


@dataclass(frozen=True)
class Stack:
    """Linear layers with ReLU and dropout between them, none after the last; one width is the identity.

    A stack is a shape: its numbers are a row of parameters for each run, handed in at every call.
    """

    widths: tuple[int, ...]

    @property
    def sizes(self) -> list[int]:
        """How many numbers each layer's weight and bias have, in the order in which they are kept."""
        return [size for inputs, outputs in pairwise(self.widths) for size in (inputs * outputs, outputs)]

    @property
    def units(self) -> int:
        """How many units dropout may silence."""
        return sum(self.widths[1:-1])

    def draw(self, rng: np.random.Generator) -> Float[np.ndarray, "parameter"]:
        """Starting values for one run: uniform within one over the root of the layer's inputs, as torch's."""
        layers = [
            rng.uniform(-(inputs**-0.5), inputs**-0.5, (inputs + 1) * outputs)
            for inputs, outputs in pairwise(self.widths)
        ]
        return np.concatenate([np.zeros(0), *layers])

    def __call__(
        self,
        parameters: Sequence[Tensor],
        inputs: Float[Tensor, "run batch input"],
        keep: Float[Tensor, "run batch unit"] | None = None,
    ) -> Float[Tensor, "run batch output"]:
        """Return the stack's output, from its layers' parameters ([run, size] each, as in `sizes`)."""
        signal = inputs
        masks = None if keep is None else torch.split(keep, list(self.widths[1:-1]), dim=-1)
        for layer, (width_in, width_out) in enumerate(pairwise(self.widths)):
            if layer:
                signal = signal.relu()
                signal = signal if masks is None else signal * masks[layer - 1]
            weight = parameters[2 * layer].view(-1, width_in, width_out)
            signal = torch.baddbmm(parameters[2 * layer + 1].unsqueeze(1), signal, weight)
        return signal


class Output(NamedTuple):
    """What a model says of a batch."""

    embedding: Float[Tensor, "run batch dim"]
    logit: Float[Tensor, "run batch label"]


class Scaling(NamedTuple):
    """Each run's centre and spread of the features, known from its training rows alone."""

    centre: Float[Tensor, "run 1 feature"]
    spread: Float[Tensor, "run 1 feature"]


@dataclass(frozen=True)
class Model:
    """logit = head(encoder(scaled features)), with a run axis first.

    All parameters of a run are one row of one tensor: a gradient, an update, a snapshot or a checkpoint of a
    hundred runs is a handful of operations.
    """

    encoder: Encoder
    head: Stack
    parameters: Float[Tensor, "run parameter"]
    scaling: Scaling | None = None
    dropout: float = 0.0
    precision: torch.dtype | None = None  # of products and convolutions, by autocast; None: the parameters' own

    @property
    def units(self) -> int:
        """How many units of encoder and head dropout may silence."""
        return self.encoder.units + self.head.units

    def __call__(
        self,
        features: Float[Tensor, "run batch feature"],
        keep: Float[Tensor, "run batch unit"] | None = None,
    ) -> Output:
        """Compute embedding and logits of a batch of each run.

        Args:
            features: The features of each run's rows.
            keep: Dropout masks; None for no dropout.
        """
        parts = torch.split(self.parameters, self.encoder.sizes + self.head.sizes, dim=1)
        first = len(self.encoder.sizes)
        if keep is None:
            encoder_keep, head_keep = None, None
        else:
            encoder_keep, head_keep = torch.split(keep, [self.encoder.units, self.head.units], dim=-1)
        if self.scaling is not None:
            features = (features - self.scaling.centre).div_(self.scaling.spread)
        with autocast(features.device, self.precision):
            embedding = self.encoder(parts[:first], features, encoder_keep)
            logit = self.head(parts[first:], embedding, head_keep)
        return Output(embedding.to(features.dtype), logit.to(features.dtype))  # what is made of them is in full

    def at(self, parameters: Float[Tensor, "run parameter"]) -> "Model":
        """Return the same model at other parameters."""
        return replace(self, parameters=parameters)

    def repeat(self, times: int) -> "Model":
        """Return all runs several times over, one copy of them after the other."""
        scaling = None if self.scaling is None else Scaling(*(part.repeat(times, 1, 1) for part in self.scaling))
        return replace(self, parameters=self.parameters.repeat(times, 1), scaling=scaling)

    def without_encoder(self) -> "Model":
        """Return the head alone, over embeddings: what is trained when the encoder stays as it is."""
        cut = sum(self.encoder.sizes)
        identity = Stack(self.head.widths[:1])
        return replace(self, encoder=identity, parameters=self.parameters[:, cut:], scaling=None)

    def with_head(self, head: Float[Tensor, "run head_parameter"]) -> "Model":
        """This model's encoder under another head."""
        cut = sum(self.encoder.sizes)
        return self.at(torch.cat([self.parameters[:, :cut], head], dim=1))


@dataclass(frozen=True)
class Architecture:
    """The shape of a model, before any numbers."""

    encoder: Encoder
    head: Stack
    dropout: float = 0.0

    def start(self, table: Table, train: Int[Tensor, "run row"], seeds: Sequence[int]) -> Model:
        """Return a model at each seed's own starting values.

        Args:
            table: The table.
            train: The training rows of each run, from which its scaling is computed.
            seeds: The seed of each run.
        """
        drawn = [
            np.concatenate([self.encoder.draw(rng), self.head.draw(rng)])
            for rng in (stream(seed, "start") for seed in seeds)
        ]
        parameters = torch.from_numpy(np.stack(drawn)).to(table.features)
        return Model(self.encoder, self.head, parameters, scaling(table, train), self.dropout)


def mlp(table: Table, width: int = 50, dropout: float = 0.2) -> Architecture:
    """Return the paper's network: an encoder of three layers and a head of two, with ReLU and dropout between.

    Args:
        table: The table, which determines the number of inputs and outputs.
        width: The width of the hidden layers.
        dropout: The probability that a hidden unit is left out.
    """
    encoder = Stack((table.features.shape[-1], width, width, width))
    return Architecture(encoder, Stack((width, width, table.classes)), dropout)


def linear(table: Table) -> Architecture:
    """Return logistic regression: the scaled features are the embedding, and the head is one layer."""
    features = table.features.shape[-1]
    return Architecture(Stack((features,)), Stack((features, table.classes)))


def scaling(table: Table, train: Int[Tensor, "run row"]) -> Scaling:
    """Mean and standard deviation of each feature over each run's training rows; columns of 0 and 1 stay."""
    each = [_scaling(gather(table.features, rows.unsqueeze(0))[0]) for rows in train]
    centre, spread = (torch.stack(part).unsqueeze(1) for part in zip(*each, strict=True))
    return Scaling(centre, spread)


def _scaling(features: Float[Tensor, "row feature"]) -> tuple[Tensor, Tensor]:
    """Centre and spread of one run's training features; constant columns stay too."""
    numbers = features.double()
    stays = ((numbers == 0) | (numbers == 1)).all(0) | (numbers.std(0) == 0)
    centre = numbers.mean(0).masked_fill(stays, 0)
    return centre.to(features), numbers.std(0).masked_fill(stays, 1).to(features)


CHUNK = 1 << 20
"""Numbers at a time: enough for a full-rate matrix product, few enough to stay near the processor."""


@torch.no_grad()
def outputs(model: Model, table: Table, rows: Int[Tensor, "run row"]) -> Output:
    """Embedding and logits of each run's rows, without dropout."""
    parts = [model(gather(table.features, chunk)) for chunk in _chunks(table, rows)]
    return Output(*(torch.cat(part, dim=1) for part in zip(*parts, strict=True)))


@torch.no_grad()
def predictions(model: Model, table: Table, rows: Int[Tensor, "run row"]) -> Int[Tensor, "run row"]:
    """Return the likeliest class of each run's rows, without dropout; no embedding is kept."""
    parts = [model(gather(table.features, chunk)).logit.argmax(-1) for chunk in _chunks(table, rows)]
    return torch.cat(parts, dim=1)


@torch.no_grad()
def logits(model: Model, table: Table, rows: Int[Tensor, "run row"]) -> Float[Tensor, "run row label"]:
    """Return the logits of each run's rows, without dropout; no embedding is kept."""
    parts = [model(gather(table.features, chunk)).logit for chunk in _chunks(table, rows)]
    return torch.cat(parts, dim=1)


def _chunks(table: Table, rows: Int[Tensor, "run row"]) -> tuple[Int[Tensor, "run chunk"], ...]:
    """Return the rows in parts; few rows at a time where there are many runs or wide features."""
    return torch.split(rows, max(256, CHUNK // (len(rows) * table.features.shape[-1])), dim=1)
