"""The saved model held against the plain one: what all words, the card, the page and the records are made from."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from raan.fairness.aims import AIMS
from raan.fairness.counts import Counts, resample
from raan.fairness.held import SURE
from raan.fairness.metrics import Metrics, accuracy, group_accuracy, measure, metrics, worst_group_accuracy
from raan.fairness.rule import HAIR, REPLICATES, Rule, Switched, paired_errors
from raan.fit.inspect import GroupScores, Probe
from raan.frontier.estimator import FairFrontier
from raan.frontier.promise import Promise


@dataclass(frozen=True)
class Facts:
    """What is known of the table and of the training, in plain values."""

    label: str
    attributes: tuple[str, ...]
    source: str
    classes: tuple[str, ...]
    groups: tuple[str, ...]  # those that are judged
    sizes: tuple[int, int, int]  # rows that trained, that could have, and test rows
    cells: tuple[tuple[int, ...], ...]  # rows of each class and each of `all_groups`
    all_groups: tuple[str, ...]
    columns: tuple[str, ...]
    minutes: float
    trained: tuple[str, ...]  # the families
    method: str  # what a fair point is, in words
    plain_method: str
    own_plain: bool  # whether the plain model is of the saved model's family
    known: Mapping[str, float]  # by aim, what would be promised if groups were known
    known_rule: tuple[float, float | None]  # the allowance and the floor that this is for
    notes: tuple[str, ...]
    warnings: tuple[str, ...]  # of the data

    @property
    def sees_attribute(self) -> bool:
        """Whether the attribute is an input of the model."""
        return bool(set(self.attributes) & set(self.columns))


@dataclass(frozen=True, eq=False)
class Outcome:
    """The points of the trade-off, the plain one first, out of fold and on test rows; the choice; the promise."""

    facts: Facts
    frontier: FairFrontier
    test: Counts
    switched: Switched  # on test rows, against the plain model
    scores: Mapping[str, Sequence[GroupScores]]  # "plain" and "chosen", on test rows
    probe: Probe

    @property
    def rule(self) -> Rule:
        """The rule that chose, with the noise of the rows that judged."""
        return self.frontier.frontier_.rule

    @property
    def place(self) -> int:
        """The point that is saved."""
        return self.frontier.frontier_.chosen_place

    @property
    def improved(self) -> bool:
        """Whether the saved model is another than the plain one."""
        return self.place > 0

    @property
    def method(self) -> str:
        """What the saved model is, in words."""
        return self.facts.method if self.improved else self.facts.plain_method

    @property
    def promise(self) -> Promise:
        """What new rows may expect."""
        return self.frontier.promise_

    @property
    def held_out(self) -> Counts:
        """The decisions of each point on training rows, out of fold."""
        return self.frontier.frontier_.counts

    @cached_property
    def on_test(self) -> tuple[Metrics, Metrics]:
        """The metrics of the plain and of the saved model on test rows."""
        return metrics(self.test[0]), metrics(self.test[self.place])

    @cached_property
    def broken(self) -> tuple[str, ...]:
        """What was promised and is not so on test rows, in words."""
        return tuple(self._broken()) if self.improved else ()

    def _broken(self) -> Iterator[str]:
        plain, chosen = self.test[0], self.test[self.place]
        whole, by_cell = paired_errors(chosen, plain, self.switched[self.place])
        yield from self._unfair(plain, chosen)
        lost, error = float(accuracy(plain) - accuracy(chosen)), float(whole)
        if lost > self.rule.accuracy_drop + SURE * error + HAIR:
            yield (
                f"it loses {100 * lost:.1f} points of accuracy where {100 * self.rule.accuracy_drop:g} were "
                f"allowed (standard error {100 * error:.1f})"
            )
        if self.rule.worst_group_drop is not None:
            cell = np.unravel_index(int(np.argmin(group_accuracy(chosen))), by_cell.shape)
            fell, error = float(worst_group_accuracy(plain) - worst_group_accuracy(chosen)), float(by_cell[cell])
            if fell > self.rule.worst_group_drop + SURE * error + HAIR:
                yield (
                    f"its worst-served group has an accuracy {100 * fell:.1f} points below the plain model's "
                    f"(standard error {100 * error:.1f})"
                )

    def _unfair(self, plain: Counts, chosen: Counts) -> Iterator[str]:
        """Where the aim is not better than the plain model's, or a limit is exceeded."""
        goal = self.rule.goal
        if goal.key in AIMS:
            was, now = (float(measure(goal.metric, counts)) for counts in (plain, chosen))
            if math.isnan(now - was):
                yield f"the {goal.title} is undefined on test rows: some group has none of some class"
            elif goal.gain(now - was) <= 0:
                yield f"the {goal.title} is {100 * now:.1f} %, and the plain model's {100 * was:.1f} %"
        for key, most in self.rule.limits:
            aim, loss = AIMS[key], float(AIMS[key].loss_of(chosen))
            error = float(np.nanstd(aim.loss_of(resample(chosen, REPLICATES, np.random.default_rng(0)))))
            if not loss <= most + SURE * error:
                yield f"the {aim.title} is {100 * float(measure(aim.metric, chosen)):.1f} %, beyond the limit"

    def choose(self, frontier: FairFrontier, notes: tuple[str, ...]) -> "Outcome":
        """The same trade-off with another choice, and what is to be noted of that."""
        return replace(self, frontier=frontier, facts=replace(self.facts, notes=(*self.facts.notes, *notes)))
