"""Sums over all pairs of neighbours of a data set, streamed: two passes over blocks, O(n) memory."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from raan.neighbourhood.balance import cell_counts, has_neighbours
from raan.neighbourhood.pairs import NEAREST, unit

PANEL, PART = 1 << 22, 1 << 18
"""Numbers that are held at a time, converted and at unit length, 16 MB in float32; and that are converted at a
time, which stay in the processor's cache."""


@dataclass(frozen=True)
class Directions:
    """Rows of a tensor or an array, which may be memory-mapped, in an order of one's own."""

    embedding: Any  # [row, dim], a tensor or an array of any real numbers
    order: Int[Tensor, "some"]
    temperature: float
    dtype: torch.dtype

    @property
    def dimensions(self) -> int:
        """The length of a row."""
        return int(self.embedding.shape[1])

    @property
    def panel(self) -> int:
        """How many rows are a panel: many products for one reading, in little memory."""
        return max(256, PANEL // max(self.dimensions, 1))

    def buffer(self, rows: int) -> Float[Tensor, "rows dim"]:
        """Memory for so many rows."""
        return torch.empty(rows, self.dimensions, dtype=self.dtype, device=self.order.device)

    def read(
        self, rows: slice | Int[Tensor, "some"], buffer: Float[Tensor, "rows dim"]
    ) -> Float[Tensor, "some dim"]:
        """Some rows in the buffer given, scaled: a product of two is their similarity over the temperature."""
        places = self.order[rows]
        step = max(1, PART // max(self.dimensions, 1))
        for start in range(0, len(places), step):
            part = unit(self._read(places[start : start + step]))
            torch.div(part, max(self.temperature, NEAREST) ** 0.5, out=buffer[start : start + len(part)])
        return buffer[: len(places)]

    def _read(self, places: Int[Tensor, "some"]) -> Float[Tensor, "some dim"]:
        if isinstance(self.embedding, Tensor):
            return self.embedding[places].to(self.dtype)
        kind = np.float64 if self.dtype == torch.float64 else np.float32
        return torch.from_numpy(np.take(self.embedding, places.numpy(), axis=0).astype(kind, copy=False))


Block = tuple[slice, slice]
Progress = Callable[[Iterable[Block]], Iterable[Block]]

BLOCK = 1024
"""Rows in a block: its pairs stay in the processor's cache, and its matrix product is still at full rate."""

WARM = 1 / 40
"""From this temperature on affinities are between exp(-40) and exp(40), and float32 holds their sums as they are.
One exponential then serves both rows and columns as anchors, and no maximum is looked for."""

COLD = 0.01
"""Below this temperature pairs are computed in float64: float32's rounding over the temperature would show."""


@torch.no_grad()
def exact_weights(
    embedding: Any,
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    anchor_weight: Float[Tensor, "row"],
    temperature: float,
    progress: Progress = iter,
) -> Float64[Tensor, "row"]:
    """Compute the exact weights: for each sample j, the sum over its anchors i in P_j of anchor_weight_i p_ij.

    Args:
        embedding: A tensor or an array, [row, dim], of which a few rows at a time are converted.
        label: The class of each row, as codes.
        attribute: The attribute of each row, as codes; -1 is unknown.
        anchor_weight: The weight of each row as an anchor, as `anchor_weights` gives it.
        temperature: A finite temperature; at inf, `raan.fairness.counts.even_weights` is the closed form.
        progress: Wraps the blocks of each of the two passes.

    Returns:
        The weight of each row; 0 for one without neighbours.
    """
    order = by_cell(label, attribute)
    warm = temperature >= WARM
    directions = directions_of(embedding, order, temperature * math.log(2) if warm else temperature)
    blocks = list(_blocks(label[order], attribute[order], directions.panel)) if len(order) else []
    anchor = anchor_weight[order].double()
    if warm:
        denominator = _warm_sums(directions, torch.ones_like(anchor), progress(blocks))
        weight = _warm_sums(directions, anchor / denominator, progress(blocks))
    else:
        log_denominator = _log_denominators(directions, progress(blocks)).to(directions.dtype)
        weight = _summed_shares(directions, log_denominator, anchor.to(directions.dtype), progress(blocks))
    return torch.zeros(len(label), dtype=torch.float64, device=label.device).index_copy(0, order, weight)


def directions_of(embedding: Any, order: Int[Tensor, "some"], temperature: float) -> Directions:
    """Return the rows of the embedding in this order, in the precision that the temperature asks for."""
    precise = temperature < COLD or "float64" in str(embedding.dtype)
    return Directions(embedding, order, temperature, torch.float64 if precise else torch.float32)


def by_cell(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Int[Tensor, "anchored"]:
    """Return the rows that have neighbours, cell after cell."""
    anchored = has_neighbours(label, attribute).nonzero().squeeze(1)
    cell = (label * (attribute.max() + 1) + attribute)[anchored]
    return anchored[cell.argsort(stable=True)]


def _blocks(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"], panel: int) -> Iterator[Block]:
    """Pairs of row ranges that cover each pair of neighbours once, for rows sorted by cell.

    The first range of a pair is long, and comes many times in a row: it is read once for all of them.
    """
    for cells in neighbour_cells(label, attribute):
        for first, second in combinations(cells, 2):
            for rows in _cut(first, panel):
                for columns in _cut(second, min(panel, BLOCK)):
                    yield rows, columns


def neighbour_cells(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Iterator[list[range]]:
    """Of each class, where its cells stand among rows sorted by cell."""
    counts = cell_counts(label, attribute)
    ends = counts.flatten().cumsum(0).view_as(counts).tolist()
    for sizes, stops in zip(counts.tolist(), ends, strict=True):
        yield [range(stop - size, stop) for size, stop in zip(sizes, stops, strict=True) if size]


def _cut(rows: range | slice, size: int) -> Iterator[slice]:
    """Yield the range in slices of at most so many rows."""
    for start in range(rows.start, rows.stop, size):
        yield slice(start, min(start + size, rows.stop))


def _pairs(directions: Directions, blocks: Iterable[Block]) -> Iterator[tuple[slice, slice, Tensor, Tensor]]:
    """Yield rows, columns and similarities over the temperature of each block, and a buffer to work in.

    All blocks use the same memory, since fresh pages would cost more.
    """
    side = min(BLOCK, directions.panel)
    buffer = torch.empty(2, side * side, dtype=directions.dtype, device=directions.order.device)
    panel_buffer, column_buffer = (
        directions.buffer(min(len(directions.order), directions.panel)),
        directions.buffer(side),
    )
    for panel, several in groupby(blocks, key=lambda block: block[0]):
        held = directions.read(panel, panel_buffer)
        for _, columns in several:
            right = directions.read(columns, column_buffer).T
            for rows in _cut(panel, BLOCK):
                left = held[rows.start - panel.start : rows.stop - panel.start]
                shape = len(left), right.shape[1]
                similarity, scratch = buffer[:, : shape[0] * shape[1]].view(2, *shape)
                torch.mm(left, right, out=similarity)
                yield rows, columns, similarity, scratch


def _warm_sums(
    directions: Directions, anchor_weight: Float64[Tensor, "row"], blocks: Iterable[Block]
) -> Float64[Tensor, "row"]:
    """sum_{i in P_j} anchor_weight_i 2^(z_i.z_j / temperature) for each sample j; powers of e take twice as long.

    Neighbourhood is mutual: one block serves its rows and its columns as anchors. With weights of one these sums
    are the denominators.
    """
    weight, total = anchor_weight.to(directions.dtype), torch.zeros_like(anchor_weight)
    for rows, columns, similarity, _ in _pairs(directions, blocks):
        affinity = similarity.exp2_()
        total[columns] += weight[rows] @ affinity
        total[rows] += affinity @ weight[columns]
    return total


def _log_denominators(directions: Directions, blocks: Iterable[Block]) -> Float64[Tensor, "row"]:
    """Return the log of sum_{k in P_i} exp(z_i.z_k / temperature) for each anchor i, with an online maximum."""
    total = torch.full_like(directions.order, -torch.inf, dtype=torch.float64)
    for rows, columns, similarity, scratch in _pairs(directions, blocks):
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
    directions: Directions,
    log_denominator: Float[Tensor, "row"],
    anchor_weight: Float[Tensor, "row"],
    blocks: Iterable[Block],
) -> Float64[Tensor, "row"]:
    """sum_{i in P_j} anchor_weight_i exp(z_i.z_j / temperature) / denominator_i for each sample j."""
    total = torch.zeros_like(log_denominator, dtype=torch.float64)
    for rows, columns, similarity, scratch in _pairs(directions, blocks):
        torch.sub(similarity, log_denominator[rows, None], out=scratch).exp_()
        total[columns] += anchor_weight[rows] @ scratch
        torch.sub(similarity, log_denominator[columns], out=scratch).exp_()
        total[rows] += scratch @ anchor_weight[columns]
    return total
