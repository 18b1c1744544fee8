"""Group distributionally robust optimisation (Sagawa et al. 2019): train for the group that fares worst."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch, Sampling
from raan.data.table import Table
from raan.methods.method import Memory, Method, Scope, check_attribute, cross_entropy, hyperparameter, no_memory
from raan.methods.terms import as_setting, membership
from raan.models.model import Model
from raan.neighbourhood.balance import cell_counts
from raan.neighbourhood.estimator import Setting


@dataclass(frozen=True)
class GroupDRO(Method):
    """q . losses of the (class, attribute) cells, where q grows by exp(step * loss) and sums to one.

    Its own algorithm draws the groups alike often, hence the balanced batches.
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
        counts = torch.stack([_counts(table, rows, shape) for rows in train])
        log_weight = torch.where(counts > 0, 0.0, -torch.inf).to(model.parameters)
        return no_memory(model)._replace(whole=log_weight.log_softmax(-1))

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """The cells' losses weighted by q after this batch's step; a cell without samples has loss 0."""
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


def _counts(table: Table, rows: Int[Tensor, "row"], shape: tuple[int, int]) -> Int[Tensor, "cell"]:
    """How many of the rows each cell of the whole table has."""
    counts = cell_counts(table.label[rows], table.attribute[rows])
    padding = (0, shape[1] - counts.shape[1], 0, shape[0] - counts.shape[0])
    return torch.nn.functional.pad(counts, padding).flatten()
