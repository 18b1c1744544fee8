"""Weights of millions of rows: centroids stand for the rows of a cell, in both passes, at a cost of O(n k d).

How far off that is, is measured: some rows of each cell are computed apart, and centroids are doubled until the
median of their errors is within the tolerance.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from raan.neighbourhood.certificate import Certificate, exact_certificate
from raan.neighbourhood.stream import WARM, Directions, by_cell, directions_of, exact_weights, neighbour_cells

FEWEST = 128
"""The centroids of a cell to begin with."""

JUDGES = 256
"""Rows of each cell that are computed apart, to measure the error."""

ROUNDS, SAMPLED = 8, 24
"""K-means goes so many times over a sample of so many rows a centroid; then each row joins its nearest one."""

CHUNK = 1 << 21
"""Pairs of a row and a centroid, or numbers of rows, at a time."""


@torch.no_grad()
def approximate_weights(
    embedding: object,
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    anchor_weight: Float[Tensor, "row"],
    temperature: float,
    tolerance: float,
    seed: int = 0,
) -> tuple[Float64[Tensor, "row"], Certificate]:
    """`exact_weights` within a tolerance, the median relative error in the worst cell, and the certificate of it.

    Exact where the temperature is too low for centroids, or as many as are needed would cost about as much.
    """
    problem = (embedding, label, attribute, anchor_weight, temperature)
    if temperature < WARM:
        why = f"below temperature {WARM} centroids stand for too little"
        return exact_weights(*problem), exact_certificate(tolerance, why)
    order = by_cell(label, attribute)
    classes = [cells for cells in neighbour_cells(label[order], attribute[order]) if cells] if len(order) else []
    directions, anchor = directions_of(embedding, order, temperature), anchor_weight[order].double()
    centroids = FEWEST
    while products(classes, centroids) < exact_products(classes) / 2:
        weight, errors = over_centroids(directions, classes, anchor, centroids, seed)
        median, tail = (max(float(error.quantile(q)) for error in errors) for q in (0.5, 0.99))
        if median <= tolerance:
            rows = sum(map(len, errors))
            note = f"{centroids} centroids a cell; errors measured on {rows} rows"
            certificate = Certificate(tolerance, median, tail, rows, centroids, note)
            return torch.zeros_like(label, dtype=torch.float64).index_copy(0, order, weight), certificate
        centroids *= 2
    why = f"{centroids} centroids a cell would cost about as much"
    return exact_weights(*problem), exact_certificate(tolerance, why)


def exact_products(classes: Sequence[Sequence[range]]) -> int:
    """Return the products of two rows in the two passes over all pairs of neighbours."""
    return sum(sum(map(len, cells)) ** 2 - sum(len(cell) ** 2 for cell in cells) for cells in classes)


def products(classes: Sequence[Sequence[range]], centroids: int) -> int:
    """Return the products of a row with a centroid, or with a row that is computed apart."""
    total = 0
    for cells in classes:
        stand = sum(min(len(cell), centroids) for cell in cells)
        probes = sum(min(len(cell), JUDGES) for cell in cells)
        for cell in cells:
            own = min(len(cell), centroids)
            kmeans = 0 if own == len(cell) else own * (1 + ROUNDS * min(SAMPLED * own, len(cell)) / len(cell))
            total += int(len(cell) * (kmeans + 2 * (stand - own) + probes - min(len(cell), JUDGES)))
    return total


def over_centroids(
    directions: Directions,
    classes: Sequence[Sequence[range]],
    anchor: Float64[Tensor, "row"],
    centroids: int,
    seed: int = 0,
) -> tuple[Float64[Tensor, "row"], list[Float64[Tensor, "_"]]]:
    """The weights of rows sorted by cell, and of each cell the relative errors of the rows computed apart."""
    weight, errors = torch.zeros_like(anchor), list[Tensor]()
    for cells in classes:
        rng = np.random.default_rng([seed, cells[0].start])
        clusters = [_cluster(directions, cell, centroids, rng) for cell in cells]
        share = torch.zeros_like(anchor)
        heads = []
        for number, cell in enumerate(cells):
            others = [cluster for place, cluster in enumerate(clusters) if place != number]
            heads.append(_share_out(directions, cell, clusters[number], others, anchor, share))
        given = _receive(directions, cells, heads, anchor)
        for cell, received in zip(cells, given, strict=True):
            weight[cell.start : cell.stop] = received
        errors += _errors(directions, cells, anchor, share, weight, rng)
    return weight, errors


@dataclass(frozen=True)
class Clusters:
    """Points that stand for the rows of a cell: where, with what weight, and which row is whose."""

    centre: Float[Tensor, "cluster dim"]
    weight: Float[Tensor, "cluster"]
    member: Int[Tensor, "row"]


def _cluster(directions: Directions, cell: range, centroids: int, rng: np.random.Generator) -> Clusters:
    """K-means of a cell's rows; each row by itself where the cell has no more of them."""
    device = directions.order.device
    if len(cell) <= centroids:
        centre = directions.read(slice(cell.start, cell.stop), directions.buffer(len(cell)))
        return Clusters(centre, centre.new_ones(len(cell)), torch.arange(len(cell), device=device))
    size = min(len(cell), SAMPLED * centroids)
    drawn = torch.from_numpy(cell.start + rng.permutation(len(cell))[:size]).to(device)
    sample = directions.read(drawn, directions.buffer(size))
    centre = sample[:centroids].clone()
    for _ in range(ROUNDS):
        nearest = torch.cat([_nearest(part, centre) for part in torch.split(sample, max(1, CHUNK // centroids))])
        centre = _means(sample, nearest, centre)
    member = torch.empty(len(cell), dtype=torch.int64, device=device)
    total, count = torch.zeros_like(centre), centre.new_zeros(centroids)
    for rows, part in _parts(directions, cell, centroids):
        nearest = _nearest(part, centre)
        member[rows.start - cell.start : rows.stop - cell.start] = nearest
        total.index_add_(0, nearest, part)
        count.index_add_(0, nearest, count.new_ones(len(part)))
    return Clusters(torch.where(count[:, None] > 0, total / count[:, None], centre), count, member)


def _nearest(points: Float[Tensor, "row dim"], centre: Float[Tensor, "cluster dim"]) -> Int[Tensor, "row"]:
    return torch.addmm(-centre.square().sum(1) / 2, points, centre.T).argmax(1)


def _means(
    points: Float[Tensor, "row dim"], nearest: Int[Tensor, "row"], centre: Float[Tensor, "cluster dim"]
) -> Float[Tensor, "cluster dim"]:
    """Return the mean of each centre's points; a centre without points stays."""
    count = torch.bincount(nearest, minlength=len(centre))[:, None]
    total = torch.zeros_like(centre).index_add_(0, nearest, points)
    return torch.where(count > 0, total / count.clamp(min=1), centre)


def _parts(directions: Directions, cell: range, width: int) -> Iterator[tuple[slice, Float[Tensor, "row dim"]]]:
    """Yield the rows of a cell, some at a time, in the same memory."""
    step = max(1, CHUNK // max(width, directions.dimensions))
    buffer = directions.buffer(min(step, len(cell)))
    for start in range(cell.start, cell.stop, step):
        rows = slice(start, min(start + step, cell.stop))
        yield rows, directions.read(rows, buffer)


def _share_out(
    directions: Directions,
    cell: range,
    own: Clusters,
    others: Sequence[Clusters],
    anchor: Float64[Tensor, "row"],
    share: Float64[Tensor, "row"],
) -> Clusters:
    """Return the first pass: the cell's anchors as points, each amidst some anchors and as heavy as their shares.

    A share is an anchor's weight over its denominator; all are written into `share`.
    """
    centre, count = torch.cat([each.centre for each in others]), torch.cat([each.weight for each in others])
    total, weight = torch.zeros_like(own.centre), share.new_zeros(len(own.centre))
    # Shares may be as small as exp(-40): on a scale of their own they are ordinary numbers in float32.
    scale = float(count.sum()) * math.exp(1 / directions.temperature)
    for rows, part in _parts(directions, cell, len(centre)):
        denominator = (part @ centre.T).exp_() @ count
        here = anchor[rows] / denominator.double()
        share[rows] = here
        member = own.member[rows.start - cell.start : rows.stop - cell.start]
        weight.index_add_(0, member, here)
        total.index_add_(0, member, part * (scale * here).to(part.dtype)[:, None])
    sound = weight > 0
    middle = total / (scale * weight).where(sound, 1).to(total.dtype)[:, None]
    return Clusters(torch.where(sound[:, None], middle, own.centre), weight.to(total.dtype), own.member)


def _receive(
    directions: Directions, cells: Sequence[range], heads: Sequence[Clusters], anchor: Float64[Tensor, "row"]
) -> list[Float64[Tensor, "_"]]:
    """The second pass: what each row is given by the anchors of each other cell, which give all that they have."""
    received = []
    for number, cell in enumerate(cells):
        others = [head for place, head in enumerate(heads) if place != number]
        centre = torch.cat([head.centre for head in others])
        weight = torch.block_diag(*(head.weight[:, None] for head in others))  # type: ignore[no-untyped-call]
        parts = [(part @ centre.T).exp_() @ weight for _, part in _parts(directions, cell, len(centre))]
        received.append(torch.cat(parts).double())
    for giver, cell in enumerate(cells):
        columns = [row[:, giver - (giver > taker)] for taker, row in enumerate(received) if taker != giver]
        given = torch.stack([column.sum() for column in columns]).sum()
        for column in columns:
            column *= anchor[cell.start : cell.stop].sum() / given.where(given > 0, 1)
    return [row.sum(1) for row in received]


def _errors(
    directions: Directions,
    cells: Sequence[range],
    anchor: Float64[Tensor, "row"],
    share: Float64[Tensor, "row"],
    weight: Float64[Tensor, "row"],
    rng: np.random.Generator,
) -> list[Float64[Tensor, "_"]]:
    """Return the relative errors of some rows of each cell.

    A row's exact weight is a sum over all its anchors. Their denominators are known but by centroids; how far this
    moves the sum is estimated by the anchors that are probes themselves, whose denominators are computed too.
    """
    device = directions.order.device
    probes = [torch.from_numpy(cell.start + rng.permutation(len(cell))[:JUDGES]).to(device) for cell in cells]
    points = [directions.read(probe, directions.buffer(len(probe))) for probe in probes]
    sums = [torch.zeros(len(cells), 2, len(probe), dtype=torch.float64, device=device) for probe in probes]
    for number, cell in enumerate(cells):
        asked = [place for place in range(len(cells)) if place != number]
        for rows, part in _parts(directions, cell, sum(len(points[place]) for place in asked)):
            both = torch.stack([torch.ones_like(share[rows]), share[rows]]).to(part.dtype)
            for place in asked:
                sums[place][number] += both @ (part @ points[place].T).exp_()
    exact_share = [anchor[probe] / total[:, 0].sum(0) for probe, total in zip(probes, sums, strict=True)]
    errors = []
    for place, probe in enumerate(probes):
        exact = torch.zeros(len(probe), dtype=torch.float64, device=device)
        for number in range(len(cells)):
            if number != place:
                affinity = (points[place] @ points[number].T).exp_().double()
                moved = (affinity @ exact_share[number]) / (affinity @ share[probes[number]])
                exact += sums[place][number, 1] * moved.nan_to_num(1.0)
        known = exact > 0
        errors.append((weight[probe][known] / exact[known] - 1).abs())
    return errors
