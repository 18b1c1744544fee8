"""What the methods reached, and the one choice among it by the user's rule, on validation rows only.

A method is whatever makes runs: points with their predictions counted, and the fitted classifier at each.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from raan.fairness.counts import Counts
from raan.fairness.metrics import Metrics, metrics
from raan.fairness.rule import Rule
from raan.fit.clock import Clock

PLAIN = ("Vanilla", "Boosting")
"""The methods that know of no groups: the references that a gain is measured against."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a method: its points as counted predictions, the plain model that it starts from first."""

    method: str
    seed: int
    hyperparameters: dict[str, Any]
    step: tuple[int, ...]
    validation: Counts
    test: Counts
    classifier: Callable[[int], Any] = field(repr=False)  # the fitted classifier at a point
    diverged: int | None = None
    style: Literal["boosting", "network"] = "boosting"

    @cached_property
    def on_validation(self) -> Metrics:
        """The metrics of each point on validation rows."""
        return metrics(self.validation)

    @property
    def plain(self) -> bool:
        """Whether the method knows of no groups."""
        return self.method in PLAIN


class Outcome(NamedTuple):
    """The runs of a method, as far as the time went, and what the user should know of them."""

    runs: Sequence[Run]
    notes: Sequence[str] = ()


class Step(NamedTuple):
    """A method to train, and about how many seconds that takes."""

    method: str
    seconds: float
    train: Callable[[Clock], Outcome]


class Pick(NamedTuple):
    """One point of one run: a model that could be saved."""

    run: Run
    point: int

    @property
    def method(self) -> str:
        """The method of its run."""
        return self.run.method

    @property
    def plain(self) -> bool:
        """Whether the model knows of no groups: a plain method's, or the plain one that another starts from."""
        return self.run.plain or self.point == 0

    @property
    def counts(self) -> Counts:
        """Its predictions on validation rows, counted."""
        return np.asarray(self.run.validation[self.point])

    @property
    def test_counts(self) -> Counts:
        """Its predictions on test rows, counted."""
        return np.asarray(self.run.test[self.point])

    @property
    def validation(self) -> Metrics:
        """Its metrics on validation rows."""
        return self.run.on_validation.map(lambda metric: metric[self.point])

    @property
    def test(self) -> Metrics:
        """Its metrics on test rows: to report, never to choose by."""
        return metrics(self.test_counts)


def picks_of(runs: Iterable[Run]) -> list[Pick]:
    """Every point of the runs."""
    return [Pick(run, point) for run in runs for point in range(len(run.step))]


def choose(rule: Rule, runs: Iterable[Run], reference: Pick) -> Pick | None:
    """The point that the rule takes; None where no point is allowed, or the aim is undefined in all."""
    picks = picks_of(runs)
    if not picks:
        return None
    found = int(rule.choose(np.stack([pick.counts for pick in picks]), reference.counts))
    return None if found < 0 else picks[found]


def most_accurate(runs: Iterable[Run]) -> Pick:
    """The plain point that is the most accurate on validation rows, the earliest of equal ones."""
    return max(picks_of(run for run in runs if run.plain), key=lambda pick: float(pick.validation.accuracy))


class Settled(NamedTuple):
    """The rule with the noise of its rows, the plain model that all are held against, and the model it takes."""

    rule: Rule
    plain: Pick
    chosen: Pick


def settle(runs: Sequence[Run], rule: Rule) -> Settled:
    """The most accurate plain point, and the point to save: the best by the rule, or the former if that is plain.

    Among plain points, a better one for the aim is so by luck with the validation rows: nothing made it fairer.
    """
    plain = most_accurate(runs)
    judged = rule.judged_by(plain.counts)
    best = choose(judged, runs, plain)
    return Settled(judged, plain, plain if best is None or best.plain else best)
