"""Batches of many runs at once: rows gathered from tensors in memory, without worker processes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.streams import stream
from raan.data.table import Table


class Sampling(Enum):
    """How an epoch's batches are drawn from the training rows."""

    SHUFFLED = "shuffled"  # every row once, in a random order
    BALANCED = "balanced"  # equally many rows of each (class, attribute) cell; unknown attributes are left out


@dataclass(frozen=True)
class Batch:
    """The rows of each run at one step, as a method gets them."""

    features: Float[Tensor, "run batch feature"]
    label: Int[Tensor, "run batch"]
    attribute: Int[Tensor, "run batch"]
    row: Int[Tensor, "run batch"]  # in the table
    keep: Float[Tensor, "run batch unit"] | None = None  # dropout: 0, or the inverse of the probability to be kept
    environment: Int[Tensor, "run batch"] | None = None  # if the table has environments


def gather(
    features: Float[Tensor, "*run row feature"], row: Int[Tensor, "run batch"]
) -> Float[Tensor, "run batch feature"]:
    """Return the features of each run's rows, from a table that the runs share or from one with a run axis."""
    if features.ndim == 2:
        return features.index_select(0, row.flatten()).view(*row.shape, features.shape[1])
    return gather(features.flatten(0, 1), flat_index(row, features.shape[1]))


def flat_index(row: Int[Tensor, "run batch"], rows: int) -> Int[Tensor, "run batch"]:
    """Return the positions of each run's rows in a table of `rows` rows for each run, one run after the other."""
    return row + rows * torch.arange(len(row), device=row.device).unsqueeze(-1)


def batches(
    table: Table,
    train: Int[Tensor, "run row"],
    seeds: Sequence[int],
    *,
    batch_size: int,
    epoch: int,
    units: int = 0,
    dropout: float = 0.0,
    sampling: Sampling = Sampling.SHUFFLED,
) -> Iterator[Batch]:
    """Yield the batches of one epoch: as many draws as there are training rows; the last batch may be smaller.

    Args:
        table: the rows to learn from.
        train: the training rows of each run.
        seeds: the seed of each run; runs of one seed get the same batches.
        batch_size: the number of rows of a batch, for each run.
        epoch: the number of the epoch, from which with the seed the random numbers follow.
        units: the number of the model's units to which dropout applies; `Batch.keep` marks those that stay.
        dropout: the probability that a unit is left out.
        sampling: how rows are drawn.
    """
    if sampling is Sampling.BALANCED:
        order = balanced_order(table, train, seeds, batch_size, epoch)
    else:
        order = shuffled_order(train, seeds, epoch)
    masks = {seed: stream(seed, "dropout", epoch) for seed in seeds}
    for row in torch.split(order, batch_size, dim=1):
        yield Batch(
            gather(table.features, row),
            table.label[row],
            table.attribute[row],
            row,
            keep_masks(masks, seeds, row.shape[1], units, dropout, table.features.dtype).to(row.device)
            if units and dropout
            else None,
            None if table.environment is None else table.environment[row],
        )


def shuffled_order(train: Int[Tensor, "run row"], seeds: Sequence[int], epoch: int) -> Int[Tensor, "run row"]:
    """Return the training rows of each run in the random order of its seed."""
    shuffle = [stream(seed, "shuffle", epoch).permutation(train.shape[1]) for seed in seeds]
    return train.gather(1, torch.from_numpy(np.stack(shuffle)).to(train.device))


def balanced_order(
    table: Table, train: Int[Tensor, "run row"], seeds: Sequence[int], batch_size: int, epoch: int
) -> Int[Tensor, "run row"]:
    """Draw rows for each run, the (class, attribute) cells in turn, so that each batch is balanced."""
    cell = (table.label.long() * table.attributes + table.attribute).numpy(force=True)
    cell = np.where(table.attribute.numpy(force=True) < 0, -1, cell)
    orders = []
    for rows, seed in zip(train.numpy(force=True), seeds, strict=True):
        present = np.setdiff1d(cell[rows], [-1])
        if not len(present):
            raise ValueError("balanced batches need the attribute; no training row's attribute is known")
        rng, turn = stream(seed, "balance", epoch), np.arange(len(rows))
        order = np.empty(len(rows), dtype=np.int64)
        for number, which in enumerate(rng.permutation(present)):
            turns = turn[number :: len(present)]
            order[turns] = draw_rounds(rows[cell[rows] == which], turns // batch_size, rng)
        orders.append(order)
    return torch.from_numpy(np.stack(orders)).to(train.device)


def draw_rounds(
    members: Int[np.ndarray, "member"], batch: Int[np.ndarray, "draw"], rng: np.random.Generator
) -> Int[np.ndarray, "draw"]:
    """Draw a cell's rows for the given batches, reshuffled whenever all are used up.

    No row is twice in a batch, unless the batch needs more rows than the cell has.
    """
    drawn, done = np.empty(len(batch) + len(members), dtype=np.int64), 0
    while done < len(batch):
        fresh = rng.permutation(members)
        # A round that begins within a batch begins with rows that are not in that batch yet.
        begun = np.searchsorted(batch, batch[done])
        late = np.isin(fresh, drawn[begun:done])
        drawn[done : done + len(members)] = np.concatenate([fresh[~late], fresh[late]])
        done += len(members)
    return drawn[: len(batch)]


def keep_masks(
    streams: Mapping[int, np.random.Generator],
    seeds: Sequence[int],
    batch: int,
    units: int,
    dropout: float,
    dtype: torch.dtype,
) -> Float[Tensor, "run batch unit"]:
    """Draw inverted dropout masks, each run's from the stream of its seed; runs of one seed share a mask.

    Sixteen random bits for each unit meet a rate to within 1 / 65536, and cost a fraction of a random float.
    """
    size = batch * units
    words = [rng.bit_generator.random_raw(-(-size // 4)).view(np.uint16)[:size] for rng in streams.values()]
    kept = np.stack(words) >= round(dropout * 65536)
    # As bytes, since torch takes several times as long to convert truth values to numbers.
    masks = torch.from_numpy(kept.view(np.uint8)).view(-1, batch, units).to(dtype).div_(1 - dropout)
    if len(streams) == len(seeds):
        return masks
    place = {seed: number for number, seed in enumerate(streams)}
    return masks[[place[seed] for seed in seeds]]
