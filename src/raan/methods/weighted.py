"""Training on weighted rows: what reweighing, group weights and exact RAAN have in common."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.table import Table
from raan.methods.method import Memory, Method, cross_entropy, no_memory
from raan.models.model import Model


@dataclass(frozen=True)
class Weighted(Method):
    """The mean of weight times cross-entropy; each training row's weight is known before the first step."""

    @abstractmethod
    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """The weights of each run's training rows."""
        ...

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """A row: its weight."""
        weight = self.weights(model, table, train).to(model.parameters)
        rows = weight.new_zeros(len(train), table.rows).scatter(1, train, weight)
        return no_memory(model)._replace(rows=rows.unsqueeze(-1))

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean weighted cross-entropy of each run's batch."""
        sample_loss = cross_entropy(model(batch.features, batch.keep).logit, batch.label)
        return (memory.rows.squeeze(-1) * sample_loss).mean(-1), memory


def cell_weights(
    label: Int[Tensor, "row"], attribute: Int[Tensor, "row"], weight: Float[Tensor, "label attribute"]
) -> Float[Tensor, "row"]:
    """Each row's weight by its (class, attribute) cell; 1 where the attribute is unknown."""
    return torch.where(attribute < 0, 1, weight[label, attribute])
