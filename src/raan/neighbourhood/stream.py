"""Sums over all pairs of neighbours of a data set, streamed: two passes over blocks, O(n d) memory."""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from raan.neighbourhood.balance import cell_counts, has_neighbours
from raan.neighbourhood.pairs import NEAREST, unit

Block = tuple[slice, slice]
Progress = Callable[[Iterable[Block]], Iterable[Block]]

BLOCK = 1024
"""Rows in a block: its pairs stay in the processor's cache, and its matrix product is still at full rate."""

COLD = 0.01
"""Below this temperature pairs are computed in float64: float32's rounding over the temperature would show."""


@torch.no_grad()
def exact_weights(
    embedding: Float[Tensor, "row dim"],
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    anchor_weight: Float[Tensor, "row"],
    temperature: float,
    progress: Progress = iter,
) -> Float64[Tensor, "row"]:
    """For each sample j: the sum over its anchors i in P_j of anchor_weight_i p_ij; 0 without neighbours."""
    anchored = has_neighbours(label, attribute).nonzero().squeeze(1)
    by_cell = (label * (attribute.max() + 1) + attribute)[anchored]
    order = anchored[by_cell.argsort(stable=True)]
    blocks = list(_blocks(label[order], attribute[order])) if len(order) else []
    dtype = torch.float64 if temperature < COLD else embedding.dtype
    # Scaled so that a product of two rows is their similarity over the temperature.
    scaled = unit(embedding[order].to(dtype)) / max(temperature, NEAREST) ** 0.5
    log_denominator = _log_denominators(scaled, progress(blocks)).to(dtype)
    weight = _summed_shares(scaled, log_denominator, anchor_weight[order].to(dtype), progress(blocks))
    return torch.zeros(len(label), dtype=torch.float64, device=embedding.device).index_copy(0, order, weight)


def _blocks(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Iterator[Block]:
    """Pairs of row ranges that cover each pair of neighbours once, for rows sorted by cell."""
    counts = cell_counts(label, attribute)
    ends = counts.flatten().cumsum(0).view_as(counts).tolist()
    for sizes, stops in zip(counts.tolist(), ends, strict=True):
        cells = [range(stop - size, stop) for size, stop in zip(sizes, stops, strict=True) if size]
        for first, second in combinations(cells, 2):
            for rows in _cut(first):
                for columns in _cut(second):
                    yield rows, columns


def _cut(rows: range) -> Iterator[slice]:
    """The range in slices of at most a block."""
    for start in range(rows.start, rows.stop, BLOCK):
        yield slice(start, min(start + BLOCK, rows.stop))


class _Pairs(NamedTuple):
    """A block of pairs: where it stands, similarity over temperature, and room to work in."""

    rows: slice
    columns: slice
    similarity: Float[Tensor, "anchor neighbour"]
    scratch: Float[Tensor, "anchor neighbour"]


def _pairs(scaled: Float[Tensor, "row dim"], blocks: Iterable[Block]) -> Iterator[_Pairs]:
    """The similarities of one block after the other, all in the same memory: fresh pages would cost more."""
    room = scaled.new_empty(2, BLOCK * BLOCK)
    for rows, columns in blocks:
        shape = rows.stop - rows.start, columns.stop - columns.start
        similarity, scratch = room[:, : shape[0] * shape[1]].view(2, *shape)
        torch.mm(scaled[rows], scaled[columns].T, out=similarity)
        yield _Pairs(rows, columns, similarity, scratch)


def _log_denominators(scaled: Float[Tensor, "row dim"], blocks: Iterable[Block]) -> Float64[Tensor, "row"]:
    """The log of sum_{k in P_i} exp(z_i.z_k / temperature) for each anchor i, with an online maximum.

    Neighbourhood is mutual: one product serves the block's rows and its columns as anchors.
    """
    total = scaled.new_full((len(scaled),), -torch.inf, dtype=torch.float64)
    for rows, columns, similarity, scratch in _pairs(scaled, blocks):
        total[rows] = torch.logaddexp(total[rows], _log_sum_exp(similarity, 1, scratch))
        total[columns] = torch.logaddexp(total[columns], _log_sum_exp(similarity, 0, scratch))
    return total


def _log_sum_exp(
    values: Float[Tensor, "anchor neighbour"], dim: int, scratch: Float[Tensor, "anchor neighbour"]
) -> Float64[Tensor, "sum"]:
    """torch.logsumexp without its temporaries."""
    top = values.amax(dim, keepdim=True)
    torch.sub(values, top, out=scratch).exp_()
    return scratch.sum(dim).double().log() + top.squeeze(dim)


def _summed_shares(
    scaled: Float[Tensor, "row dim"],
    log_denominator: Float[Tensor, "row"],
    anchor_weight: Float[Tensor, "row"],
    blocks: Iterable[Block],
) -> Float64[Tensor, "row"]:
    """sum_{i in P_j} anchor_weight_i exp(z_i.z_j / temperature) / denominator_i for each sample j."""
    total = scaled.new_zeros(len(scaled), dtype=torch.float64)
    for rows, columns, similarity, scratch in _pairs(scaled, blocks):
        torch.sub(similarity, log_denominator[rows, None], out=scratch).exp_()
        total[columns] += anchor_weight[rows] @ scratch
        torch.sub(similarity, log_denominator[columns], out=scratch).exp_()
        total[rows] += scratch @ anchor_weight[columns]
    return total
