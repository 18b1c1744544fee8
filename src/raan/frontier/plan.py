"""The weights that are worth testing, planned with the posterior alone.

For every aim, with and without the guard, a *path* of weights leads from small to large losses of accuracy. The
labels of the rows take no part in this, but for two numbers of each known group (`raan.frontier.calibration`).
They test what was planned (`raan.frontier.choice`), in the order of the path, so a lucky point cannot be found by
trying many. By duality the best decisions under limits on rates of groups are those of weights
w[y, a] = 1 + lambda[y, a] / P(y, a): 1 for accuracy, and a price for each cell. Of two classes a linear programme
finds the prices; of more classes a search does.

The rows are gathered into bins of similar posterior first, so the cost does not grow with their number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise, product

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.evidence import compare_with_worst, paired_error
from raan.fairness.measures import ACCURACY, AIMS, Limit, Measure
from raan.fairness.metrics import group_accuracy
from raan.fairness.rule import Rule
from raan.frontier.calibration import Calibration
from raan.frontier.decide import Counted, Evaluation, Weights, decide, decide_flat
from raan.frontier.posterior import Posterior
from raan.frontier.programme import CellWeights, Programme

BINS = 2**9
"""Bins of the posterior."""

BUDGETS = np.geomspace(0.0003, 0.04, 10)
"""The losses of accuracy that each path is planned for; up to the user's budget where that is larger."""

BETWEEN = (1 / 3, 2 / 3)
"""Points between two planned ones: their weights are weighted means."""

RESERVES = (2.0, 1.0, 0.5, 0.0)
"""How many times the margin of the guard's tests is planned for; the first that some decisions reach."""

FACTORS = np.geomspace(1 / 20, 20, 21)
"""Of more than two classes: the factors for all groups of a class that the search begins with."""

RANDOM, ROUNDS, STEPS = 300, 8, 6
"""Random prices that the search begins with, rounds of ever smaller steps, and steps for each cell in a round."""

PATHS = tuple(product(AIMS, (False, True)))
"""What each path is for: an aim, without or with the guard. `Points.path` holds places in this list."""

THRESHOLDS, OTHER = len(PATHS), len(PATHS) + 1
"""Paths of common thresholds, and of aims and limits that are in no list."""

RATIOS = np.geomspace(1 / 50, 50, 199)
"""The common thresholds among which the reference of a performance is found."""


@dataclass(frozen=True, eq=False)
class Points:
    """Weights, what they decide by the labels and by the posterior, and the path that each is on.

    The first are those of the reference, on no path (-1): the plain weights, or the best common threshold for the
    performance. Points of a path come in its order.
    """

    weights: Weights
    counts: Float[np.ndarray, "point label slot prediction"]
    switched: Float[np.ndarray, "point label slot"]
    expected: Float[np.ndarray, "point label slot prediction"]
    expected_switched: Float[np.ndarray, "point label slot"]
    path: Int[np.ndarray, "point"]

    @classmethod
    def none(cls, weights: CellWeights) -> "Points":
        """One point alone, counted on no rows."""
        classes, groups = weights.shape
        nothing = np.zeros((1, classes, groups + 1, classes))
        return cls(weights[None], nothing, nothing[..., 0], nothing, nothing[..., 0], np.array([-1]))

    @classmethod
    def of(cls, weights: Weights, path: Int[np.ndarray, "point"], evaluation: Evaluation) -> "Points":
        """Evaluate weights, of which the first are the reference's."""
        return cls(weights, *evaluation.count(weights), *Bins.of_rows(evaluation).expect(weights), path)

    def __add__(self, other: "Points") -> "Points":
        """Both, one after the other."""
        names = [each.name for each in fields(self)]
        return Points(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))

    def take(self, places: Int[np.ndarray, "place"]) -> "Points":
        """Some of the points."""
        return Points(*(getattr(self, each.name)[places] for each in fields(self)))

    def counted_as(self, counted: Counted) -> "Points":
        """The same points with counts of other rows, and what the posterior expects of as many."""
        more = float(counted.counts[0].sum() / self.counts[0].sum())
        return Points(self.weights, *counted, self.expected * more, self.expected_switched * more, self.path)

    def on_path(self, aim: str, guarded: bool) -> Int[np.ndarray, "place"]:
        """The places of the points of a path, in its order."""
        return np.flatnonzero(self.path == PATHS.index((aim, guarded)))


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows of similar posterior: their mean, how many there are, and the calibrated posterior that counts."""

    posterior: Posterior
    mass: Float[np.ndarray, "bin"]
    calibration: Calibration | None = None

    @classmethod
    def of_rows(cls, evaluation: Evaluation) -> "Bins":
        """The bins of some rows."""
        return replace(cls.of(evaluation.posterior, evaluation.weight), calibration=evaluation.calibration)

    @cached_property
    def expected(self) -> Posterior:
        """The posterior by which decisions are counted."""
        return self.posterior if self.calibration is None else self.calibration(self.posterior)

    @classmethod
    def of(cls, posterior: Posterior, weight: Float[np.ndarray, "row"] | None = None) -> "Bins":
        """Halve the rows again and again, each time along the cell whose probability varies most."""
        rows = len(posterior)
        mass = np.ones(rows) if weight is None else weight
        flat = posterior.reshape(rows, -1)
        parts = [np.arange(rows)]
        while len(parts) < BINS < rows:
            halves = []
            for part in parts:
                along = flat[part]
                order = np.argsort(along[:, along.var(0).argmax()], kind="stable")
                halves += np.array_split(part[order], 2)
            parts = halves
        if len(parts) == 1:
            return cls(posterior, mass)
        order, starts = np.concatenate(parts), np.cumsum([0, *map(len, parts[:-1])])
        sizes = np.add.reduceat(mass[order], starts)
        means = np.add.reduceat((flat * mass[:, None])[order], starts) / np.maximum(sizes, 1e-12)[:, None]
        return cls(means.reshape(-1, *posterior.shape[1:]), sizes)

    def expect(self, weights: Weights) -> Counted:
        """Count what the weights decide with the posterior in place of labels; the first are the reference."""
        classes, groups = self.posterior.shape[1:]
        flat = self.posterior.reshape(len(self.mass), -1)
        weighted = self.expected.reshape(flat.shape) * self.mass[:, None]
        decided, reference = decide_flat(flat, weights), decide_flat(flat, weights[:1])
        shape = (len(weights), classes, groups)
        counts = np.zeros((len(weights), classes, groups + 1, classes))
        switched = np.zeros((len(weights), classes, groups + 1))
        for k in range(classes):
            counts[..., :-1, k] = ((decided == k).T.astype(np.float64) @ weighted).reshape(shape)
            moved = ((decided == k) != (reference == k)).T.astype(np.float64) @ weighted
            switched[:, k, :-1] = moved.reshape(shape)[:, k]
        return Counted(counts, switched)


def plan(evaluation: Evaluation, rule: Rule, seed: int = 0) -> tuple[Evaluation, Points]:
    """Plan the paths for every aim that has a name, and evaluate their points on all rows.

    Args:
        evaluation: the rows.
        rule: what the paths are for: the guard, the performance and its budget.
        seed: of the search.

    Returns:
        The rows with the reference's decisions, and the points, the reference first.
    """
    reference = find_reference(evaluation, rule.currency)
    evaluation = replace(evaluation, reference=decide(evaluation.posterior, reference))
    planner = Planner(Bins.of_rows(evaluation), evaluation.count(reference[None]).counts[0], reference, rule, seed)
    found = [(-1, reference)]
    for place, (aim, guarded) in enumerate(PATHS):
        measure = rule.read(AIMS[aim])
        found += [(place, w) for w in planner.plan(measure, guarded and rule.worst_group_drop is not None)]
    if len(reference) == 2:
        found += [(THRESHOLDS, np.array([[1.0], [ratio]]) * np.ones_like(reference)) for ratio in RATIOS[9::10]]
    path, weights = zip(*found, strict=True)
    return evaluation, Points.of(np.stack(weights), np.array(path), evaluation)


def extend(
    points: Points, evaluation: Evaluation, rule: Rule, wanted: Sequence[Measure | Limit], seed: int = 0
) -> Points:
    """Add paths for other aims and limits to the points of the same rows, reference and performance."""
    reference = points.weights[0]
    planner = Planner(Bins.of_rows(evaluation), points.counts[0], reference, rule, seed, tuple(points.weights))
    found = [weights for each in wanted for guarded in (False, True) for weights in planner.plan(each, guarded)]
    if not found:
        return points
    path = np.array([-1, *[OTHER] * len(found)])
    return points + Points.of(np.stack([reference, *found]), path, evaluation).take(1 + np.arange(len(found)))


def find_reference(evaluation: Evaluation, currency: Measure) -> CellWeights:
    """Find the plain classifier with the best common threshold for a performance, so that moving it is no gain.

    Of more than two classes it is one factor for each class, found one after the other. For accuracy it is the
    plain classifier itself, whose most probable class is the best.
    """
    plain = np.ones(evaluation.posterior.shape[1:])
    if currency.key == ACCURACY.key:
        return plain
    for label in [1] if len(plain) == 2 else [*range(len(plain))] * 2:
        factors = np.where((np.arange(len(plain)) == label)[:, None], RATIOS[:, None, None], 1.0)
        tried = plain * factors
        loss = currency.to_loss(currency(evaluation.count(tried).counts))
        if not np.isnan(loss).all():
            plain = tried[int(np.nanargmin(loss))]
    return np.asarray(plain)


@dataclass(frozen=True, eq=False)
class Planner:
    """Plans paths on bins of the posterior; `counts` are those of the reference, by the labels."""

    bins: Bins
    counts: Float[np.ndarray, "label slot prediction"]
    reference: CellWeights
    rule: Rule
    seed: int = 0
    known: tuple[CellWeights, ...] = ()  # weights that a search begins with

    @property
    def budgets(self) -> Float[np.ndarray, "budget"]:
        """The planned losses of performance."""
        largest = self.rule.accuracy_drop
        if self.rule.performance != ACCURACY.key:
            return np.geomspace(max(largest, 0.0025) / 16, 4 * max(largest, 0.0025), len(BUDGETS))
        return np.geomspace(BUDGETS[0], largest, 12) if BUDGETS[-1] < largest < 1 else BUDGETS

    def plan(self, wanted: Measure | Limit, guarded: bool) -> list[CellWeights]:
        """Plan the path of an aim or a limit: weights for every budget, and between them."""
        bins = self.bins
        decided = decide(bins.posterior, self.reference)
        programme = Programme(bins.expected, bins.mass, self.rule.currency, decided.astype(np.float64))
        if len(self.reference) == 2 and isinstance(wanted, Measure) and programme.can_solve(wanted):
            found = [*self._solve(programme, wanted, guarded)]
        else:
            found = [*self._search(wanted, guarded)]
        path = found[:1]
        for before, after in pairwise(found):
            path += [(1 - share) * before + share * after for share in BETWEEN] + [after]
        return path

    def _solve(self, programme: Programme, aim: Measure, guarded: bool) -> Iterator[CellWeights]:
        """The weights of a linear programme for every budget."""
        for budget in self.budgets:
            if not guarded:
                weights = self._solve_once(programme, aim, budget)
            else:
                tried = (self._solve_guarded(programme, aim, budget, reserve) for reserve in RESERVES)
                weights = next((each for each in tried if each is not None), None)
            if weights is not None:
                yield weights

    def _solve_guarded(
        self, programme: Programme, aim: Measure, budget: float, reserve: float
    ) -> CellWeights | None:
        """Solve with a guard that leaves `reserve` times the margin that its tests will need.

        That margin depends on how many rows switch, so a first solution without it gives the number.
        """
        weights: CellWeights | None = None
        for _ in range(2):
            limits = self._least(programme, weights, reserve)
            weights = self._solve_once(programme, aim, budget, **limits)
            if weights is None:
                return None
        return weights

    def _solve_once(
        self, programme: Programme, aim: Measure, budget: float, **limits: Float[np.ndarray, "..."]
    ) -> CellWeights | None:
        """Solve a programme for weights on the posterior as it is, before its calibration."""
        weights = programme.solve(aim, budget, **limits)
        calibration = self.bins.calibration
        return weights if weights is None or calibration is None else calibration.to_scores(weights)

    def _least(
        self, programme: Programme, weights: CellWeights | None, reserve: float
    ) -> dict[str, Float[np.ndarray, "..."]]:
        """The least accuracy of each cell or group under which the guard's tests can be expected to pass."""
        drop, margin = float(self.rule.worst_group_drop or 0), reserve * self.rule.margin
        size = self.counts[:, :-1].sum(-1)
        plain = programme.plain_accuracy
        change, switched = np.zeros_like(plain), np.zeros_like(plain)
        if weights is not None:
            counts, moved = self.bins.expect(np.stack([self.reference, weights]))
            expected = np.maximum(counts[0, :, :-1].sum(-1), 1e-9)
            change = group_accuracy(counts[1]) - group_accuracy(counts[0])
            switched = moved[1, :, :-1] / expected * size
        spare = margin * paired_error(change, switched, size) if weights is not None else 0.0
        if self.rule.guard == "groups":
            people = np.maximum(size.sum(0), 1)
            error = paired_error((change * size).sum(0) / people, switched.sum(0), people)
            spare = margin * error if weights is not None else 0.0
            mass = programme.posterior * programme.mass[:, None, None]
            share = mass.sum(0) / mass.sum((0, 1))
            return {"least_of_groups": (share * plain).sum(0) - drop + spare}
        least = plain - drop + spare
        if self.rule.guard == "worst":
            distance, error = compare_with_worst(plain, plain, size)
            other = np.isfinite(error)  # the worst cell itself is compared with itself only
            least[other] = np.minimum(least, plain - distance - drop + margin * np.where(other, error, 0))[other]
        return {"least": np.where(size > 0, least, -np.inf)}

    def _search(self, wanted: Measure | Limit, guarded: bool) -> Iterator[CellWeights]:
        """The best weights for every budget that a search on the bins finds."""
        rng = np.random.default_rng(self.seed)
        share = np.maximum(self.counts[:, :-1].sum(-1), 1) / max(self.counts[:, :-1].sum(), 1)
        weights = np.concatenate([*self._first(share, rng)])
        values = self._rate(wanted, guarded, weights)
        for size in np.geomspace(0.1, 0.004, ROUNDS):
            best = np.unique([place for budget in self.budgets if (place := _best(values, budget)) >= 0])
            if not len(best):
                return
            steps = rng.standard_normal((STEPS * share.size, len(best), *share.shape))
            alone = rng.random(steps.shape) < 1.5 / share.size
            steps[len(steps) // 2 :] = np.where(alone, steps, 0)[len(steps) // 2 :]
            new = (weights[best] + size * steps / share).reshape(-1, *share.shape)
            weights, values = np.concatenate([weights, new]), values + self._rate(wanted, guarded, new)
        for budget in self.budgets:
            place = _best(values, budget)
            if place > 0:
                yield weights[place]

    def _first(self, share: CellWeights, rng: np.random.Generator) -> Iterator[Weights]:
        """The weights that a search begins with, the reference's first."""
        classes, groups = share.shape
        yield self.reference[None]
        if self.known:
            yield np.stack(self.known)
        for y in range(classes):
            yield np.where(
                (np.arange(classes) == y)[None, :, None], FACTORS[:, None, None], np.ones((1, 1, groups))
            )
        cells = np.eye(classes * groups).reshape(-1, classes, groups)
        yield np.concatenate([1 + price * cells / share for price in (-0.1, -0.03, 0.03, 0.1)])
        for size in (0.03, 0.1, 0.3):
            yield 1 + size * rng.standard_normal((RANDOM // 3, classes, groups)) / share

    def _rate(self, wanted: Measure | Limit, guarded: bool, weights: Weights) -> "_Rated":
        """The loss of performance and of the aim of each of the weights, infinite where the guard is not kept."""
        counts = self.bins.expect(np.concatenate([self.reference[None], weights])).counts
        currency = self.rule.currency
        loss = currency.to_loss(currency(counts[1:])) - currency.to_loss(currency(counts[0]))
        value = wanted.loss_of(counts[1:]) if isinstance(wanted, Measure) else -wanted.spare(counts[1:])
        if guarded:
            drop = float(self.rule.worst_group_drop or 0)
            before, after = group_accuracy(counts[0]), group_accuracy(counts[1:])
            if self.rule.guard == "worst":
                kept = (after.min((-1, -2)) >= before.min() - drop) | (after >= before - drop).all((-1, -2))
            elif self.rule.guard == "groups":
                sizes = counts[0, :, :-1].sum(-1)
                kept = (((after - before) * sizes).sum(-2) / sizes.sum(0) >= -drop).all(-1)
            else:
                kept = (after >= before - drop).all((-1, -2))
            value = np.where(kept, value, np.inf)
        return _Rated(loss, value)


@dataclass(frozen=True, eq=False)
class _Rated:
    """What a search compares."""

    loss: Float[np.ndarray, "point"]
    value: Float[np.ndarray, "point"]

    def __add__(self, other: "_Rated") -> "_Rated":
        return _Rated(np.r_[self.loss, other.loss], np.r_[self.value, other.value])


def _best(rated: _Rated, budget: float) -> int:
    """The place of the smallest aim within a budget; -1 where there is none."""
    value = np.where(rated.loss <= budget, rated.value, np.inf)
    return int(np.nanargmin(value)) if np.isfinite(value).any() else -1
