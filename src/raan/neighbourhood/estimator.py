"""The stochastic estimator of the objective: a moving average per anchor, and a loss that carries G(w).

The paper keeps two averages per anchor, u1 of affinity times loss and u2 of affinity. Here they are kept as
log u2 and u1 / u2: nothing over- or underflows at any temperature, and u1 / u2 is the neighbourhood loss itself.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd import Function

from raan.neighbourhood.pairs import Temperature, dial, log_affinity, neighbourhood_loss, neighbours

Dial = float | Float[Tensor, "*#lead"]
"""A hyperparameter: one number, or one for each run."""


class InnerEstimate(NamedTuple):
    """What is believed of each anchor's neighbourhood: g-hat of one batch, or its moving average u."""

    log_denominator: Float[Tensor, "*lead row"]  # log u2, the log mean affinity; -inf while nothing is known
    neighbourhood_loss: Float[Tensor, "*lead row"]  # u1 / u2

    @staticmethod
    def unknown(
        *shape: int, dtype: torch.dtype = torch.float32, device: torch.device | None = None
    ) -> "InnerEstimate":
        """The estimate of anchors that were never visited."""
        values = (torch.full(shape, value, dtype=dtype, device=device) for value in (-torch.inf, 0.0))
        return InnerEstimate(*values)


class BatchPairs(NamedTuple):
    """The affinities of one batch, on a scale of its own for each anchor."""

    share: Float[Tensor, "*lead row row"]  # affinity over the anchor's sum, the sum held constant: rows sum to 1
    log_mean: Float[Tensor, "*lead row"]  # log of the anchor's mean affinity, a constant; -inf without neighbours


def batch_pairs(
    log_affinity: Float[Tensor, "*lead row row"], neighbour: Bool[Tensor, "*lead row row"]
) -> BatchPairs:
    """Each anchor's affinities to its neighbours over their sum, and their mean in the log."""
    return BatchPairs(*_Shares.apply(log_affinity, neighbour))  # type: ignore[no-untyped-call]


class _Shares(Function):
    """`batch_pairs` with its slope, the sums being constants: d share = share d log_affinity.

    A mask is numbers that are added and multiplied, since a choice by mask takes ten times as long.
    """

    @staticmethod
    def forward(ctx: Any, log_affinity: Tensor, neighbour: Tensor) -> tuple[Tensor, Tensor]:
        mask = neighbour.view(torch.uint8).to(log_affinity.dtype)
        # Minus a finite number for others: in a row without neighbours shares are then 0, never nan.
        masked = (mask - 1).mul_(torch.finfo(mask.dtype).max).add_(log_affinity)
        share = masked.softmax(-1).mul_(mask)
        # The nearest neighbour's affinity is known and so is its share: that tells the sum.
        nearest, count = share.amax(-1), mask.sum(-1)
        log_mean = torch.where(nearest == 0, -torch.inf, masked.amax(-1) - (nearest * count).log())
        ctx.save_for_backward(share)
        ctx.mark_non_differentiable(log_mean)
        return share, log_mean

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        (share,) = ctx.saved_tensors
        return share * slopes[0], None


def inner_estimate(pairs: BatchPairs, sample_loss: Float[Tensor, "*lead row"]) -> InnerEstimate:
    """g-hat, Eq. (7): the batch's estimate of each anchor's mean affinity and neighbourhood loss.

    The loss is differentiable, its denominator held constant, so that autograd through it is Eq. (6).
    """
    return InnerEstimate(pairs.log_mean, neighbourhood_loss(pairs.share, sample_loss))


def shared_by_copies(estimate: InnerEstimate, row: Int[Tensor, "*lead row"]) -> InnerEstimate:
    """One estimate for each data row: copies of a row in a batch share the mean of their g-hats."""
    copy = row.unsqueeze(-1) == row.unsqueeze(-2)
    pairs = batch_pairs(estimate.log_denominator.unsqueeze(-2).expand(copy.shape), copy)
    return inner_estimate(pairs, estimate.neighbourhood_loss)


@torch.no_grad()
def moving_average(
    average: InnerEstimate,
    estimate: InnerEstimate,
    averaging_rate: Dial,
    denominator_floor: Dial = 0.0,
    log_kept: Float[Tensor, "*lead row"] | None = None,
) -> InnerEstimate:
    """u, Alg. 2: the running average of the batch estimates, in log space.

    A first visit takes the estimate as it is; an anchor without neighbours in the batch keeps what it had. The
    floor is on u2, the mean affinity, and leaves u1 alone. Of the old average 1 - averaging_rate is kept, unless
    `log_kept` says how much (in the log).
    """
    rate, least = (dial(each, estimate.log_denominator)[..., None] for each in (averaging_rate, denominator_floor))
    first = average.log_denominator == -torch.inf
    new = estimate.log_denominator + torch.where(first, 0, rate.log())
    kept = (-rate).log1p() if log_kept is None else log_kept
    log_denominator = torch.logaddexp(average.log_denominator + kept, new)
    loss = average.neighbourhood_loss.lerp(estimate.neighbourhood_loss, (new - log_denominator).exp())
    floored = torch.maximum(log_denominator, least.log())
    seen = estimate.log_denominator > -torch.inf
    return InnerEstimate(
        torch.where(seen, floored, average.log_denominator),
        torch.where(seen, loss * (log_denominator - floored).exp(), average.neighbourhood_loss),
    )


def surrogate(pairs: BatchPairs, estimate: InnerEstimate, average: InnerEstimate) -> Float[Tensor, "*lead row"]:
    """For each anchor, a number whose value is f(u) = u1 / u2 and whose gradient is its term of G(w), Eq. (8).

    An anchor without neighbours in the batch keeps its value and has no gradient.
    """
    seen = estimate.log_denominator > -torch.inf
    # g-hat2 / u2: how the batch's scale, in which the shares are kept, compares with the average's.
    scale = torch.where(seen, (estimate.log_denominator - average.log_denominator).exp(), 0)
    slope = scale * (estimate.neighbourhood_loss - average.neighbourhood_loss * pairs.share.sum(-1))
    return average.neighbourhood_loss + (slope - slope.detach())


class StochasticObjective(NamedTuple):
    """What one batch says of the objective."""

    term: Float[Tensor, "*lead row"]  # each sample's part of it: value and gradient
    average: InnerEstimate  # the moving average after this batch
    skipped: Bool[Tensor, "*lead row"]  # anchors that have neighbours, but none in this batch


def stochastic_objective(
    embedding: Float[Tensor, "*lead row dim"],
    label: Int[Tensor, "*lead row"],
    attribute: Int[Tensor, "*lead row"],
    sample_loss: Float[Tensor, "*lead row"],
    average: InnerEstimate,
    anchor_weight: Float[Tensor, "*lead row"],
    temperature: Temperature,
    averaging_rate: Dial,
    denominator_floor: Dial = 0.0,
    row: Int[Tensor, "*lead row"] | None = None,
    log_kept: Float[Tensor, "*lead row"] | None = None,
) -> StochasticObjective:
    """The objective estimated from one batch: the mean of the terms has its value and the gradient G(w).

    An anchor that never met a neighbour, here or before, is believed to be as its own loss says. One that has
    none in the whole data set (weight 0) counts with its own loss, as in `aan_weights`. Where a batch may hold
    copies of a data row, `row` tells which samples are: they share one average.
    """
    pairs = batch_pairs(log_affinity(embedding, temperature), neighbours(label, attribute))
    estimate = inner_estimate(pairs, sample_loss)
    shared = estimate if row is None else shared_by_copies(estimate, row)
    average = moving_average(average, shared, averaging_rate, denominator_floor, log_kept)
    known = average.log_denominator > -torch.inf
    believed = torch.where(known, surrogate(pairs, estimate, average), sample_loss.detach())
    anchored = anchor_weight > 0
    term = torch.where(anchored, anchor_weight * believed, sample_loss)
    return StochasticObjective(term, average, anchored & (estimate.log_denominator == -torch.inf))
