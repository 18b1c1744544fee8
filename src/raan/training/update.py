"""Alg. 3: how parameters follow a gradient, as printed: no bias correction, epsilon inside the root."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
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
        """The parameters and moments after one step; those given stay as they are."""
        moved, moments = parameters.detach().clone(), Moments(*(part.clone() for part in moments))
        self.move(moved, gradient, moments, learning_rate, torch.empty_like(moved))
        return moved, moments

    @torch.no_grad()
    def move(
        self,
        parameters: Float[Tensor, "*shape"],
        gradient: Float[Tensor, "*shape"],
        moments: Moments,
        learning_rate: Float[Tensor, "*#shape"],
        room: Float[Tensor, "*shape"],
        still: Bool[Tensor, "*#shape"] | None = None,
    ) -> None:
        """Take one step in place, with room to work in: fresh memory would cost more than the arithmetic.

        Parameters that stand `still` are left as they are, whatever the gradient.
        """
        if self.style == "sgd":
            torch.mul(gradient, learning_rate, out=room)
        else:
            first, second = moments
            first.lerp_(gradient, 1 - self.first_decay)
            torch.mul(gradient, gradient, out=room)
            if self.style == "amsgrad":
                torch.maximum(second, torch.lerp(second, room, 1 - self.second_decay, out=room), out=second)
            else:
                second.lerp_(room, 1 - self.second_decay)
            torch.div(first, torch.add(second, self.epsilon, out=room).sqrt_(), out=room).mul_(learning_rate)
        parameters.sub_(room if still is None else room.masked_fill_(still, 0))
