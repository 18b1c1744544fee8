"""The points that the methods reached, and the choice among them by the user's rule, on validation rows only."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from raan.fairness.bootstrap import resample
from raan.fairness.metrics import Counts, Metrics, metrics
from raan.training.selection import Aim

PLAIN = ("Vanilla", "Boosting")
"""The methods that know of no groups: the references that a gain is measured against."""

METRICS: dict[Aim, str] = {
    "equalized_odds": "equalized_odds_gap",
    "demographic_parity": "demographic_parity_gap",
    "worst_group": "worst_group_accuracy",
}

TIE = 0.001
"""Points whose aim differs by less, noise considered, are equally good for it, and the most accurate is taken."""

REPLICATES = 500
"""Bootstrap samples that tell the noise of the aim on validation rows."""


@dataclass(frozen=True, eq=False)
class Walk:
    """The points of one run of a method, the plain model it starts from first: its predictions, counted."""

    method: str
    seed: int
    hyperparameters: dict[str, Any]
    step: tuple[int, ...]
    validation: Counts
    test: Counts
    classifier: Callable[[int], Any] = field(repr=False)  # the fitted classifier at a point
    diverged: int | None = None

    @cached_property
    def on_validation(self) -> Metrics:
        """The metrics of each point on validation rows."""
        return metrics(self.validation)

    @property
    def plain(self) -> bool:
        """Whether the method knows of no groups."""
        return self.method in PLAIN


class Choice(NamedTuple):
    """One point of one walk."""

    walk: Walk
    point: int

    @property
    def plain(self) -> bool:
        """Whether its model knows of no groups: a plain method's, or the plain one that another starts from."""
        return self.walk.plain or self.point == 0

    @property
    def validation(self) -> Metrics:
        """Its metrics on validation rows."""
        return self.walk.on_validation.map(lambda metric: metric[self.point])

    @property
    def test(self) -> Metrics:
        """Its metrics on test rows: to report, never to choose by."""
        return metrics(self.walk.test[self.point])


@dataclass(frozen=True)
class Within:
    """The best point for the aim among those that lose at most `accuracy_drop` against a reference.

    A gap counts as the root of its square plus that of its standard error, `noise`: gaps far above the noise
    compare as they are, and those within it are nearly alike. Else luck with a few rows would cost accuracy.
    """

    aim: Aim
    accuracy_drop: float
    noise: float = 0.0

    @classmethod
    def of(cls, aim: Aim, accuracy_drop: float, reference: Choice) -> "Within":
        """The rule with the noise that the reference's validation rows have."""
        replicates = metrics(
            resample(reference.walk.validation[reference.point], REPLICATES, np.random.default_rng(0))
        )
        return cls(aim, accuracy_drop, float(np.nanstd(loss(aim, replicates).numpy())))

    def choose(self, walks: Iterable[Walk], reference: Choice) -> Choice | None:
        """The point that the rule likes best; None where no point is allowed, or the aim is undefined in all."""
        places = [Choice(walk, point) for walk in walks for point in range(len(walk.step))]
        if not places:
            return None
        accuracy = torch.stack([place.validation.accuracy for place in places])
        wish = torch.stack([loss(self.aim, place.validation) for place in places])
        least = reference.validation.accuracy - self.accuracy_drop - 1e-9  # a hair keeps rounding from deciding
        wish = wish if self.aim == "worst_group" else wish.hypot(torch.tensor(self.noise, dtype=wish.dtype))
        wish = wish.masked_fill(wish.isnan() | (accuracy < least), torch.inf)
        if not wish.isfinite().any():
            return None
        as_good = wish <= wish.min() + TIE
        return places[int(accuracy.masked_fill(~as_good, -torch.inf).argmax())]


def loss(aim: Aim, measured: Metrics) -> Float[Tensor, "*lead"]:
    """How far the metrics are from the aim; less is better."""
    value: Tensor = getattr(measured, METRICS[aim])
    return 1 - value if aim == "worst_group" else value


def most_accurate(walks: Sequence[Walk]) -> Choice:
    """The plain point that is the most accurate on validation rows, the earliest of equal ones."""
    places = [Choice(walk, point) for walk in walks if walk.plain for point in range(len(walk.step))]
    return max(places, key=lambda place: float(place.validation.accuracy))


def settle(walks: Sequence[Walk], aim: Aim, accuracy_drop: float) -> tuple[Choice, Choice]:
    """The most accurate plain point, and the point to save: the best by the rule, or the former if that is plain.

    Among plain points, a better one for the aim is so by luck with the validation rows: nothing made it fairer.
    """
    reference = most_accurate(walks)
    best = Within.of(aim, accuracy_drop, reference).choose(walks, reference)
    return reference, reference if best is None or best.plain else best
