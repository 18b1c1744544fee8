"""Alg. 3: how parameters follow a gradient, as printed: no bias correction, epsilon inside the root."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

Style = Literal["sgd", "adam", "amsgrad"]


class Moments(NamedTuple):
    """What Alg. 3 carries from step to step; of the shape of the parameters."""

    first: Float[Tensor, "*shape"]  # h
    largest_second: Float[Tensor, "*shape"]  # v-hat: v itself in Adam's style


@dataclass(frozen=True)
class Update:
    """Alg. 3: w after one step along G(w), SGD-style, Adam-style or AMSGrad."""

    style: Style = "adam"
    first_decay: float = 0.9
    second_decay: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        """An unknown style is an error here."""
        if self.style not in ("sgd", "adam", "amsgrad"):
            raise ValueError(f'style is {self.style!r}; expected "sgd", "adam" or "amsgrad"')

    def start(self, parameters: Float[Tensor, "*shape"]) -> Moments:
        """The moments before the first step: zero."""
        return Moments(torch.zeros_like(parameters), torch.zeros_like(parameters))

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
        step = first / (second + self.epsilon).sqrt_()
        return parameters - learning_rate * step, Moments(first, second)
