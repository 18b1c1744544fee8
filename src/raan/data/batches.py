"""Batches of many runs at once: an index gather over in-memory tensors, no worker processes."""

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
    BALANCED = "balanced"  # as many rows of each (class, attribute) cell; those of unknown attribute are left out


@dataclass(frozen=True)
class Batch:
    """What a method sees of each run at one step."""

    features: Float[Tensor, "run batch feature"]
    label: Int[Tensor, "run batch"]
    attribute: Int[Tensor, "run batch"]
    row: Int[Tensor, "run batch"]  # in the table
    keep: Float[Tensor, "run batch unit"] | None = None  # dropout: 0, or the inverse of the chance to be kept
    environment: Int[Tensor, "run batch"] | None = None  # where the table has environments


def gather(
    features: Float[Tensor, "*run row feature"], row: Int[Tensor, "run batch"]
) -> Float[Tensor, "run batch feature"]:
    """The features of each run's rows, from a table that the runs share or from one with a run axis."""
    if features.ndim == 2:
        return features.index_select(0, row.flatten()).view(*row.shape, features.shape[1])
    return gather(features.flatten(0, 1), flat_index(row, features.shape[1]))


def flat_index(row: Int[Tensor, "run batch"], rows: int) -> Int[Tensor, "run batch"]:
    """Where each run's rows stand in a table of `rows` rows a run, the runs laid end to end."""
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
    """One epoch: as many draws as there are training rows, the last batch as large as what is left.

    Of the model's `units` that dropout may silence, `keep` marks those that stay.
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
    """Each run's training rows, in an order of its own."""
    shuffle = [stream(seed, "shuffle", epoch).permutation(train.shape[1]) for seed in seeds]
    return train.gather(1, torch.from_numpy(np.stack(shuffle)).to(train.device))


def balanced_order(
    table: Table, train: Int[Tensor, "run row"], seeds: Sequence[int], batch_size: int, epoch: int
) -> Int[Tensor, "run row"]:
    """Each run's draws, the (class, attribute) cells taking turns: in no batch do two differ by more than one."""
    cell = (table.label.long() * table.attributes + table.attribute).numpy(force=True)
    cell = np.where(table.attribute.numpy(force=True) < 0, -1, cell)
    orders = []
    for rows, seed in zip(train.numpy(force=True), seeds, strict=True):
        present = np.setdiff1d(cell[rows], [-1])
        if not len(present):
            raise ValueError("balanced batches need the attribute, and no training row's attribute is known")
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
    """Draws of a cell's rows for the given batches, reshuffled whenever all are used up.

    No row is twice in a batch, unless the batch asks for more rows than the cell has.
    """
    drawn, done = np.empty(len(batch) + len(members), dtype=np.int64), 0
    while done < len(batch):
        fresh = rng.permutation(members)
        # A round that begins within a batch begins with the rows which that batch does not have yet.
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
    """Inverted dropout masks, each run's from the stream of its seed; runs of one seed share what is drawn.

    Sixteen random bits a unit: a rate is met to 1 / 65536, at a fraction of the cost of a float each.
    """
    size = batch * units
    words = [rng.bit_generator.random_raw(-(-size // 4)).view(np.uint16)[:size] for rng in streams.values()]
    kept = np.stack(words) >= round(dropout * 65536)
    # As bytes, since torch takes several times as long to make numbers of truth values.
    masks = torch.from_numpy(kept.view(np.uint8)).view(-1, batch, units).to(dtype).div_(1 - dropout)
    if len(streams) == len(seeds):
        return masks
    place = {seed: number for number, seed in enumerate(streams)}
    return masks[[place[seed] for seed in seeds]]
