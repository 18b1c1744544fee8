"""Pairs of samples: who is whose adversarial neighbour, how near, and with what weight.

Everything takes any leading axes. A temperature has exactly those leading axes, or none.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import normalize

Temperature = float | Float[Tensor, "*#lead"]

NEAREST = 1e-9
"""The temperature that stands for 0: so cold that only the nearest neighbours (ties share) have weight."""


def dial(value: Temperature, like: Tensor) -> Float[Tensor, "*lead"]:
    """A hyperparameter as a tensor of the kind and on the device of another: no axis, or one of runs."""
    # A number is made where it is needed: a copy from the host would wait for the device.
    return value.to(like) if isinstance(value, Tensor) else like.new_full((), value)


def unit(embedding: Float[Tensor, "*lead row dim"]) -> Float[Tensor, "*lead row dim"]:
    """The embedding at unit length, as Lemma 1 assumes, whatever finite scale it has; a zero vector stays zero.

    Squares of very large and very small numbers are infinite and zero. So each row is first brought near one, by a
    power of two: that rounds nothing, and rows of an ordinary scale come out bit for bit as without it.
    """
    if not embedding.shape[-1]:
        return embedding
    largest = embedding.detach().abs().amax(-1, keepdim=True)
    # Short of the largest powers, which would overflow or round themselves; a scale of four does no harm.
    most = 2.0 ** (round(math.log2(torch.finfo(embedding.dtype).max)) - 2)
    power = (torch.frexp(largest).mantissa / largest).clamp(1 / most, most).nan_to_num(1.0)
    return normalize(embedding * power, dim=-1)


def neighbours(
    label: Int[Tensor, "*lead row"], attribute: Int[Tensor, "*lead row"]
) -> Bool[Tensor, "*lead row row"]:
    """P_i as a mask: the same label, another attribute; an unknown attribute (-1) is nobody's neighbour."""
    # Those of unknown attribute are given a class of their own each: two masks fewer over all pairs.
    alone = -1 - torch.arange(label.shape[-1], device=label.device)
    label = torch.where(attribute >= 0, label, alone)
    same_label = label.unsqueeze(-1) == label.unsqueeze(-2)
    return same_label.logical_and_(attribute.unsqueeze(-1) != attribute.unsqueeze(-2))


def log_affinity(
    embedding: Float[Tensor, "*lead row dim"], temperature: Temperature
) -> Float[Tensor, "*lead row row"]:
    """(z_i.z_j - 1) / temperature: the log of the affinity, scaled so that the largest possible one is 1.

    The scale cancels in every ratio. At temperature 0 the nearest neighbour is a choice, which has no slope.
    """
    direction = unit(embedding)
    warmth = dial(temperature, direction)[..., None, None]
    direction = torch.where(warmth == 0, direction.detach(), direction)
    return (direction @ direction.mT - 1) / warmth.clamp(min=NEAREST)


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
    return (pair_weight @ sample_loss.unsqueeze(-1)).squeeze(-1)


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
    warmth = dial(temperature, similarity)[..., None]
    return (pair_weight * similarity).sum(-1) - warmth * surprise.sum(-1)
