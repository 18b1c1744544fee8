"""The path of training on validation rows, and the point of it that a declared rule has chosen so far."""

from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.fairness.metrics import Metrics
from raan.training.selection import Rule


@dataclass(frozen=True)
class Point:
    """Validation metrics of every run after so many steps."""

    step: int
    metrics: Metrics


@dataclass(frozen=True)
class Path:
    """The points so far, and for each run the parameters at the one its rule likes best."""

    points: tuple[Point, ...]
    wish: Float[Tensor, "run"]  # the rule's smallest number so far
    chosen: Float[Tensor, "run parameter"]
    chosen_step: Int[Tensor, "run"]

    @classmethod
    def start(cls, parameters: Float[Tensor, "run parameter"], metrics: Metrics, rule: Rule) -> Self:
        """The path whose only point is the model as it came."""
        steps = torch.zeros(len(parameters), dtype=torch.int64, device=parameters.device)
        return cls((Point(0, metrics),), rule(0, metrics, metrics), parameters, steps)

    def then(self, step: int, parameters: Float[Tensor, "run parameter"], metrics: Metrics, rule: Rule) -> "Path":
        """The path with one more point; of equal points the earlier one stays chosen."""
        wish = rule(step, metrics, self.points[0].metrics)
        better = wish < self.wish
        return Path(
            (*self.points, Point(step, metrics)),
            torch.where(better, wish, self.wish),
            torch.where(better.unsqueeze(-1), parameters, self.chosen),
            torch.where(better, step, self.chosen_step),
        )
