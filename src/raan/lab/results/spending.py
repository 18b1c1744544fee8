"""What a method reaches with fewer configurations, and where as much accuracy is really lost."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import comb
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.aims import Measure
from raan.fairness.metrics import accuracy
from raan.fairness.rule import HAIR, Rule
from raan.lab.results.summary import Paths, choose


def distinct(candidates: Sequence[Mapping[str, Any]]) -> list[int]:
    """The places of the configurations that repeat none before them.

    At temperature inf every affinity is one and so is every average of them: the averaging rate does nothing.
    """
    first: dict[str, int] = {}
    for place, candidate in enumerate(candidates):
        balancing = str(candidate.get("temperature")) == "inf"
        acting = {key: value for key, value in candidate.items() if not (balancing and key == "averaging_rate")}
        first.setdefault(json.dumps(acting, sort_keys=True, default=str), place)
    return list(first.values())


def only(paths: Paths, places: Sequence[int]) -> Paths:
    """The runs of some of the configurations."""
    parts = {each.name: getattr(paths, each.name) for each in fields(Paths)}
    arrays = {name: value for name, value in parts.items() if isinstance(value, np.ndarray)}
    taken = {name: value.take(places, axis=0 if name == "length" else 1) for name, value in arrays.items()}
    return Paths(**{**parts, **taken, "candidates": tuple(paths.candidates[place] for place in places)})


def expected(paths: Paths, rule: Rule, measure: Measure, size: int) -> float:
    """The measure on test rows, in the mean over seeds and over all subsets of so many distinct configurations.

    For each seed and subset the rule chooses on validation rows. No subset is drawn: a configuration is chosen
    from those subsets that hold it and none that the rule likes better, and these can be counted.
    """
    reached = _by_preference(paths, rule, measure)
    many = len(reached)
    chances = np.array([comb(many - 1 - rank, size - 1) for rank in range(many)], dtype=float) / comb(many, size)
    return float((chances[:, None] * reached).sum(0).mean())


def _by_preference(paths: Paths, rule: Rule, measure: Measure) -> Float[np.ndarray, "candidate seed"]:
    """The measure on test rows of each configuration's best point, those that the rule likes better first."""
    kept = only(paths, distinct(paths.candidates))
    choices = [choose(only(kept, [place]), rule) for place in range(len(kept.candidates))]
    point = np.stack([choice.point for choice in choices])
    candidate, seed = np.indices(point.shape)
    # As `choose` does: the least loss, of equal ones the earliest point, of those the first configuration.
    order = np.lexsort((candidate, point, rule.loss(kept.validation[point, candidate, seed])), axis=0)
    return np.take_along_axis(np.stack([measure.of(choice.test) for choice in choices]), order, axis=0)


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
