"""Invariant risk minimisation (Arjovsky et al. 2019), IRMv1: one head that is best in every environment."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.table import Table
from raan.methods.method import (
    GroupUse,
    Memory,
    Method,
    Scope,
    as_setting,
    cross_entropy,
    hyperparameter,
    membership,
    no_memory,
    same,
)
from raan.models.model import Model
from raan.neighbourhood.estimator import Setting


@dataclass(frozen=True)
class IRM(Method):
    """IRMv1: the environments' mean risk, with a penalty on the squared slopes of their risks.

    The slope is the derivative with respect to a multiplier of the logits.

    Args:
        weight: The weight of the penalty.
        scope: The parameters that are trained.
    """

    weight: Setting = hyperparameter(10.0, grid=(1.0, 10.0, 100.0, 1000.0))  # ours: the paper names none
    scope: Scope = Scope.MODEL

    @property
    def group_use(self) -> GroupUse:
        """Environments, not attributes."""
        return GroupUse(training="environment")

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """Nothing to carry; a table without two environments to train on is an error."""
        if table.environment is None:
            raise ValueError(f"IRM needs environments, and the table {table.name!r} has none")
        for rows in train:
            if int(table.environment[rows].min()) == int(table.environment[rows].max()):
                raise ValueError("IRM needs two environments or more, and all training rows are of one")
        return no_memory(model)

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Return the mean risk over the batch's environments plus weight times their mean squared slope."""
        if batch.environment is None:
            raise ValueError("IRM needs environments, and the batch has none")
        logit = model(batch.features, batch.keep).logit
        sample_loss = cross_entropy(logit, batch.label)
        # d/ds of the cross-entropy of s * logit at s = 1.
        slope = ((logit.softmax(-1) - membership(batch.label, logit.shape[-1], logit)) * logit).sum(-1)
        together = same(batch.environment).to(logit)
        size = together.sum(-1)
        environments = (1 / size).sum(-1)  # of the batch: each one's samples add up to one
        risk = (sample_loss / size).sum(-1) / environments
        environment_slope = (together @ slope.unsqueeze(-1)).squeeze(-1) / size
        penalty = (environment_slope.square() / size).sum(-1) / environments
        return risk + as_setting(self.weight, risk) * penalty, memory
