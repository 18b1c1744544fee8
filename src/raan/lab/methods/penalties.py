"""Cross-entropy with a penalty: EOR (Bechavod and Ligett 2017), gaps of any kind, HSIC (Gretton et al. 2005)."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.methods.method import (
    Memory,
    Method,
    Scope,
    as_setting,
    check_choice,
    cross_entropy,
    hyperparameter,
    membership,
    same,
)
from raan.models.model import Model
from raan.neighbourhood.estimator import Setting

Notion = Literal["DP", "EO"]
"""Demographic parity: alike over all samples; equalized odds: alike within each class."""

NOTIONS = {"DP": "demographic parity", "EO": "equalized odds"}


def score_gap(
    score: Float[Tensor, "run batch label"],
    label: Int[Tensor, "run batch"],
    attribute: Int[Tensor, "run batch"],
    notion: Notion,
) -> Float[Tensor, "run"]:
    """The gap of DP, or the sum of the true and the false positives' gaps of EO; the mean over the classes."""
    of_class = membership(label, score.shape[-1], score)
    if notion == "DP":
        return _mean_gap(score, torch.ones_like(score), attribute).mean(-1)
    return (_mean_gap(score, of_class, attribute) + _mean_gap(score, 1 - of_class, attribute)).mean(-1)


def _mean_gap(
    score: Float[Tensor, "run batch label"],
    among: Float[Tensor, "run batch label"],
    attribute: Int[Tensor, "run batch"],
) -> Float[Tensor, "run label"]:
    """The largest difference of two groups' mean scores among some samples, 0 if the batch has no two groups."""
    group = same(attribute).to(score)
    count = group @ among
    # Each sample carries its group's mean: the extremes over samples are those over groups.
    mean = group @ (among * score) / count.clamp(min=1)
    present = count > 0
    highest = torch.where(present, mean, -torch.inf).amax(-2)
    lowest = torch.where(present, mean, torch.inf).amin(-2)
    return torch.where(present.any(-2), highest - lowest, 0)


@dataclass(frozen=True)
class EOR(Method):
    """Cross-entropy with a penalty on the groups' gaps in mean log-odds, among the class and among the others.

    Log-odds are the signed distance from the boundary, Bechavod and Ligett's surrogate of a prediction.

    Args:
        weight: The weight of the penalty.
        scope: The parameters that are trained.
    """

    weight: Setting = hyperparameter(0.05, grid=(0.01, 0.03, 0.05, 0.07, 0.09))
    scope: Scope = Scope.HEAD

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean cross-entropy of each run's batch plus the weighted gap."""
        logit = model(batch.features, batch.keep).logit
        gap = score_gap(log_odds(logit), batch.label, batch.attribute, "EO")
        return cross_entropy(logit, batch.label).mean(-1) + as_setting(self.weight, gap) * gap, memory


def log_odds(logit: Float[Tensor, "*lead label"]) -> Float[Tensor, "*lead label"]:
    """Return the log of each class's probability over that of all others together."""
    itself = torch.eye(logit.shape[-1], dtype=torch.bool, device=logit.device)
    return logit - logit.unsqueeze(-2).masked_fill(itself, -torch.inf).logsumexp(-1)


@dataclass(frozen=True)
class GapPenalty(Method):
    """Cross-entropy with a penalty on the groups' gap in mean probability.

    Args:
        notion: "DP": the gap over all samples. "EO": the gaps within each class.
        weight: The weight of the penalty.
        scope: The parameters that are trained.
    """

    notion: Notion = "DP"
    weight: Setting = hyperparameter(0.5, grid=(0.05, 0.1, 0.2, 0.5, 1.0, 2.0))
    scope: Scope = Scope.MODEL

    def __post_init__(self) -> None:
        """An unknown notion is an error too."""
        super().__post_init__()
        check_choice("notion", self.notion, NOTIONS)

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean cross-entropy of each run's batch plus the weighted gap."""
        logit = model(batch.features, batch.keep).logit
        gap = score_gap(logit.softmax(-1), batch.label, batch.attribute, self.notion)
        return cross_entropy(logit, batch.label).mean(-1) + as_setting(self.weight, gap) * gap, memory


@dataclass(frozen=True)
class HSIC(Method):
    """Cross-entropy with a penalty: the Hilbert-Schmidt criterion of probabilities and attribute.

    Args:
        weight: The weight of the penalty.
        bandwidth: The bandwidth of the Gaussian kernel between probabilities.
        scope: The parameters that are trained.
    """

    weight: Setting = hyperparameter(10.0, grid=(1.0, 3.0, 10.0, 30.0, 100.0))
    bandwidth: Setting = hyperparameter(0.5)  # of the Gaussian kernel between probabilities
    scope: Scope = Scope.MODEL

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean cross-entropy of each run's batch plus the weighted criterion."""
        logit = model(batch.features, batch.keep).logit
        criterion = hsic(logit.softmax(-1), batch.attribute, as_setting(self.bandwidth, logit))
        return cross_entropy(logit, batch.label).mean(-1) + as_setting(self.weight, criterion) * criterion, memory


def hsic(
    score: Float[Tensor, "run batch label"], attribute: Int[Tensor, "run batch"], bandwidth: Float[Tensor, "*#run"]
) -> Float[Tensor, "run"]:
    """tr(K H L H) / n^2: K Gaussian between the scores, L one for equal attributes; over the known ones alone."""
    distance = (score.unsqueeze(-2) - score.unsqueeze(-3)).square().sum(-1)
    kernel = (-distance / (2 * bandwidth.square()[..., None, None])).exp()
    weight = (attribute >= 0).to(score)
    count = weight.sum(-1).clamp(min=1)[..., None, None]
    row_mean = kernel @ weight.unsqueeze(-1) / count
    mean = weight.unsqueeze(-2) @ row_mean / count
    centred = kernel - row_mean - row_mean.mT + mean
    return (centred * same(attribute)).sum((-1, -2)) / count.squeeze((-1, -2)).square()
