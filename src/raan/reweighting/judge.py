"""How a fitted estimator fares on training rows that it has not seen, at every threshold."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from raan.fairness.counts import Counts, count
from raan.fairness.groups import UNKNOWN
from raan.wrap.fitting import out_of_fold, score_method, scores

THRESHOLDS = 1000
"""Thresholds that are tried at most, spread evenly over the rows in the order of their scores."""


class Judged(NamedTuple):
    """What a fitted estimator predicts at each threshold, counted; the first threshold is the estimator's own."""

    threshold: Float[np.ndarray, "threshold"] | None
    counts: Counts

    def at(self, places: list[int]) -> "Judged":
        """Some of the thresholds only."""
        return Judged(None if self.threshold is None else self.threshold[places], self.counts[places])


@dataclass(frozen=True, eq=False)
class Judge:
    """The training rows as a judge: each is put to a model that was fitted without the row's fold.

    The group of a row is its attribute value, or UNKNOWN where that is not known or too rare to be judged.
    """

    estimator: Any
    X: Any
    y: Shaped[np.ndarray, "row"]
    group: Int[np.ndarray, "row"]
    fold: Int[np.ndarray, "row"]

    def __call__(self, sample_weight: Float[np.ndarray, "row"] | None) -> Judged:
        """Fit with the weights, and count the predictions at every threshold, or the only ones there are."""
        if self.has_threshold:
            return count_by_threshold(self._ask(scores, sample_weight), self.label, self.group, self.own_threshold)
        predicted = np.searchsorted(self.classes, self._ask(_predictions, sample_weight))
        return Judged(None, _count(self.label, self.group, predicted)[None])

    @cached_property
    def has_threshold(self) -> bool:
        """Whether there are two classes, and scores to cut."""
        return len(self.classes) == 2 and score_method(self.estimator) is not None

    @property
    def own_threshold(self) -> float:
        """Where the estimator itself cuts its scores."""
        return 0.5 if score_method(self.estimator) == "predict_proba" else 0.0

    @cached_property
    def classes(self) -> Shaped[np.ndarray, "class"]:
        """The classes, sorted."""
        return np.unique(self.y)

    @cached_property
    def label(self) -> Int[np.ndarray, "row"]:
        """The class of each row as a code."""
        return np.searchsorted(self.classes, self.y)

    def _ask(
        self, question: Callable[[Any, Any], np.ndarray], sample_weight: Float[np.ndarray, "row"] | None
    ) -> Shaped[np.ndarray, "row"]:
        return out_of_fold(self.estimator, question, self.X, self.y, sample_weight, self.fold)


def count_by_threshold(
    score: Float[np.ndarray, "row"],
    label: Int[np.ndarray, "row"],
    group: Int[np.ndarray, "row"],
    own_threshold: float,
) -> Judged:
    """How many rows of each class and group score above each threshold, from the sorted scores of each cell."""
    threshold = np.concatenate([[own_threshold], _candidates(score)])
    groups = max(int(group.max()) + 1, 0)
    counts = np.zeros((len(threshold), 2, groups + 1, 2))
    for c in range(2):
        for g in (*range(groups), UNKNOWN):  # UNKNOWN is the last place, as in all counts
            ordered = np.sort(score[(label == c) & (group == g)])
            counts[:, c, g, 0] = np.searchsorted(ordered, threshold, side="right")
            counts[:, c, g, 1] = len(ordered) - counts[:, c, g, 0]
    return Judged(threshold, counts)


def _candidates(score: Float[np.ndarray, "row"]) -> Float[np.ndarray, "threshold"]:
    """Thresholds half-way between neighbouring scores, at most so many, as dense as the rows are."""
    ordered = np.sort(score)
    place = np.unique(np.linspace(0, max(len(ordered) - 2, 0), THRESHOLDS).astype(np.int64))
    return np.unique((ordered[place] + ordered[np.minimum(place + 1, len(ordered) - 1)]) / 2)


def _count(
    label: Int[np.ndarray, "row"], group: Int[np.ndarray, "row"], predicted: Int[np.ndarray, "row"]
) -> Counts:
    return count(label, group, predicted, int(label.max()) + 1, max(int(group.max()) + 1, 0))


def _predictions(model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.predict(X)).reshape(-1)
