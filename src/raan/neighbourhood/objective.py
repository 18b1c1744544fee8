"""The exact objective over a whole data set, differentiable; dense, so for monitoring and tests.

Its memory is O(n^2). Where the embedding is fixed, `aan_weights` gives the same value and gradient in O(n d):
the objective is then the mean of weight times loss.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.neighbourhood.balance import Balance, anchor_weights
from raan.neighbourhood.pairs import Temperature, log_affinity, neighbourhood_loss, neighbours, pair_weights


def objective(
    balance: Balance,
    embedding: Float[Tensor, "*lead row dim"],
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    sample_loss: Float[Tensor, "*lead row"],
    temperature: Temperature,
) -> Float[Tensor, "*lead"]:
    """Compute the weighted mean of neighbourhood losses; a sample without neighbours counts with its own loss."""
    weight = anchor_weights(label, attribute, balance).to(sample_loss.dtype)
    neighbour = neighbours(label, attribute).expand(*sample_loss.shape, -1)
    pair_weight = pair_weights(log_affinity(embedding, temperature), neighbour)
    anchored = weight * neighbourhood_loss(pair_weight, sample_loss)
    return torch.where(weight > 0, anchored, sample_loss).mean(-1)


def group_objective(*problem: Any) -> Tensor:
    """Compute Eq. (4): the mean over (class, attribute) cells of the cell's mean neighbourhood loss.

    Args:
        *problem: The arguments of `objective` after the balance.
    """
    return objective("group", *problem)


def sample_objective(*problem: Any) -> Tensor:
    """Compute R(w), Eq. (5): the mean over samples of their neighbourhood losses.

    Args:
        *problem: The arguments of `objective` after the balance.
    """
    return objective("sample", *problem)
