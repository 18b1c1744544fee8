"""The points that the methods reached, and the choice among them by the user's rule, on validation rows only."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from raan.fairness.counts import Counts
from raan.fairness.metrics import Metrics, metrics
from raan.fairness.rule import Rule

PLAIN = ("Vanilla", "Boosting")
"""The methods that know of no groups: the references that a gain is measured against."""


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
    def counts(self) -> Counts:
        """Its predictions on validation rows, counted."""
        return np.asarray(self.walk.validation[self.point])

    @property
    def validation(self) -> Metrics:
        """Its metrics on validation rows."""
        return self.walk.on_validation.map(lambda metric: metric[self.point])

    @property
    def test(self) -> Metrics:
        """Its metrics on test rows: to report, never to choose by."""
        return metrics(self.walk.test[self.point])


def choose(rule: Rule, walks: Iterable[Walk], reference: Choice) -> Choice | None:
    """The point that the rule takes; None where no point is allowed, or the aim is undefined in all."""
    places = [Choice(walk, point) for walk in walks for point in range(len(walk.step))]
    if not places:
        return None
    found = int(rule.choose(np.stack([place.counts for place in places]), reference.counts))
    return None if found < 0 else places[found]


def most_accurate(walks: Sequence[Walk]) -> Choice:
    """The plain point that is the most accurate on validation rows, the earliest of equal ones."""
    places = [Choice(walk, point) for walk in walks if walk.plain for point in range(len(walk.step))]
    return max(places, key=lambda place: float(place.validation.accuracy))


def settle(walks: Sequence[Walk], aim: str, accuracy_drop: float) -> tuple[Choice, Choice]:
    """The most accurate plain point, and the point to save: the best by the rule, or the former if that is plain.

    Among plain points, a better one for the aim is so by luck with the validation rows: nothing made it fairer.
    """
    reference = most_accurate(walks)
    best = choose(Rule(aim, accuracy_drop).judged_by(reference.counts), walks, reference)
    return reference, reference if best is None or best.plain else best
