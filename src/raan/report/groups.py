"""What the saved model does to each group, before and after: rates with intervals, and people per thousand."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from raan.fairness.counts import Counts, Estimate, estimate, resample
from raan.fairness.evidence import Switched
from raan.fairness.metrics import (
    attribute_accuracy,
    false_positive_rate,
    selection_rate,
    true_positive_rate,
)
from raan.fit.outcome import Outcome
from raan.report.tables import NOTHING, Cell, Tone, call, percent, signed

CONFIDENCE, QUANTILE = 0.95, 1.96
"""How sure the intervals are, and so many standard errors."""

REPLICATES = 1000
"""Bootstrap samples of an interval."""

OneModel = Float[np.ndarray, "label attribute prediction"]


@dataclass(frozen=True)
class Rate:
    """A share of the people of each group: of those of which classes, and whether more of it is better."""

    title: str
    meaning: str
    of: Callable[..., np.ndarray]
    classes: tuple[int, ...]
    better: int = 0  # 1: more, -1: less, 0: neither is

    def size(self, counts: OneModel) -> Float[np.ndarray, "group"]:
        """The people that it is a share of, by group."""
        return np.asarray(counts[list(self.classes), :-1].sum((0, 2)))


def rates_of(classes: Sequence[str]) -> list[Rate]:
    """What is shown of every group: of two classes the rates of the second, of more each one's recall."""
    everyone = tuple(range(len(classes)))
    accuracy = Rate("accuracy", "predicted right, of all", attribute_accuracy, everyone, 1)
    if len(classes) > 2:
        recalls = [
            Rate(
                f"recall of {name}",
                f"predicted right, of those who are {name}",
                partial(_class_rate, true_positive_rate, k),
                (k,),
                1,
            )
            for k, name in enumerate(classes)
        ]
        return [*recalls, accuracy]
    selected, true, false = (
        partial(_class_rate, rate, 1) for rate in (selection_rate, true_positive_rate, false_positive_rate)
    )
    return [
        Rate("selection rate", f"predicted {classes[1]}, of all", selected, everyone),
        Rate("true positive rate", f"predicted {classes[1]}, of those who are", true, (1,), 1),
        Rate("false positive rate", f"predicted {classes[1]}, of those who are not", false, (0,), -1),
        accuracy,
    ]


def _class_rate(rate: Callable[..., np.ndarray], k: int, counts: Counts, *, min_count: int = 1) -> np.ndarray:
    return np.asarray(rate(counts, min_count=min_count)[..., k])


def estimate_rates(rates: Sequence[Rate], counts: OneModel) -> list[list[Estimate]]:
    """Each rate of each group, [rate][group], by the bootstrap over the counts."""
    replicates = resample(counts, REPLICATES, np.random.default_rng(0))
    found = (estimate(rate.of, counts, replicates, confidence=CONFIDENCE) for rate in rates)
    return [[Estimate(*row) for row in each.tolist()] for each in found]


def change(rate: Rate, counts: OneModel, reference: OneModel, switched: Switched) -> list[Estimate]:
    """How each group's rate moves from the reference, with the interval of the paired difference.

    Rows on which both models are right, or both wrong, add nothing. Of two classes the rows whose decision moves
    are those, so one formula serves every rate. As in McNemar's test one row more is granted to chance, without
    which four rows would already count as proof.
    """
    size = rate.size(counts)
    moved = rate.of(counts) - rate.of(reference)
    people = np.where(size > 0, size, np.nan)
    share = switched[list(rate.classes), :-1].sum(0) / people
    half = QUANTILE * np.sqrt(np.maximum(share - moved**2, 0) / people) + 1 / people
    return [Estimate(m, m - h, m + h) for m, h in zip(moved.tolist(), half.tolist(), strict=True)]


def is_settled(found: Estimate) -> bool:
    """Whether the interval excludes zero; an undefined number settles nothing."""
    return found.low > 0 or found.high < 0


def class_names(outcome: Outcome) -> list[str]:
    """The classes as sentences call them."""
    return [call(name, outcome.facts.label, "class") for name in outcome.facts.classes]


def group_names(outcome: Outcome) -> list[str]:
    """The groups as sentences call them."""
    return [call(name, " × ".join(outcome.facts.attributes), "group") for name in outcome.facts.groups]


def changes_at(outcome: Outcome, rate: Rate, point: int) -> list[Estimate]:
    """How each group's rate at a point differs from the plain model's, on test rows."""
    return change(rate, outcome.test[point], outcome.test[0], outcome.switched[point])


def compare(outcome: Outcome) -> list[dict[str, Any]]:
    """Every rate of every group on test rows, of the plain model and of the saved one, as the template shows it.

    `moves` are the two as places on a line from 0 to 100.
    """
    rates, names = rates_of(class_names(outcome)), group_names(outcome)
    before, after = (estimate_rates(rates, outcome.test[point]) for point in (0, outcome.place))
    found = []
    for place, rate in enumerate(rates):
        people = rate.size(outcome.test[outcome.place]).tolist()
        moved = changes_at(outcome, rate, outcome.place)
        groups = [
            {
                "group": group,
                "people": f"{count:,.0f}",
                "before": _level(was),
                "after": _level(now),
                "change": Cell(signed(change.value), _reach(change, signed), tone=tone_of(change, rate.better)),
                "moves": None if math.isnan(change.value) else [round(100 * each.value, 1) for each in (was, now)],
            }
            for group, count, was, now, change in zip(
                names, people, before[place], after[place], moved, strict=True
            )
        ]
        found.append({"title": rate.title, "meaning": rate.meaning, "groups": groups})
    return found


def _level(found: Estimate) -> Cell:
    return Cell(percent(found.value), _reach(found, percent))


def _reach(found: Estimate, write: Callable[[float], str]) -> str:
    """The 95 % interval; nothing where there is none."""
    return "" if math.isnan(found.low) else f"{write(found.low)} to {write(found.high)}"


def tone_of(moved: Estimate, better: int) -> Tone:
    """Whether a change is a gain or a loss, where it is beyond chance and one of the two at all."""
    if not better or not is_settled(moved):
        return ""
    return "gain" if moved.value * better > 0 else "loss"


def count_people(outcome: Outcome) -> list[dict[str, Any]]:
    """What the saved model changes for each group against the plain one, in people per thousand, on test rows.

    The text of a cell is how many more or fewer, its note how sure that is.
    """
    rates = [rate for rate in rates_of(class_names(outcome)) if len(rate.classes) == 1]
    fates = [_fate(outcome, rate.classes[0]) for rate in rates]
    moved = [changes_at(outcome, rate, outcome.place) for rate in rates]
    return [
        {
            "group": name,
            "moved": [(_moved(moved[k][a], rate.better), fates[k]) for k, rate in enumerate(rates)],
        }
        for a, name in enumerate(group_names(outcome))
    ]


def _fate(outcome: Outcome, k: int) -> str:
    """What happens to the people of a class: of two, whether they are selected, rightly or wrongly."""
    name = class_names(outcome)[k]
    who = f"of 1,000 {'who are' if name == outcome.facts.classes[k] else 'with'} {name}"
    if len(outcome.facts.classes) > 2:
        return f"{who} are predicted right"
    return f"{who} are {'selected' if k else 'wrongly selected'}"


def _moved(found: Estimate, better: int) -> Cell:
    """`52 more`, and whether that is beyond chance."""
    if math.isnan(found.value):
        return Cell(NOTHING, "no test rows")
    number, settled = round(1000 * found.value), is_settled(found)
    ends = f"{_thousandths(found.low)} to {_thousandths(found.high)}"
    text = "nearly as many" if settled else "as many"
    if number:
        text = f"{abs(number)} {'more' if number > 0 else 'fewer'}"
    return Cell(text, ends if settled else f"within chance, {ends}", tone=tone_of(found, better))


def _thousandths(share: float) -> str:
    text = f"{1000 * share:+.0f}"
    return "0" if text in ("+0", "-0") else text.replace("-", "−")
