"""What a model does to each group: rates, and how they change from one model to another, with 95 % intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from raan.fairness.bootstrap import Estimate, estimate
from raan.fairness.counts import Counts, resample
from raan.fairness.metrics import (
    attribute_accuracy,
    false_positive_rate,
    measure,
    selection_rate,
    true_positive_rate,
)
from raan.fairness.rule import Switched

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


def estimate_metric(name: str, counts: OneModel) -> Estimate:
    """A metric of all groups together, by the bootstrap over the counts."""
    replicates = resample(counts, REPLICATES, np.random.default_rng(0))
    return Estimate(*estimate(partial(measure, name), counts, replicates, confidence=CONFIDENCE).tolist())


def expect_switched(counts: Counts, reference: OneModel) -> Switched:
    """How many rows would be right in one of two models alone if their errors were independent."""
    size = np.maximum(reference.sum(-1), 1)
    one, other = (np.diagonal(each, axis1=-3, axis2=-1).swapaxes(-1, -2) / size for each in (counts, reference))
    return np.asarray((one * (1 - other) + other * (1 - one)) * size)


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


def accuracy_change(counts: OneModel, reference: OneModel, switched: Switched) -> Estimate:
    """How the accuracy over all rows, those of unknown group too, moves from the reference."""
    rows = float(counts.sum())
    before, after = (float(measure("accuracy", each)) for each in (reference, counts))
    moved = after - before
    half = QUANTILE * float(np.sqrt(max(switched.sum() / rows - moved**2, 0) / rows)) + 1 / rows
    return Estimate(moved, moved - half, moved + half)


def is_settled(found: Estimate) -> bool:
    """Whether the interval excludes zero; an undefined number settles nothing."""
    return found.low > 0 or found.high < 0
