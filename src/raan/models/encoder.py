"""What a model asks of its encoder: layers with a run axis fulfil it, and so does any module in an adapter."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from torch import Tensor


@runtime_checkable
class Encoder(Protocol):
    """From features to an embedding; its numbers are a row of parameters for each run, handed in at every call."""

    @property
    def sizes(self) -> list[int]:
        """How many numbers each of its parameters has, in the order in which they are kept."""
        ...

    @property
    def units(self) -> int:
        """How many units dropout may silence."""
        ...

    def draw(self, rng: np.random.Generator) -> Float[np.ndarray, "parameter"]:
        """Starting values for one run."""
        ...

    def __call__(
        self,
        parameters: Sequence[Tensor],
        inputs: Float[Tensor, "run batch input"],
        keep: Float[Tensor, "run batch unit"] | None = None,
    ) -> Float[Tensor, "run batch output"]:
        """The embedding, from the parameters ([run, size] each, as in `sizes`)."""
        ...
