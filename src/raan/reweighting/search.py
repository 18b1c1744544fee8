"""The search for the weights and the threshold that serve an aim best: coarse, then finer around the best."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from raan.errors import is_installed
from raan.fairness.frontier import Frontier, keep_undominated
from raan.fairness.metrics import accuracy, metrics
from raan.fairness.rule import TIE, Rule
from raan.reweighting.judge import Judged
from raan.reweighting.plans import Plan

FAVOURABLE, OTHER = (0.0, 0.5, 1.5), (0.0, 1.0, 3.0, 6.0)
"""The exponents tried first for the second of two classes and for the first, all with all."""

COMMON = (0.5, 1.0, 2.0, 4.0)
"""The exponents tried first where the classes are more than two, the same for all of them."""

LARGEST_FAVOURABLE, LARGEST = 2.0, 6.0

TEMPERATURES = (0.5, 0.2)
"""The temperatures tried for the shape within cells, beside inf."""

ROUNDS = 3
"""Times the search is narrowed at most."""

JudgeAll = Callable[[Sequence[Plan]], list[Judged]]


class Found(NamedTuple):
    """Everything that a search tried, and the plan that each of its fits used."""

    frontier: Frontier
    plans: tuple[Plan, ...]

    @property
    def plan(self) -> Plan:
        """The plan of the point that was taken."""
        return self.plans[int(self.frontier.chosen.fit)]


def search(
    judge: JudgeAll,
    class_names: tuple[str, ...],
    rule: Rule,
    temperatures: tuple[float, ...] = TEMPERATURES,
) -> Found:
    """Everything tried for the rule's aim, held against the plain estimator at its own threshold."""
    (plain,) = judge([Plan("plain")])
    rule = rule.judged_by(plain.counts[0])
    tried = _Tried(judge, rule, plain.counts[0])
    tried.add(Plan("plain"), plain)
    tried.explore(coarse_plans(len(class_names)))
    best = tried.best(lambda plan: plan.balance != "plain")
    tried.explore(best._replace(temperature=temperature) for temperature in temperatures)
    _narrow(tried, len(class_names))
    return Found(tried.frontier(class_names), tuple(tried.found))


def affordable_temperatures() -> tuple[float, ...]:
    """The finite temperatures that this installation can compute; a warning where it has no torch for them."""
    if is_installed("torch"):
        return TEMPERATURES
    warnings.warn(
        "torch is not installed: weights with a finite temperature are left out of the search. "
        "pip install 'raan[torch]' brings it",
        stacklevel=5,
    )
    return ()


def most_plans(classes: int) -> int:
    """How many plans a search tries at most."""
    return 1 + len([*coarse_plans(classes)]) + len(TEMPERATURES) + ROUNDS * 2 * classes


def coarse_plans(classes: int) -> Iterator[Plan]:
    """The first plans: a coarse grid of exponents, and the paper's two balances, all of them even within cells."""
    exponents = product(OTHER, FAVOURABLE) if classes == 2 else ((s,) * classes for s in COMMON)
    yield from (Plan("exponents", tuple(each)) for each in exponents if any(each))
    yield from (Plan("sample"), Plan("group"))


@dataclass
class _Tried:
    """The plans tried so far, each with those of its thresholds that no other betters."""

    judge: JudgeAll
    rule: Rule
    plain: Float[np.ndarray, "label attribute prediction"]
    found: dict[Plan, Judged] = field(default_factory=dict)

    def explore(self, plans: Iterable[Plan]) -> None:
        """Judge those of the plans that are new."""
        new = [plan for plan in dict.fromkeys(plans) if plan not in self.found]
        for plan, judged in zip(new, self.judge(new), strict=True):
            self.add(plan, judged)

    def add(self, plan: Plan, judged: Judged) -> None:
        """Keep the estimator's own threshold, then those that no other betters in both accuracy and aim."""
        best = keep_undominated(accuracy(judged.counts), -self.rule.goal.loss(metrics(judged.counts)))
        self.found[plan] = judged.at(list(dict.fromkeys([0, *best.tolist()])))

    def value(self, plan: Plan) -> float:
        """How good the plan is for the aim at its best threshold within the allowance; more is better."""
        return -float(self.rule.wish(self.found[plan].counts, self.plain).min())

    def best(self, among: Callable[[Plan], bool]) -> Plan:
        """The best of the plans for which the condition holds; the first tried of equal ones."""
        return max(filter(among, self.found), key=self.value)

    def frontier(self, class_names: tuple[str, ...]) -> Frontier:
        """All points, in the order in which they were tried."""
        what = tuple(
            _what(fit, plan, threshold, class_names)
            for fit, (plan, judged) in enumerate(self.found.items())
            for threshold in (judged.threshold.tolist() if judged.threshold is not None else [None])
        )
        return Frontier(what, np.concatenate([judged.counts for judged in self.found.values()]), self.rule)


def _narrow(tried: _Tried, classes: int) -> None:
    """Try exponents half-way to those beside the best, class by class, until the aim no longer moves."""
    levels = _levels(classes)
    for _ in range(ROUNDS):
        centre = tried.best(lambda plan: plan.balance == "exponents")
        before = tried.value(centre)
        near = list(neighbours(centre, levels))
        tried.explore(near)
        for plan in near:
            for level, exponent in zip(levels, plan.exponents, strict=True):
                level.add(exponent)
        if not tried.value(tried.best(lambda plan: plan.balance == "exponents")) > before + TIE:
            return


def _levels(classes: int) -> list[set[float]]:
    """The exponents that the first plans tried, and the largest, for each class."""
    if classes == 2:
        return [{*OTHER, LARGEST}, {*FAVOURABLE, LARGEST_FAVOURABLE}]
    return [{0.0, *COMMON, LARGEST} for _ in range(classes)]


def neighbours(centre: Plan, levels: list[set[float]]) -> Iterator[Plan]:
    """The plans with one exponent moved half-way to the next level below or above."""
    for place, (exponent, level) in enumerate(zip(centre.exponents, levels, strict=True)):
        below = [value for value in level if value < exponent]
        above = [value for value in level if value > exponent]
        for beside in [*([max(below)] if below else []), *([min(above)] if above else [])]:
            moved = list(centre.exponents)
            moved[place] = (exponent + beside) / 2
            yield centre._replace(exponents=tuple(moved))


def _what(fit: int, plan: Plan, threshold: float | None, class_names: tuple[str, ...]) -> dict[str, Any]:
    """What a point is: the fit's number, its weights, and where its scores are cut."""
    exponents = plan.exponents or (None,) * len(class_names)
    named = {f"exponent of {name}": each for name, each in zip(class_names, exponents, strict=True)}
    return {"fit": fit, "balance": plan.balance, "temperature": plan.temperature, "threshold": threshold, **named}
