"""How a fitted estimator fares on training rows that it has not seen, at every threshold, held against the plain
one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from sklearn.utils.parallel import delayed

from raan.fairness.counts import Counts, count
from raan.fairness.groups import UNKNOWN
from raan.frontier.posterior import Posterior, Rows
from raan.wrap.fitting import fit_weighted, score_method, scores
from raan.wrap.parallel import in_parallel

THRESHOLDS = 1000
"""Thresholds that are tried at most, spread evenly over the rows in the order of their scores."""


class Judged(NamedTuple):
    """What a fitted estimator predicts at each threshold, counted, and how many rows of each cell are right where
    the plain estimator is wrong, or the reverse; the first threshold is the estimator's own.
    """

    threshold: Float[np.ndarray, "threshold"] | None
    counts: Counts
    switched: Float[np.ndarray, "threshold label attribute"]

    def at(self, places: list[int]) -> "Judged":
        """Some of the thresholds only."""
        threshold = None if self.threshold is None else self.threshold[places]
        return Judged(threshold, self.counts[places], self.switched[places])


@dataclass(frozen=True, eq=False)
class Judge:
    """The training rows as a judge: each is put to a model that was fitted without the row's fold.

    `show` is called after each fit.
    """

    estimator: Any
    rows: Rows
    fold: Int[np.ndarray, "row"]
    n_jobs: int | None
    show: Callable[[], None]

    @cached_property
    def has_threshold(self) -> bool:
        """Whether there are two classes, and scores to cut."""
        return int(self.rows.label.max()) == 1 and score_method(self.estimator) is not None

    @property
    def own_threshold(self) -> float:
        """Where the estimator itself cuts its scores."""
        return 0.5 if score_method(self.estimator) == "predict_proba" else 0.0

    def ask(self, sample_weight: Float[np.ndarray, "row"] | None) -> Shaped[np.ndarray, "row"]:
        """Each row's score, or its class where there is no threshold, by a model fitted without the row's fold."""
        parts = range(int(self.fold.max()) + 1)
        fits = (delayed(self._ask_fold)(sample_weight, part) for part in parts)
        answer = np.empty(len(self.fold), dtype=np.float64 if self.has_threshold else np.int64)
        for part, found in zip(parts, in_parallel(fits, self.n_jobs), strict=True):
            answer[self.fold == part] = found
            self.show()
        return answer

    def read(self, posterior: Posterior) -> Shaped[np.ndarray, "row"]:
        """What `ask` answers for the plain estimator, from the posterior that it was fitted for."""
        of_class = posterior.sum(2).round(12)  # shares of groups add up to 1 but for rounding
        return np.asarray(of_class[:, 1] if self.has_threshold else of_class.argmax(1))

    def count(self, answer: Shaped[np.ndarray, "row"], plain: Shaped[np.ndarray, "row"]) -> Judged:
        """The answers counted at every threshold, or the only ones there are, against the plain estimator's."""
        label, group = self.rows.label, self.rows.group
        right = label == (plain > self.own_threshold if self.has_threshold else plain)
        if self.has_threshold:
            return count_by_threshold(answer, label, group, self.own_threshold, right)
        size = int(label.max()) + 1, self.rows.groups
        switched = ((answer == label) != right).astype(np.int64)
        # How many are switched is the second column of counts by whether they are.
        moved = count(label, group, switched, *size)[..., 1]
        return Judged(None, count(label, group, answer, *size)[None], moved[None])

    def _ask_fold(self, sample_weight: Float[np.ndarray, "row"] | None, part: int) -> Shaped[np.ndarray, "held"]:
        seen, held = (self.rows.take(np.flatnonzero(each)) for each in (self.fold != part, self.fold == part))
        weight = None if sample_weight is None else sample_weight[self.fold != part]
        model = fit_weighted(self.estimator, seen.X, seen.y, weight)
        if self.has_threshold:
            return scores(model, held.X)
        return np.searchsorted(np.unique(self.rows.y), np.asarray(model.predict(held.X)).reshape(-1))


def count_by_threshold(
    score: Float[np.ndarray, "row"],
    label: Int[np.ndarray, "row"],
    group: Int[np.ndarray, "row"],
    own_threshold: float,
    plain_right: Bool[np.ndarray, "row"],
) -> Judged:
    """How many rows of each class and group score above each threshold, from the sorted scores of each cell."""
    threshold = np.concatenate([[own_threshold], _candidates(score)])
    groups = max(int(group.max()) + 1, 0)
    counts = np.zeros((len(threshold), 2, groups + 1, 2))
    switched = np.zeros(counts.shape[:-1])
    for c, g in product(range(2), (*range(groups), UNKNOWN)):  # UNKNOWN is the last place, as in all counts
        for right in (False, True):
            ordered = np.sort(score[(label == c) & (group == g) & (plain_right == right)])
            below = np.searchsorted(ordered, threshold, side="right")
            predicted = np.stack([below, len(ordered) - below], axis=-1)
            counts[:, c, g] += predicted
            switched[:, c, g] += predicted[:, 1 - c if right else c]
    return Judged(threshold, counts, switched)


def _candidates(score: Float[np.ndarray, "row"]) -> Float[np.ndarray, "threshold"]:
    """Thresholds half-way between neighbouring scores, at most so many, as dense as the rows are."""
    ordered = np.sort(score)
    place = np.unique(np.linspace(0, max(len(ordered) - 2, 0), THRESHOLDS).astype(np.int64))
    return np.unique((ordered[place] + ordered[np.minimum(place + 1, len(ordered) - 1)]) / 2)
