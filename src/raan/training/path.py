"""The path of training on validation rows, and the parameters of the point on it that a rule likes best so far."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.fairness.metrics import Metrics, metrics
from raan.fairness.rule import Rule
from raan.training.decided import Decided


@dataclass(frozen=True, eq=False)
class Point:
    """Where every run stands after so many steps. Rules see the validation rows only."""

    step: int
    validation_counts: Float[np.ndarray, "run label attribute prediction"]
    test_counts: Float[np.ndarray, "run label attribute prediction"] | None = None
    decided: Decided | None = None  # what else may be decided here, as at other thresholds

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
    """The points so far, and for each run the parameters at the one that the rule likes best."""

    points: tuple[Point, ...]
    wish: Float[np.ndarray, "run"]  # the rule's smallest number so far
    chosen: Float[Tensor, "run parameter"]
    chosen_step: Int[Tensor, "run"]


def extend(path: Path | None, parameters: Float[Tensor, "run parameter"], point: Point, rule: Rule) -> Path:
    """The path with one more point, or with its first; of equal points the earlier one stays chosen."""
    reference = point if path is None else path.points[0]
    wish = rule.wish(point.validation_counts, reference.validation_counts, point.step)
    steps = torch.full((len(parameters),), point.step, device=parameters.device)
    if path is None:
        return Path((point,), wish, parameters, steps)
    better = torch.from_numpy(np.asarray(wish < path.wish)).to(parameters.device)
    return Path(
        (*path.points, point),
        np.minimum(wish, path.wish),
        torch.where(better.unsqueeze(-1), parameters, path.chosen),
        torch.where(better, steps, path.chosen_step),
    )
