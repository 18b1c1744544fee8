"""How rules, numbers and settings are written."""

import math
import re
from collections.abc import Mapping
from typing import Any

from raan.fairness.rule import Rule
from raan.lab.results.statistics import Estimate

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?|true|false|[a-z]", re.IGNORECASE)
_ANSWER = re.compile(r"yes|no", re.IGNORECASE)


def call(name: object, column: str, kind: str) -> str:
    """`Female`, but `sex = 1`, and `hired = yes`; where the column's name is not known, `group 1`, and `yes`."""
    text = str(name)
    number, answer = (pattern.fullmatch(text.strip()) is not None for pattern in (_NUMBER, _ANSWER))
    if column and (number or answer):
        return f"{column} = {text}"
    return f"{kind} {text}" if number else text


NOTHING = "–"
"""Stands where a number is undefined."""


def rule_in_words(rule: Rule) -> str:
    """How the reported points were chosen."""
    if rule.aim is None:
        return "the last point of the path"
    extreme = "highest" if rule.goal.more_is_better else "smallest"
    sureness = f" with {rule.margin:.2f} standard errors to spare" if rule.margin else ""
    return (
        f"the {extreme} {rule.goal.title} on validation rows, among the points that lose at most "
        f"{points(rule.accuracy_drop)} of plain training's accuracy there{sureness}"
    )


def percent(share: float) -> str:
    """A share in percent, without the sign."""
    return NOTHING if math.isnan(share) else f"{100 * share:.1f}".replace("-", "−")


def signed(share: float) -> str:
    """A difference in percentage points, its sign shown unless it rounds to none."""
    if math.isnan(share):
        return NOTHING
    text = f"{100 * share:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def two_places(share: float) -> str:
    """A share in points to two places, as small losses need it."""
    text = NOTHING if math.isnan(share) else f"{100 * share:.2f}".replace("-", "−")
    return "0.00" if text == "−0.00" else text


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


def name_cell(label: object, attribute: object) -> tuple[str, str]:
    """The names of a class and of an attribute value, which say what they are where the values do not."""
    return call(label, "", "class"), call(attribute, "", "group")


def group_name(label: object, attribute: object) -> str:
    """What the people of a class and an attribute value are called: `>50K · Female`, but `class 1 · Female`."""
    return " · ".join(name_cell(label, attribute))


def several(number: int, thing: str) -> str:
    """`1 seed`, `5 seeds`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
