"""Decisions by weights on the cells of a posterior, counted for thousands of weights at once.

A row is given the class y with the largest sum over groups of w[y, a] q[y, a](x). With w = 1 that is the most
probable class; of two classes, the second where sum_a w[1, a] q[1, a] > sum_a w[0, a] q[0, a].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.utils import _safe_indexing

from raan.frontier.calibration import Calibration
from raan.frontier.posterior import Chain, Joint, Posterior, average

Weights = Float[np.ndarray, "point label group"]

LARGEST = 16_000_000
"""Decisions that are held in memory at once."""


class Counted(NamedTuple):
    """What weights decide, counted.

    `switched` are the rows of each cell that are right at the point and wrong in the reference, or the reverse.
    """

    counts: Float[np.ndarray, "point label slot prediction"]
    switched: Float[np.ndarray, "point label slot"]


TOLERANCE = 1e-9
"""Scores that differ by less are equal, and the first class is taken. The best weights leave some rows exactly on
the border, where rounding, which differs with the number of threads, would decide otherwise.
"""

ROUNDED = 1e-6
"""How far the sum of a row's probabilities may be from 1: some classifiers give them in single precision."""


def decide(posterior: Posterior, weights: Float[np.ndarray, "label group"]) -> Int[np.ndarray, "row"]:
    """The class of each row; the first of equal ones."""
    return decide_flat(posterior.reshape(len(posterior), -1), weights[None])[:, 0].astype(np.int64)


def decide_rows(
    models: Sequence[Chain | Joint], X: Any, weights: Float[np.ndarray, "label group"]
) -> tuple[Int[np.ndarray, "row"], Float[np.ndarray, "row label"]]:
    """The class of each row by the mean posterior of several models, and the mean P(y|x).

    The score of a class lies between P(y|x) times the least and times the largest weight of its groups. Chains
    are asked for the attribute only where two classes' scores could be in either order, so that the decisions are
    those of the whole posterior. This takes for granted that probabilities add up to 1 within `ROUNDED`.
    """
    chains = [model for model in models if isinstance(model, Chain) and model.attribute]
    if len(chains) < len(models) or not models:
        posterior = average(models, X)
        return decide(posterior, weights), posterior.sum(2)
    several = [model.of_class(X) for model in chains]
    ranges = [model.ranges(weights) for model in chains]
    lowest = sum(of_class * low for of_class, (low, _) in zip(several, ranges, strict=True)) / len(chains)
    highest = sum(of_class * high for of_class, (_, high) in zip(several, ranges, strict=True)) / len(chains)
    margin = TOLERANCE + ROUNDED * np.abs(weights).max()
    best = np.asarray(lowest.argmax(1))
    others = highest.copy()
    others[np.arange(len(best)), best] = -np.inf
    doubtful = np.flatnonzero(~(others.max(1) < lowest.max(1) - margin))
    if len(doubtful):
        rows = _safe_indexing(X, doubtful)
        parts = [model.complete(rows, part[doubtful]) for model, part in zip(chains, several, strict=True)]
        best[doubtful] = decide(np.asarray(sum(parts) / len(parts)), weights)
    return best, np.asarray(sum(several) / len(several))


def score(posterior: Posterior, weights: Float[np.ndarray, "label group"]) -> Float[np.ndarray, "row label"]:
    """What is compared: for each class the weighted sum over the groups."""
    return np.asarray(np.einsum("rla,la->rl", posterior, weights))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Rows with their posterior, class and group (-1: unknown), on which weights are evaluated.

    `reference` are the decisions that others are compared with: the plain classifier's unless given. `weight` is
    what each row counts, 1 unless given.
    """

    posterior: Posterior
    label: Int[np.ndarray, "row"]
    group: Int[np.ndarray, "row"]
    reference: Int[np.ndarray, "row"] | None = None
    weight: Float[np.ndarray, "row"] | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.label)

    @property
    def shape(self) -> tuple[int, int]:
        """Classes, and slots of the attribute axis of counts: the groups and the unknown."""
        return self.posterior.shape[1], self.posterior.shape[2] + 1

    @property
    def plain(self) -> Int[np.ndarray, "row"]:
        """The decisions of the plain classifier."""
        return np.asarray(self.posterior.sum(2).argmax(1))

    @cached_property
    def calibration(self) -> Calibration | None:
        """How the posterior is calibrated within groups for plans, where each row's group is known to it."""
        return Calibration.fit(self.posterior, self.label, self.group, self.weight)

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The order of rows by (class, group), where each of these begins, and its number."""
        slots = self.shape[1]
        cell = self.label * slots + self.group % slots
        order = np.argsort(cell, kind="stable")
        present, starts = np.unique(cell[order], return_index=True)
        return order, starts, present

    @cached_property
    def _ordered(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Posterior (a column for each cell), labels and reference decisions in sorted order."""
        order = self._sorted[0]
        decided = self.plain if self.reference is None else self.reference
        return self.posterior[order].reshape(self.rows, -1), self.label[order][:, None], decided[order][:, None]

    def count(self, weights: Weights) -> Counted:
        """Count what the weights decide."""
        size = max(1, LARGEST // max(self.rows, 1))
        several = [self._count(weights[start : start + size]) for start in range(0, len(weights), size)]
        return Counted(*(np.concatenate(each) for each in zip(*several, strict=True)))

    def _count(self, weights: Weights) -> Counted:
        posterior, label, held = self._ordered
        classes = self.shape[0]
        decided = decide_flat(posterior, weights)
        of_class = [self._sum(decided == k) for k in range(1, classes)]
        first = np.maximum(self._sum(np.ones((self.rows, 1), bool)) - sum(of_class), 0)
        return Counted(np.stack([first, *of_class], axis=-1), self._sum((decided == label) != (held == label)))

    def _sum(self, true: Bool[np.ndarray, "row point"]) -> Float[np.ndarray, "point label slot"]:
        """How many rows of each class and slot are true."""
        _, starts, present = self._sorted
        classes, slots = self.shape
        sums = np.zeros((true.shape[1], classes * slots))
        if self.weight is None:
            sums[:, present] = np.add.reduceat(true, starts, axis=0, dtype=np.int32).T
        else:
            weight = self.weight[self._sorted[0]][:, None]
            sums[:, present] = np.add.reduceat(true * weight, starts, axis=0).T
        return sums.reshape(-1, classes, slots)


def decide_flat(posterior: Float[np.ndarray, "row cell"], weights: Weights) -> Int[np.ndarray, "row point"]:
    """The class of each row at each point, from a posterior with a column for each cell."""
    points, classes, groups = weights.shape
    if classes == 2:
        signed = weights * np.array([-1.0, 1.0])[:, None]
        return np.asarray(posterior @ signed.reshape(points, -1).T > TOLERANCE, dtype=np.int16)
    of_class = posterior.reshape(len(posterior), classes, groups)
    scores = np.stack([of_class[:, k] @ weights[:, k].T for k in range(classes)], axis=-1)
    return np.asarray((scores >= scores.max(-1, keepdims=True) - TOLERANCE).argmax(-1), dtype=np.int16)
