"""FairFrontier: any classifier with probabilities, one fit, the whole trade-off."""

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from raan.errors import InputError, InputTypeError, Message, Option, is_number, is_whole
from raan.fairness.counts import MIN_CHOSEN
from raan.fairness.frontier import Frontier
from raan.fairness.groups import UNKNOWN, check_lengths, encode_attribute
from raan.fairness.metrics import accuracy
from raan.fairness.rule import ACCURACY_DROP, CONFIDENCE, Rule, margin_of, warn_large_budget
from raan.fitting import (
    Cells,
    class_name,
    count_rows,
    counts_classes_from_zero,
    encode_large_groups,
    fit_weighted,
    read_classes,
    read_weights,
    stratified_folds,
)
from raan.frontier.decide import Evaluation, decide, score
from raan.frontier.posterior import (
    Chain,
    Joint,
    Posterior,
    Recipe,
    Rows,
    average,
    cross_fit,
    give_attribute,
    soften,
)
from raan.frontier.search import Points, search
from raan.io import estimator_state, restore_input, save_model
from raan.progress import progress_bars


def check_parameters(model: Any) -> None:
    """An error for a parameter that means nothing; the rule checks its own."""
    if isinstance(model.estimator, type) or not hasattr(model.estimator, "fit"):
        raise InputTypeError(Option("estimator"), f"is {model.estimator!r}", "an instance of a classifier")
    if not hasattr(model.estimator, "predict_proba"):
        raise InputTypeError(
            Option("estimator"),
            f"{type(model.estimator).__name__} gives no probabilities",
            "a classifier with predict_proba",
            "wrap it in sklearn.calibration.CalibratedClassifierCV",
        )
    other = model.attribute_estimator
    if other is not None and (isinstance(other, type) or not hasattr(other, "fit")):
        raise InputTypeError(
            Option("attribute_estimator"), f"is {other!r}", "an instance of a classifier, or None"
        )
    if not isinstance(model.attribute_at_prediction, bool | np.bool_):
        raise InputTypeError(
            Option("attribute_at_prediction"), f"is {model.attribute_at_prediction!r}", "True or False"
        )
    if model.random_state is not None and not (is_whole(model.random_state) and model.random_state >= 0):
        raise InputTypeError(
            Option("random_state"), f"is {model.random_state!r}", "a whole number from 0, or None"
        )
    if not isinstance(model.factorisation, str) or model.factorisation not in ("chain", "joint"):
        raise InputError(Option("factorisation"), f"is {model.factorisation!r}", "'chain' or 'joint'")
    if model.factorisation == "joint" and model.attribute_at_prediction:
        raise InputError(Option("factorisation"), "is 'joint'", "'chain' where the attribute is given")
    if not is_number(model.confidence) or not 0.5 <= model.confidence < 1:
        raise InputError(Option("confidence"), f"is {model.confidence!r}", "a share from 0.5 up, below 1")
    for name, least in (("folds", 2), ("repeats", 1), ("min_count", 2)):
        value = getattr(model, name)
        if not isinstance(value, int | np.integer) or value < least:
            raise InputError(Option(name), f"is {value!r}", f"a whole number from {least} up")


PARTS = 5
"""Parts of the judging rows: what is promised of a choice is measured on the part that did not choose."""

UNSET: Any = object()


class FairFrontier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier with probabilities made fair, and the whole trade-off, from one cross-fitted fit.

    Let q(y, a; x) be the probability of class y and attribute a. Accuracy, every rate of every group, every gap
    and every guard are linear in the decisions, so the best classifier that does not see the attribute gives a
    row the class y with the largest sum over a of w[y, a] q(y, a; x): one weight for each (class, attribute)
    cell, whatever the aim. So q is fitted once, in folds, and each point of each trade-off is a choice of a few
    numbers, evaluated on rows that the fold's models have not seen: `choose` gives another at once, without
    training.

    The attribute is needed to fit. It is not needed to predict, unless it is a feature of X, or
    `attribute_at_prediction` is set.

    Args:
        estimator: the classifier, or a pipeline that ends in one. It is cloned, never changed.
        aim: one of `raan.fairness.AIMS`: "worst_group", "equalized_odds", "demographic_parity", ...
        accuracy_drop: how much accuracy the aim may cost against the plain estimator: 0.005 is half a point.
        worst_group_drop: how much the worst (class, group) accuracy may fall below the plain estimator's; None
            removes this guard.
        confidence: how sure both budgets are kept on new rows: each is evaluated with a margin of so many standard
            errors of the paired difference to the plain estimator. 0.5 is no margin.
        attribute_estimator: the classifier of P(a|x, y); the same kind as `estimator` by default, but gradient
            boosting has settings by which it overfits less.
        factorisation: "chain" is P(y|x) P(a|x, y); "joint" one classifier of the cells.
        attribute_at_prediction: whether `predict` is given the attribute: then these are thresholds by group.
        folds: in how many parts rows are left out of a fit, to evaluate it on.
        repeats: how often this is done anew, and averaged.
        min_count: attribute values with fewer rows than this of some class are too rare to evaluate.
        n_jobs: how many folds are fitted at a time, as in joblib.
        random_state: the seed of folds and search; None draws them anew.
        verbose: whether to show a progress bar.

    After `fit`:
        classes_, groups_: the classes and the attribute values that are evaluated.
        frontier_: the points of the trade-off: `frontier_.to_frame()`, `frontier_.plot()`, `frontier_.chosen`.
        weights_: the chosen weights, [class, group].
        promise_: what new rows may expect of the choice, and of the plain estimator, with intervals.
        models_: the posteriors of the folds; predictions average them.
        evaluation_: the training rows with their cross-validated posterior; not in a file that was saved.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        aim: str = "equalized_odds",
        accuracy_drop: float = ACCURACY_DROP,
        worst_group_drop: float | None = 0.0,
        confidence: float = CONFIDENCE,
        attribute_estimator: Any = None,
        factorisation: str = "chain",
        attribute_at_prediction: bool = False,
        folds: int = 3,
        repeats: int = 1,
        min_count: int = MIN_CHOSEN,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.aim = aim
        self.accuracy_drop = accuracy_drop
        self.worst_group_drop = worst_group_drop
        self.confidence = confidence
        self.attribute_estimator = attribute_estimator
        self.factorisation = factorisation
        self.attribute_at_prediction = attribute_at_prediction
        self.folds = folds
        self.repeats = repeats
        self.min_count = min_count
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> "FairFrontier":
        """Fit the posterior in folds, and choose.

        Several columns of sensitive features are crossed. Rows of unknown attribute (None, NaN), and of groups too
        rare to evaluate, train the classifier and count in the accuracy. `sample_weight` goes to every fit; rows
        count alike in the evaluation. Without sensitive features the classifier is the plain one, with a warning.
        """
        check_parameters(self)
        self._rule()
        warn_large_budget(self.accuracy_drop, stacklevel=2)
        if sensitive_features is None:
            warnings.warn(
                "sensitive_features is None: the classifier is the plain one. Pass them to fit; within a Pipeline "
                "or a search, ask for them by set_fit_request(sensitive_features=True)",
                stacklevel=2,
            )
            return self._fit_plain(X, y, sample_weight)
        cells = Cells.of(y, sensitive_features)
        rows = count_rows(X)
        check_lengths(X=range(rows), y=cells.label, sensitive_features=cells.attribute.codes)
        group, self.groups_ = self._encode_groups(cells)
        coded = cells.label if counts_classes_from_zero(self.estimator) else cells.classes[cells.label]
        given = read_weights(sample_weight, rows)
        training = Rows(X, coded, cells.label, group, len(self.groups_), given)
        with progress_bars(self.verbose) as bars:
            self.models_, posterior = cross_fit(
                self._recipe(),
                training,
                folds=self.folds,
                repeats=self.repeats,
                seed=self.random_state,
                n_jobs=self.n_jobs,
                show=bars("folds fitted"),
            )
        self.classes_ = cells.classes
        self._remember_input(X)
        return self._evaluate(posterior, cells.label, group)

    def _fit_plain(self, X: Any, y: Any, sample_weight: Any) -> "FairFrontier":
        """The estimator fitted to all rows, with no groups and nothing to choose from."""
        self.classes_, label = read_classes(y)
        if len(self.classes_) < 2:
            raise InputError(Option("y"), f"holds one class only, {self.classes_[0]!r}", "at least two")
        coded = label if counts_classes_from_zero(self.estimator) else self.classes_[label]
        fitted = fit_weighted(self.estimator, X, coded, sample_weight)
        self.models_, self.groups_ = [Chain(fitted, (0,) * len(self.classes_), 1)], ("all",)
        self.points_ = Points.none(len(self.classes_))
        self._remember_input(X)
        return self._choose_by(self._rule())

    @classmethod
    def from_posterior(cls, posterior: Any, y: Any, sensitive_features: Any, **parameters: Any) -> "FairFrontier":
        """The trade-off of anyone's model, such as a network for images or text, from its posterior on held-out
        rows.

        `posterior` is [row, class, group], classes and groups sorted: P(y, a | x) for rows that the model was not
        trained on. The result decides by `predict_posterior`.
        """
        model = cls(None, **parameters)
        q = np.asarray(posterior, dtype=np.float64)
        cells = Cells.of(y, sensitive_features)
        expected = (len(cells.label), len(cells.classes), len(cells.attribute.names))
        if q.shape != expected:
            raise InputError(Option("posterior"), f"has shape {q.shape}", f"{expected}: rows, classes, groups")
        if not np.isfinite(q).all() or (q < 0).any():
            raise InputError(Option("posterior"), "holds negative, nan or infinite values", "probabilities")
        model.classes_, model.groups_, model.models_ = cells.classes, cells.attribute.names, []
        return model._evaluate(q, cells.label, cells.attribute.codes)

    @classmethod
    def from_points(
        cls,
        points: Points,
        *,
        classes: Any,
        groups: Sequence[str],
        models: Sequence[Chain | Joint] = (),
        rule: Rule | None = None,
        **parameters: Any,
    ) -> "FairFrontier":
        """A fitted classifier from the points of a trade-off and the folds' models; nothing is fitted or searched.

        `rule` takes a point; by default it is that of the parameters. With fewer than two groups there is nothing
        to choose from, and the classifier is the plain one.
        """
        model = cls(parameters.pop("estimator", None), **parameters)
        model.classes_, model.groups_, model.models_ = np.asarray(classes), tuple(groups), list(models)
        model.points_ = points
        return model._choose_by(rule or model._rule())

    def with_points(self, points: Points) -> "FairFrontier":
        """The same models and rule with other points to choose from."""
        other = copy.copy(self)
        other.points_ = points
        return other._choose_by(other._rule())

    def plain(self) -> "FairFrontier":
        """The plain estimator as it was fitted in the folds: averaged over them, with no groups to choose for."""
        classes = len(self.classes_)
        models: list[Chain | Joint] = [
            Chain(each.label, (0,) * classes, 1) for each in self.models_ if isinstance(each, Chain)
        ]
        other = copy.copy(self)
        other.models_, other.groups_, other.points_ = models, ("all",), Points.none(classes)
        return other._choose_by(other._rule())

    def choose(
        self,
        *,
        aim: Any = UNSET,
        accuracy_drop: float = UNSET,
        worst_group_drop: float | None = UNSET,
        at_most: Mapping[str, float] | None = None,
    ) -> "FairFrontier":
        """Another point of the same trade-off, as a fitted classifier that shares the models: nothing is trained.

        With `at_most`, the most accurate point within limits, such as {"demographic_parity": 0.05}: gaps at most
        so large, and for "worst_group" an error of the worst group at most so large. The accuracy budget
        then does not count unless it is given.
        """
        check_is_fitted(self, "points_")
        if len(self.groups_) < 2:
            raise InputError(Option("sensitive_features"), "had fewer than two groups in fit", "groups to compare")
        other = copy.copy(self)
        given = {"aim": aim, "accuracy_drop": accuracy_drop, "worst_group_drop": worst_group_drop}
        for name, value in given.items():
            if value is not UNSET:
                setattr(other, name, value)
        if accuracy_drop is not UNSET:
            warn_large_budget(accuracy_drop, stacklevel=2)
        if at_most is None:
            return other._choose_by(other._rule())
        if not isinstance(at_most, Mapping):
            raise InputTypeError(Option("at_most"), f"is a {type(at_most).__name__}", "a dict of aims and limits")
        budget = 1.0 if accuracy_drop is UNSET else accuracy_drop
        return other._choose_by(limit_rule(at_most, budget, other.worst_group_drop, self.confidence))

    @property
    def judge_(self) -> Evaluation:
        """The former name of `evaluation_`."""
        warnings.warn("judge_ is deprecated: it is evaluation_ now", FutureWarning, stacklevel=2)
        return self.evaluation_

    def predict(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """The class of each row; the attribute is needed with `attribute_at_prediction` only."""
        return self.predict_posterior(self.posterior(X, sensitive_features=sensitive_features))

    def predict_posterior(self, posterior: Any) -> np.ndarray:
        """The class of each row by its posterior, [row, class, group]."""
        check_is_fitted(self, "weights_")
        return np.take(self.classes_, decide(np.asarray(posterior, dtype=np.float64), self.weights_))

    def posterior(self, X: Any, *, sensitive_features: Any = None) -> Posterior:
        """P(y, a | x), [row, class, group], averaged over the folds' models."""
        check_is_fitted(self, "weights_")
        count_rows(X)
        if not self.attribute_at_prediction:
            return average(self.models_, X)
        if sensitive_features is None:
            raise InputError(
                Option("sensitive_features"),
                "is None",
                "the attribute of each row, as attribute_at_prediction is set",
            )
        return give_attribute(self.predict_proba(X), self._codes(sensitive_features), len(self.groups_))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class; the weights decide, they do not change it."""
        check_is_fitted(self, "weights_")
        if self.attribute_at_prediction:
            return np.asarray(
                np.mean(
                    [model.label.predict_proba(X) for model in self.models_ if isinstance(model, Chain)], axis=0
                )
            )
        return np.asarray(average(self.models_, X).sum(2))

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """What is compared: of two classes, how far the weighted sum of the second is above the first's."""
        scores = score(self.posterior(X, sensitive_features=sensitive_features), self.weights_)
        return np.asarray(scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted classifier into a folder, whole or not at all; `raan.load` reads it."""
        check_is_fitted(self, "weights_")
        save_model(self, folder)

    def _to_state(self) -> dict[str, Any]:
        rule = self.frontier_.rule
        return estimator_state(self) | {
            "groups": tuple(self.groups_),
            "models": [
                [each.label, *each.attribute] if isinstance(each, Chain) else [each.cell] for each in self.models_
            ],
            "tried": {each.name: getattr(self.points_, each.name) for each in fields(Points)},
            "limits": tuple(rule.limits),
            "accuracy_drop": float(rule.accuracy_drop),
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "FairFrontier":
        parameters, classes, groups = state["parameters"], state["classes_"], tuple(map(str, state["groups"]))
        found = [np.asarray(state["tried"][each.name], float) for each in fields(Points)]
        points, parts = found[1].shape[:2]
        cells = (points, parts, len(classes), len(groups) + 1)
        expected = [(points, len(classes), len(groups)), (*cells, len(classes)), cells, (*cells, len(classes))]
        if [each.shape for each in found] != expected or not points:
            raise ValueError(f"the points have the shapes {[each.shape for each in found]}; expected {expected}")
        models: list[Chain | Joint] = []
        for label, *attribute in state["models"]:
            if parameters["factorisation"] == "joint":
                models.append(Joint(label, len(classes), len(groups)))
                continue
            if len(attribute) not in (0, len(classes)):
                raise ValueError(f"there are {len(attribute)} models of the attribute for {len(classes)} classes")
            models.append(Chain(label, tuple(attribute), len(groups)))
        rule = None
        if state["limits"]:
            limits = {str(aim): float(most) for aim, most in state["limits"]}
            drops = float(state["accuracy_drop"]), parameters["worst_group_drop"]
            rule = limit_rule(limits, *drops, parameters["confidence"])
        with warnings.catch_warnings(action="ignore"):  # a choice warns when it is made, not later
            model = cls.from_points(
                Points(*found), classes=classes, groups=groups, models=models, rule=rule, **parameters
            )
        restore_input(model, state)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
            tags.non_deterministic = inner.non_deterministic
        return tags

    def _rule(self) -> Rule:
        return Rule(self.aim, self.accuracy_drop, self.worst_group_drop, margin=margin_of(self.confidence))

    def _recipe(self) -> Recipe:
        attribute = soften(self.estimator) if self.attribute_estimator is None else self.attribute_estimator
        return Recipe(self.estimator, attribute, self.factorisation, bool(self.attribute_at_prediction))  # type: ignore[arg-type]

    def _encode_groups(self, cells: Cells) -> tuple[Int[np.ndarray, "row"], tuple[str, ...]]:
        """Each row's group among those that are evaluated, and their names; one group alone is not compared."""
        names = cells.attribute.names
        if len(names) < 2:
            return np.where(cells.attribute.codes == UNKNOWN, UNKNOWN, 0), names
        group = encode_large_groups(cells, str(self.aim), self.min_count)
        kept = {int(new): names[old] for old, new in zip(cells.attribute.codes, group, strict=True) if new >= 0}
        return group, tuple(kept[code] for code in sorted(kept))

    def _codes(self, sensitive_features: Any) -> Int[np.ndarray, "row"]:
        """The codes of the groups that were evaluated; UNKNOWN for others."""
        found = encode_attribute(sensitive_features)
        place = {name: code for code, name in enumerate(self.groups_)}
        number = np.array([*(place.get(name, UNKNOWN) for name in found.names), UNKNOWN])
        return np.asarray(number[found.codes])

    def _remember_input(self, X: Any) -> None:
        """What scikit-learn's estimators know of their input, where the fitted models do."""
        fitted = self.models_[0].label if isinstance(self.models_[0], Chain) else self.models_[0].cell
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))

    def _evaluate(
        self, posterior: Posterior, label: Int[np.ndarray, "row"], group: Int[np.ndarray, "row"]
    ) -> "FairFrontier":
        """Search the weights on rows that the posterior's models have not seen."""
        seed = 0 if self.random_state is None else self.random_state
        cell = label * (posterior.shape[2] + 1) + group + 1
        part = stratified_folds(cell, PARTS, seed)
        self.evaluation_ = Evaluation(posterior, label, group, part, PARTS)
        self.points_ = search(self.evaluation_, self._rule(), seed)
        return self._choose_by(self._rule())

    def _choose_by(self, rule: Rule) -> "FairFrontier":
        """Take the point that the rule likes best, and measure what it promises; without a gain, the plain one."""
        tried = self.points_
        if len(self.groups_) < 2:
            self.weights_, self.frontier_ = tried.weights[0], Frontier.empty()
            return self
        counts, switched, smoothed = (each.sum(1) for each in (tried.counts, tried.switched, tried.smoothed))
        if not rule.limits:
            rule = rule.with_noise_of(counts[0])
        what = tuple(self._what(weights) for weights in tried.weights)
        place, self.promise_ = tried.decide(rule), tried.promise(rule)
        kept = not place and tried.choose(rule) > 0
        self.frontier_ = Frontier(what, counts, rule, 0, switched, smoothed, plain_kept=kept)
        self.weights_ = tried.weights[place]
        if not place and not rule.limits:
            self.promise_ = self.promise_.of_plain()
            text = Message(
                f"within this accuracy budget no choice improves the {rule.goal.title} on rows that did not make "
                "it: the classifier is the plain one. More rows, or a larger ",
                *(Option("accuracy_drop"), ", may help"),
            )
            warnings.warn(text, stacklevel=3)
        elif place:
            _warn_levelling(counts[0], counts[place])
        return self

    def _what(self, weights: Float[np.ndarray, "label group"]) -> dict[str, float]:
        names = [class_name(value) for value in self.classes_.tolist()]
        return {
            f"weight of {name} × {group}": float(weights[y, a])
            for y, name in enumerate(names)
            for a, group in enumerate(self.groups_)
        }


def limit_rule(
    limits: Mapping[str, float], accuracy_drop: float, worst_group_drop: float | None, confidence: float
) -> Rule:
    """The rule that takes the most accurate point whose losses of some aims are at most so large."""
    margin = margin_of(confidence)
    return Rule("accuracy", accuracy_drop, worst_group_drop, margin=margin, limits=tuple(limits.items()))


def _warn_levelling(
    plain: Float[np.ndarray, "label slot prediction"], chosen: Float[np.ndarray, "label slot prediction"]
) -> None:
    """Warn of a choice that is hardly better than one class for all, or that selects far fewer people."""
    majority = float(plain.sum((1, 2)).max() / plain.sum())
    before, right = float(accuracy(plain)), float(accuracy(chosen))
    if right < before and right < majority + 0.1 * max(before - majority, 0):
        text = Message(
            f"the choice is right for {100 * right:.1f} % of the rows, and one class for all would be right for "
            f"{100 * majority:.1f} %: a smaller ",
            *(Option("accuracy_drop"), ", or a ", Option("worst_group_drop"), ", keeps it useful"),
        )
        warnings.warn(text, stacklevel=4)
    share, after = (float(each[..., 1].sum() / each.sum()) for each in (plain, chosen))
    if len(plain) == 2 and after < share / 2:
        text = Message(
            f"the choice selects {100 * after:.1f} % of the rows where the plain estimator selects "
            f"{100 * share:.1f} %: it levels down. A smaller ",
            *(Option("accuracy_drop"), ", or ", Option("worst_group_drop", "0"), ", helps"),
        )
        warnings.warn(text, stacklevel=4)
