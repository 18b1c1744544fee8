"""What a model says of many rows, a chunk at a time."""

import torch
from jaxtyping import Int
from torch import Tensor

from raan.data.batches import gather
from raan.data.table import Table
from raan.models.model import Model, Output

CHUNK = 8192
"""Rows a run at a time: enough for a full-rate matrix product, few enough for any memory."""


@torch.no_grad()
def outputs(model: Model, table: Table, rows: Int[Tensor, "run row"]) -> Output:
    """Embedding and logits of each run's rows, without dropout."""
    parts = [model(gather(table.features, chunk)) for chunk in torch.split(rows, CHUNK, dim=1)]
    return Output(*(torch.cat(part, dim=1) for part in zip(*parts, strict=True)))
