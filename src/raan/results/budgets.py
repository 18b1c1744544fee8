"""What a method would have reached with fewer configurations to choose from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import comb
from typing import Any

import numpy as np
from jaxtyping import Float

from raan.fairness.aims import Measure
from raan.fairness.rule import Rule
from raan.results.summary import Paths, choose


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
