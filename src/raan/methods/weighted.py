"""Training on weighted rows; group weights and reweighing, whose weights depend on a row's cell alone."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.table import Table
from raan.methods.method import Memory, Method, Scope, cross_entropy, no_memory
from raan.models.model import Model
from raan.neighbourhood.balance import cell_counts, independent_totals


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


@dataclass(frozen=True)
class GroupWeights(Weighted):
    """Cross-entropy with weight samples / cells / size of the sample's cell: every cell counts the same."""

    scope: Scope = Scope.MODEL

    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """The weights that give each cell of a run's training rows the same total."""
        return torch.stack([group_weights(table.label[rows], table.attribute[rows]) for rows in train])


@dataclass(frozen=True)
class Reweighing(Weighted):
    """Kamiran and Calders (2012): weight P(y) P(a) / P(y, a), under which class and attribute are independent."""

    scope: Scope = Scope.MODEL

    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """The weights of each run's training rows."""
        return torch.stack([independence_weights(table.label[rows], table.attribute[rows]) for rows in train])


def group_weights(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Float[Tensor, "row"]:
    """The number of samples over that of cells over the size of the sample's cell; empty cells do not count."""
    counts = cell_counts(label, attribute).double()
    return _by_cell(label, attribute, counts.sum() / (counts > 0).sum() / counts.clamp(min=1))


def independence_weights(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Float[Tensor, "row"]:
    """P(y) P(a) / P(y, a), the probabilities counted among the samples of known attribute."""
    counts = cell_counts(label, attribute)
    return _by_cell(label, attribute, independent_totals(counts) / counts.clamp(min=1))


def _by_cell(
    label: Int[Tensor, "row"], attribute: Int[Tensor, "row"], weight: Float[Tensor, "label attribute"]
) -> Float[Tensor, "row"]:
    """Each row's weight by its (class, attribute) cell; 1 where the attribute is unknown."""
    return torch.where(attribute < 0, 1, weight[label, attribute])
