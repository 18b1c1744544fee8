"""The best decisions by the posterior, as linear programmes: their prices are the weights of FairFrontier.

Let d[r] be the probability that row r is given the second of two classes. Accuracy, costs, the rate of every cell
and every gap of such rates are linear in d, with the posterior q in place of the labels. The dual of such a
programme has a price for each limit, and these prices add up to one weight for each (class, group) cell.
A performance that is not linear, such as F1, enters by its slope at the reference.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog  # type: ignore[import-untyped]

from raan.fairness.measures import ACCURACY, AIMS, Measure, Rate, parse, rate_of
from raan.frontier.decide import decide
from raan.frontier.posterior import Posterior

ACCURACY_PRICE = 0.1
"""What a point of accuracy is worth in points of the aim, at least. Where the aim cannot get better, the budget is
not spent: without a price the programme would choose among all decisions that reach it at random.
"""

CellWeights = Float[np.ndarray, "label group"]


class Bound(NamedTuple):
    """A limit on the decisions: form . d + extra . (aim, high, low, ...) <= bound."""

    form: CellWeights
    extra: Float[np.ndarray, "extra"]
    bound: float


class Spread(NamedTuple):
    """How a linear rate is compared between groups: the rate of group a is forms[a] . d + constant[a]."""

    how: str
    forms: Float[np.ndarray, "group label group"]
    constant: Float[np.ndarray, "group"]


@dataclass(frozen=True, eq=False)
class Programme:
    """Rows, or bins of rows, with their posterior, and what is linear in the decisions.

    A linear form is one number for each cell, `form`: its value is the sum over rows and cells of mass[r]
    form[y, a] q[r, y, a] d[r].

    Args:
        posterior: P(y, a | x) of each row or bin, for two classes.
        mass: how many rows each of them stands for.
        currency: the performance that a budget is for.
        plain: the decisions of the classifier that it is compared with; the most probable classes by default.
    """

    posterior: Posterior
    mass: Float[np.ndarray, "row"]
    currency: Measure = field(default_factory=lambda: ACCURACY)
    plain: Float[np.ndarray, "row"] | None = None

    @cached_property
    def _weighted(self) -> Posterior:
        return np.asarray(self.posterior * self.mass[:, None, None])

    @cached_property
    def _rates(self) -> Float[np.ndarray, "cell label group"]:
        """The form of each cell's share of the second class: false positive rates, then true positive rates."""
        classes, groups = self.posterior.shape[1:]
        unit = np.eye(classes * groups).reshape(-1, classes, groups)
        return np.asarray(unit / np.maximum(self._weighted.sum(0), 1e-12))

    @cached_property
    def _right(self) -> CellWeights:
        """The form of accuracy, up to a constant."""
        return np.asarray(np.array([[-1.0], [1.0]]) * np.ones(self.posterior.shape[1:]) / self.mass.sum())

    @cached_property
    def _plain(self) -> Float[np.ndarray, "row"]:
        """The decisions of the reference."""
        if self.plain is not None:
            return self.plain
        return np.asarray(decide(self.posterior, np.ones(self.posterior.shape[1:])), dtype=np.float64)

    @cached_property
    def plain_accuracy(self) -> CellWeights:
        """The accuracy of the reference in each cell, by the posterior."""
        false, true = (self._values(self._rates) @ self._plain).reshape(2, -1)
        return np.stack([1 - false, true])

    @cached_property
    def _performance(self) -> CellWeights:
        """The form of the performance, up to a constant: its slope at the reference."""
        if self.currency.key == ACCURACY.key:
            return self._right
        share = np.stack([1 - self.plain_accuracy[0], self.plain_accuracy[1]])
        step = 1e-4
        slopes = [
            self.currency.gain(
                self.currency(self._count(share + step * at)) - self.currency(self._count(share - step * at))
            )
            / (2 * step * max(float(self._sizes[y].sum()), 1e-12))
            for y, at in enumerate(np.eye(2)[:, :, None])
        ]
        return np.asarray(np.array(slopes)[:, None] * np.ones(self.posterior.shape[1:]))

    @cached_property
    def _sizes(self) -> CellWeights:
        return np.asarray(self._weighted.sum(0))

    def _count(self, share: CellWeights) -> Float[np.ndarray, "label slot prediction"]:
        """Counts of decisions that give the second class to these shares of the cells."""
        counts = np.zeros((2, self._sizes.shape[1] + 1, 2))
        counts[:, :-1] = np.stack([self._sizes * (1 - share), self._sizes * share], axis=-1)
        return counts

    def can_solve(self, aim: Measure) -> bool:
        """Whether the programme finds the best decisions for a measure: it must be linear in them."""
        return aim.key == "worst_group" or self.compare(aim) is not None

    def compare(self, aim: Measure) -> list[Spread] | None:
        """How a measure compares groups, if it is linear in the decisions; None otherwise."""
        node = parse(aim.formula)
        if isinstance(node, ast.Name) and node.id in AIMS:
            node = parse(AIMS[node.id].formula)
        several = node.args if isinstance(node, ast.Call) else [node]
        spreads = []
        for each in several:
            wanted = ("gap",) if len(several) > 1 else ("gap", "max") if not aim.more_is_better else ("min",)
            if not isinstance(each, ast.Attribute) or each.attr not in wanted:
                return None
            found = self._slopes(rate_of(each.value).at(aim.positive))
            if found is None:
                return None
            strata = aim.strata if each.attr == "gap" and aim.strata else [range(len(found[1]))]
            spreads += [Spread(each.attr, *(part[list(stratum)] for part in found)) for stratum in strata]
        return spreads

    def _slopes(self, rate: Rate) -> tuple[np.ndarray, np.ndarray] | None:
        """The form and constant of a rate of each group, if it is linear in the decisions."""
        groups = self._sizes.shape[1]
        at = np.eye(2)[:, :, None] * np.ones(groups)
        none, mixed = np.zeros((2, groups)), np.array([[0.3], [0.8]]) * np.ones((2, groups))
        if rate.classes == "every":  # one class is enough where both have the same gap
            first, second = rate.by_class(self._count(mixed)[:, :-1], 0).T
            if not (np.allclose(first, second) or np.allclose(first + second, (first + second)[0])):
                return None
            rate = replace(rate, classes="positive")
        constant = rate.by_group(self._count(none), 0)
        slope = np.stack([rate.by_group(self._count(each), 0) - constant for each in at])  # of label and group
        if not np.allclose(rate.by_group(self._count(mixed), 0), constant + (mixed * slope).sum(0), atol=1e-9):
            return None
        forms = np.zeros((groups, 2, groups))
        for a in range(groups):
            forms[a, :, a] = slope[:, a] / np.maximum(self._sizes[:, a], 1e-12)
        return forms, constant

    def solve(
        self,
        aim: Measure,
        budget: float,
        least: CellWeights | None = None,
        least_of_groups: Float[np.ndarray, "group"] | None = None,
    ) -> CellWeights | None:
        """Return the weights of the decisions that are best for an aim.

        Args:
            aim: a measure that `compare` knows, or the worst group's accuracy.
            budget: how much performance may be lost against the reference.
            least: the least accuracy of each cell, -inf where there is none.
            least_of_groups: the least accuracy of each group.

        Returns:
            The weights, 1 being what accuracy is worth; None where no decisions keep all limits.
        """
        spreads = [] if aim.key == "worst_group" else self.compare(aim) or []
        limits = [self._limit_loss(budget, 1 + 2 * max(len(spreads), 1)), *self._limit_spreads(spreads)]
        extras = limits[0].extra
        if least is not None:
            limits += self._limit_errors(1 - least, extras)
        if least_of_groups is not None:
            limits += self._limit_group_errors(1 - least_of_groups, extras)
        if not spreads:  # the error of the worst cell is what is made small
            limits += self._limit_errors(np.zeros_like(self._right), _at(extras, {0: -1.0}))
        forms, extra, bound = (np.array(each) for each in zip(*limits, strict=True))
        matrix = np.hstack([self._values(forms), extra])
        price = ACCURACY_PRICE
        cost = np.r_[-price * self._values(self._performance[None])[0], 1.0, np.zeros(len(extras) - 1)]
        between = [(0, 1)] * len(self.posterior) + [(None, None)] * len(extras)
        found = linprog(cost, matrix, bound, bounds=between, method="highs")
        if found.status != 0:
            return None
        prices = found.ineqlin.marginals  # a looser limit costs less: prices are negative
        signed = np.einsum("f,fla->la", prices, forms) + price * self._performance
        unit = float((self._performance / self._right).mean())
        return np.asarray(signed / self._right / unit / (price - float(prices[0])))

    def _values(self, forms: Float[np.ndarray, "form label group"]) -> Float[np.ndarray, "form row"]:
        return np.asarray(np.einsum("fla,rla->fr", forms, self._weighted))

    def _limit_loss(self, budget: float, extras: int) -> Bound:
        plain = float((self._values(self._performance[None]) @ self._plain)[0])
        return Bound(-self._performance, np.zeros(extras), budget - plain)

    def _limit_spreads(self, spreads: list[Spread]) -> Iterator[Bound]:
        """Every rate lies between its low and its high; the aim is at least every high - low.

        Of a minimum or a maximum the aim is at least every -rate, or every rate.
        """
        none = np.zeros(1 + 2 * max(len(spreads), 1))
        for place, (how, forms, constants) in enumerate(spreads):
            high, low = 1 + 2 * place, 2 + 2 * place
            for form, constant in zip(forms, constants.tolist(), strict=True):
                if how in ("gap", "max"):
                    yield Bound(form, _at(none, {high if how == "gap" else 0: -1.0}), -constant)
                if how in ("gap", "min"):
                    yield Bound(-form, _at(none, {low: 1.0} if how == "gap" else {0: -1.0}), constant)
            if how == "gap":
                yield Bound(np.zeros_like(self._right), _at(none, {0: -1.0, high: 1.0, low: -1.0}), 0.0)

    def _limit_errors(self, most: CellWeights, extra: Float[np.ndarray, "extra"]) -> Iterator[Bound]:
        """The error of each cell is at most so large, where that is finite."""
        groups = self.posterior.shape[2]
        for cell, form in enumerate(self._rates):
            label, group = divmod(cell, groups)
            if np.isfinite(most[label, group]):
                yield Bound(-form, extra, most[1, group] - 1) if label else Bound(form, extra, most[0, group])

    def _limit_group_errors(
        self, most: Float[np.ndarray, "group"], extra: Float[np.ndarray, "extra"]
    ) -> Iterator[Bound]:
        """The error of each group is at most so large."""
        size = self._weighted.sum(0)
        for group, limit in enumerate(most):
            form = np.zeros_like(self._right)
            form[:, group] = np.array([1.0, -1.0]) / max(size[:, group].sum(), 1e-12)
            yield Bound(form, extra, float(limit - size[1, group] / max(size[:, group].sum(), 1e-12)))


def _at(vector: Float[np.ndarray, "extra"], values: dict[int, float]) -> Float[np.ndarray, "extra"]:
    """Return a copy of the vector with some values set."""
    changed = vector.copy()
    changed[list(values)] = list(values.values())
    return changed
