"""ERM and RAAN where each row's loss has a weight: scikit-learn's `sample_weight`."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.table import Table
from raan.methods.method import Memory, Scope, cross_entropy
from raan.methods.raan import RAAN
from raan.methods.weighted import Weighted
from raan.models.model import Model


@dataclass(frozen=True, eq=False)
class WeightedERM(Weighted):
    """The mean of weight times cross-entropy."""

    sample_weight: Float[Tensor, "row"]  # of every row of the table
    scope: Scope = Scope.MODEL

    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """The weights given, mean 1 over the training rows of each run."""
        return mean_one(self.sample_weight[train])


@dataclass(frozen=True, eq=False)
class WeightedRAAN(RAAN):
    """RAAN over weighted losses: wherever a sample's loss stands, its weight stands before it.

    How anchors are balanced is a matter of how many rows a (class, attribute) cell has, not of their weights.
    """

    sample_weight: Float[Tensor, "row"] | None = None  # of every row of the table; None: 1

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """A row: at the end, its weight."""
        memory = super().prepare(model, table, train)
        if self.sample_weight is None:
            return memory
        weight = mean_one(self.sample_weight[train]).to(memory.rows)
        slot = memory.rows.new_zeros(memory.rows.shape[:2]).scatter(1, train, weight).unsqueeze(-1)
        return memory._replace(rows=torch.cat([memory.rows, slot], dim=-1))

    def sample_loss(
        self, logit: Float[Tensor, "run batch label"], batch: Batch, memory: Memory
    ) -> Float[Tensor, "run batch"]:
        """Each sample's weight times its cross-entropy."""
        loss = cross_entropy(logit, batch.label)
        return loss if self.sample_weight is None else memory.rows[..., -1] * loss


def mean_one(weight: Float[Tensor, "*run row"]) -> Float[Tensor, "*run row"]:
    """The weights divided by their mean: learning rates mean the same with weights and without."""
    return weight / weight.mean(-1, keepdim=True)
