"""Decisions by weights on the cells of a posterior, counted for thousands of weights at once.

A row is given the class y with the largest sum over groups of w[y, a] q[y, a](x). With w = 1 that is the most
probable class; of two classes, the second where sum_a w[1, a] q[1, a] > sum_a w[0, a] q[0, a].
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from raan.frontier.posterior import Posterior

Weights = Float[np.ndarray, "point label group"]

LARGEST = 16_000_000
"""Decisions that are held in memory at once."""


def decide(posterior: Posterior, weights: Float[np.ndarray, "label group"]) -> Int[np.ndarray, "row"]:
    """The class of each row; the first of equal ones."""
    return np.asarray(score(posterior, weights).argmax(1))


def score(posterior: Posterior, weights: Float[np.ndarray, "label group"]) -> Float[np.ndarray, "row label"]:
    """What is compared: for each class the weighted sum over the groups."""
    return np.asarray(np.einsum("rla,la->rl", posterior, weights))


@dataclass(frozen=True, eq=False)
class Judge:
    """Rows with their posterior, class, group (-1: unknown) and part: a few parts, so that one can be left out.

    `reference` are the decisions that others are held against; the plain classifier's without them.
    """

    posterior: Posterior
    label: Int[np.ndarray, "row"]
    group: Int[np.ndarray, "row"]
    part: Int[np.ndarray, "row"]
    parts: int
    reference: Int[np.ndarray, "row"] | None = None

    @property
    def rows(self) -> int:
        """How many rows judge."""
        return len(self.label)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Parts, classes, and slots of the attribute axis of counts: the groups and the unknown."""
        return self.parts, self.posterior.shape[1], self.posterior.shape[2] + 1

    def take(self, rows: Int[np.ndarray, "some"]) -> "Judge":
        """Some of the rows."""
        reference = None if self.reference is None else self.reference[rows]
        return Judge(
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
    def _plain(self) -> Int[np.ndarray, "row"]:
        """What decisions are held against, in sorted order."""
        decided = self.plain if self.reference is None else self.reference
        return np.asarray(decided[self._sorted[0]])

    @property
    def plain(self) -> Int[np.ndarray, "row"]:
        """What the plain classifier decides."""
        return np.asarray(self.posterior.sum(2).argmax(1))

    def count(
        self, weights: Weights
    ) -> tuple[Float[np.ndarray, "point part label slot prediction"], Float[np.ndarray, "point part label slot"]]:
        """Counts of the decisions, and how many rows of each cell are right where the reference is wrong, or the
        reverse.
        """
        several = [self._count(chunk) for chunk in self._chunks(weights)]
        counts, switched = (np.concatenate(each) for each in zip(*several, strict=True))
        return counts, switched

    def _chunks(self, weights: Weights) -> Iterator[Weights]:
        size = max(1, LARGEST // max(self.rows, 1))
        for start in range(0, len(weights), size):
            yield weights[start : start + size]

    def _count(self, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
        label, plain = self.label[self._sorted[0]][:, None], self._plain[:, None]
        classes = self.shape[1]
        if classes == 2:
            second = self._second(weights)
            of_second = self._sum(second)
            counts = np.stack([self._sum(np.ones((self.rows, 1), bool)) - of_second, of_second], axis=-1)
            return counts, self._sum(second != (plain == 1))
        decided = self._decisions(weights)
        counts = np.stack([self._sum(decided == k) for k in range(classes)], axis=-1)
        return counts, self._sum((decided == label) != (plain == label))

    def _second(self, weights: Weights) -> Bool[np.ndarray, "row point"]:
        """Whether each row is given the second of two classes."""
        signed = weights * np.array([-1.0, 1.0])[:, None]
        return np.asarray(self._signed @ signed.reshape(len(weights), -1).T > 0)

    def _decisions(self, weights: Weights) -> Int[np.ndarray, "row point"]:
        """The class of each row."""
        ordered = self._signed.reshape(self.posterior.shape)
        scores = np.stack([ordered[:, k] @ weights[:, k].T for k in range(self.shape[1])], axis=-1)
        return np.asarray(scores.argmax(-1))

    def _sum(self, true: Bool[np.ndarray, "row point"]) -> Float[np.ndarray, "point part label slot"]:
        """How many rows of each part, class and slot are true."""
        _, starts, present = self._sorted
        parts, classes, slots = self.shape
        sums = np.zeros((true.shape[1], parts * classes * slots))
        sums[:, present] = np.add.reduceat(true, starts, axis=0, dtype=np.int32).T
        return sums.reshape(-1, parts, classes, slots)
