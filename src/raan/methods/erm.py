"""Empirical risk minimisation: plain training, the paper's Vanilla and everyone's first stage."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.table import Table
from raan.methods.method import Memory, Scope, cross_entropy, no_memory
from raan.models.model import Model


@dataclass(frozen=True)
class ERM:
    """The mean cross-entropy."""

    scope: Scope = Scope.MODEL

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """Nothing to carry."""
        return no_memory(model)

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean cross-entropy of each run's batch."""
        logit = model(batch.features, batch.keep).logit
        return cross_entropy(logit, batch.label).mean(-1), memory
