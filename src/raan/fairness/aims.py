"""The fairness aims, each with its metric and its names, for the library, studies, reports and commands.

A new aim is a metric (a function and a field of `Metrics` in metrics.py) and one line here.
"""

from dataclasses import dataclass

import numpy as np

from raan.errors import InputError, Option
from raan.fairness.counts import Counts
from raan.fairness.metrics import Metrics, Values, measure


@dataclass(frozen=True)
class Measure:
    """A metric of `Metrics`: what it is called, and whether more of it is better."""

    metric: str
    title: str
    short: str
    more_is_better: bool = False

    def of(self, metrics: Metrics) -> Values:
        """Its values."""
        value: np.ndarray = getattr(metrics, self.metric)
        return value

    def gain(self, difference: float) -> float:
        """A difference with the sign that makes better positive."""
        return difference if self.more_is_better else -difference


@dataclass(frozen=True)
class Aim(Measure):
    """A measure that models are chosen for. Python spells its key with underscores, the shell with hyphens."""

    key: str = ""
    meaning: str = ""

    @property
    def option(self) -> str:
        """The aim as the command line spells it."""
        return self.key.replace("_", "-")

    def loss(self, metrics: Metrics) -> Values:
        """How far the metrics are from the aim; less is better."""
        return self._loss(self.of(metrics))

    def loss_of(self, counts: Counts) -> Values:
        """How far the counts are from the aim; less is better."""
        return self._loss(measure(self.metric, counts))

    def _loss(self, value: Values) -> Values:
        return np.asarray(1 - value) if self.more_is_better else value


ACCURACY = Measure("accuracy", "accuracy", "accuracy", more_is_better=True)

AIMS: dict[str, Aim] = {
    aim.key: aim
    for aim in (
        Aim(
            "worst_group_accuracy",
            "worst-group accuracy",
            "worst group",
            more_is_better=True,
            key="worst_group",
            meaning="the worst-served (class, group) is predicted right as often as possible",
        ),
        Aim(
            "demographic_parity_gap",
            "demographic-parity gap",
            "DP gap",
            key="demographic_parity",
            meaning="all groups are selected alike",
        ),
        Aim(
            "equalized_odds_gap",
            "equalized-odds gap (sum)",
            "EO gap",
            key="equalized_odds",
            meaning="all groups have the same true and false positive rates",
        ),
        Aim(
            "equal_opportunity_gap",
            "equal-opportunity gap",
            "EOpp gap",
            key="equal_opportunity",
            meaning="all groups have the same true positive rate",
        ),
    )
}
"""The aims by their keys, in the order in which tables show them."""

ACCURATE = Aim("accuracy", "accuracy", "accuracy", more_is_better=True, key="accuracy", meaning="accuracy alone")
"""What is best where limits are all that fairness asks for; no aim of a model of its own."""

MEASURES = (ACCURACY, *AIMS.values())
"""The columns of every table."""


def read_aim(value: object, argument: str = "aim") -> Aim:
    """The aim of this name, spelt with underscores or hyphens; an aim is itself."""
    if isinstance(value, Aim):
        return value
    key = value.replace("-", "_") if isinstance(value, str) else ""
    if key not in AIMS:
        raise InputError(Option(argument), f"is {value!r}", f"one of {', '.join(map(repr, AIMS))}")
    return AIMS[key]
