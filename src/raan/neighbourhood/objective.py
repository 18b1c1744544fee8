"""The exact objective over a whole data set, differentiable; dense, so for monitoring and tests.

Its memory is O(n^2). Where the embedding is fixed, `aan_weights` gives the same value and gradient in O(n d):
the objective is then the mean of weight times loss.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.neighbourhood.balance import anchor_weights
from raan.neighbourhood.pairs import Temperature, log_affinity, neighbourhood_loss, neighbours, pair_weights


def group_objective(
    embedding: Float[Tensor, "*lead row dim"],
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    sample_loss: Float[Tensor, "*lead row"],
    temperature: Temperature,
) -> Float[Tensor, "*lead"]:
    """Eq. (4): the mean over (class, attribute) cells of the cell's mean neighbourhood loss."""
    weight = anchor_weights(label, attribute, "group")
    return _anchored_mean(embedding, label, attribute, sample_loss, temperature, weight)


def sample_objective(
    embedding: Float[Tensor, "*lead row dim"],
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    sample_loss: Float[Tensor, "*lead row"],
    temperature: Temperature,
) -> Float[Tensor, "*lead"]:
    """R(w), Eq. (5): the mean over samples of their neighbourhood losses."""
    weight = anchor_weights(label, attribute, "sample")
    return _anchored_mean(embedding, label, attribute, sample_loss, temperature, weight)


def _anchored_mean(
    embedding: Float[Tensor, "*lead row dim"],
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    sample_loss: Float[Tensor, "*lead row"],
    temperature: Temperature,
    anchor_weight: Float[Tensor, "row"],
) -> Float[Tensor, "*lead"]:
    """The weighted mean of neighbourhood losses; a sample without neighbours counts with its own loss."""
    weight = anchor_weight.to(sample_loss.dtype)
    neighbour = neighbours(label, attribute).expand(*sample_loss.shape, -1)
    pair_weight = pair_weights(log_affinity(embedding, temperature), neighbour)
    anchored = weight * neighbourhood_loss(pair_weight, sample_loss)
    return torch.where(weight > 0, anchored, sample_loss).mean(-1)
