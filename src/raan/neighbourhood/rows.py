"""The rows of an embedding as directions, some at a time: the whole of it is not copied."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

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

    def room(self, rows: int) -> Float[Tensor, "rows dim"]:
        """Memory for so many rows."""
        return torch.empty(rows, self.dimensions, dtype=self.dtype, device=self.order.device)

    def read(
        self, rows: slice | Int[Tensor, "some"], room: Float[Tensor, "rows dim"]
    ) -> Float[Tensor, "some dim"]:
        """Some rows in the room given, scaled: a product of two is their similarity over the temperature."""
        places = self.order[rows]
        step = max(1, PART // max(self.dimensions, 1))
        for start in range(0, len(places), step):
            part = unit(self._read(places[start : start + step]))
            torch.div(part, max(self.temperature, NEAREST) ** 0.5, out=room[start : start + len(part)])
        return room[: len(places)]

    def _read(self, places: Int[Tensor, "some"]) -> Float[Tensor, "some dim"]:
        if isinstance(self.embedding, Tensor):
            return self.embedding[places].to(self.dtype)
        kind = np.float64 if self.dtype == torch.float64 else np.float32
        return torch.from_numpy(np.take(self.embedding, places.numpy(), axis=0).astype(kind, copy=False))
