"""Sums over all pairs of neighbours of a data set, streamed: two passes over blocks, O(n d) memory."""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

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


def _log_denominators(scaled: Float[Tensor, "row dim"], blocks: Iterable[Block]) -> Float64[Tensor, "row"]:
    """Log sum_{k in P_i} exp(z_i.z_k / temperature) for each anchor i, with an online maximum.

    Neighbourhood is mutual: one product serves the block's rows and its columns as anchors.
    """
    total = scaled.new_full((len(scaled),), -torch.inf, dtype=torch.float64)
    for rows, columns in blocks:
        similarity = scaled[rows] @ scaled[columns].T
        total[rows] = torch.logaddexp(total[rows], similarity.logsumexp(1).double())
        total[columns] = torch.logaddexp(total[columns], similarity.logsumexp(0).double())
    return total


def _summed_shares(
    scaled: Float[Tensor, "row dim"],
    log_denominator: Float[Tensor, "row"],
    anchor_weight: Float[Tensor, "row"],
    blocks: Iterable[Block],
) -> Float64[Tensor, "row"]:
    """sum_{i in P_j} anchor_weight_i exp(z_i.z_j / temperature) / denominator_i for each sample j."""
    total = scaled.new_zeros(len(scaled), dtype=torch.float64)
    for rows, columns in blocks:
        similarity = scaled[rows] @ scaled[columns].T
        by_row = (similarity - log_denominator[rows, None]).exp_()
        total[columns] += anchor_weight[rows] @ by_row
        by_column = similarity.sub_(log_denominator[columns]).exp_()
        total[rows] += by_column @ anchor_weight[columns]
    return total
