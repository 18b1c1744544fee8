"""Batches of many runs at once: an index gather over in-memory tensors, no worker processes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.streams import stream
from raan.data.table import Table


@dataclass(frozen=True)
class Batch:
    """What a method sees of each run at one step."""

    features: Float[Tensor, "run batch feature"]
    label: Int[Tensor, "run batch"]
    attribute: Int[Tensor, "run batch"]
    row: Int[Tensor, "run batch"]  # in the table
    keep: Float[Tensor, "run batch unit"] | None = None  # dropout: 0, or the inverse of the chance to be kept


def gather(
    features: Float[Tensor, "*run row feature"], row: Int[Tensor, "run batch"]
) -> Float[Tensor, "run batch feature"]:
    """The features of each run's rows, from a table that the runs share or from one with a run axis."""
    if features.ndim == 2:
        return features[row]
    return features.flatten(0, 1)[flat_index(row, features.shape[1])]


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
) -> Iterator[Batch]:
    """One epoch: each run's training rows in an order of its own, the last batch as large as what is left.

    Of the model's `units` that dropout may silence, `keep` says which stay.
    """
    shuffle = [stream(seed, "shuffle", epoch).permutation(train.shape[1]) for seed in seeds]
    order = train.gather(1, torch.from_numpy(np.stack(shuffle)).to(train.device))
    masks = [stream(seed, "dropout", epoch) for seed in seeds]
    for row in torch.split(order, batch_size, dim=1):
        yield Batch(
            gather(table.features, row),
            table.label[row],
            table.attribute[row],
            row,
            keep_masks(masks, row.shape[1], units, dropout, table.features.dtype) if units and dropout else None,
        )


def keep_masks(
    streams: Sequence[np.random.Generator], batch: int, units: int, dropout: float, dtype: torch.dtype
) -> Float[Tensor, "run batch unit"]:
    """Inverted dropout masks, each run's from its own stream.

    Sixteen random bits a unit: a rate is met to 1 / 65536, at a fraction of the cost of a float each.
    """
    size = batch * units
    words = np.stack([rng.bit_generator.random_raw(-(-size // 4)).view(np.uint16)[:size] for rng in streams])
    kept = torch.from_numpy(words >= round(dropout * 65536)).view(len(streams), batch, units)
    return kept.to(dtype) / (1 - dropout)
