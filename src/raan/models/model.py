"""A model of many runs: an encoder, a head, and one row of parameters for each run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import gather
from raan.data.streams import stream
from raan.data.table import Table
from raan.models.encoder import Encoder
from raan.models.modules import computing
from raan.models.stack import Stack


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
        """Embedding and logits of a batch of each run; with `keep`, under dropout."""
        parts = torch.split(self.parameters, self.encoder.sizes + self.head.sizes, dim=1)
        first = len(self.encoder.sizes)
        if keep is None:
            encoder_keep, head_keep = None, None
        else:
            encoder_keep, head_keep = torch.split(keep, [self.encoder.units, self.head.units], dim=-1)
        if self.scaling is not None:
            features = (features - self.scaling.centre).div_(self.scaling.spread)
        with computing(features.device, self.precision):
            embedding = self.encoder(parts[:first], features, encoder_keep)
            logit = self.head(parts[first:], embedding, head_keep)
        return Output(embedding.to(features.dtype), logit.to(features.dtype))  # what is made of them is in full

    def at(self, parameters: Float[Tensor, "run parameter"]) -> "Model":
        """The same model at other parameters."""
        return replace(self, parameters=parameters)

    def repeat(self, times: int) -> "Model":
        """All runs several times over, one copy of them after the other."""
        scaling = None if self.scaling is None else Scaling(*(part.repeat(times, 1, 1) for part in self.scaling))
        return replace(self, parameters=self.parameters.repeat(times, 1), scaling=scaling)

    def without_encoder(self) -> "Model":
        """The head alone, over embeddings: what is trained when the encoder stays as it is."""
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
        """A model at each seed's own starting values, its scaling known from each run's training rows."""
        drawn = [
            np.concatenate([self.encoder.draw(rng), self.head.draw(rng)])
            for rng in (stream(seed, "start") for seed in seeds)
        ]
        parameters = torch.from_numpy(np.stack(drawn)).to(table.features)
        return Model(self.encoder, self.head, parameters, scaling(table, train), self.dropout)


def mlp(table: Table, width: int = 50, dropout: float = 0.2) -> Architecture:
    """The paper's network: three layers of 50 that encode, a head of two, ReLU and dropout 0.2 between."""
    encoder = Stack((table.features.shape[-1], width, width, width))
    return Architecture(encoder, Stack((width, width, table.classes)), dropout)


def linear(table: Table) -> Architecture:
    """Logistic regression: the scaled features are the embedding, the head is one layer."""
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
