"""EOR and RL-EOR (Bechavod & Ligett 2017): cross-entropy with a penalty on unequal odds."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raan.data.batches import Batch
from raan.methods.gaps import score_gap
from raan.methods.method import Memory, Method, Scope, cross_entropy, hyperparameter
from raan.methods.terms import dial
from raan.models.model import Model
from raan.neighbourhood.estimator import Dial


@dataclass(frozen=True)
class EOR(Method):
    """Cross-entropy plus weight times the groups' gaps in mean log-odds, among the class and among the others.

    Log-odds are the signed distance from the boundary, Bechavod and Ligett's surrogate of a prediction.
    """

    weight: Dial = hyperparameter(0.05, grid=(0.01, 0.03, 0.05, 0.07, 0.09))
    scope: Scope = Scope.HEAD

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean cross-entropy of each run's batch plus the weighted gap."""
        logit = model(batch.features, batch.keep).logit
        gap = score_gap(log_odds(logit), batch.label, batch.attribute, "EO")
        return cross_entropy(logit, batch.label).mean(-1) + dial(self.weight, gap) * gap, memory


def log_odds(logit: Float[Tensor, "*lead label"]) -> Float[Tensor, "*lead label"]:
    """The log of each class's probability over that of all others together."""
    itself = torch.eye(logit.shape[-1], dtype=torch.bool, device=logit.device)
    return logit - logit.unsqueeze(-2).masked_fill(itself, -torch.inf).logsumexp(-1)
