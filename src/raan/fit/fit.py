"""From a table to a fairer model: every method within a time budget, and the choice by the user's rule."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from raan.errors import MissingExtra, is_installed
from raan.fairness.rule import HAIR, Rule
from raan.fit.boosting import Plain
from raan.fit.budget import Effort
from raan.fit.classifier import TableClassifier
from raan.fit.clock import Clock
from raan.fit.reweighted import plan_reweighting
from raan.fit.rows import Rows, judge_groups
from raan.fit.runs import Pick, Run, Settled, Step, choose, settle
from raan.tabular.frame import Loaded

BOOSTING_SHARE = 0.6
"""The share of the time that the search of AANReweighting may take."""


@dataclass(frozen=True)
class Wish:
    """What the user asks for: the aim and what it may cost, the time, and the seed of everything."""

    rule: Rule = Rule("equalized_odds")
    seconds: float = 300.0
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Fit:
    """All that was trained, the most accurate plain model, and the model that the rule chose against it."""

    loaded: Loaded
    rows: Rows  # groups too small to judge by are unknown here
    wish: Wish
    effort: Effort | None  # of the networks; None if none was trained
    runs: tuple[Run, ...]
    settled: Settled
    notes: tuple[str, ...]

    @property
    def rule(self) -> Rule:
        """The user's rule, with the noise of the validation rows."""
        return self.settled.rule

    @property
    def plain(self) -> Pick:
        """The most accurate plain model: what all others are held against."""
        return self.settled.plain

    @property
    def chosen(self) -> Pick:
        """The model to save."""
        return self.settled.chosen

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return self.rows.loaded.label.names

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups that are judged."""
        return self.rows.loaded.attribute.names

    @cached_property
    def data_hash(self) -> str:
        """A short name for all that is learnt from."""
        digest = hashlib.sha256()
        for part in (self.loaded.features, self.loaded.label.codes, self.rows.loaded.attribute.codes):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]

    @property
    def improved(self) -> bool:
        """Whether a model that knows of groups was chosen and serves the aim better than the plain one.

        One that serves it about as well is chosen too, if it is more accurate.
        """
        loss = self.rule.goal.loss
        return not self.chosen.plain and bool(loss(self.chosen.validation) < loss(self.plain.validation) - HAIR)

    @property
    def tried(self) -> bool:
        """Whether any model that knows of groups was trained."""
        return any(len(run.step) > 1 for run in self.runs if not run.plain)

    def best_of(self, runs: Sequence[Run]) -> Pick | None:
        """The point of some runs that the rule takes, by the same reference; the saved one if it is among them."""
        return self.chosen if self.chosen.run in runs else choose(self.rule, runs, self.plain)

    def model(self, attributes: tuple[str, ...], label: str) -> TableClassifier:
        """The chosen model with the preprocessing before it, to predict with and to save."""
        about = {
            "method": self.chosen.method,
            "label": label,
            "attributes": attributes,
            "aim": self.rule.aim,
            "accuracy_drop": self.rule.accuracy_drop,
        }
        classifier = self.chosen.run.classifier(self.chosen.point)
        return TableClassifier(self.loaded.preprocessing, classifier, self.classes, about)


def fit(loaded: Loaded, wish: Wish, clock: Clock) -> Fit:
    """Train every method as far as the time goes, and choose on validation rows.

    An interruption by the user, or the end of the time, leaves what is finished; only before the first model is
    there does a KeyboardInterrupt pass.
    """
    judged, notes = judge_groups(loaded)
    rows = Rows(judged, wish.seed)
    plain = Plain.fit(rows)
    found = _Found([plain.run], [*notes])
    with clock.limit():
        for step in _plan(found, plain, wish, clock):
            outcome = step.train(clock)
            found.runs += outcome.runs
            found.notes += outcome.notes
    if clock.interrupted:
        found.notes.append("Training was interrupted: the choice is among what had been trained by then.")
    effort = found.effort if any(run.style == "network" for run in found.runs) else None
    settled = settle(found.runs, wish.rule)
    return Fit(loaded, rows, wish, effort, tuple(found.runs), settled, tuple(found.notes))


@dataclass
class _Found:
    """What has been trained so far, and what the user should know of it."""

    runs: list[Run]
    notes: list[str]
    effort: Effort | None = None


def _plan(found: _Found, plain: Plain, wish: Wish, clock: Clock) -> Iterable[Step]:
    """Vanilla, AANReweighting, RAAN, RL-RAAN, planned for the time there is."""
    reweighting = plan_reweighting(plain, wish.rule, BOOSTING_SHARE * clock.left)
    networks = _plan_networks(found, plain.rows, clock.left - reweighting.seconds)
    steps = (*networks[:1], reweighting, *networks[1:])
    clock.plan(sum(step.seconds for step in steps))
    return steps


def _plan_networks(found: _Found, rows: Rows, seconds: float) -> Sequence[Step]:
    """The networks' steps; none, and a note, where torch is not installed."""
    if not is_installed("torch"):
        found.notes.append(f"Networks were left out: {MissingExtra('training them', 'torch')}.")
        return ()
    from raan.fit.networks import Networks

    networks = Networks.plan(rows, seconds)
    found.effort = networks.effort
    return networks.steps
