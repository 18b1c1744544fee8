"""What a model says of many rows, a chunk at a time."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import gather
from raan.data.table import Table
from raan.models.model import Model, Output

CHUNK = 1 << 20
"""Numbers at a time: enough for a full-rate matrix product, few enough to stay near the processor."""


@torch.no_grad()
def outputs(model: Model, table: Table, rows: Int[Tensor, "run row"]) -> Output:
    """Embedding and logits of each run's rows, without dropout."""
    parts = [model(gather(table.features, chunk)) for chunk in _chunks(table, rows)]
    return Output(*(torch.cat(part, dim=1) for part in zip(*parts, strict=True)))


@torch.no_grad()
def predictions(model: Model, table: Table, rows: Int[Tensor, "run row"]) -> Int[Tensor, "run row"]:
    """The likeliest class of each run's rows, without dropout; no embedding is kept."""
    parts = [model(gather(table.features, chunk)).logit.argmax(-1) for chunk in _chunks(table, rows)]
    return torch.cat(parts, dim=1)


@torch.no_grad()
def logits(model: Model, table: Table, rows: Int[Tensor, "run row"]) -> Float[Tensor, "run row label"]:
    """The logits of each run's rows, without dropout; no embedding is kept."""
    parts = [model(gather(table.features, chunk)).logit for chunk in _chunks(table, rows)]
    return torch.cat(parts, dim=1)


def _chunks(table: Table, rows: Int[Tensor, "run row"]) -> tuple[Int[Tensor, "run chunk"], ...]:
    """The rows in parts; few rows at a time where there are many runs or wide features."""
    return torch.split(rows, max(256, CHUNK // (len(rows) * table.features.shape[-1])), dim=1)
