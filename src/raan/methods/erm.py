"""Plain training by cross-entropy (ERM), and training on weighted rows."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch, Sampling
from raan.data.table import Table
from raan.methods.method import GroupUse, Memory, Method, Part, Scope, cross_entropy, no_memory
from raan.models.model import Model
from raan.neighbourhood.balance import cell_counts, independent_totals


@dataclass(frozen=True)
class ERM(Method):
    """Empirical risk minimisation: the mean cross-entropy. It is the paper's Vanilla and everyone's first stage.

    Args:
        scope: The parameters that are trained.
        sampling: How batches are drawn; balanced batches show how much of a gain is due to sampling.
    """

    scope: Scope = Scope.MODEL
    sampling: Sampling = Sampling.SHUFFLED

    @property
    def debiases(self) -> tuple[Part, ...]:
        """Nothing, unless its batches are balanced."""
        return super().debiases if self.sampling is Sampling.BALANCED else ()

    @property
    def group_use(self) -> GroupUse:
        """None, unless its batches are balanced."""
        return GroupUse(training="attribute" if self.sampling is Sampling.BALANCED else "")

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean cross-entropy of each run's batch."""
        logit = model(batch.features, batch.keep).logit
        return cross_entropy(logit, batch.label).mean(-1), memory


@dataclass(frozen=True)
class Weighted(Method):
    """Base class of methods that train with weights of the rows, which are computed before the first step."""

    @abstractmethod
    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """Return the weights of each run's training rows."""
        ...

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """Return the memory: for each row, its weight."""
        weight = self.weights(model, table, train).to(model.parameters)
        rows = weight.new_zeros(len(train), table.rows).scatter(1, train, weight)
        return no_memory(model)._replace(rows=rows.unsqueeze(-1))

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean weighted cross-entropy of each run's batch."""
        sample_loss = cross_entropy(model(batch.features, batch.keep).logit, batch.label)
        return (memory.rows.squeeze(-1) * sample_loss).mean(-1), memory


@dataclass(frozen=True)
class GroupWeights(Weighted):
    """Cross-entropy in which all (class, attribute) cells have the same total weight."""

    scope: Scope = Scope.MODEL

    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """Return the weights that give each cell of a run's training rows the same total."""
        return torch.stack([group_weights(table.label[rows], table.attribute[rows]) for rows in train])


@dataclass(frozen=True)
class Reweighing(Weighted):
    """Reweighing (Kamiran and Calders 2012): weights P(y) P(a) / P(y, a) make class and attribute independent."""

    scope: Scope = Scope.MODEL

    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """Return the weights of each run's training rows."""
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
    """Return each row's weight by its (class, attribute) cell; 1 where the attribute is unknown."""
    return torch.where(attribute < 0, 1, weight[label, attribute])
