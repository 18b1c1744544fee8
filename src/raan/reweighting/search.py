"""The search for the weights and the threshold that serve an aim best: coarse, then finer around the best."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from raan.fairness.metrics import metrics
from raan.reweighting.cells import Plan
from raan.reweighting.judge import Judged
from raan.reweighting.path import AIMS, TIE, Path, Point, Rule

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


def search(judge: JudgeAll, class_names: tuple[str, ...], aim: str, accuracy_drop: float) -> Path:
    """Everything tried for the aim; its `chosen` point is the best within the allowance of the plain estimator."""
    (plain,) = judge([Plan("plain")])
    rule = Rule(aim, plain.noise(aim))
    points = _points(0, Plan("plain"), plain, rule)
    tried = _Tried(judge, rule, points[0].accuracy - accuracy_drop, {Plan("plain"): points})
    tried.explore(coarse_plans(len(class_names)))
    best = tried.best(lambda plan: plan.balance != "plain")
    tried.explore(best._replace(temperature=temperature) for temperature in TEMPERATURES)
    _narrow(tried, len(class_names))
    return Path(tuple(tried.points()), rule, accuracy_drop, class_names)


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
    """The plans tried so far, with their points."""

    judge: JudgeAll
    rule: Rule
    least_accuracy: float
    found: dict[Plan, list[Point]] = field(default_factory=dict)

    def explore(self, plans: Iterable[Plan]) -> None:
        """Judge those of the plans that are new."""
        new = [plan for plan in dict.fromkeys(plans) if plan not in self.found]
        for plan, judged in zip(new, self.judge(new), strict=True):
            self.found[plan] = _points(len(self.found), plan, judged, self.rule)

    def value(self, plan: Plan) -> float:
        """How good the plan is for the aim at its best threshold within the allowance."""
        return max(
            (self.rule.value(p) for p in self.found[plan] if p.accuracy >= self.least_accuracy), default=-np.inf
        )

    def best(self, among: Callable[[Plan], bool]) -> Plan:
        """The best of the plans for which the condition holds; the first tried of equal ones."""
        return max(filter(among, self.found), key=self.value)

    def points(self) -> Iterator[Point]:
        """All points, in the order in which they were tried."""
        for points in self.found.values():
            yield from points


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


def _points(fit: int, plan: Plan, judged: Judged, rule: Rule) -> list[Point]:
    """The estimator's own threshold, then those that no other betters in both accuracy and aim."""
    measured = metrics(judged.counts)
    names = ("accuracy", *AIMS.values())
    table = np.stack([getattr(measured, name).numpy() for name in names], axis=1)
    metric = table[:, names.index(AIMS[rule.aim])]
    kept = [0, *_undominated(table[:, 0], metric if rule.aim == "worst_group" else -metric)]
    return [
        Point(
            fit,
            *plan,
            None if judged.threshold is None else float(judged.threshold[place]),
            *table[place].tolist(),
        )
        for place in dict.fromkeys(kept)
    ]


def _undominated(accuracy: np.ndarray, value: np.ndarray) -> list[int]:
    """The places that no other betters in both, the most accurate first."""
    order = np.lexsort((-value, -accuracy))
    reached = np.maximum.accumulate(value[order])
    return [int(place) for place in order[np.append(True, reached[1:] > reached[:-1])]]
