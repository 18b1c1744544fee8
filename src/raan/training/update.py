"""Alg. 3: how parameters follow a gradient, as printed: no bias correction, epsilon inside the root.

Beside it torch's Adam, which has both the other way, to see what the difference does.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
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

    def clone(self) -> "Moments":
        """Return the same numbers in memory of their own."""
        return Moments(*(None if part is None else part.clone() for part in self))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Update:
    """Optimiser: Alg. 3 in the style of SGD, Adam or AMSGrad, or torch's Adam.

    Args:
        style: "sgd", "adam", "amsgrad" or "torch-adam".
        first_decay: The decay rate of the first moment, eta_1.
        second_decay: The decay rate of the second moment, eta_2.
        epsilon: The number that is added to the second moment, inside the root but for "torch-adam".

    Raises:
        ValueError: The style is unknown.
    """

    style: Style = "adam"
    first_decay: float = 0.9
    second_decay: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        """An unknown style is an error here."""
        if self.style not in get_args(Style):
            raise ValueError(f'style is {self.style!r}; expected "sgd", "adam", "amsgrad" or "torch-adam"')

    def start(self, parameters: Float[Tensor, "*shape"]) -> Moments:
        """Return the moments before the first step: zero."""
        steps = parameters.new_zeros(()) if self.style == "torch-adam" else None
        return Moments(torch.zeros_like(parameters), torch.zeros_like(parameters), steps)

    def __call__(
        self,
        parameters: Float[Tensor, "*shape"],
        gradient: Float[Tensor, "*shape"],
        moments: Moments,
        learning_rate: Float[Tensor, "*#shape"],
    ) -> tuple[Float[Tensor, "*shape"], Moments]:
        """Return the parameters and moments after one step; those given stay as they are."""
        moved, moments = parameters.detach().clone(), moments.clone()
        self.move(moved, gradient, moments, learning_rate, torch.empty_like(moved))
        return moved, moments

    @torch.no_grad()
    def move(
        self,
        parameters: Float[Tensor, "*shape"],
        gradient: Float[Tensor, "*shape"],
        moments: Moments,
        learning_rate: Float[Tensor, "*#shape"],
        buffer: Float[Tensor, "*shape"],
        still: Bool[Tensor, "*#shape"] | None = None,
    ) -> None:
        """Take one step in place, with a buffer to work in: fresh memory would cost more than the arithmetic.

        Parameters that stand `still` are left as they are, whatever the gradient.
        """
        if still is not None:
            learning_rate = learning_rate.masked_fill(still, 0)
        if self.style == "sgd":
            torch.mul(gradient, learning_rate, out=buffer)
        else:
            first, second, steps = moments
            first.lerp_(gradient, 1 - self.first_decay)
            torch.mul(gradient, gradient, out=buffer)
            if self.style == "amsgrad":
                torch.maximum(second, torch.lerp(second, buffer, 1 - self.second_decay, out=buffer), out=second)
            else:
                second.lerp_(buffer, 1 - self.second_decay)
            if steps is None:
                torch.add(second, self.epsilon, out=buffer).rsqrt_().mul_(first).mul_(learning_rate)
            else:  # torch's Adam: moments corrected for their start at zero, epsilon outside the root
                steps.add_(1)
                torch.div(second, 1 - self.second_decay**steps, out=buffer).sqrt_().add_(self.epsilon)
                torch.div(first, buffer, out=buffer).mul_(learning_rate / (1 - self.first_decay**steps))
        # A rate of 0 times a slope that is not finite is nan, which counts as no step.
        parameters.sub_(buffer if still is None else buffer.nan_to_num_(0, torch.inf, -torch.inf))
