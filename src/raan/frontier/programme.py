"""The best decisions by the posterior itself, as linear programmes: their prices are where a search begins.

Let d[r] be the probability that row r is given the second of two classes. Accuracy, the rate of every cell and
every gap are linear in d, by the posterior q in place of the labels. The dual of such a programme has a price for
each cell, and these are weights: q is an estimate, so they are where the search begins, and labels evaluate them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog  # type: ignore[import-untyped]

from raan.fairness.rule import BUDGETS
from raan.frontier.posterior import Posterior

MOST_ROWS = 1500
"""Rows of a programme: what the prices come from is an average over them."""

SOLVED = BUDGETS[1::2]
"""The losses of accuracy that programmes are solved for."""

LEAST_PRICE = 1e-3
"""A price of accuracy below this means that accuracy costs nothing there: the weights are all of the gaps'."""

CellWeights = Float[np.ndarray, "label group"]


def solve_programmes(posterior: Posterior, rng: np.random.Generator) -> list[CellWeights]:
    """The weights of the best decisions for every aim and some budgets, with and without the guard."""
    rows = len(posterior)
    some = posterior if rows <= MOST_ROWS else posterior[np.sort(rng.choice(rows, MOST_ROWS, replace=False))]
    programme = Programme(some)
    found = (programme.solve(*each) for each in product(programme.gaps, SOLVED, (True, False)))
    return [weights for weights in found if weights is not None]


@dataclass(frozen=True, eq=False)
class Programme:
    """The rows' posterior, and what is linear in the decisions.

    A linear form is one number for each cell, `form`: its value is the sum over rows and cells of form[y, a]
    q[r, y, a] d[r].
    """

    posterior: Posterior

    @cached_property
    def rates(self) -> Float[np.ndarray, "cell label group"]:
        """The form of each cell's share of second class, class by class: false, then true positive rates."""
        classes, groups = self.posterior.shape[1:]
        unit = np.eye(classes * groups).reshape(-1, classes, groups)
        return np.asarray(unit / np.maximum(self.posterior.sum(0), 1e-12))

    @cached_property
    def gaps(self) -> list[list[Float[np.ndarray, "group label group"]]]:
        """For each aim the forms whose spread over the groups it makes small; none for the worst group's."""
        groups = self.posterior.shape[2]
        false, true = self.rates[:groups], self.rates[groups:]
        within = self.posterior.sum(0)
        of_group = np.zeros((groups, 2, groups))
        for a in range(groups):
            of_group[a, :, a] = 1 / max(within[:, a].sum(), 1e-12)
        return [[], [of_group], [true + false, true - false], [true]]

    def solve(
        self, gaps: list[Float[np.ndarray, "group label group"]], budget: float, guard: bool
    ) -> CellWeights | None:
        """The weights of the decisions with the smallest largest spread, or the best worst cell."""
        if not gaps and not guard:
            return None
        limits = [*self._limits(gaps, budget, guard)]
        forms, extra, bound = (np.array(each) for each in zip(*limits, strict=True))
        rows, extras = len(self.posterior), extra.shape[1]
        matrix = np.hstack([self._values(forms), extra])
        cost = np.r_[np.zeros(rows), 1.0, np.zeros(extras - 1)]
        between = [(0, 1)] * rows + [(None, None)] * extras
        found = linprog(cost, matrix, bound, bounds=between, method="highs")
        return _weights(found.ineqlin.marginals, forms) if found.status == 0 else None

    def _values(self, forms: Float[np.ndarray, "form label group"]) -> Float[np.ndarray, "form row"]:
        return np.asarray(np.einsum("fla,rla->fr", forms, self.posterior))

    @cached_property
    def _right(self) -> CellWeights:
        """The form of accuracy, up to a constant."""
        return np.array([[-1.0], [1.0]]) * np.ones(self.posterior.shape[1:]) / len(self.posterior)

    @cached_property
    def _plain(self) -> Float[np.ndarray, "row"]:
        """The decisions of the plain classifier."""
        return np.asarray(self.posterior.sum(2).argmax(1), dtype=np.float64)

    def _limits(
        self, gaps: list[Float[np.ndarray, "group label group"]], budget: float, guard: bool
    ) -> Iterator[tuple[CellWeights, Float[np.ndarray, "extra"], float]]:
        """What must hold, as form . d + extra . (spread, high, low, high, low) <= bound: the budget first."""
        groups = self.posterior.shape[2]
        none = np.zeros(1 + 2 * max(len(gaps), 1))
        plain = float((self._values(self._right[None]) @ self._plain)[0])
        yield -self._right, none, budget - plain
        for place, several in enumerate(gaps):
            high, low = 1 + 2 * place, 2 + 2 * place
            for form in several:
                yield form, _at(none, {high: -1.0}), 0.0
                yield -form, _at(none, {low: 1.0}), 0.0
            yield np.zeros_like(self._right), _at(none, {0: -1.0, high: 1.0, low: -1.0}), 0.0
        if guard:
            rate = self._values(self.rates) @ self._plain
            least = float(np.minimum(1 - rate[:groups], rate[groups:]).min())
            slack = _at(none, {0: -1.0}) if not gaps else none  # the worst cell's error is what is made small
            for cell, form in enumerate(self.rates):
                wrong, constant = (form, 0.0) if cell < groups else (-form, 1.0)
                yield wrong, slack, (1 - least if gaps else 0.0) - constant


def _at(vector: Float[np.ndarray, "extra"], values: dict[int, float]) -> Float[np.ndarray, "extra"]:
    """The vector with some values set."""
    changed = vector.copy()
    changed[list(values)] = list(values.values())
    return changed


def _weights(
    prices: Float[np.ndarray, "form"], forms: Float[np.ndarray, "form label group"]
) -> CellWeights | None:
    """The weights by the prices of the limits, in units of accuracy's; None where nothing has a price."""
    signed = np.einsum("f,fla->la", prices, forms) * np.array([[-1.0], [1.0]])
    scale = float(np.abs(signed).mean())
    of_accuracy = -float(prices[0]) * float(
        np.abs(forms[0]).mean()
    )  # a looser limit costs less: prices are negative
    if not scale:
        return None
    return np.asarray(signed / (of_accuracy if of_accuracy > LEAST_PRICE * scale else scale))
