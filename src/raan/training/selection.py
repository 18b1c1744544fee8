"""Declared rules for choosing a point of a training path, on validation data only."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from raan.fairness.metrics import Metrics

Aim = Literal["equalized_odds", "demographic_parity", "worst_group"]

ALLOWANCES = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.03)
"""Losses of accuracy between which a trade-off is walked."""


@runtime_checkable
class Rule(Protocol):
    """How much each run wants to leave a point: the point with the smallest number is chosen."""

    def __call__(self, step: int, point: Metrics, start: Metrics) -> Float[Tensor, "*run"]:
        """From the validation metrics at this point and at the start of the stage."""
        ...


@dataclass(frozen=True)
class Last:
    """The last point of the path."""

    def __call__(self, step: int, point: Metrics, start: Metrics) -> Float[Tensor, "*run"]:
        """The later, the better."""
        return torch.full_like(point.accuracy, -float(step))


@dataclass(frozen=True)
class BestWithin:
    """The best point for the aim among those that lose at most `accuracy_drop` against the start of the stage.

    The start itself is a point of the path, so there is always one. A point where the aim is undefined is
    never chosen over one where it is not.
    """

    aim: Aim = "equalized_odds"
    accuracy_drop: float = 0.005

    def __post_init__(self) -> None:
        """An unknown aim is an error here."""
        if self.aim not in _AIMS:
            raise ValueError(f"aim is {self.aim!r}; expected one of {', '.join(map(repr, _AIMS))}")

    def __call__(self, step: int, point: Metrics, start: Metrics) -> Float[Tensor, "*run"]:
        """The aim's gap, or infinity where too much accuracy is lost."""
        gap = _AIMS[self.aim](point)
        # The allowance is inclusive; a hair of tolerance keeps rounding from deciding.
        within = point.accuracy >= start.accuracy - self.accuracy_drop - 1e-9
        return gap.masked_fill(gap.isnan() | ~within, torch.inf)


_AIMS: dict[str, Callable[[Metrics], Tensor]] = {
    "equalized_odds": lambda point: point.equalized_odds_gap,
    "demographic_parity": lambda point: point.demographic_parity_gap,
    "worst_group": lambda point: 1 - point.worst_group_accuracy,
}
