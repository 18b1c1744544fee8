"""The weights and the threshold that serve an aim best: taken from the frontier of a posterior, and refitted.

Training with weights w on the cells tends to the decisions of w on the posterior, so the frontier says which
weights are worth a fit. A fit does not keep all of that: how far its counts are off is added to the whole frontier
before the next weights are taken from it, until some keep what the frontier promised.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from raan.errors import is_installed
from raan.fairness.frontier import Frontier, keep_undominated
from raan.fairness.metrics import accuracy
from raan.fairness.rule import Rule
from raan.frontier import decide
from raan.frontier import search as frontier
from raan.reweighting.judge import Judge, Judged
from raan.reweighting.plans import Plan, Vectors
from raan.reweighting.posterior import fit_posterior

HANDFUL, PAIR = 3, 2
"""Weights that are refitted at most; the second where rows are many, and a fit is dear."""

FEW_ROWS, FEWEST_ROWS = 20_000, 5_000
"""Rows up to which a handful is refitted, and up to which temperatures are tried."""

TEMPERATURES = (0.5, 0.2)
"""The temperatures tried for the shape within cells where the handful kept no promise: they seldom win."""

SPARE = 0.15
"""The share of the allowance that the first weights have to spare where the aim is a gap: a refit loses a little
more accuracy than the posterior says. For the worst group the threshold makes up for it.
"""

KEPT = 0.75
"""The share of the promised gain that is enough, unless the noise of the aim is larger than the rest."""

APART = 0.05
"""Weights with smaller ratios between them than this, as logarithms, are the same."""


@dataclass
class Refits:
    """The weights refitted so far, the plain estimator first, each with those of its thresholds worth choosing."""

    rule: Rule
    judge: Callable[[Plan], Judged]
    plain: Judged
    found: list[tuple[Plan, Judged]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keep(Plan(), self.plain)

    def refit(self, plan: Plan) -> Judged:
        """Judge a fit with the weights."""
        judged = self.judge(plan)
        self.keep(plan, judged)
        return judged

    def keep(self, plan: Plan, judged: Judged) -> None:
        """Keep the estimator's own threshold, and those that no other betters, with the floor and without."""
        right, loss = accuracy(judged.counts), self.rule.goal.loss_of(judged.counts)
        floor = replace(self.rule, accuracy_drop=1.0).allows(judged.counts, self.reference, judged.switched)
        places = [0, *keep_undominated(right, -loss), *keep_undominated(right, np.where(floor, -loss, np.nan))]
        taken = int(self.rule.choose(judged.counts, self.reference, switched=judged.switched))
        self.found.append((plan, judged.at(list(dict.fromkeys([*map(int, places), max(taken, 0)])))))

    @property
    def reference(self) -> Float[np.ndarray, "label attribute prediction"]:
        """The counts of the plain estimator at its own threshold."""
        return np.asarray(self.plain.counts[0])

    def wish(self, judged: Judged) -> float:
        """How far the best threshold is from the aim; infinity where none is allowed."""
        return float(self.rule.wish(judged.counts, self.reference, switched=judged.switched).min())

    def best(self) -> Plan:
        """The weights that serve the rule best, the plain ones apart; the first of equal ones."""
        return min(self.found[1:], key=lambda each: self.wish(each[1]))[0]

    def frontier(self, cell_names: tuple[str, ...]) -> Frontier:
        """All points, in the order in which they were tried."""
        what = tuple(
            _what(fit, plan, threshold, cell_names)
            for fit, (plan, judged) in enumerate(self.found)
            for threshold in (judged.threshold.tolist() if judged.threshold is not None else [None])
        )
        counts, switched = (
            np.concatenate(each) for each in zip(*((j.counts, j.switched) for _, j in self.found), strict=True)
        )
        return Frontier(what, counts, self.rule, 0, switched)


def tune(
    judge: Judge,
    weigh: Callable[[Plan], Float[np.ndarray, "row"] | None],
    rule: Rule,
    vectors: Vectors,
    seed: int,
) -> Refits:
    """The frontier of a posterior that is fitted in the judge's folds, and what of it was refitted."""
    posterior = fit_posterior(judge, vectors, seed)
    gives = hasattr(judge.estimator, "predict_proba")
    plain = judge.read(posterior) if gives else judge.ask(weigh(Plan()))
    rows = judge.rows
    whole = decide.Judge(posterior, rows.label, rows.group, np.zeros_like(rows.label), 1)
    tried = frontier.search(whole, rule, seed)

    def refit(plan: Plan) -> Judged:
        return judge.count(judge.ask(weigh(plan)), plain)

    first = judge.count(plain, plain)
    refits = Refits(rule.judged_by(first.counts[0]), refit, first)
    usable = (tried.weights > 0).all((1, 2))
    points = (each[usable] for each in (tried.weights, tried.counts.sum(1), tried.switched.sum(1)))
    search(refits, *points, has_threshold=judge.has_threshold)
    return refits


def search(
    refits: Refits,
    weights: decide.Weights,
    counts: Float[np.ndarray, "point label attribute prediction"],
    switched: Float[np.ndarray, "point label attribute"],
    *,
    has_threshold: bool,
) -> None:
    """Refit weights of the frontier's points, the plain one first, until some keep what it promised."""
    rows, size = int(counts[0].sum()), counts[0, :, :-1].sum(-1)
    weights = weights * size.sum() / (weights * size).sum((1, 2), keepdims=True)  # mean 1
    rule, new = refits.rule, np.full(len(weights), True)
    new[0] = False  # the plain weights
    strict = rule if rule.goal.more_is_better else replace(rule, accuracy_drop=(1 - SPARE) * rule.accuracy_drop)
    place = next((int(p) for r in (strict, rule) if (p := r.choose(counts, counts[0], switched=switched)) > 0), 0)
    wish = rule.wish(counts, counts[0], switched=switched)
    enough = wish.min() + max((1 - KEPT) * (wish[0] - wish.min()), rule.noise)
    for _ in range(most_plans(rows)):
        if place < 0 or not new[place]:
            return
        judged = refits.refit(Plan(weights[place]))
        if refits.wish(judged) <= enough:
            return
        new &= _differ(weights, weights[place], has_threshold)
        corrected = np.clip(counts + judged.counts[0] - counts[place], 0, counts[0].sum(-1, keepdims=True))
        allowed = np.where(new, rule.wish(corrected, refits.reference, switched=switched), np.inf)
        place = int(allowed.argmin()) if np.isfinite(allowed).any() else -1
    for temperature in temperatures(rows):
        refits.refit(Plan(refits.best().cells, temperature))


def most_fits(judge: Judge) -> int:
    """How many fits in folds there are at most: of the posterior, of the plain estimator if need be, of plans."""
    rows = len(judge.fold)
    plain = 0 if hasattr(judge.estimator, "predict_proba") else 1
    tempered = len(TEMPERATURES) if rows <= FEWEST_ROWS else 0
    return (int(judge.fold.max()) + 1) * (1 + plain + most_plans(rows) + tempered)


def most_plans(rows: int) -> int:
    """How many weights of cells are refitted at most."""
    return HANDFUL if rows <= FEW_ROWS else PAIR


def _differ(
    weights: Float[np.ndarray, "point label group"], one: Float[np.ndarray, "label group"], has_threshold: bool
) -> Bool[np.ndarray, "point"]:
    """Which weights differ from one by more than a factor for all; for each class, where a threshold makes up."""
    ratio = np.log(weights / one)
    ratio -= ratio.mean(-1 if has_threshold else (-1, -2), keepdims=True)
    return np.asarray(np.abs(ratio).max((-1, -2)) > APART)


def temperatures(rows: int) -> Iterator[float]:
    """The finite temperatures that are tried: none where rows are many; a warning where there is no torch."""
    if rows > FEWEST_ROWS:
        return
    if is_installed("torch"):
        yield from TEMPERATURES
        return
    warnings.warn(
        "torch is not installed: weights with a finite temperature are left out of the search. "
        'pip install "raan[torch]" brings it',
        stacklevel=5,
    )


def _what(fit: int, plan: Plan, threshold: float | None, cell_names: tuple[str, ...]) -> dict[str, Any]:
    """What a point is: the fit's number, its weights, and where its scores are cut."""
    weights = np.ones(len(cell_names)) if plan.cells is None else plan.cells.ravel()
    named = {f"weight of {name}": float(each) for name, each in zip(cell_names, weights, strict=True)}
    return {"fit": fit, **named, "temperature": plan.temperature, "threshold": threshold}
