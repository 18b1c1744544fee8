"""q[y, a](x), the probability of class y *and* attribute a, cross-fitted: no row is evaluated by a model that saw
it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import _num_samples

from raan.errors import InputError, Option
from raan.fairness.groups import UNKNOWN
from raan.fitting import fit_weighted, in_parallel, last_step, stratified_folds, stratified_sample

Factorisation = Literal["chain", "joint"]
"""q as P(y|x) P(a|x,y), a model of the class and one of the attribute within each class; or as one model of
cells."""

Posterior = Float[np.ndarray, "row label group"]


@dataclass(frozen=True, eq=False)
class Chain:
    """P(y|x) and, for each class, P(a|x, y)."""

    label: Any
    attribute: tuple[Any, ...]  # a fitted classifier of groups for each class, or the one group that the class has
    groups: int

    def __call__(self, X: Any) -> Posterior:
        """The posterior of each row."""
        return self.complete(X, self.of_class(X))

    def of_class(self, X: Any) -> Float[np.ndarray, "row label"]:
        """P(y|x) of each row."""
        return np.asarray(self.label.predict_proba(X), dtype=np.float64)

    def complete(self, X: Any, of_class: Float[np.ndarray, "row label"]) -> Posterior:
        """The posterior of each row, whose P(y|x) is known."""
        return np.stack([of_class[:, [y]] * self.within(X, y) for y in range(of_class.shape[1])], axis=1)

    def ranges(
        self, weights: Float[np.ndarray, "label group"]
    ) -> tuple[Float[np.ndarray, "label"], Float[np.ndarray, "label"]]:
        """The least and the largest value of sum_a w[y, a] P(a|x, y), whatever the row, for each class."""
        groups = [[each] if isinstance(each, int) else np.asarray(each.classes_, int) for each in self.attribute]
        present = [weights[y, several] for y, several in enumerate(groups)]
        return np.array([each.min() for each in present]), np.array([each.max() for each in present])

    def within(self, X: Any, y: int) -> Float[np.ndarray, "row group"]:
        """P(a|x, y) for one class, 0 for groups that the class was never seen with."""
        model = self.attribute[y]
        share = np.zeros((len_of(X), self.groups))
        if isinstance(model, int):
            share[:, model] = 1
        else:
            share[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(X)
        return share


@dataclass(frozen=True, eq=False)
class Joint:
    """One classifier of the (class, group) cells, numbered y * groups + a."""

    cell: Any
    classes: int
    groups: int

    def __call__(self, X: Any) -> Posterior:
        """The posterior of each row."""
        share = np.zeros((len_of(X), self.classes * self.groups))
        share[:, np.asarray(self.cell.classes_, dtype=np.int64)] = self.cell.predict_proba(X)
        return share.reshape(-1, self.classes, self.groups)


def len_of(X: Any) -> int:
    """How many rows X has."""
    return int(_num_samples(X))


@dataclass(frozen=True, eq=False)
class Rows:
    """The training rows: what the models see, the codes of class and group, and the user's weights."""

    X: Any
    y: Shaped[np.ndarray, "row"]  # the class as the estimator takes it
    label: Int[np.ndarray, "row"]
    group: Int[np.ndarray, "row"]  # UNKNOWN where not known or too rare to be evaluated
    groups: int
    weight: Float[np.ndarray, "row"] | None = None

    def take(self, rows: Int[np.ndarray, "some"]) -> "Rows":
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Rows(
            _safe_indexing(self.X, rows), self.y[rows], self.label[rows], self.group[rows], self.groups, weight
        )


@dataclass(frozen=True)
class Recipe:
    """How a posterior is fitted: by which classifiers, in which parts, with the attribute given or not."""

    estimator: Any
    attribute_estimator: Any
    factorisation: Factorisation = "chain"
    attribute_given: bool = False

    def fit(self, rows: Rows) -> Chain | Joint:
        """Fit the models to the rows."""
        if self.factorisation == "joint":
            known = np.flatnonzero(rows.group != UNKNOWN)
            cell = rows.label * rows.groups + rows.group
            model = fit_weighted(
                self.estimator, _safe_indexing(rows.X, known), cell[known], _some(rows.weight, known)
            )
            return Joint(model, int(rows.label.max()) + 1, rows.groups)
        label = fit_weighted(self.estimator, rows.X, rows.y, rows.weight)
        classes = range(int(rows.label.max()) + 1)
        attribute = () if self.attribute_given else tuple(self.fit_attribute(rows, y) for y in classes)
        return Chain(label, attribute, rows.groups)

    def ask(self, model: Chain | Joint, rows: Rows) -> Posterior:
        """The posterior of some rows, by models of other rows."""
        if not (self.attribute_given and isinstance(model, Chain)):
            return model(rows.X)
        of_class = np.asarray(model.label.predict_proba(rows.X), dtype=np.float64)
        return give_attribute(of_class, rows.group, rows.groups)

    def fit_attribute(self, rows: Rows, y: int) -> Any:
        """A classifier of the groups within one class; the group itself where there is one only."""
        here = np.flatnonzero((rows.label == y) & (rows.group != UNKNOWN))
        present = np.unique(rows.group[here])
        if len(present) < 2:
            return int(present[0]) if len(present) else 0
        return fit_weighted(
            self.attribute_estimator, _safe_indexing(rows.X, here), rows.group[here], _some(rows.weight, here)
        )


GENTLE = {"early_stopping": True, "learning_rate": 0.05, "max_leaf_nodes": 15, "min_samples_leaf": 40}
"""Gradient boosting for the attribute within a class: with its defaults it says less than the groups' shares do on
most tables, as measured by the logarithm of the probability that it gives to rows it has not seen.
"""


def soften(estimator: Any) -> Any:
    """The classifier as it is fitted to the attribute by default: the same kind, so that it does not overfit.

    Gradient boosting of scikit-learn that has its defaults is set so that it learns less; where the user has set
    how much it learns, that stays. Weights by the user's classes mean nothing for groups, and are left out.
    """
    changed = {
        name: None
        for name, value in estimator.get_params().items()
        if name.endswith("class_weight") and isinstance(value, Mapping)
    }
    softened = clone(estimator).set_params(**changed) if changed else clone(estimator)
    classifier, _ = last_step(softened)
    if isinstance(classifier, HistGradientBoostingClassifier):
        default, own = HistGradientBoostingClassifier().get_params(), classifier.get_params()
        if all(own[name] == default[name] for name in ("max_iter", "max_depth", *GENTLE)):
            classifier.set_params(**GENTLE)
    return softened


def give_attribute(
    of_class: Float[np.ndarray, "row label"], group: Int[np.ndarray, "row"], groups: int
) -> Posterior:
    """Q where the attribute is known: all of P(y|x) stands in the row's own group; evenly, where it is unknown."""
    own = np.where((group == UNKNOWN)[:, None], 1 / groups, np.eye(groups)[group])
    return np.asarray(of_class[:, :, None] * own[:, None, :])


def cross_fit(
    recipe: Recipe,
    rows: Rows,
    *,
    folds: int,
    repeats: int,
    seed: int | None,
    n_jobs: int | None,
    show: Callable[[int, int], None],
    person: Int[np.ndarray, "row"] | None = None,
) -> tuple[list[Chain | Joint], Posterior]:
    """The models of all folds, and the posterior of each row by those that have not seen it, over the repeats.

    With `person`, whose row each is, all rows of a person are in one fold.
    """
    cell = rows.label * (rows.groups + 1) + rows.group + 1  # unknown attributes, -1, are cells too
    draws = [deal_folds(cell, person, folds, None if seed is None else seed + repeat) for repeat in range(repeats)]
    jobs = [(fold != part, fold == part) for fold in draws for part in range(folds)]
    done = count(1)
    posterior = np.zeros((len(rows.label), int(rows.label.max()) + 1, rows.groups))
    models = []
    found = in_parallel((delayed(_fit_fold)(recipe, rows, *job) for job in jobs), n_jobs)
    for (_, held), (model, q) in zip(jobs, found, strict=True):
        posterior[held] += q / repeats
        models.append(model)
        show(next(done), len(jobs))
    return models, posterior


BLOCK = 20_000
"""Rows that are predicted at once where there are many; trees are slower over more."""


def hold_out(
    recipe: Recipe,
    rows: Rows,
    *,
    size: float,
    seed: int | None,
    n_jobs: int | None,
    show: Callable[[int, int], None],
    person: Int[np.ndarray, "row"] | None = None,
) -> tuple[Chain | Joint, Posterior, Int[np.ndarray, "held"]]:
    """The models of a part of the rows, and the posterior of all other rows, with their places.

    `size` is the number or the share of rows that are learnt from, each class and group in proportion. With
    `person`, whose row each is, all rows of a person are in one of the two parts.
    """
    cell = rows.label * (rows.groups + 1) + rows.group + 1
    learnt = round(size * len(cell)) if size < 1 else int(size)
    if not 1 < learnt < len(cell):
        raise InputError(Option("train_size"), f"is {size:,}", f"some, and fewer than all, of {len(cell):,} rows")
    seen = np.zeros(len(cell), bool)
    if person is None:
        seen[stratified_sample(cell, learnt, seed)] = True
    else:
        _, first, of_row = np.unique(person, return_index=True, return_inverse=True)
        drawn = stratified_sample(cell[first], max(learnt * len(first) // len(cell), 1), seed)
        seen = np.isin(of_row, drawn)
    model, held = recipe.fit(rows.take(np.flatnonzero(seen))), np.flatnonzero(~seen)
    blocks = np.split(held, np.arange(BLOCK, len(held), BLOCK))
    jobs = (delayed(recipe.ask)(model, rows.take(block)) for block in blocks)
    found = []
    for posterior in in_parallel(jobs, n_jobs):
        found.append(posterior)
        show(len(found), len(blocks))
    return model, np.concatenate(found), held


def deal_folds(
    cell: Int[np.ndarray, "row"], person: Int[np.ndarray, "row"] | None, folds: int, seed: int | None
) -> Int[np.ndarray, "row"]:
    """The fold of each row; of persons with several rows, that of the person, who is of the cell of the first."""
    if person is None:
        return stratified_folds(cell, folds, seed)
    _, first, of_row = np.unique(person, return_index=True, return_inverse=True)
    return np.asarray(stratified_folds(cell[first], folds, seed)[of_row])


def _fit_fold(recipe: Recipe, rows: Rows, seen: np.ndarray, held: np.ndarray) -> tuple[Chain | Joint, Posterior]:
    """A model of the rows seen, and its posterior of those held out."""
    model = recipe.fit(rows.take(np.flatnonzero(seen)))
    return model, recipe.ask(model, rows.take(np.flatnonzero(held)))


def average(models: Sequence[Callable[[Any], Posterior]], X: Any) -> Posterior:
    """The mean posterior of several models."""
    return np.asarray(sum(model(X) for model in models) / len(models))


def average_classes(models: Sequence[Chain | Joint], X: Any) -> Float[np.ndarray, "row label"]:
    """The mean P(y|x) of several models; chains are not asked for the attribute."""
    chains = [model for model in models if isinstance(model, Chain)]
    if len(chains) < len(models):
        return np.asarray(average(models, X).sum(2))
    return np.asarray(sum(model.of_class(X) for model in chains) / len(chains))


def _some(weight: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if weight is None else weight[rows]
