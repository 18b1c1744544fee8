"""What the losses of several methods are made of."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from raan.neighbourhood.pairs import as_setting

__all__ = ["as_setting", "membership", "same", "weighted_mean", "with_gradient"]


def membership(code: Int[Tensor, "*lead"], count: int, like: Tensor) -> Float[Tensor, "*lead {count}"]:
    """A one where the code is 0, 1, ... and zeros elsewhere; -1 (unknown) is zeros alone."""
    return (code.unsqueeze(-1) == torch.arange(count, device=code.device)).to(like.dtype)


def same(code: Int[Tensor, "*lead row"]) -> Bool[Tensor, "*lead row row"]:
    """Which pairs of samples have the same code; -1 (unknown) is the same as nothing."""
    return (code.unsqueeze(-1) == code.unsqueeze(-2)) & (code >= 0).unsqueeze(-1)


def weighted_mean(value: Float[Tensor, "*lead row"], weight: Float[Tensor, "*lead row"]) -> Float[Tensor, "*lead"]:
    """The mean over the last axis; 0, with a gradient of 0, where all weights are."""
    return (value * weight).sum(-1) / weight.sum(-1).clamp(min=torch.finfo(weight.dtype).tiny)


def with_gradient(
    value: Float[Tensor, "run"],
    parameters: Float[Tensor, "run parameter"],
    gradient: Float[Tensor, "run parameter"],
) -> Float[Tensor, "run"]:
    """A loss of this value whose gradient with respect to the parameters is the one given."""
    slope = (parameters * gradient.detach()).sum(-1)
    return value.detach() + (slope - slope.detach())
