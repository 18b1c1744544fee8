"""Alg. 3: how parameters follow a gradient, as printed: no bias correction, epsilon inside the root.

Beside it torch's Adam, which has both the other way, to see what the difference does.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor

Printed = Literal["sgd", "adam", "amsgrad"]
"""The styles of Alg. 3."""

Style = Literal[Printed, "torch-adam"]
"""The styles that a study can train with."""


class Moments(NamedTuple):
    """What Alg. 3 carries from step to step; of the shape of the parameters."""

    first: Float[Tensor, "*shape"]  # h
    largest_second: Float[Tensor, "*shape"]  # v-hat: v itself in Adam's style
    steps: Float[Tensor, ""] | None = None  # taken so far, where that counts: in torch's Adam


@dataclass(frozen=True)
class Update:
    """Alg. 3: w after one step along G(w), SGD-style, Adam-style or AMSGrad; or torch's Adam."""

    style: Style = "adam"
    first_decay: float = 0.9
    second_decay: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        """An unknown style is an error here."""
        if self.style not in get_args(Style):
            raise ValueError(f'style is {self.style!r}; expected "sgd", "adam", "amsgrad" or "torch-adam"')

    def start(self, parameters: Float[Tensor, "*shape"]) -> Moments:
        """The moments before the first step: zero."""
        steps = parameters.new_zeros(()) if self.style == "torch-adam" else None
        return Moments(torch.zeros_like(parameters), torch.zeros_like(parameters), steps)

    def __call__(
        self,
        parameters: Float[Tensor, "*shape"],
        gradient: Float[Tensor, "*shape"],
        moments: Moments,
        learning_rate: Float[Tensor, "*#shape"],
    ) -> tuple[Float[Tensor, "*shape"], Moments]:
        """The parameters and moments after one step."""
        if self.style == "sgd":
            return parameters - learning_rate * gradient, moments
        first = moments.first.lerp(gradient, 1 - self.first_decay)
        second = moments.largest_second.lerp(gradient.square(), 1 - self.second_decay)
        if self.style == "amsgrad":
            second = torch.maximum(second, moments.largest_second)
        if moments.steps is not None:
            return self._corrected(parameters, Moments(first, second, moments.steps + 1), learning_rate)
        step = first / (second + self.epsilon).sqrt_()
        return parameters - learning_rate * step, Moments(first, second)

    def _corrected(
        self, parameters: Float[Tensor, "*shape"], moments: Moments, learning_rate: Float[Tensor, "*#shape"]
    ) -> tuple[Float[Tensor, "*shape"], Moments]:
        """The step of torch's Adam: moments corrected for their start at zero, epsilon outside the root."""
        first, second, steps = moments
        assert steps is not None
        root = (second / (1 - self.second_decay**steps)).sqrt_() + self.epsilon
        return parameters - learning_rate * first / (1 - self.first_decay**steps) / root, moments
