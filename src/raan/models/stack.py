"""Layers with a run axis: every run has weights of its own, and one batched product serves them all."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Stack:
    """Linear layers with ReLU and dropout between them, none after the last; one width is the identity.

    A stack is a shape: its numbers are a row of parameters for each run, handed in at every call.
    """

    widths: tuple[int, ...]

    @property
    def sizes(self) -> list[int]:
        """How many numbers each layer's weight and bias have, in the order in which they are kept."""
        return [size for inputs, outputs in pairwise(self.widths) for size in (inputs * outputs, outputs)]

    @property
    def units(self) -> int:
        """How many units dropout may silence."""
        return sum(self.widths[1:-1])

    def draw(self, rng: np.random.Generator) -> Float[np.ndarray, "parameter"]:
        """Starting values for one run: uniform within one over the root of the layer's inputs, as torch's."""
        layers = [
            rng.uniform(-(inputs**-0.5), inputs**-0.5, (inputs + 1) * outputs)
            for inputs, outputs in pairwise(self.widths)
        ]
        return np.concatenate([np.zeros(0), *layers])

    def __call__(
        self,
        parameters: Sequence[Tensor],
        inputs: Float[Tensor, "run batch input"],
        keep: Float[Tensor, "run batch unit"] | None = None,
    ) -> Float[Tensor, "run batch output"]:
        """The stack's output, from its layers' parameters ([run, size] each, as in `sizes`)."""
        signal = inputs
        masks = None if keep is None else torch.split(keep, list(self.widths[1:-1]), dim=-1)
        for layer, (width_in, width_out) in enumerate(pairwise(self.widths)):
            if layer:
                signal = signal.relu()
                signal = signal if masks is None else signal * masks[layer - 1]
            weight = parameters[2 * layer].view(-1, width_in, width_out)
            signal = torch.baddbmm(parameters[2 * layer + 1].unsqueeze(1), signal, weight)
        return signal
