"""The path of training on validation rows, and the point of it that a declared rule has chosen so far."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.fairness.metrics import Metrics, metrics
from raan.fairness.rule import Rule


@dataclass(frozen=True, eq=False)
class Point:
    """Where every run stands after so many steps. Rules see the validation rows only."""

    step: int
    validation_counts: Float[np.ndarray, "run label attribute prediction"]
    test_counts: Float[np.ndarray, "run label attribute prediction"] | None = None

    @cached_property
    def validation(self) -> Metrics:
        """Every run's metrics on its validation rows."""
        return metrics(self.validation_counts)

    @cached_property
    def test(self) -> Metrics | None:
        """Every run's metrics on its test rows, where these are watched."""
        return None if self.test_counts is None else metrics(self.test_counts)


@dataclass(frozen=True)
class Path:
    """The points so far, and for each run the parameters at the one its rule likes best."""

    points: tuple[Point, ...]
    wish: Float[np.ndarray, "run"]  # the rule's smallest number so far
    chosen: Float[Tensor, "run parameter"]
    chosen_step: Int[Tensor, "run"]

    @staticmethod
    def start(parameters: Float[Tensor, "run parameter"], point: Point, rule: Rule) -> "Path":
        """The path whose only point is the model as it came."""
        steps = torch.full((len(parameters),), point.step, device=parameters.device)
        wish = rule.wish(point.validation_counts, point.validation_counts, point.step)
        return Path((point,), wish, parameters, steps)

    def then(self, parameters: Float[Tensor, "run parameter"], point: Point, rule: Rule) -> "Path":
        """The path with one more point; of equal points the earlier one stays chosen."""
        wish = rule.wish(point.validation_counts, self.points[0].validation_counts, point.step)
        better = torch.from_numpy(np.asarray(wish < self.wish)).to(parameters.device)
        return Path(
            (*self.points, point),
            np.minimum(wish, self.wish),
            torch.where(better.unsqueeze(-1), parameters, self.chosen),
            torch.where(better, point.step, self.chosen_step),
        )
