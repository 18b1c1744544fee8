"""FairFrontier: any classifier with probabilities, one fit, the whole trade-off."""

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from raan.errors import InputError, InputTypeError, Message, Option, is_number, is_whole, listed
from raan.fairness.certificate import Certificate
from raan.fairness.counts import MIN_CHOSEN, MIN_MEASURED, effective_weights
from raan.fairness.evidence import is_constant
from raan.fairness.frontier import Frontier
from raan.fairness.groups import (
    UNKNOWN,
    Codes,
    check_lengths,
    check_order,
    cross_codes,
    encode_attribute,
    match_groups,
    read_weights,
)
from raan.fairness.measures import AIMS, Limit, Measure, Rate, Strata, read_aim, read_measure
from raan.fairness.metrics import accuracy
from raan.fairness.promise import GUARDED, Promise, find_changes
from raan.fairness.rule import ACCURACY_DROP, CONFIDENCE, Rule, margin_of, warn_large_budget
from raan.fitting import (
    Cells,
    class_name,
    count_rows,
    counts_classes_from_zero,
    encode_large_groups,
    fit_weighted,
    read_classes,
)
from raan.frontier.certify import certify, refuse
from raan.frontier.choice import Choice, accept_path, choose, find_path
from raan.frontier.decide import Evaluation, decide, decide_rows, score
from raan.frontier.explain import split_margin, tabulate
from raan.frontier.plan import Points, extend, plan
from raan.frontier.posterior import (
    Chain,
    Joint,
    Posterior,
    Recipe,
    Rows,
    average,
    average_classes,
    cross_fit,
    give_attribute,
    hold_out,
    soften,
)
from raan.frontier.sketch import Sketch
from raan.frontier.tally import Columns, Tally, tally_partitions
from raan.io import estimator_state, restore_input, save_model
from raan.progress import progress_bars
from raan.text import replace_controls

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


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
    for name in ("attribute_at_prediction", "ensemble"):
        if not isinstance(getattr(model, name), bool | np.bool_):
            raise InputTypeError(Option(name), f"is {getattr(model, name)!r}", "True or False")
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
    size = model.train_size
    if size is not None and not (is_number(size) and (0 < size < 1 or (is_whole(size) and size > 1))):
        raise InputError(
            Option("train_size"), f"is {size!r}", "a share between 0 and 1, a number of rows, or None"
        )


def read_persons(groups: Any, rows: int) -> Int[np.ndarray, "row"] | None:
    """Whose row each is, as codes."""
    if groups is None:
        return None
    person = encode_attribute(groups, argument="groups", allow_quantity=True).codes
    check_lengths(X=range(rows), groups=person)
    return person


def find_strata(group: Int[np.ndarray, "row"], control: Codes) -> Strata:
    """The groups of each stratum that has several, by their numbers; a warning names the strata that have not."""
    inside = {
        name: np.unique(group[(group != UNKNOWN) & (control.codes == stratum)]).tolist()
        for stratum, name in enumerate(control.names)
    }
    small = [name for name, several in inside.items() if len(several) < 2]
    if len(small) == len(inside):
        raise InputError(
            Option("control_features"), "leave no stratum with two groups that are large enough", "larger strata"
        )
    if small:
        warnings.warn(
            f"control_features: groups are not compared within {listed(small, 5)}, where fewer than two are large "
            "enough",
            stacklevel=3,
        )
    return tuple(tuple(several) for several in inside.values() if len(several) > 1)


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
        aim: what is to be best: the name of one of `raan.fairness.AIMS` ("worst_group", "equalized_odds",
            "demographic_parity", "equal_opportunity"), or any measure of `raan.measures` that compares groups.
        accuracy_drop: how much accuracy the aim may cost against the plain estimator: 0.005 is half a point.
        performance: what fairness may cost instead of accuracy: any measure of `raan.measures` of all people. The
            reference is then the plain classifier with the best common threshold for it.
        max_drop: the budget of `performance`; by default `accuracy_drop`.
        worst_group_drop: how much what is guarded, by default the worst (class, group) accuracy, may fall below
            the plain estimator's; None removes the guard.
        confidence: how sure it is that new rows keep the accuracy budget, and that they keep the guard. A point is
            taken only if a test accepts each claim at this confidence. 0.5 is no margin.
        guard: what `worst_group_drop` protects: "worst", the worst (class, group) cell; "groups", the accuracy of
            every group; "cells", that of every (class, group) cell.
        attribute_estimator: the classifier of P(a|x, y); the same kind as `estimator` by default, but gradient
            boosting has settings by which it overfits less.
        factorisation: "chain" is P(y|x) P(a|x, y); "joint" one classifier of the cells.
        pos_label: the positive class of recall, precision and so on, where there are two; the second in sorted
            order by default.
        attribute_at_prediction: whether `predict` is given the attribute: then these are thresholds by group.
        ensemble: whether predictions average the folds' models. False fits one posterior to all rows instead:
            `predict` is faster by the number of folds, and files are smaller, but what was evaluated in the folds
            is the average of several models, whose rates vary less than a single one's.
        folds: in how many parts rows are left out of a fit, to evaluate it on.
        repeats: how often this is done anew, and averaged.
        train_size: instead of folds, the number or the share of rows that one posterior is fitted to, for large
            tables; all other rows evaluate it.
        min_count: attribute values with fewer rows than this of some class are too rare to evaluate.
        n_jobs: how many folds are fitted at a time, as in joblib.
        random_state: the seed of folds and search; None draws them anew.
        verbose: whether to show a progress bar.

    Attributes:
        classes_, groups_: the classes and the attribute values that are evaluated.
        pos_label_: the positive class.
        frontier_: the points of the trade-off: `frontier_.to_frame()`, `frontier_.chosen`; `plot()` draws them.
        weights_: the chosen weights, [class, group].
        choice_: which point was taken, and if it is the plain one, why.
        promise_: what new rows may expect of the choice, and of the plain estimator, with intervals.
        models_: the posteriors of the folds; predictions average them.
        sizes_: how many rows trained, and how many evaluated the points.
        sketch_: fingerprints of some training rows, by which `certify` recognises them.
        held_: the places of the rows that evaluated the points; not in a file that was saved.
        evaluation_: the training rows with their cross-validated posterior; not in a file that was saved.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        aim: str | Measure = "equalized_odds",
        accuracy_drop: float = ACCURACY_DROP,
        performance: str | Measure | Rate = "accuracy",
        max_drop: float | None = None,
        worst_group_drop: float | None = 0.0,
        confidence: float = CONFIDENCE,
        guard: str = "worst",
        pos_label: Any = None,
        attribute_estimator: Any = None,
        factorisation: str = "chain",
        attribute_at_prediction: bool = False,
        ensemble: bool = True,
        folds: int = 3,
        repeats: int = 1,
        train_size: float | None = None,
        min_count: int = MIN_CHOSEN,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.aim = aim
        self.accuracy_drop = accuracy_drop
        self.performance = performance
        self.max_drop = max_drop
        self.worst_group_drop = worst_group_drop
        self.confidence = confidence
        self.guard = guard
        self.pos_label = pos_label
        self.attribute_estimator = attribute_estimator
        self.factorisation = factorisation
        self.attribute_at_prediction = attribute_at_prediction
        self.ensemble = ensemble
        self.folds = folds
        self.repeats = repeats
        self.train_size = train_size
        self.min_count = min_count
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        control_features: Any = None,
    ) -> "FairFrontier":
        """Fit the posterior in folds, and choose.

        Args:
            X: the features, as the estimator takes them.
            y: the class of each row.
            sensitive_features: the attribute of each row; several columns are crossed. Rows of unknown attribute
                (None, NaN), and of groups too rare to evaluate, train the classifier and count in the accuracy.
                Without sensitive features the classifier is the plain one, with a warning.
            sample_weight: what each row counts, in every fit and in the evaluation, where errors are those of the
                effective sample size.
            groups: whose row each is, where people have several: all rows of a person are in one fold, and count
                for no more than one row in every error.
            control_features: columns that divide the rows into strata, such as the kind of job: groups are then
                compared within each stratum only, in every aim, limit and figure. Not with
                `attribute_at_prediction`.

        Returns:
            The fitted classifier.

        Raises:
            InputError: for parameters and columns that cannot be, by name.
        """
        check_parameters(self)
        self.strata_: Strata = ()
        self._rule()
        columns = {"sample_weight": sample_weight, "groups": groups, "control_features": control_features}
        check_order(X=X, y=y, sensitive_features=sensitive_features, **columns)
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
        control = None if control_features is None else self._encode_control(cells, control_features)
        if control is not None:
            cells = replace(cells, attribute=cross_codes([control, cells.attribute]))
        group, self.groups_ = self._encode_groups(cells)
        self.strata_ = () if control is None else find_strata(group, control)
        coded = cells.label if counts_classes_from_zero(self.estimator) else cells.classes[cells.label]
        given = read_weights(sample_weight, rows)
        person = read_persons(groups, rows)
        training = Rows(X, coded, cells.label, group, len(self.groups_), given)
        self.classes_, held = cells.classes, np.arange(rows)
        if self.train_size is None:
            with progress_bars(self.verbose) as bars:
                self.models_, posterior = cross_fit(
                    self._recipe(),
                    training,
                    folds=self.folds,
                    repeats=self.repeats,
                    seed=self.random_state,
                    n_jobs=self.n_jobs,
                    show=bars("folds fitted"),
                    person=person,
                )
            if not self.ensemble:
                self.models_ = [self._recipe().fit(training)]
        else:
            with progress_bars(self.verbose) as bars:
                model, posterior, held = hold_out(
                    self._recipe(),
                    training,
                    size=self.train_size,
                    seed=self.random_state,
                    n_jobs=self.n_jobs,
                    show=bars("blocks evaluated"),
                    person=person,
                )
            self.models_ = [model]
        self.sketch_ = Sketch.of(X, cells.label)
        self._remember_input(X)
        self.sizes_, self.held_ = (rows if self.train_size is None else rows - len(held), len(held)), held
        label, group = cells.label[held], group[held]
        weight = None if given is None else given[held]
        person = None if person is None else person[held]
        cell = label * (len(self.groups_) + 1) + group + 1
        return self._evaluate(posterior, label, group, effective_weights(weight, person, cell))

    def _fit_plain(self, X: Any, y: Any, sample_weight: Any) -> "FairFrontier":
        """The estimator fitted to all rows, with no groups and nothing to choose from."""
        self.classes_, label = read_classes(y)
        if len(self.classes_) < 2:
            raise InputError(Option("y"), f"holds one class only, {self.classes_[0]!r}", "at least two")
        coded = label if counts_classes_from_zero(self.estimator) else self.classes_[label]
        fitted = fit_weighted(self.estimator, X, coded, sample_weight)
        self.models_, self.groups_ = [Chain(fitted, (0,) * len(self.classes_), 1)], ("all",)
        self.points_ = Points.none(np.ones((len(self.classes_), 1)))
        self._remember_input(X)
        return self._choose_by(self._rule())

    @classmethod
    def from_posterior(
        cls,
        posterior: Any,
        y: Any,
        sensitive_features: Any,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        **parameters: Any,
    ) -> "FairFrontier":
        """The trade-off of anyone's model, such as a network for images or text, from its posterior on held-out
        rows.

        Args:
            posterior: [row, class, group], classes and groups sorted: P(y, a | x) for rows that the model was not
                trained on.
            y: the class of each row.
            sensitive_features: the attribute of each row.
            sample_weight: what each row counts, as in `fit`.
            groups: whose row each is, as in `fit`; none of these persons may have trained the model.
            **parameters: those of the class, but the estimator.

        Returns:
            The classifier, which decides by `predict_posterior`.

        Raises:
            InputError: for a posterior of another shape, or with values that are no probabilities.

        Examples:
            >>> rng = np.random.default_rng(0)
            >>> posterior = rng.dirichlet(np.ones(4), 900).reshape(-1, 2, 2)
            >>> cell = np.array([rng.choice(4, p=each.ravel()) for each in posterior])
            >>> fair = FairFrontier.from_posterior(
            ...     posterior, cell // 2, cell % 2, sample_weight=rng.uniform(1, 2, 900), accuracy_drop=0.05
            ... )
            >>> fair.predict_posterior(posterior).shape
            (900,)
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
        given, person = read_weights(sample_weight, len(q)), read_persons(groups, len(q))
        group = cells.attribute.codes
        weight = effective_weights(given, person, cells.label * (len(model.groups_) + 1) + group + 1)
        return model._evaluate(q, cells.label, group, weight)

    @classmethod
    def from_points(
        cls,
        points: Points,
        *,
        classes: Any,
        groups: Sequence[str],
        models: Sequence[Chain | Joint] = (),
        rule: Rule | None = None,
        strata: Strata = (),
        **parameters: Any,
    ) -> "FairFrontier":
        """A fitted classifier from the points of a trade-off and the folds' models; nothing is fitted or searched.

        `rule` takes a point; by default it is that of the parameters. With fewer than two groups there is nothing
        to choose from, and the classifier is the plain one.
        """
        model = cls(parameters.pop("estimator", None), **parameters)
        model.classes_, model.groups_, model.models_ = np.asarray(classes), tuple(groups), list(models)
        model.points_, model.strata_ = points, strata
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
        other.models_, other.groups_ = models, ("all",)
        other.points_, other.strata_ = Points.none(self.points_.weights[0][:, :1]), ()
        return other._choose_by(other._rule())

    def choose(
        self,
        *,
        aim: Any = UNSET,
        accuracy_drop: float = UNSET,
        performance: Any = UNSET,
        max_drop: float | None = UNSET,
        worst_group_drop: float | None = UNSET,
        guard: str = UNSET,
        at_most: Mapping[Any, float] | None = None,
        at_least: Mapping[Any, float] | None = None,
    ) -> "FairFrontier":
        """Another point of the same trade-off, as a fitted classifier that shares the models: nothing is trained.

        What is not given stays as it was. With limits, the point with the best performance is taken that the rows
        support to be within all of them; the budget then does not count unless it is given.

        Args:
            aim: what is to be best.
            accuracy_drop: the budget of accuracy.
            performance: what fairness may cost; another one needs `evaluation_`, which a loaded model lacks.
            max_drop: the budget of the performance.
            worst_group_drop: how much what is guarded may fall.
            guard: what is guarded.
            at_most: measures and the most that they may be, such as {"demographic_parity": 0.05} or
                {measures.selection_rate: 0.1}. Of "worst_group" it is the error that is limited.
            at_least: measures and the least that they must be, such as {"selection_rate.ratio": 0.8}.

        Returns:
            The classifier, with another `choice_`, `promise_` and `weights_`.
        """
        check_is_fitted(self, "points_")
        if len(self.groups_) < 2:
            raise InputError(Option("sensitive_features"), "had fewer than two groups in fit", "groups to compare")
        other = copy.copy(self)
        given = {
            "aim": aim,
            "accuracy_drop": accuracy_drop,
            "performance": performance,
            "max_drop": max_drop,
            "worst_group_drop": worst_group_drop,
            "guard": guard,
        }
        for name, value in given.items():
            if value is not UNSET:
                setattr(other, name, value)
        if accuracy_drop is not UNSET:
            warn_large_budget(accuracy_drop, stacklevel=2)
        rule = other._rule()
        sides: tuple[tuple[Literal["at most", "at least"], Any], ...] = (
            ("at most", at_most),
            ("at least", at_least),
        )
        for side, named in sides:
            if named is not None and not isinstance(named, Mapping):
                raise InputTypeError(
                    Option(side.replace(" ", "_")), f"is a {type(named).__name__}", "a dict of measures and limits"
                )
        limits = tuple(
            Limit.read(name, side, value).at(rule.positive, rule.strata)
            for side, named in sides
            for name, value in (named or {}).items()
        )
        if limits:
            budget = rule.accuracy_drop if accuracy_drop is not UNSET or max_drop is not UNSET else 1.0
            rule = replace(rule, aim=rule.performance, accuracy_drop=budget, limits=limits)
        return other._plan_for(rule, self.frontier_.rule)._choose_by(rule)

    def _plan_for(self, rule: Rule, planned: Rule) -> "FairFrontier":
        """Plan what a rule asks for, where that is not among the points and the rows are there."""
        seed = 0 if self.random_state is None else self.random_state
        evaluation: Evaluation | None = getattr(self, "evaluation_", None)
        if rule.performance != planned.performance:
            if evaluation is None:
                raise InputError(
                    Option("performance"),
                    f"is {rule.performance!r}, and the trade-off was evaluated for {planned.performance!r}",
                    "the same in a model that was loaded",
                    "choose before saving, or fit again",
                )
            self.evaluation_, self.points_ = plan(evaluation, replace(rule, limits=()), seed)
        others: list[Measure | Limit] = [limit for limit in rule.limits if limit.measure.key not in AIMS]
        others += [] if rule.seeks_performance or rule.goal.key in AIMS else [rule.goal]
        if others and evaluation is not None:
            self.points_ = extend(self.points_, self.evaluation_, rule, others, seed)
        return self

    def changes(self) -> "pd.DataFrame":
        """Who gains and who loses by the choice, in cross-validation.

        Returns:
            A row for each class and group: how many of 1,000 people more are decided rightly than by the plain
            classifier, with the ends of a 95 % interval.
        """
        import pandas as pd

        check_is_fitted(self, "weights_")
        if len(self.groups_) < 2:
            raise InputError(Option("sensitive_features"), "had fewer than two groups in fit", "groups to compare")
        frontier = self.frontier_
        place = frontier.chosen_place
        rows = [
            (self.classes_[each.label], self.groups_[each.group], each.people, *vars(each.per_1000).values())
            for each in find_changes(frontier.counts[place], frontier.counts[0], self.points_.switched[place])
        ]
        return pd.DataFrame(rows, columns=["class", "group", "people", "per_1000", "low", "high"])

    def explain(self, X: Any, *, sensitive_features: Any = None) -> "pd.DataFrame":
        """Say for each row whether the decision is another one than the baseline's, and why.

        Args:
            X: the rows.
            sensitive_features: their attribute, with `attribute_at_prediction` only.

        Returns:
            A row for each row of X. `baseline` and `decision` are the classes by the baseline and by the model.
            `margin` is how far the decision's score is above that of the class `against` which it is compared:
            exactly `baseline_margin` plus what the weights of each group add. `agreement` is the share of the
            folds' models that decide the same alone, where there are several. The probability that a person
            belongs to a group is not shown.
        """
        check_is_fitted(self, "weights_")
        posterior = self.posterior(X, sensitive_features=sensitive_features)
        reference = self.points_.weights[0]
        parts = split_margin(posterior, self.weights_, reference)
        groups = self.groups_ if self.weights_.shape[1] == len(self.groups_) else ("all",)
        found = tabulate(parts, decide(posterior, reference), self.classes_, groups)
        if len(self.models_) > 1:
            several = []
            for model in self.models_:
                alone = copy.copy(self)
                alone.models_ = [model]
                several.append(decide(alone.posterior(X, sensitive_features=sensitive_features), self.weights_))
            found["agreement"] = np.mean(np.stack(several) == parts.decided, axis=0)
        return found

    def stability(self, X: Any, *, sensitive_features: Any = None) -> float:
        """The share of changed decisions that a model fitted to other rows would change, too.

        Args:
            X: rows that the model was not fitted to.
            sensitive_features: their attribute, with `attribute_at_prediction` only.

        Returns:
            The mean agreement of the folds' models, each of which has seen two thirds of the rows by default, over
            the rows whose decision is not the baseline's; nan where there are none, or one model only.
        """
        found = self.explain(X, sensitive_features=sensitive_features)
        changed = found[found["changed"]]
        return float(changed["agreement"].mean()) if "agreement" in found and len(changed) else float("nan")

    def evaluate(
        self,
        partitions: Any,
        *,
        label: str | None = None,
        sensitive_features: str | Sequence[str] | None = None,
        sample_weight: str | None = None,
    ) -> "FairFrontier":
        """Evaluate every point on a partitioned table of new rows, of any size, and choose again.

        The counts of the partitions are added up: in a cluster's workers for a DataFrame of Dask or a Dataset of
        Ray, otherwise here, one partition after the other. They replace those of cross-validation, so that every
        test and interval is that of the new rows; the result has no `evaluation_`.

        Args:
            partitions: the rows, which took no part in `fit`: an iterable of tuples (X, y, sensitive features and,
                where rows count differently, weights) or of frames, a DataFrame of Dask, or a Dataset of Ray. Each
                row is another person's.
            label: of frames, the column of the classes.
            sensitive_features: of frames, the column of the groups, or several to cross, control features first.
            sample_weight: of frames, the column of what each row counts.

        Returns:
            The classifier, which shares the models, with another choice, promise and `frontier_`.

        Raises:
            InputError: for rows that trained the model, for classes that it does not have, and for frames without
                the columns.

        Examples:
            >>> people = dask.dataframe.read_parquet("people/")  # doctest: +SKIP
            >>> fair = fair.evaluate(people, label="hired", sensitive_features="sex")  # doctest: +SKIP
        """
        check_is_fitted(self, "points_")
        if len(self.groups_) < 2:
            raise InputError(Option("sensitive_features"), "had fewer than two groups in fit", "groups to compare")
        columns = None
        if label is not None or sensitive_features is not None:
            if label is None or sensitive_features is None:
                lacking = Option("label" if label is None else "sensitive_features")
                raise InputError(lacking, "is None", "the name of a column, as the other is given")
            names = [sensitive_features] if isinstance(sensitive_features, str) else list(sensitive_features)
            columns = Columns(label, names, sample_weight)
        with progress_bars(self.verbose) as bars:
            tally = tally_partitions(self, partitions, columns, bars("partitions counted"))
        if hasattr(self, "sketch_"):
            refuse(tally.overlap(self.sketch_))
        return self.with_tally(tally)

    def with_tally(self, tally: Tally) -> "FairFrontier":
        """The same models and points with the counts of other rows, by which a point is chosen."""
        other = copy.copy(self)
        if hasattr(self, "sketch_"):
            other.sketch_ = self.sketch_ + tally.sketch
            other.sizes_ = (self.sizes_[0], int(tally.rows))
        other.points_ = self.points_.counted_as(tally.effective)
        other.__dict__.pop("evaluation_", None)
        return other._choose_by(self.frontier_.rule)

    def certify(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        confidence: float = 0.95,
        min_count: int = MIN_MEASURED,
    ) -> Certificate:
        """Certify the choice on rows that neither trained nor chose it.

        The bounds of the accuracy lost, of every group's recalls and of the gaps hold all together, with the given
        confidence, for any number of rows.

        Args:
            X: rows that took no part in `fit`.
            y: their classes.
            sensitive_features: their groups; rows of unknown group count in the accuracy lost only.
            confidence: how sure it is that all bounds hold.
            min_count: groups with fewer rows of some class are left out, by name.

        Returns:
            The certificate; print it, or `save` it as JSON.

        Raises:
            InputError: for rows that trained the model, and for classes or groups that it does not have.

        Examples:
            >>> fair.certify(X_new, y_new, sensitive_features=sex_new).save("certificate.json")  # doctest: +SKIP
        """
        check_is_fitted(self, "weights_")
        return certify(self, X, y, sensitive_features, confidence=confidence, min_count=min_count)

    def report(
        self,
        path: "str | PathLike[str]",
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        card: "str | PathLike[str] | None" = None,
        source: str = "",
    ) -> None:
        """Write the page about the choice that `raan fit` writes, from rows that took no part in `fit`.

        Args:
            path: the HTML file to write.
            X: test rows.
            y: their classes.
            sensitive_features: their groups.
            card: a file for the model card in Markdown, too.
            source: what the table is called; with a name of `y` and of `sensitive_features` the page uses these.

        Raises:
            InputError: for rows that trained the model, and for classes or groups that it does not have.

        Examples:
            >>> fair.report("report.html", X_test, y_test, sensitive_features=sex_test)  # doctest: +SKIP
        """
        from raan.report.fitted import report

        check_is_fitted(self, "weights_")
        report(self, path, X, y, sensitive_features, card=card, source=source)

    @property
    def judge_(self) -> Evaluation:
        """The former name of `evaluation_`."""
        warnings.warn("judge_ is deprecated: it is evaluation_ now", FutureWarning, stacklevel=2)
        return self.evaluation_

    def predict(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """The class of each row; the attribute is needed with `attribute_at_prediction` only."""
        if self.attribute_at_prediction:
            return self.predict_posterior(self.posterior(X, sensitive_features=sensitive_features))
        check_is_fitted(self, "weights_")
        count_rows(X)
        check_order(X=X, sensitive_features=sensitive_features)
        return np.take(self.classes_, decide_rows(self.models_, X, self.weights_)[0])

    def predict_posterior(self, posterior: Any) -> np.ndarray:
        """The class of each row by its posterior, [row, class, group]."""
        check_is_fitted(self, "weights_")
        return np.take(self.classes_, decide(np.asarray(posterior, dtype=np.float64), self.weights_))

    def posterior(self, X: Any, *, sensitive_features: Any = None) -> Posterior:
        """P(y, a | x), [row, class, group], averaged over the folds' models."""
        check_is_fitted(self, "weights_")
        rows = count_rows(X)
        check_order(X=X, sensitive_features=sensitive_features)
        if not self.attribute_at_prediction:
            return average(self.models_, X)
        if sensitive_features is None:
            raise InputError(
                Option("sensitive_features"),
                "is None",
                "the attribute of each row, as attribute_at_prediction is set",
            )
        alone = len(self.groups_) < 2  # the plain estimator, which compares no groups
        codes = np.zeros(rows, int) if alone else match_groups(sensitive_features, self.groups_, rows)
        return give_attribute(self.predict_proba(X), codes, len(self.groups_))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class; the weights decide, they do not change it."""
        check_is_fitted(self, "weights_")
        count_rows(X)
        return average_classes(self.models_, X)

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """What is compared: of two classes, how far the weighted sum of the second is above the first's."""
        scores = score(self.posterior(X, sensitive_features=sensitive_features), self.weights_)
        return np.asarray(scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores)

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the trade-off in cross-validation, the budget and the choice; see `Frontier.plot`."""
        check_is_fitted(self, "frontier_")
        return self.frontier_.plot(axes)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        own = super().__repr__(N_CHAR_MAX)
        return "\n  ".join([own, *_summarise(self)]) if hasattr(self, "frontier_") else own

    def _html_repr(self) -> str:
        """The parameters as scikit-learn shows them, and the summary of the fit."""
        summary = _summarise(self) if hasattr(self, "frontier_") else []
        return str(super()._html_repr()) + "".join(f"<p>{escape(line)}</p>" for line in summary)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted classifier into a folder, whole or not at all; `raan.load` reads it."""
        check_is_fitted(self, "weights_")
        save_model(self, folder)

    def _to_state(self) -> dict[str, Any]:
        rule = self.frontier_.rule
        state = estimator_state(self)
        for name, value in state["parameters"].items():
            state["parameters"][name] = str(value) if isinstance(value, Measure | Rate) else value
        return state | {
            "groups": tuple(self.groups_),
            "models": [
                [each.label, *each.attribute] if isinstance(each, Chain) else [each.cell] for each in self.models_
            ],
            "tried": {each.name: getattr(self.points_, each.name) for each in fields(Points)},
            "limits": tuple((each.measure.key, each.side, float(each.value)) for each in rule.limits),
            "accuracy_drop": float(rule.accuracy_drop),
            "strata": self.strata_,
            "sketch": tuple(vars(self.sketch_).values()) if hasattr(self, "sketch_") else None,
            "sizes": getattr(self, "sizes_", None),
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "FairFrontier":
        parameters, classes, groups = state["parameters"], state["classes_"], tuple(map(str, state["groups"]))
        found = [np.asarray(state["tried"][each.name], float) for each in fields(Points)]
        cells = (len(found[0]), len(classes), len(groups) + 1)
        counts = (*cells, len(classes))
        expected = [(*cells[:2], len(groups)), counts, cells, counts, cells, cells[:1]]
        if [each.shape for each in found] != expected or not len(found[0]):
            raise ValueError(f"the points have the shapes {[each.shape for each in found]}; expected {expected}")
        found[-1] = found[-1].astype(np.int64)
        models: list[Chain | Joint] = []
        for label, *attribute in state["models"]:
            if parameters["factorisation"] == "joint":
                models.append(Joint(label, len(classes), len(groups)))
                continue
            if len(attribute) not in (0, len(classes)):
                raise ValueError(f"there are {len(attribute)} models of the attribute for {len(classes)} classes")
            models.append(Chain(label, tuple(attribute), len(groups)))
        limits = tuple(Limit.read(str(name), side, float(value)) for name, side, value in state["limits"])
        strata = tuple(tuple(int(group) for group in each) for each in state.get("strata", ()))
        if any(not 0 <= group < len(groups) for each in strata for group in each):
            raise ValueError(f"the strata are {strata}; expected numbers of the {len(groups)} groups")
        rule = None
        if limits:
            own = cls(None, **{name: value for name, value in parameters.items() if name != "estimator"})
            own.classes_, own.strata_ = np.asarray(classes), strata
            rule = own._rule()
            limits = tuple(limit.at(rule.positive, strata) for limit in limits)
            rule = replace(rule, aim=rule.performance, accuracy_drop=float(state["accuracy_drop"]), limits=limits)
        with warnings.catch_warnings(action="ignore"):  # a choice warns when it is made, not later
            model = cls.from_points(
                Points(*found),
                classes=classes,
                groups=groups,
                models=models,
                rule=rule,
                strata=strata,
                **parameters,
            )
        restore_input(model, state)
        if state.get("sketch") is not None:  # models of earlier versions have none
            model.sketch_ = Sketch.read(*state["sketch"])
            trained, evaluated = state.get("sizes") or (model.sketch_.rows, model.sketch_.rows)
            model.sizes_ = (int(trained), int(evaluated))
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
            tags.non_deterministic = inner.non_deterministic
        return tags

    def _rule(self) -> Rule:
        most = 1 if read_measure(self.performance, "performance").unit else np.inf
        if self.max_drop is not None and not (is_number(self.max_drop) and 0 <= self.max_drop <= most):
            raise InputError(
                Option("max_drop"), f"is {self.max_drop!r}", "a share from 0 to 1, or a cost from 0 up"
            )
        return Rule(
            read_aim(self.aim).key,
            self.accuracy_drop if self.max_drop is None else self.max_drop,
            self.worst_group_drop,
            margin=margin_of(self.confidence),
            guard=self.guard,  # type: ignore[arg-type]
            performance=read_measure(self.performance, "performance").key,
            positive=self._positive(),
            strata=getattr(self, "strata_", ()),
        )

    def _positive(self) -> int:
        """The number of the positive class."""
        classes = getattr(self, "classes_", None)
        if self.pos_label is None or classes is None:
            return -1
        plain = isinstance(self.pos_label, str | int | float | np.generic)
        found = np.flatnonzero(classes == self.pos_label) if plain else np.empty(0)
        if not len(found):
            known = ", ".join(map(repr, classes.tolist()))
            raise InputError(Option("pos_label"), f"is {self.pos_label!r}", f"one of the classes {known}")
        return int(found[0])

    @property
    def pos_label_(self) -> Any:
        """The positive class."""
        check_is_fitted(self, "classes_")
        return self.classes_[self._positive()]

    def _recipe(self) -> Recipe:
        attribute = soften(self.estimator) if self.attribute_estimator is None else self.attribute_estimator
        return Recipe(self.estimator, attribute, self.factorisation, bool(self.attribute_at_prediction))  # type: ignore[arg-type]

    def _encode_control(self, cells: Cells, control_features: Any) -> Codes:
        """The stratum of each row."""
        if self.attribute_at_prediction:
            raise InputError(
                Option("control_features"), "are given with attribute_at_prediction", "one of the two"
            )
        control = encode_attribute(control_features, argument="control_features")
        check_lengths(y=cells.label, control_features=control.codes)
        return control

    def _encode_groups(self, cells: Cells) -> tuple[Int[np.ndarray, "row"], tuple[str, ...]]:
        """Each row's group among those that are evaluated, and their names; one group alone is not compared."""
        names = cells.attribute.names
        if len(names) < 2:
            return np.where(cells.attribute.codes == UNKNOWN, UNKNOWN, 0), names
        group = encode_large_groups(cells, str(self.aim), self.min_count)
        kept = {int(new): names[old] for old, new in zip(cells.attribute.codes, group, strict=True) if new >= 0}
        return group, tuple(kept[code] for code in sorted(kept))

    def _remember_input(self, X: Any) -> None:
        """What scikit-learn's estimators know of their input, where the fitted models do."""
        fitted = self.models_[0].label if isinstance(self.models_[0], Chain) else self.models_[0].cell
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))

    def _evaluate(
        self,
        posterior: Posterior,
        label: Int[np.ndarray, "row"],
        group: Int[np.ndarray, "row"],
        weight: Float[np.ndarray, "row"] | None = None,
    ) -> "FairFrontier":
        """Plan weights with the posterior of rows that its models have not seen, and choose by their labels."""
        seed, rule = 0 if self.random_state is None else self.random_state, self._rule()
        self.evaluation_, self.points_ = plan(Evaluation(posterior, label, group, weight=weight), rule, seed)
        return self._plan_for(rule, rule)._choose_by(rule)

    def _choose_by(self, rule: Rule) -> "FairFrontier":
        """Take the best point that the rows support, and estimate what new rows may expect of it."""
        points = self.points_
        if len(self.groups_) < 2:
            self.weights_, self.frontier_ = points.weights[0], Frontier.empty()
            return self
        if not rule.limits:
            rule = rule.with_noise_of(points.counts[0])
        what = tuple(self._what(weights) for weights in points.weights)
        self.choice_ = choose(points, rule)
        place = self.choice_.place
        passed = np.arange(len(points.path)) == 0
        if not rule.limits:
            path = find_path(points, rule, rule.goal)
            passed[path] = accept_path(points, rule, path) if len(path) else False
        self.frontier_ = Frontier(what, points.counts, rule, 0, points.switched, place, passed)
        self.weights_ = points.weights[place]
        self.promise_ = Promise.of(points.counts[place], points.counts[0], points.switched[place], rule)
        if self.choice_.reason:
            warnings.warn(_explain_plain(rule, self.choice_, int(points.counts[0].sum())), stacklevel=3)
        if place:
            _warn_levelling(points.counts[0], points.counts[place])
        elif is_constant(points.counts[0]):
            warnings.warn(CONSTANT_PLAIN, stacklevel=3)
        return self

    def _what(self, weights: Float[np.ndarray, "label group"]) -> dict[str, float]:
        names = [class_name(value) for value in self.classes_.tolist()]
        return {
            f"weight of {name} × {group}": float(weights[y, a])
            for y, name in enumerate(names)
            for a, group in enumerate(self.groups_)
        }


CONSTANT_PLAIN = (
    "the plain classifier gives nearly all rows one class: all groups are treated alike, and nobody is served. "
    "Accuracy is the wrong measure for so rare an outcome"
)


def _summarise(model: FairFrontier) -> list[str]:
    """A fitted classifier in a few lines: the groups, the choice, and what new rows may expect."""
    if not len(model.frontier_):
        return ["nothing was mitigated: this is the plain classifier, without groups to compare"]
    rule, promise = model.frontier_.rule, model.promise_
    lost = f"{100 * rule.accuracy_drop:g} points" if rule.currency.unit else f"{rule.accuracy_drop:g}"
    asked = [f"{each.measure.title} {each.side} {each.measure.format(each.value)}" for each in rule.limits]
    asked = asked or [f"best {rule.goal.title}"]
    if rule.accuracy_drop < 1:
        asked.append(f"at most {lost} of {rule.currency.title} lost")
    taken = f"point {model.choice_.place} of {len(model.frontier_)}"
    if not model.choice_.place:
        taken = f"the plain classifier, nothing was mitigated: {model.choice_.reason or 'it is the best point'}"
    guard = "none"
    if rule.worst_group_drop is not None:
        guard = f"{GUARDED[rule.guard]} at most {100 * rule.worst_group_drop:g} points"
    shown = {"groups": ", ".join(model.groups_), "asked": ", ".join(asked), "guard": guard, "choice": taken}
    for measured in dict.fromkeys([rule.currency, *(each.measure for each in rule.limits), rule.goal]):
        before, after = (measured.format(each[measured.metric].value) for each in (promise.plain, promise.metrics))
        shown[measured.title] = f"{before} -> {after} expected"
    return [replace_controls(f"{name}: {value}") for name, value in shown.items()]


def _explain_plain(rule: Rule, choice: Choice, rows: int) -> Message:
    """Say why the classifier is the plain one, and how many rows would be enough."""
    text: list[str | Option] = [f"the classifier is the plain one: {choice.reason} with {rows:,} rows"]
    if choice.rows_needed and choice.rows_needed > rows:
        text.append(f". About {choice.rows_needed:,} rows would be enough for most of the gain that is in sight")
    if rule.limits and rule.worst_group_drop is not None:
        text += [". The guard counts as well: ", Option("no_guard", python="worst_group_drop=None"), " removes it"]
    text += [
        ". More rows, a larger ",
        Option("accuracy_drop"),
        " or a smaller ",
        Option("confidence"),
        " may help",
    ]
    return Message(*text)


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
