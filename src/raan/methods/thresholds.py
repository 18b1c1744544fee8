"""Thresholds per group (Hardt et al. 2016): any method's scores made fair afterwards.

They are fitted on validation rows and need the attribute at prediction: compare them with their like. They train
nothing, so they are not among METHODS and no study runs them; `fit_thresholds` takes the scores of any model.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from raan.methods.gaps import NOTIONS, Notion
from raan.methods.method import check_choice

GRID = np.linspace(0, 1, 1001)
"""Where the common operating point is looked for: selection rates (DP) or false positive rates (EO)."""


class GroupRule(NamedTuple):
    """How one group is judged: by one of two thresholds drawn at random, or now and then by chance alone."""

    low: float  # the laxer threshold
    high: float
    share_low: float  # how often the laxer one is taken
    chance: float  # how often neither is, but a coin
    coin: float  # how often that coin gives class 1


UNKNOWN_RULE = GroupRule(0.5, 0.5, 1.0, 0.0, 0.0)
"""Who is of no known group is cut at one half."""


@dataclass(frozen=True)
class Thresholds:
    """Each group's rule, for scores that are probabilities of class 1."""

    notion: Notion
    rules: tuple[GroupRule, ...]

    def probability(self, score: Float[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Float[Tensor, "row"]:
        """How often each row is given class 1, over the rules' draws."""
        rules = torch.tensor([*self.rules, UNKNOWN_RULE], dtype=torch.float64)  # -1 reads the last one
        low, high, share_low, chance, coin = rules.to(score.device)[attribute].unbind(-1)
        judged = share_low * (score > low) + (1 - share_low) * (score > high)
        return chance * coin + (1 - chance) * judged

    def predict(
        self, score: Float[Tensor, "row"], attribute: Int[Tensor, "row"], rng: np.random.Generator
    ) -> Int[Tensor, "row"]:
        """Class 0 or 1 for each row, drawn where the rules say so."""
        draw = torch.from_numpy(rng.random(len(score))).to(score.device)
        return (draw < self.probability(score, attribute)).long()


def fit_thresholds(
    score: Float[Tensor, "row"], label: Int[Tensor, "row"], attribute: Int[Tensor, "row"], notion: Notion
) -> Thresholds:
    """The most accurate rules under which all groups have one selection rate (DP), or one TPR and FPR (EO).

    Two classes only. Every group needs rows of both of them; rows of unknown attribute take no part.
    """
    check_choice("notion", notion, NOTIONS)
    _check(label, attribute)
    hulls = [
        _Curve.of(
            score[attribute == a].double().numpy(force=True), label[attribute == a].numpy(force=True) == 1
        ).hull()
        for a in range(int(attribute.max()) + 1)
    ]
    return Thresholds(notion, _parity_rules(hulls) if notion == "DP" else _odds_rules(hulls))


class _Curve(NamedTuple):
    """A group's ROC curve, from "nobody" to "everybody", thresholds falling."""

    threshold: Float[np.ndarray, "point"]
    false_positive: Float[np.ndarray, "point"]  # rates
    true_positive: Float[np.ndarray, "point"]
    positives: int
    negatives: int

    @staticmethod
    def of(score: Float[np.ndarray, "row"], positive: Bool[np.ndarray, "row"]) -> "_Curve":
        """The curve through every distinct score."""
        values, place = np.unique(-score, return_inverse=True)
        true = np.bincount(place, positive, len(values)).cumsum()
        false = np.bincount(place, ~positive, len(values)).cumsum()
        # A threshold between two scores; the last lets everyone pass.
        between = np.append((-values[:-1] - values[1:]) / 2, -np.inf)
        threshold = np.concatenate([[np.inf], between])
        return _Curve(
            threshold,
            np.append(0, false / false[-1]),
            np.append(0, true / true[-1]),
            int(positive.sum()),
            int((~positive).sum()),
        )

    @property
    def selected(self) -> Float[np.ndarray, "point"]:
        """The share of the group that is given class 1."""
        hits: np.ndarray = self.true_positive * self.positives + self.false_positive * self.negatives
        return hits / (self.positives + self.negatives)

    def right(self, selected: Float[np.ndarray, "rate"]) -> Float[np.ndarray, "rate"]:
        """How many of the group are judged right at these selection rates."""
        points = self.positives * self.true_positive + self.negatives * (1 - self.false_positive)
        return np.asarray(np.interp(selected, self.selected, points))

    def hull(self) -> "_Curve":
        """The curve's upper convex hull: what mixtures of two thresholds reach."""
        kept: list[int] = []
        for point in range(len(self.threshold)):
            while len(kept) > 1 and self._below(kept[-2], kept[-1], point):
                kept.pop()
            kept.append(point)
        chosen = np.array(kept)
        return self._replace(**{name: getattr(self, name)[chosen] for name in self._fields[:3]})

    def _below(self, left: int, middle: int, right: int) -> bool:
        """Whether the middle point lies on or below the line between the others."""
        x, y = self.false_positive, self.true_positive
        return bool((x[middle] - x[left]) * (y[right] - y[left]) >= (x[right] - x[left]) * (y[middle] - y[left]))


def _parity_rules(hulls: list[_Curve]) -> tuple[GroupRule, ...]:
    """The selection rate, the same for all groups, at which most samples are right."""
    best = GRID[np.argmax(sum(hull.right(GRID) for hull in hulls))]
    return tuple(_mixture(hull.threshold, hull.selected, best) for hull in hulls)


def _odds_rules(hulls: list[_Curve]) -> tuple[GroupRule, ...]:
    """The point under all groups' hulls at which most samples are right; each group goes down to it by chance."""
    reached = np.array([np.interp(GRID, hull.false_positive, hull.true_positive) for hull in hulls])
    common = reached.min(0)
    positives, negatives = sum(hull.positives for hull in hulls), sum(hull.negatives for hull in hulls)
    best = int(np.argmax(positives * common + negatives * (1 - GRID)))
    false, true = GRID[best], common[best]
    rules = []
    for hull, own in zip(hulls, reached[:, best], strict=True):
        chance = (own - true) / (own - false) if own > false else 0.0
        rules.append(_mixture(hull.threshold, hull.false_positive, false)._replace(chance=chance, coin=false))
    return tuple(rules)


def _mixture(threshold: Float[np.ndarray, "point"], rate: Float[np.ndarray, "point"], wanted: float) -> GroupRule:
    """The two neighbouring thresholds, and how often to take which, so that the rate is the one wanted."""
    # Of points with the same rate the last is the best, and the one that np.interp reads.
    below = int(np.searchsorted(rate, wanted, side="right")) - 1
    above = min(below + 1, len(rate) - 1)
    share = float((wanted - rate[below]) / (rate[above] - rate[below])) if above > below else 0.0
    return GroupRule(float(threshold[above]), float(threshold[below]), share, 0.0, 0.0)


def _check(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> None:
    """An error for more than two classes, or a group that lacks one of them."""
    if int(label.max()) > 1:
        raise ValueError(f"thresholds per group are for two classes, and there are {int(label.max()) + 1}")
    if int(attribute.max()) < 0:
        raise ValueError("thresholds per group need the attribute, and no row's is known")
    for a in range(int(attribute.max()) + 1):
        if label[attribute == a].bincount(minlength=2).min() == 0:
            raise ValueError(
                f"thresholds per group need rows of both classes in every group, and group {a} has not"
            )
