"""The aim against the accuracy that is really lost, whatever was allowed on validation rows."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.aims import Measure
from raan.fairness.metrics import accuracy
from raan.fairness.rule import HAIR, Rule
from raan.results.summary import Paths

SWEPT = np.arange(-60, 201) / 2000
"""The allowances on validation rows that are tried: from gaining three points of accuracy to losing ten."""


@dataclass(frozen=True, eq=False)
class Spending:
    """What is lost and reached on test rows, in the mean over seeds, as the allowance on validation rows grows."""

    lost: Float[np.ndarray, "allowance"]
    reached: Float[np.ndarray, "allowance"]

    def at(self, loss: float) -> float:
        """What is reached where so much is lost for the first time; nan if the method never loses as much.

        Between two allowances it is read off the straight line. Only this reading looks at test rows: which point
        an allowance takes is settled on validation rows, for each seed by itself.
        """
        beyond = np.flatnonzero(self.lost >= loss)
        if not len(beyond):
            return float("nan")
        place = beyond[0]
        if place == 0 or self.lost[place] == loss:
            return float(self.reached[place])
        (low, high), (below, above) = self.lost[place - 1 : place + 1], self.reached[place - 1 : place + 1]
        return float(below + (above - below) * (loss - low) / (high - low))


def spend(paths: Paths, rule: Rule, measure: Measure) -> Spending:
    """What the rule's aim costs and brings on test rows for every allowance; the rule's own allowance is ignored.

    An allowance below zero asks for a gain of accuracy on validation rows; where no point has it, plain training
    is kept. So every curve begins where nothing is lost.
    """
    points = paths.validation.reshape(-1, *paths.validation.shape[2:])  # points outermost, as in `choose`
    wish = replace(rule, accuracy_drop=1.0).wish(points, paths.validation[0, 0])
    cost = accuracy(paths.validation[0, 0]) - accuracy(points)
    taken = np.stack([_taken(wish[:, seed], cost[:, seed]) for seed in range(len(paths.seeds))], axis=1)
    seed = np.arange(len(paths.seeds))
    on_test, aimed = (
        each.reshape(len(points), -1) for each in (paths.on_test.accuracy, measure.of(paths.on_test))
    )
    return Spending((on_test[0] - on_test[taken, seed]).mean(1), aimed[taken, seed].mean(1))


def _taken(wish: Float[np.ndarray, "place"], cost: Float[np.ndarray, "place"]) -> Int[np.ndarray, "allowance"]:
    """For each allowance the first of the best points that cost no more; the start where none does."""
    by_cost = np.argsort(cost, kind="stable")
    rank = np.empty(len(wish), dtype=np.int64)
    liked = np.argsort(wish, kind="stable")
    rank[liked] = np.arange(len(wish))
    best = liked[np.minimum.accumulate(rank[by_cost])]
    within = np.searchsorted(cost[by_cost], SWEPT + HAIR, side="right")
    return np.where(within > 0, best[np.maximum(within - 1, 0)], 0)
