"""The four numbers that methods are compared by: their names, which way is better, and how numbers are written."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from raan.fairness.metrics import Metrics
from raan.study.statistics import Estimate
from raan.training.selection import Aim, BestWithin, Last, Rule

NOTHING = "–"
"""Stands where a number is undefined."""


@dataclass(frozen=True)
class Measure:
    """One metric: its field of Metrics, what it is called, and whether more of it is better."""

    key: str
    title: str
    short: str
    more_is_better: bool

    def of(self, metrics: Metrics) -> Tensor:
        """Its values."""
        value: Tensor = getattr(metrics, self.key)
        return value

    def gain(self, difference: float) -> float:
        """A difference with the sign that makes better positive."""
        return difference if self.more_is_better else -difference


ACCURACY = Measure("accuracy", "accuracy", "accuracy", True)

AIMS: Mapping[Aim, Measure] = {
    "worst_group": Measure("worst_group_accuracy", "worst-group accuracy", "worst group", True),
    "demographic_parity": Measure("demographic_parity_gap", "demographic-parity gap", "DP gap", False),
    "equalized_odds": Measure("equalized_odds_gap", "equalized-odds gap (sum)", "EO gap", False),
}

MEASURES = (ACCURACY, *AIMS.values())


def aim_of(rule: Rule) -> Measure:
    """The metric that a rule aims at; the worst group's accuracy for a rule that aims at none."""
    return AIMS[rule.aim if isinstance(rule, BestWithin) else "worst_group"]


def rule_in_words(rule: Rule) -> str:
    """How the reported points were chosen."""
    if isinstance(rule, BestWithin):
        extreme = "highest" if aim_of(rule).more_is_better else "smallest"
        return (
            f"the {extreme} {aim_of(rule).title} on validation rows, among the points that lose at most "
            f"{points(rule.accuracy_drop)} of plain training's accuracy there"
        )
    return "the last point of the path" if isinstance(rule, Last) else repr(rule)


def percent(share: float) -> str:
    """A share in percent, without the sign."""
    return NOTHING if math.isnan(share) else f"{100 * share:.1f}".replace("-", "−")


def signed(share: float) -> str:
    """A difference in percentage points, its sign shown unless it rounds to none."""
    if math.isnan(share):
        return NOTHING
    text = f"{100 * share:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def points(share: float) -> str:
    """`1 point`, `0.5 points`."""
    return f"{100 * share:g} point{'' if share == 0.01 else 's'}"


def spread(estimate: Estimate) -> str:
    """Mean ± standard deviation, in percent."""
    if math.isnan(estimate.deviation):
        return percent(estimate.mean)
    return f"{percent(estimate.mean)} ± {percent(estimate.deviation)}"


def interval(estimate: Estimate, write: Any = percent) -> str:
    """The 95 % interval; nothing where there is none."""
    return "" if math.isnan(estimate.low) else f"{write(estimate.low)} to {write(estimate.high)}"


def p_value(p: float) -> str:
    """A p-value to three places."""
    if math.isnan(p):
        return NOTHING
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def written(value: Any) -> str:
    """A hyperparameter's value."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def settings(hyperparameters: Mapping[str, Any]) -> str:
    """Hyperparameters in one line."""
    return ", ".join(f"{name} = {written(value)}" for name, value in hyperparameters.items()) or "none"


def group_name(label: object, attribute: object) -> str:
    """What the people of a class and an attribute value are called."""
    return f"{label} · {attribute}"


def several(number: int, thing: str) -> str:
    """`1 seed`, `5 seeds`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
