"""Pairs of samples: who is whose adversarial neighbour, how near, and with what weight.

Everything takes any leading axes. A temperature has exactly those leading axes, or none.
"""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd import Function

Temperature = float | Float[Tensor, "*#lead"]

SHORTEST = 1e-12
"""The least length that a vector is divided by."""

NEAREST = 1e-9
"""The temperature that stands for 0: so cold that only the nearest neighbours (ties share) have weight."""


def as_setting(value: Temperature, like: Tensor) -> Float[Tensor, "*lead"]:
    """Return a hyperparameter as a tensor of the kind and on the device of another: no axis, or one of runs."""
    # A number is made where it is needed: a copy from the host would wait for the device.
    return value.to(like) if isinstance(value, Tensor) else like.new_full((), value)


def unit(embedding: Float[Tensor, "*lead row dim"]) -> Float[Tensor, "*lead row dim"]:
    """The embedding at unit length, as Lemma 1 assumes, whatever finite scale it has; a zero vector stays zero.

    Squares of very large and very small numbers are infinite and zero. So each row is first brought near one, by a
    power of two: that rounds nothing, and rows of an ordinary scale come out bit for bit as without it.
    """
    if not embedding.shape[-1]:
        return embedding
    direction: Tensor = _Unit.apply(embedding)  # type: ignore[no-untyped-call]
    return direction


class _Unit(Function):
    """The unit vectors, with their slope in closed form: autograd's own takes several times as long."""

    @staticmethod
    def forward(ctx: Any, embedding: Tensor) -> Tensor:
        largest = embedding.abs().amax(-1, keepdim=True)
        # Short of the largest powers, which would overflow or round themselves; a scale of four does no harm.
        most = 2.0 ** (round(math.log2(torch.finfo(embedding.dtype).max)) - 2)
        power = (torch.frexp(largest).mantissa / largest).clamp(1 / most, most).nan_to_num(1.0)
        scaled = embedding * power
        length = torch.linalg.vector_norm(scaled, dim=-1, keepdim=True).clamp(min=SHORTEST)
        direction: Tensor = scaled / length
        ctx.save_for_backward(direction, power / length)
        return direction

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Tensor:
        (slope,), (direction, scale) = slopes, ctx.saved_tensors
        along = (direction * slope).sum(-1, keepdim=True)
        across: Tensor = (slope - direction * along) * scale
        return across


class _LogAffinity(Function):
    """(z_i.z_j - 1) / temperature of all pairs, with its slope as one product of matrices instead of two."""

    @staticmethod
    def forward(ctx: Any, direction: Tensor, warmth: Tensor) -> Tensor:
        ctx.save_for_backward(direction, warmth)
        return (direction @ direction.mT).sub_(1).div_(warmth.clamp(min=NEAREST))

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        (slope,), (direction, warmth) = slopes, ctx.saved_tensors
        # At temperature 0 the nearest neighbour is a choice, which has no slope.
        factor = (warmth > 0) / warmth.clamp(min=NEAREST)
        return ((slope + slope.mT) @ direction).mul_(factor), None


def neighbours(
    label: Int[Tensor, "*lead row"], attribute: Int[Tensor, "*lead row"]
) -> Bool[Tensor, "*lead row row"]:
    """P_i as a mask: the same label, another attribute; an unknown attribute (-1) is nobody's neighbour."""
    # Those of unknown attribute are given a class of their own each: two masks fewer over all pairs.
    alone = -1 - torch.arange(label.shape[-1], device=label.device)
    same_label = _differences(torch.where(attribute >= 0, label, alone)).eq_(0)
    return same_label.mul_(_differences(attribute).ne_(0)).bool()


def _differences(code: Int[Tensor, "*lead row"]) -> Float[Tensor, "*lead row row"]:
    """Of all pairs of codes: as float32, which holds them exactly, in half the time that integers take."""
    number = code.to(torch.float32)
    return number.unsqueeze(-1) - number.unsqueeze(-2)


def log_affinity(
    embedding: Float[Tensor, "*lead row dim"], temperature: Temperature
) -> Float[Tensor, "*lead row row"]:
    """(z_i.z_j - 1) / temperature: the log of the affinity, scaled so that the largest possible one is 1.

    The scale cancels in every ratio.
    """
    direction = unit(embedding)
    warmth = as_setting(temperature, direction)[..., None, None]
    affinity: Tensor = _LogAffinity.apply(direction, warmth)  # type: ignore[no-untyped-call]
    return affinity


def pair_weights(
    log_affinity: Float[Tensor, "*lead row row"], neighbour: Bool[Tensor, "*lead row row"]
) -> Float[Tensor, "*lead row row"]:
    """p_ij, Eq. (3): the affinities of i to its neighbours, over their sum; zero where i has none."""
    # A finite stand-in for minus infinity keeps the gradient of a row without neighbours finite.
    masked = torch.where(neighbour, log_affinity, torch.finfo(log_affinity.dtype).min)
    return masked.softmax(dim=-1) * neighbour


def neighbourhood_loss(
    pair_weight: Float[Tensor, "*lead row row"], sample_loss: Float[Tensor, "*lead row"]
) -> Float[Tensor, "*lead row"]:
    """Eq. (1): each anchor's loss, the weighted mean of its neighbours' losses."""
    # Many small products of a matrix with one vector are slower than their terms added up.
    return (pair_weight * sample_loss.unsqueeze(-2)).sum(-1)


def robust_value(
    pair_weight: Float[Tensor, "*lead row row"],
    similarity: Float[Tensor, "*lead row row"],
    neighbour: Bool[Tensor, "*lead row row"],
    temperature: Temperature,
) -> Float[Tensor, "*lead row"]:
    """Eq. (2): mean similarity to the neighbours less temperature times KL(pair weights, uniform).

    `pair_weights` maximises it; at temperature inf the answer is the uniform weights, and this is not finite.
    """
    count = neighbour.sum(-1, keepdim=True)
    surprise = torch.xlogy(pair_weight, pair_weight * count)
    warmth = as_setting(temperature, similarity)[..., None]
    return (pair_weight * similarity).sum(-1) - warmth * surprise.sum(-1)
