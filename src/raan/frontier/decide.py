"""Decisions by weights on the cells of a posterior, counted for thousands of weights at once.

A row is given the class y with the largest sum over groups of w[y, a] q[y, a](x). With w = 1 that is the most
probable class; of two classes, the second where sum_a w[1, a] q[1, a] > sum_a w[0, a] q[0, a].
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from raan.frontier.posterior import Posterior

Weights = Float[np.ndarray, "point label group"]

LARGEST = 16_000_000
"""Decisions that are held in memory at once."""

PSEUDO_ROWS = 100
"""How many rows of each cell the posterior's own word counts for where an aim is measured."""


class Counted(NamedTuple):
    """What weights decide, counted, and counted twice more.

    `switched` are the rows of each cell that are right where the reference is wrong, or the reverse. `smoothed`
    are the counts with some more rows in each cell, decided as the posterior expects of its kind: a rate among
    thirty rows is luck to a large part, and an aim that is measured on smoothed counts does not chase it.
    """

    counts: Float[np.ndarray, "point part label slot prediction"]
    switched: Float[np.ndarray, "point part label slot"]
    smoothed: Float[np.ndarray, "point part label slot prediction"]


def decide(posterior: Posterior, weights: Float[np.ndarray, "label group"]) -> Int[np.ndarray, "row"]:
    """The class of each row; the first of equal ones."""
    return np.asarray(score(posterior, weights).argmax(1))


def score(posterior: Posterior, weights: Float[np.ndarray, "label group"]) -> Float[np.ndarray, "row label"]:
    """What is compared: for each class the weighted sum over the groups."""
    return np.asarray(np.einsum("rla,la->rl", posterior, weights))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Rows with their posterior, class, group (-1: unknown) and part: a few parts, so that one can be left out.

    `reference` is what others are held against: the plain classifier's decisions unless given.
    """

    posterior: Posterior
    label: Int[np.ndarray, "row"]
    group: Int[np.ndarray, "row"]
    part: Int[np.ndarray, "row"]
    parts: int
    reference: Int[np.ndarray, "row"] | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.label)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Parts, classes, and slots of the attribute axis of counts: the groups and the unknown."""
        return self.parts, self.posterior.shape[1], self.posterior.shape[2] + 1

    def take(self, rows: Int[np.ndarray, "some"]) -> "Evaluation":
        """Some of the rows."""
        reference = None if self.reference is None else self.reference[rows]
        return Evaluation(
            self.posterior[rows], self.label[rows], self.group[rows], self.part[rows], self.parts, reference
        )

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The order of rows by (part, class, group), where each of these begins, and its number."""
        _, classes, slots = self.shape
        cell = (self.part * classes + self.label) * slots + self.group % slots
        order = np.argsort(cell, kind="stable")
        present, starts = np.unique(cell[order], return_index=True)
        return order, starts, present

    @cached_property
    def _signed(self) -> Float[np.ndarray, "row cell"]:
        """The posterior in sorted order, a column for each (class, group)."""
        return np.asarray(self.posterior[self._sorted[0]].reshape(self.rows, -1))

    @cached_property
    def _held(self) -> Int[np.ndarray, "row"]:
        """What the reference decides, in sorted order."""
        decided = self.plain if self.reference is None else self.reference
        return np.asarray(decided[self._sorted[0]])

    @property
    def plain(self) -> Int[np.ndarray, "row"]:
        """What the plain classifier decides."""
        return np.asarray(self.posterior.sum(2).argmax(1))

    def count(self, weights: Weights) -> Counted:
        """What the weights decide, counted."""
        several = [self._count(chunk) for chunk in self._chunks(weights)]
        return Counted(*(np.concatenate(each) for each in zip(*several, strict=True)))

    def _chunks(self, weights: Weights) -> Iterator[Weights]:
        size = max(1, LARGEST // max(self.rows, 1))
        for start in range(0, len(weights), size):
            yield weights[start : start + size]

    def _count(self, weights: Weights) -> Counted:
        label, held = self.label[self._sorted[0]][:, None], self._held[:, None]
        classes = self.shape[1]
        if classes == 2:
            second = self._second(weights)
            of_second, expected = self._sum(second), self._expect(second)
            counts = np.stack([self._sum(np.ones((self.rows, 1), bool)) - of_second, of_second], axis=-1)
            return self._counted(counts, self._sum(second != (held == 1)), [1 - expected, expected])
        decided = self._decisions(weights)
        counts = np.stack([self._sum(decided == k) for k in range(classes)], axis=-1)
        switched = self._sum((decided == label) != (held == label))
        return self._counted(counts, switched, [self._expect(decided == k) for k in range(classes)])

    def _counted(self, counts: np.ndarray, switched: np.ndarray, expected: list[np.ndarray]) -> Counted:
        """All counts of some weights; the rows of unknown group stay as they are."""
        smoothed = counts.copy()
        smoothed[..., :-1, :] += PSEUDO_ROWS / self.parts * np.stack(expected, axis=-1)
        return Counted(counts, switched, smoothed)

    def _second(self, weights: Weights) -> Bool[np.ndarray, "row point"]:
        """Whether each row is given the second of two classes."""
        signed = weights * np.array([-1.0, 1.0])[:, None]
        return np.asarray(self._signed @ signed.reshape(len(weights), -1).T > 0)

    def _decisions(self, weights: Weights) -> Int[np.ndarray, "row point"]:
        """The class of each row."""
        ordered = self._signed.reshape(self.posterior.shape)
        scores = np.stack([ordered[:, k] @ weights[:, k].T for k in range(self.shape[1])], axis=-1)
        return np.asarray(scores.argmax(-1))

    def _expect(self, true: Bool[np.ndarray, "row point"]) -> Float[np.ndarray, "point part label group"]:
        """The share of each part's class and group that is true, by the posterior in place of the labels."""
        parts, classes, slots = self.shape
        ends = np.cumsum(np.bincount(self.part, minlength=parts))
        shares = []
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            within = self._signed[begin:end]
            shares.append(true[begin:end].T.astype(np.float64) @ within / np.maximum(within.sum(0), 1e-12))
        return np.stack(shares, axis=1).reshape(-1, parts, classes, slots - 1)

    def _sum(self, true: Bool[np.ndarray, "row point"]) -> Float[np.ndarray, "point part label slot"]:
        """How many rows of each part, class and slot are true."""
        _, starts, present = self._sorted
        parts, classes, slots = self.shape
        sums = np.zeros((true.shape[1], parts * classes * slots))
        sums[:, present] = np.add.reduceat(true, starts, axis=0, dtype=np.int32).T
        return sums.reshape(-1, parts, classes, slots)
