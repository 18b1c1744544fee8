"""The weights that are worth choosing from, for every aim, budget and guard.

By duality the best decisions under limits on rates of groups are those of weights w[y, a] = 1 + lambda[y, a] /
P(y, a): 1 for accuracy, and a price for each cell. So the search walks in the prices: from those of single cells,
of groups and of common thresholds, and of linear programmes on the posterior, then ever closer around the best
for each target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.aims import ACCURATE, AIMS
from raan.fairness.frontier import keep_undominated
from raan.fairness.metrics import accuracy, metrics, worst_group_accuracy
from raan.fairness.promise import Promise
from raan.fairness.rule import BUDGETS, Rule
from raan.frontier.decide import Evaluation, Weights
from raan.frontier.programme import solve_programmes

PRICES = (-0.3, -0.1, -0.03, -0.01, 0.01, 0.03, 0.1, 0.3)
"""The prices that are tried first for each cell and group."""

RATIOS = np.geomspace(1 / 20, 20, 41)
"""The factors that are tried first for each class: of two classes, common thresholds."""

RANDOM = 600
"""Random prices tried first."""

ROUNDS, STEPS = 10, 4
"""How often the search is narrowed, and the steps for each cell that it tries around each best point then."""

WIDEST, NARROWEST = 0.1, 0.004
"""The steps' sizes in the first round and in the last."""

MOST_SEARCHED = 30_000
"""Rows that the search looks at; all rows evaluate what it found."""

MOST_KEPT = 600
"""Points that are kept, about."""


@dataclass(frozen=True, eq=False)
class Points:
    """Weights with what they decide, counted; the first are the plain ones."""

    weights: Weights
    counts: Float[np.ndarray, "point part label slot prediction"]
    switched: Float[np.ndarray, "point part label slot"]
    smoothed: Float[np.ndarray, "point part label slot prediction"]

    @classmethod
    def none(cls, classes: int, groups: int = 1) -> "Points":
        """The plain point alone, counted on no rows."""
        nothing = np.zeros((1, 1, classes, groups + 1, classes))
        return cls(np.ones((1, classes, groups)), nothing, nothing[..., 0], nothing)

    @classmethod
    def of(cls, weights: Weights, evaluation: Evaluation) -> "Points":
        """The weights evaluated."""
        return cls(weights, *evaluation.count(weights))

    def __add__(self, other: "Points") -> "Points":
        """Both, one after the other."""
        names = [each.name for each in fields(self)]
        return Points(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))

    def choose(self, rule: Rule, parts: slice | Int[np.ndarray, "part"] = slice(None)) -> int:
        """The point that the rule takes on some of the parts; the plain one where it takes none."""
        counts, switched, smoothed = (
            each[:, parts].sum(1) for each in (self.counts, self.switched, self.smoothed)
        )
        return max(int(rule.choose(counts, counts[0], switched=switched, smoothed=smoothed)), 0)

    def choose_by_others(self, rule: Rule) -> tuple[np.ndarray, np.ndarray]:
        """Counts and switched rows of the choices that each part's rows did not make, added up over the parts."""
        parts = self.counts.shape[1]
        chosen = [self.choose(rule, np.flatnonzero(np.arange(parts) != part)) for part in range(parts)]
        counts, switched = (
            np.sum([each[place, part] for part, place in enumerate(chosen)], axis=0)
            for each in (self.counts, self.switched)
        )
        return counts, switched

    def decide(self, rule: Rule) -> int:
        """The point that the rule takes; the plain one where rows that did not choose show no gain for the aim."""
        plain = self.counts[0].sum(0)
        before, after = (float(rule.goal.of(metrics(each))) for each in (plain, self.choose_by_others(rule)[0]))
        return self.choose(rule) if rule.goal is ACCURATE or rule.goal.gain(after - before) > 0 else 0

    def promise(self, rule: Rule) -> Promise:
        """What new rows may expect of the rule's choice, measured on rows that did not make it."""
        counts, switched = self.choose_by_others(rule)
        return Promise.of(counts, self.counts[0].sum(0), switched)

    def better(self, rule: Rule, best: int, others: Int[np.ndarray, "other"]) -> int:
        """The best so far, or the one of the others that the rule prefers to it."""
        places = np.concatenate([[best], others])
        counts, switched, smoothed = (each[places].sum(1) for each in (self.counts, self.switched, self.smoothed))
        found = int(rule.choose(counts, self.counts[0].sum(0), switched=switched, smoothed=smoothed))
        return int(places[max(found, 0)])


def search(evaluation: Evaluation, rule: Rule, seed: int = 0) -> Points:
    """The points worth choosing from, the plain one first: evaluated on all rows, searched for on some of them."""
    rng = np.random.default_rng(seed)
    some = evaluation
    if evaluation.rows > MOST_SEARCHED:
        some = evaluation.take(np.sort(rng.choice(evaluation.rows, MOST_SEARCHED, replace=False)))
    share = _shares(some)
    prices = np.concatenate([*_first(share, rng), *_programmes(some, share, rng)])
    tried = Points.of(_weights(prices, share), some)
    best = {target: tried.choose(target) for target in _targets(rule)}
    taken = {0, *best.values()}
    for size in np.geomspace(WIDEST, NARROWEST, ROUNDS):
        near = _steps(prices[sorted({*best.values()})], size, rng)
        new = np.arange(len(prices), len(prices) + len(near))
        prices = np.concatenate([prices, near])
        tried = tried + Points.of(_weights(near, share), some)
        best = {target: tried.better(target, place, new) for target, place in best.items()}
        taken |= {*best.values()}
    return Points.of(tried.weights[_keep(tried, sorted(taken))], evaluation)


def _shares(evaluation: Evaluation) -> Float[np.ndarray, "label group"]:
    """P(y, a) among the rows of known group; a hair for an empty cell."""
    _, classes, slots = evaluation.shape
    known = evaluation.group >= 0
    cell = evaluation.label[known] * (slots - 1) + evaluation.group[known]
    size = np.bincount(cell, minlength=classes * (slots - 1)).reshape(classes, slots - 1)
    return np.asarray(np.maximum(size, 1) / max(size.sum(), 1))


def _weights(prices: Weights, share: Float[np.ndarray, "label group"]) -> Weights:
    return np.asarray(1 + prices / share)


def _first(share: Float[np.ndarray, "label group"], rng: np.random.Generator) -> Iterator[Weights]:
    """The prices that are tried first, none at all before the others."""
    classes, groups = share.shape
    yield np.zeros((1, classes, groups))
    yield from _common(share)
    cells = np.eye(classes * groups).reshape(-1, classes, groups)
    yield np.concatenate([price * cells for price in PRICES])  # one cell's accuracy
    within = np.stack([np.where(np.arange(groups) == a, share, 0) for a in range(groups)])
    sign = np.where(np.arange(classes) == classes - 1, 1.0, -1.0)[:, None]
    of_group = sign * within / within.sum((1, 2), keepdims=True)
    yield np.concatenate([price * of_group for price in PRICES])  # one group's selection
    balanced = [share * (np.asarray(s)[:, None] * np.log(1 / share)) for s in product((0, 0.3, 1), repeat=classes)]
    yield np.stack(balanced[1:])
    for size in (0.03, 0.1, 0.3):
        yield size * rng.standard_normal((RANDOM // 3, classes, groups))


def _programmes(
    evaluation: Evaluation, share: Float[np.ndarray, "label group"], rng: np.random.Generator
) -> Iterator[Weights]:
    """The prices of linear programmes on the posterior, for two classes."""
    if len(share) == 2:
        yield from ((weights[None] - 1) * share for weights in solve_programmes(evaluation.posterior, rng))


def _common(share: Float[np.ndarray, "label group"]) -> Iterator[Weights]:
    """A factor for all groups of one class: with two classes, one threshold for all."""
    for y in range(len(share)):
        factors = np.where((np.arange(len(share)) == y)[None, :, None], RATIOS[:, None, None], 1.0)
        yield (factors - 1) * share


def _steps(best: Weights, size: float, rng: np.random.Generator) -> Float[np.ndarray, "step label group"]:
    """Prices around the best: all of them moved at random, and one at a time."""
    steps = STEPS * best[0].size
    moved = rng.standard_normal((steps, *best.shape))
    alone = rng.random(moved.shape) < 1.5 / best[0].size
    moved[steps // 2 :] = np.where(alone, moved, 0)[steps // 2 :]
    return np.asarray((best + size * moved).reshape(-1, *best.shape[1:]))


def _targets(rule: Rule) -> Iterator[Rule]:
    """What may be asked for later: every aim with every budget, with and without the guard."""
    guards = dict.fromkeys((rule.worst_group_drop, None, 0.0))
    drops = dict.fromkeys((rule.accuracy_drop, *BUDGETS))
    for aim, drop, guard in product(AIMS, drops, guards):
        yield replace(rule, aim=aim, accuracy_drop=drop, worst_group_drop=guard, limits=())


def _keep(tried: Points, taken: Sequence[int]) -> list[int]:
    """The plain point, those that some target took, and those that no other betters for some aim."""
    whole = tried.counts.sum(1)
    measured, right, worst = metrics(tried.smoothed.sum(1)), accuracy(whole), worst_group_accuracy(whole)
    guard = worst >= worst[0]
    undominated = []
    for aim in AIMS.values():
        value = -aim.loss(measured)
        undominated += keep_undominated(right, value).tolist()
        undominated += keep_undominated(right, np.where(guard, value, np.nan)).tolist()
    rest = [place for place in dict.fromkeys(undominated) if place not in {*taken}]
    most = max(MOST_KEPT - len({*taken}), 0)
    thin = rest if len(rest) <= most else [rest[int(i)] for i in np.linspace(0, len(rest) - 1, most)]
    return list(dict.fromkeys([0, *taken, *thin]))
