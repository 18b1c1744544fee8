"""Group distributionally robust optimisation (Sagawa et al. 2019): train for the group that fares worst."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch, Sampling
from raan.data.table import Table
from raan.fairness.counts import cell_counts
from raan.methods.method import (
    Memory,
    Method,
    Scope,
    as_setting,
    check_attribute,
    cross_entropy,
    hyperparameter,
    membership,
    no_memory,
)
from raan.models.model import Model
from raan.neighbourhood.estimator import Setting


@dataclass(frozen=True)
class GroupDRO(Method):
    """Group DRO: the losses of the (class, attribute) cells, weighted by q, which grows by exp(step * loss).

    Args:
        step: The step size of q.
        scope: The parameters that are trained.
        sampling: How batches are drawn; the original algorithm draws all groups equally often.
    """

    step: Setting = hyperparameter(
        0.01, grid=(1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
    )  # Sagawa et al.'s, and the paper's grid
    scope: Scope = Scope.MODEL
    sampling: Sampling = Sampling.BALANCED

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """A run: log q, the same for every cell that it trains on; in the log no cell is ever lost to rounding."""
        check_attribute(self, table)
        shape = table.classes, table.attributes
        label, attribute = (column[train].numpy(force=True) for column in (table.label, table.attribute))
        counts = [cell_counts(*each, shape).ravel() for each in zip(label, attribute, strict=True)]
        log_weight = torch.where(torch.from_numpy(np.stack(counts)) > 0, 0.0, -torch.inf).to(model.parameters)
        return no_memory(model)._replace(whole=log_weight.log_softmax(-1))

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Return the cells' losses weighted by q after this batch's step; a cell without samples has loss 0."""
        logit = model(batch.features, batch.keep).logit
        sample_loss = cross_entropy(logit, batch.label)
        cells = memory.whole.shape[-1]
        attributes = cells // logit.shape[-1]
        known = membership(batch.attribute, attributes, logit)
        member = (membership(batch.label, logit.shape[-1], logit).unsqueeze(-1) * known.unsqueeze(-2)).flatten(-2)
        total = (member * sample_loss.unsqueeze(-1)).sum(-2)
        cell_loss = total / member.sum(-2).clamp(min=1)
        step = as_setting(self.step, cell_loss).unsqueeze(-1)
        log_weight = (memory.whole + step * cell_loss.detach()).log_softmax(-1)
        return (log_weight.exp() * cell_loss).sum(-1), memory._replace(whole=log_weight)
