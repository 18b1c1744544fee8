"""The stochastic estimator of the objective: a moving average per anchor, and a loss that carries G(w).

The paper keeps two averages per anchor, u1 of affinity times loss and u2 of affinity. Here they are kept as
log u2 and u1 / u2: nothing over- or underflows at any temperature, and u1 / u2 is the neighbourhood loss itself.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd import Function

from raan.neighbourhood.pairs import Temperature, as_setting, log_affinity, neighbourhood_loss, neighbours

Setting = float | Float[Tensor, "*#lead"]
"""A hyperparameter: one number, or one for each run."""


class InnerEstimate(NamedTuple):
    """What is believed of each anchor's neighbourhood: g-hat of one batch, or its moving average u."""

    log_denominator: Float[Tensor, "*lead row"]  # log u2, the log mean affinity; -inf while nothing is known
    neighbourhood_loss: Float[Tensor, "*lead row"]  # u1 / u2

    @staticmethod
    def unknown(
        *shape: int, dtype: torch.dtype = torch.float32, device: torch.device | None = None
    ) -> "InnerEstimate":
        """Return the estimate of anchors that were never visited."""
        values = (torch.full(shape, value, dtype=dtype, device=device) for value in (-torch.inf, 0.0))
        return InnerEstimate(*values)


class BatchPairs(NamedTuple):
    """The affinities of one batch, on a scale of its own for each anchor; constants."""

    share: Float[Tensor, "*lead row row"]  # affinity over the anchor's sum: rows sum to 1, or to 0
    log_mean: Float[Tensor, "*lead row"]  # log of the anchor's mean affinity; -inf without neighbours


@torch.no_grad()
def batch_pairs(
    log_affinity: Float[Tensor, "*lead row row"], neighbour: Bool[Tensor, "*lead row row"]
) -> BatchPairs:
    """Return each anchor's affinities to its neighbours over their sum, and their mean in the log."""
    # A mask is numbers that are added and multiplied, since a choice by mask takes ten times as long.
    mask = neighbour.view(torch.uint8).to(log_affinity.dtype)
    # Minus a finite number for others: in a row without neighbours shares are then 0, never nan.
    masked = (mask - 1).mul_(torch.finfo(mask.dtype).max).add_(log_affinity)
    share = masked.softmax(-1).mul_(mask)
    # The nearest neighbour's affinity is known and so is its share: that tells the sum.
    nearest, count = share.amax(-1), mask.sum(-1)
    return BatchPairs(share, torch.where(nearest == 0, -torch.inf, masked.amax(-1) - (nearest * count).log()))


@torch.no_grad()
def inner_estimate(pairs: BatchPairs, sample_loss: Float[Tensor, "*lead row"]) -> InnerEstimate:
    """g-hat, Eq. (7): the batch's estimate of each anchor's mean affinity and neighbourhood loss."""
    return InnerEstimate(pairs.log_mean, neighbourhood_loss(pairs.share, sample_loss))


def shared_by_copies(estimate: InnerEstimate, row: Int[Tensor, "*lead row"]) -> InnerEstimate:
    """Return one estimate for each data row: copies of a row in a batch share the mean of their g-hats."""
    copy = row.unsqueeze(-1) == row.unsqueeze(-2)
    pairs = batch_pairs(estimate.log_denominator.unsqueeze(-2).expand(copy.shape), copy)
    return inner_estimate(pairs, estimate.neighbourhood_loss)


@torch.no_grad()
def moving_average(
    average: InnerEstimate,
    estimate: InnerEstimate,
    averaging_rate: Setting,
    denominator_floor: Setting = 0.0,
) -> InnerEstimate:
    """u, Alg. 2: the running average of the batch estimates, in log space.

    A first visit takes the estimate as it is; an anchor without neighbours in the batch keeps what it had. The
    floor is on u2, the mean affinity, and leaves u1 alone.
    """
    rate, least = (
        as_setting(each, estimate.log_denominator)[..., None] for each in (averaging_rate, denominator_floor)
    )
    first = average.log_denominator == -torch.inf
    new = estimate.log_denominator + torch.where(first, 0, rate.log())
    log_denominator = torch.logaddexp(average.log_denominator + (-rate).log1p(), new)
    loss = average.neighbourhood_loss.lerp(estimate.neighbourhood_loss, (new - log_denominator).exp())
    floored = torch.maximum(log_denominator, least.log())
    seen = estimate.log_denominator > -torch.inf
    return InnerEstimate(
        torch.where(seen, floored, average.log_denominator),
        torch.where(seen, loss * (log_denominator - floored).exp(), average.neighbourhood_loss),
    )


def surrogate(
    log_affinity: Float[Tensor, "*lead row row"],
    sample_loss: Float[Tensor, "*lead row"],
    pairs: BatchPairs,
    average: InnerEstimate,
    anchor_weight: Float[Tensor, "*lead row"],
) -> Float[Tensor, "*lead row"]:
    """For each anchor, a number whose value is f(u) = u1 / u2 and whose gradient is its term of G(w), Eq. (8).

    The gradient of g-hat in it is Eq. (6). Value and gradient are times the anchor's weight; of weight 0, it is
    its own loss. An anchor without neighbours in the batch keeps its value and has no gradient; one that never met
    any is believed to be as its own loss says.
    """
    term: Tensor = _Surrogate.apply(log_affinity, sample_loss, *pairs, *average, anchor_weight)  # type: ignore[no-untyped-call]
    return term


class _Surrogate(Function):
    """`surrogate` with its slope written out, Eq. (6) within Eq. (8).

    d term_i = c_i sum_j share_ij (d loss_j + (loss_j - f_i) d log_affinity_ij), c_i being the weight times
    g-hat2 / u2: how the batch's scale, in which the shares are kept, compares with the average's.
    """

    @staticmethod
    def forward(
        ctx: Any,
        log_affinity: Tensor,
        sample_loss: Tensor,
        share: Tensor,
        log_mean: Tensor,
        log_denominator: Tensor,
        ratio: Tensor,
        weight: Tensor,
    ) -> Tensor:
        own = ~(weight > 0)
        factor = torch.where(own | (log_mean == -torch.inf), 0, weight * (log_mean - log_denominator).exp())
        ctx.save_for_backward(sample_loss, share, ratio, factor, own)
        believed = torch.where(log_denominator > -torch.inf, ratio, sample_loss)
        return torch.where(own, sample_loss, weight * believed)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        (slope,), (loss, share, ratio, factor, own) = slopes, ctx.saved_tensors
        weighted = share * (slope * factor).unsqueeze(-1)
        of_loss = weighted.sum(-2) + slope * own
        of_affinity = weighted.mul_(loss.unsqueeze(-2) - ratio.unsqueeze(-1)) if ctx.needs_input_grad[0] else None
        return of_affinity, of_loss, None, None, None, None, None


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
    averaging_rate: Setting,
    denominator_floor: Setting = 0.0,
    row: Int[Tensor, "*lead row"] | None = None,
) -> StochasticObjective:
    """Return the objective estimated from one batch: the mean of the terms has its value and the gradient G(w).

    An anchor that never met a neighbour, here or before, is believed to be as its own loss says. One that has
    none in the whole data set (weight 0) counts with its own loss, as in `aan_weights`. Where a batch may hold
    copies of a data row, `row` tells which samples are: they share one average.
    """
    affinity = log_affinity(embedding, temperature)
    pairs = batch_pairs(affinity, neighbours(label, attribute))
    estimate = inner_estimate(pairs, sample_loss)
    shared = estimate if row is None else shared_by_copies(estimate, row)
    average = moving_average(average, shared, averaging_rate, denominator_floor)
    term = surrogate(affinity, sample_loss, pairs, average, anchor_weight)
    return StochasticObjective(term, average, (anchor_weight > 0) & (pairs.log_mean == -torch.inf))
