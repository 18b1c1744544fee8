"""The path of training on validation rows, and the point of it that a declared rule has chosen so far."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.fairness.metrics import Metrics
from raan.training.selection import Rule


@dataclass(frozen=True)
class Point:
    """Every run's metrics after so many steps. Rules see the validation rows; nothing is chosen on test rows."""

    step: int
    validation: Metrics
    test: Metrics | None = None


@dataclass(frozen=True)
class Path:
    """The points so far, and for each run the parameters at the one its rule likes best."""

    points: tuple[Point, ...]
    wish: Float[Tensor, "run"]  # the rule's smallest number so far
    chosen: Float[Tensor, "run parameter"]
    chosen_step: Int[Tensor, "run"]

    @staticmethod
    def start(parameters: Float[Tensor, "run parameter"], point: Point, rule: Rule) -> "Path":
        """The path whose only point is the model as it came."""
        steps = torch.full((len(parameters),), point.step, device=parameters.device)
        return Path((point,), rule(point.step, point.validation, point.validation), parameters, steps)

    def then(self, parameters: Float[Tensor, "run parameter"], point: Point, rule: Rule) -> "Path":
        """The path with one more point; of equal points the earlier one stays chosen."""
        wish = rule(point.step, point.validation, self.points[0].validation)
        better = wish < self.wish
        return Path(
            (*self.points, point),
            torch.where(better, wish, self.wish),
            torch.where(better.unsqueeze(-1), parameters, self.chosen),
            torch.where(better, point.step, self.chosen_step),
        )
