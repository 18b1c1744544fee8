"""How a batch went: how many samples met neighbours, and how unevenly their losses weigh."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.neighbourhood.estimator import batch_pairs
from raan.neighbourhood.pairs import log_affinity, neighbours


class Diagnostics(NamedTuple):
    """How a batch went; tensors without gradient, on the batch's device."""

    anchors: Int[Tensor, ""]  # samples whose neighbours were in the batch
    skipped: Int[Tensor, ""]  # samples that have neighbours, but none in the batch
    effective_sample_size: Float[Tensor, ""]  # (sum of weights)^2 / sum of squares; all alike: the batch size
    largest_weight: Float[Tensor, ""]  # of a sample's loss in the gradient; 1 in plain training


class Weighing(NamedTuple):
    """What the weights of a batch are made of; all of it constant."""

    embedding: Float[Tensor, "batch dim"]
    label: Int[Tensor, "batch"]
    attribute: Int[Tensor, "batch"]
    anchor_weight: Float[Tensor, "batch"]
    importance: Float[Tensor, "batch"]
    log_denominator: Float[Tensor, "batch"]  # log u2 after the batch
    temperature: Float[Tensor, ""]
    strength: float


def diagnose(weighing: Weighing) -> Diagnostics:
    """Count the anchors, and summarise how much each sample's loss weighs in the gradient."""
    pairs = batch_pairs(
        log_affinity(weighing.embedding, weighing.temperature), neighbours(weighing.label, weighing.attribute)
    )
    met, anchored = pairs.log_mean > -torch.inf, weighing.anchor_weight > 0
    # g-hat2 / u2, as in the surrogate of Eq. (8).
    scale = torch.where(met, (pairs.log_mean - weighing.log_denominator).exp(), 0)
    robust = (weighing.anchor_weight * scale) @ pairs.share + ~anchored
    weight = weighing.importance * (1 - weighing.strength + weighing.strength * robust)
    return Diagnostics(
        anchors=(anchored & met).sum(),
        skipped=(anchored & ~met).sum(),
        effective_sample_size=weight.sum().square() / weight.square().sum(),
        largest_weight=weight.max(),
    )
