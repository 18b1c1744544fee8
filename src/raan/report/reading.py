"""A comparison read by its rule: what was chosen for each method, and what it is held against."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from raan.fairness.aims import AIMS, Measure
from raan.fairness.rule import BUDGETS, Rule
from raan.lab.results.statistics import Difference, Estimate, estimate, holm
from raan.lab.results.summary import (
    AttributeUse,
    Choice,
    Comparison,
    baseline,
    choose,
    find_attribute_use,
    paired,
    start,
)


@dataclass(frozen=True, eq=False)
class Reading:
    """What the rule chose for each method, beside the plain training that all start from."""

    comparison: Comparison
    aim: Measure
    start: Choice
    chosen: Mapping[str, Choice]
    against: str
    baseline: Choice

    @property
    def rivals(self) -> tuple[str, ...]:
        """The methods but the one that they are held against."""
        return tuple(method for method in self.chosen if method != self.against)

    @property
    def headlined(self) -> str | None:
        """The method that the headline is about: the best on validation rows."""
        return best(self, self.rivals, "validation")

    @property
    def name(self) -> str:
        """The data set, and the style where there is one."""
        return ", ".join(filter(None, (self.comparison.data, self.comparison.style)))

    @property
    def regime(self) -> AttributeUse | None:
        """Whether the attribute is a feature of the models; None if that is not known."""
        return find_attribute_use(self.comparison.records)


def read(comparison: Comparison) -> Reading | None:
    """What the comparison's rule chooses; None where no method has a seed that all of its candidates have."""
    if not comparison.methods:
        return None
    name, held_against = baseline(comparison)
    return Reading(
        comparison,
        comparison.rule.goal,
        start(next(iter(comparison.methods.values()))),
        {method: choose(paths, comparison.rule) for method, paths in comparison.methods.items()},
        name,
        held_against,
    )


def level(choice: Choice, measure: Measure) -> Estimate:
    """A measure on test rows, over seeds."""
    return estimate(measure.of(choice.test))


def shift(ours: Choice, theirs: Choice, measure: Measure) -> Difference:
    """The difference of a measure on test rows, over the seeds that both have."""
    return paired(ours, theirs, lambda choice: measure.of(choice.test))


def lost(reading: Reading, choice: Choice, part: str = "test") -> Estimate:
    """The accuracy that plain training has and the choice has not, on "test" or "validation" rows, over seeds."""
    return paired(reading.start, choice, lambda each: np.asarray(getattr(each, part).accuracy)).estimate


def corrected(several: Mapping[str, Difference]) -> dict[str, float]:
    """The p-values of several differences, corrected for their number by Holm's rule."""
    return dict(zip(several, holm([each.p_value for each in several.values()]), strict=True))


def against_others(reading: Reading, method: str) -> dict[str, Difference]:
    """The method's aim held against that of every other, seed by seed."""
    return {
        other: shift(reading.chosen[method], choice, reading.aim)
        for other, choice in reading.chosen.items()
        if other != method
    }


def best(reading: Reading, methods: tuple[str, ...], part: str = "test") -> str | None:
    """The method with the best mean of the aim on "test" or "validation" rows; an undefined mean is never best."""
    means = {
        method: reading.aim.gain(float(reading.aim.of(getattr(reading.chosen[method], part)).mean()))
        for method in methods
    }
    defined = {method: mean for method, mean in means.items() if not math.isnan(mean)}
    return max(defined, key=defined.__getitem__) if defined else None


def group_sizes(reading: Reading) -> Float[np.ndarray, "label attribute"]:
    """The number of test rows of each class and attribute value, on average over seeds."""
    return np.asarray(cell_rows(reading, "test").mean(0))


def cell_rows(reading: Reading, part: str) -> Float[np.ndarray, "seed label attribute"]:
    """The number of "validation" or "test" rows of each class and attribute value, for each seed."""
    paths = next(iter(reading.comparison.methods.values()))
    return np.asarray(getattr(paths, part)[0, 0].sum(-1)[..., :-1])


def trade_off(reading: Reading, aim: str) -> dict[str, dict[float, Choice]]:
    """What each method reaches for an aim with each allowance of accuracy, the rule's own among them."""
    rule = Rule() if reading.comparison.rule.aim is None else reading.comparison.rule
    own = set() if reading.comparison.rule.aim is None else {rule.accuracy_drop}
    rules = {allowed: replace(rule, aim=aim, accuracy_drop=allowed) for allowed in sorted({*BUDGETS, *own})}
    return {
        method: {allowed: choose(paths, each) for allowed, each in rules.items()}
        for method, paths in reading.comparison.methods.items()
    }


@dataclass(frozen=True, eq=False)
class Course:
    """A method's path of training on test rows: for each seed, that of the candidate that was chosen for it."""

    step: list[int]
    values: Mapping[Measure, Float[np.ndarray, "point seed"]]


def has_courses(reading: Reading) -> bool:
    """Whether the runs keep all of their paths: where the threshold is a dial, they keep what can be chosen."""
    return not any(record.threshold for record in reading.comparison.records)


def course(reading: Reading, method: str, measures: tuple[Measure, ...]) -> Course:
    """The course of the chosen candidates, as far as all seeds went."""
    paths, candidate = reading.comparison.methods[method], reading.chosen[method].candidate
    seed = np.arange(len(paths.seeds))
    points = int(paths.length[candidate, seed].min())
    values = {measure: measure.of(paths.on_test)[:points, candidate, seed] for measure in measures}
    return Course(paths.step[:points, candidate[0], 0].tolist(), values)


def aims() -> list[tuple[str, Measure]]:
    """What a trade-off can be drawn for, in the order of the drawing."""
    return list(AIMS.items())
