"""Families of models with their points, and the one choice among them by the user's rule, out of fold.

A family is whatever makes points: decisions on the training rows by models that have not seen them, decisions on
test rows, and the fitted classifier at each point. Its first point knows of no groups.
"""

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from raan.errors import in_shell, spell
from raan.fairness.frontier import Frontier
from raan.frontier.decide import Counted, Judge, Weights
from raan.frontier.estimator import FairFrontier
from raan.frontier.posterior import Chain
from raan.frontier.search import Tried

Rowwise = Int[np.ndarray, "row"]


@dataclass(frozen=True, eq=False)
class Weighted:
    """Decisions by weights on the cells of a posterior."""

    judge: Judge
    weights: Weights

    @property
    def label(self) -> Rowwise:
        """The class of each row."""
        return self.judge.label

    @property
    def plain(self) -> Rowwise:
        """What the weights 1 decide."""
        return self.judge.plain

    @property
    def first(self) -> "Weighted":
        """The weights 1 alone."""
        return Weighted(self.judge, self.weights[:1])

    def against(self, reference: Rowwise) -> Counted:
        """All weights counted, and held against a reference's decisions."""
        return replace(self.judge, reference=reference).count(self.weights)


@dataclass(frozen=True, eq=False)
class Given:
    """Decisions given one by one."""

    decided: Int[np.ndarray, "point row"]
    label: Rowwise
    group: Rowwise
    part: Rowwise
    parts: int
    shape: tuple[int, int]  # classes, groups

    @property
    def plain(self) -> Rowwise:
        """What the first point decides."""
        return np.asarray(self.decided[0].astype(np.int64))

    @property
    def first(self) -> "Given":
        """The first point alone."""
        return replace(self, decided=self.decided[:1])

    def against(self, reference: Rowwise) -> Counted:
        """All points counted, and held against a reference's decisions; no posterior is there to smooth by."""
        found = [self._against(decided, reference) for decided in self.decided]
        counts, switched = (np.stack(each) for each in zip(*found, strict=True))
        return Counted(counts, switched, counts)

    def _against(self, decided: np.ndarray, reference: Rowwise) -> tuple[np.ndarray, np.ndarray]:
        classes, groups = self.shape
        counts = np.zeros((self.parts, classes, groups + 1, classes))
        np.add.at(counts, (self.part, self.label, self.group, decided), 1)
        switched = np.zeros((self.parts, classes, groups + 1))
        moved = (decided == self.label) != (reference == self.label)
        np.add.at(switched, (self.part[moved], self.label[moved], self.group[moved]), 1)
        return counts, switched


Decisions = Weighted | Given
"""What the points of a family decide on some rows."""


@dataclass(frozen=True, eq=False)
class Family:
    """A family of models, fitted in folds, and the points that it offers."""

    name: str  # of its plain model in the results, such as "Boosting"
    title: str  # in words
    frontier: FairFrontier  # one weight for each cell; of a network, that the rule chooses with and nothing else
    held_out: Decisions  # on the training rows, each by the model that has not seen it
    test: Decisions
    plain: Callable[[], Any] = field(repr=False)  # the fitted classifier that knows of no groups
    at: Callable[[int], Any] = field(repr=False)  # the fitted classifier at a point; None where weights make it
    probabilities: Callable[[int], Float[np.ndarray, "row label"]] = field(repr=False)  # at a point, of test rows
    style: Literal["boosting", "logistic", "network"] = "boosting"
    steps: tuple[tuple[str, dict[str, Any], int], ...] = ()  # method, dials and step of each point of a network


@dataclass(frozen=True, eq=False)
class TradeOff:
    """A family's points held against the plain model that all families are: that one is the first point.

    `shift` is 1 where it is of another family, and stands before the family's own points.
    """

    family: Family
    frontier: FairFrontier  # chooses among these points
    test: Float[np.ndarray, "point label slot prediction"]
    switched: Float[np.ndarray, "point label slot"]  # on test rows
    shift: int

    @property
    def place(self) -> int:
        """The point that the rule takes; 0 where it takes none."""
        return self.frontier.frontier_.chosen_place

    @property
    def classifier(self) -> Any:
        """The fitted classifier at the point that is taken."""
        own = self.family.at(self.place - self.shift)
        return self.frontier if own is None else own


class Settled(NamedTuple):
    """The family of the plain model that all are held against, every family's trade-off, and the best of these."""

    reference: Family
    trade_offs: tuple[TradeOff, ...]
    best: TradeOff


def settle(families: Sequence[Family]) -> Settled:
    """Hold every family against the most accurate plain model out of fold, and take the best by the one rule.

    Families come in the order of preference: a later one's plain model must be more accurate by more than the
    standard error of the difference. No network is held against: it has no trade-off to choose from. Each family's
    best point by the rule is taken; then the best of these by the same rule. Where it takes none, the trade-off is
    that of the plain model's family, at its first point.
    """
    reference = families[0]
    for family in (each for each in families[1:] if each.style != "network"):
        reference = family if _is_surer(family, reference) else reference
    trade_offs = tuple(_hold_against(family, reference) for family in families)
    own = trade_offs[families.index(reference)]
    fairer = [each for each in trade_offs if each.place]
    tables = [(own.frontier.frontier_, 0), *((each.frontier.frontier_, each.place) for each in fairer)]
    counts, switched, smoothed = (
        np.stack([getattr(frontier, name)[place] for frontier, place in tables]) for name in Counted._fields
    )
    taken = int(own.frontier.frontier_.rule.choose(counts, counts[0], switched=switched, smoothed=smoothed))
    return Settled(reference, trade_offs, fairer[taken - 1] if taken > 0 else own)


def _is_surer(family: Family, other: Family) -> bool:
    """Whether a family's plain model is more accurate out of fold than another's by more than chance explains."""
    label = family.held_out.label
    gain = (family.held_out.plain == label).astype(float) - (other.held_out.plain == label)
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))


def _hold_against(family: Family, reference: Family) -> TradeOff:
    """The family's points after the plain model that all are held against."""
    held, test = reference.held_out.plain, reference.test.plain
    tried = Tried(family.frontier.tried_.weights, *family.held_out.against(held))
    counts, switched, _ = (each[:, 0] for each in family.test.against(test))
    shift = 0
    if family is not reference:
        tried, shift = Tried(np.ones_like(tried.weights[:1]), *reference.held_out.first.against(held)) + tried, 1
        before = [each[:, 0] for each in reference.test.first.against(test)[:2]]
        counts, switched = (np.concatenate(pair) for pair in zip(before, (counts, switched), strict=True))
    frontier = copy.copy(family.frontier)
    frontier.tried_ = tried
    return TradeOff(family, choose_aloud(frontier)[0], counts, switched, shift)


def choose_aloud(frontier: FairFrontier, **options: Any) -> tuple[FairFrontier, tuple[str, ...]]:
    """Another choice, and what it warns of, in the command line's words."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "accuracy_drop=")  # the command line reads points, and checks them
        chosen = frontier.choose(**options)
    return chosen, tuple(spell(_text(each.message), in_shell()) for each in warned)


def _text(warning: Warning | str) -> object:
    return warning.args[0] if isinstance(warning, Warning) and warning.args else warning


def plain_of(frontier: FairFrontier) -> FairFrontier:
    """The classifier of a frontier that knows of no groups: the folds' models of the class alone."""
    plain = copy.copy(frontier)
    classes = len(frontier.classes_)
    plain.models_ = [
        Chain(model.label, (0,) * classes, 1) for model in frontier.models_ if isinstance(model, Chain)
    ]
    plain.groups_ = ("all",)
    first = frontier.tried_.counts[:1]
    nothing = np.zeros((*first.shape[:3], 2, classes))
    plain.tried_ = Tried(np.ones((1, classes, 1)), nothing, nothing[..., 0], nothing)
    plain.weights_, plain.frontier_ = plain.tried_.weights[0], Frontier.empty()
    return plain
