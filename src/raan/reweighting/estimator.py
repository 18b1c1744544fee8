"""AANReweighting, the door: any classifier that takes `sample_weight`, made fair by weights."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count, product
from os import PathLike
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import norm  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from raan.fairness.groups import check_lengths, keep_judged
from raan.fairness.rule import ACCURACY_DROP, CONFIDENCE, Rule
from raan.frontier.posterior import Rows
from raan.frontier.promise import warn_levelling
from raan.progress import progress_bars
from raan.reweighting.checks import check_parameters, warn_unknown
from raan.reweighting.embedding import embed
from raan.reweighting.judge import Judge
from raan.reweighting.plans import weigh_rows
from raan.reweighting.search import most_fits, tune
from raan.reweighting.weights import aan_weights
from raan.wrap.cells import Cells, class_name, read_classes
from raan.wrap.checks import count_rows, judged_groups, read_weights
from raan.wrap.fitting import counts_classes_from_zero, fit_weighted, scores, stratified_folds


def _estimator_has(name: str) -> Any:
    """A check for `available_if`: whether the estimator, fitted or not, has the method."""

    def check(self: "AANReweighting") -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)  # its AttributeError says more than ours would
        return True

    return check


class AANReweighting(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """RAAN for any classifier that takes `sample_weight`: fits it with exact weights, and behaves as it does.

    People weigh more the more those *like them but with another attribute value* point to them. Without `aim` the
    weights are those of `raan.aan_weights` with the given temperature, balance and strength.

    With `aim` these are not used: a weight for each (class, attribute) cell is taken from the frontier of
    `FairFrontier`, fitted once by the estimator's own kind (by logistic regression where it gives no
    probabilities), together with one threshold on the estimator's scores. Two or three weights are refitted at
    most, in folds, and judged by predictions for training rows that were left out, against the plain estimator,
    judged alike. Taken is the best for the aim within both allowances. With more than two classes the threshold
    stays the estimator's.

    The result is one classifier, deterministic if the estimator is, and needs no attribute to predict.

    Args:
        estimator: the classifier, or a pipeline that ends in one. It is cloned, never changed.
        embedding: where neighbours are looked for. None: numeric columns standardised, the others one-hot; where X
            is a list, series or array of texts, their words by TF-IDF, reduced. Or a transformer (cloned, and
            fitted to X), a callable of X, or the name of a column of X, or how the names of several columns begin.
        temperature: how local neighbourhoods are, from 0 (the nearest neighbour) to inf (all of the cell alike).
        balance: the cells' totals: "group", "sample", "independence", or a mapping {(class, attribute): total}.
        strength: 0 is the plain estimator, 1 the full weights.
        tolerance: None for exact weights, or how far off they may be where rows are many, as in `aan_weights`.
        aim: None, or one of `raan.fairness.AIMS`: "worst_group", "equalized_odds", ...
        accuracy_drop: how much accuracy the aim may cost against the plain estimator: 0.005 is half a point.
        worst_group_drop: how much the worst (class, group) accuracy may fall below the plain estimator's; None
            lifts this floor, and lets the choice serve nobody well.
        confidence: how sure both allowances are kept on new rows: each is judged with a margin of so many standard
            errors of the paired difference to the plain estimator. 0.5 is no margin.
        folds: in how many parts the rows are left out while the aim is tuned.
        min_count: attribute values with fewer rows than this of some class are too rare to judge by.
        n_jobs: how many folds are fitted at a time while the aim is tuned, as in joblib.
        random_state: the seed of folds and search; None draws them anew at each fit.
        verbose: whether to show a progress bar while the aim is tuned; or a function that is called before the
            first fold is fitted and after each, with how many were and how many will be at most. What it raises
            ends the search.

    After `fit`:
        estimator_: the fitted classifier.
        classes_: the classes, sorted; of two, the second is the favourable one.
        sample_weight_: the weights it was fitted with, the user's included; None if it was fitted without.
        threshold_: a score above it means the second class; None if the estimator decides by itself. The score is
            `predict_proba`'s, or `decision_function`'s where there is none; both stay as the estimator has them.
        frontier_: with `aim`, everything that was refitted, the plain estimator first:
            `frontier_.to_frame()`, `frontier_.plot()`, `frontier_.chosen`.
        n_features_in_, feature_names_in_: the estimator's, where it has them.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        embedding: Any = None,
        temperature: float = 0.5,
        balance: Any = "group",
        strength: float = 0.25,
        tolerance: float | None = None,
        aim: str | None = None,
        accuracy_drop: float = ACCURACY_DROP,
        worst_group_drop: float | None = 0.0,
        confidence: float = CONFIDENCE,
        folds: int = 3,
        min_count: int = 20,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool | int | Callable[[int, int], None] = False,
    ) -> None:
        self.estimator = estimator
        self.embedding = embedding
        self.temperature = temperature
        self.balance = balance
        self.strength = strength
        self.tolerance = tolerance
        self.aim = aim
        self.accuracy_drop = accuracy_drop
        self.worst_group_drop = worst_group_drop
        self.confidence = confidence
        self.folds = folds
        self.min_count = min_count
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> "AANReweighting":
        """Fit the estimator with the weights; without sensitive features plainly, with a warning.

        Several columns of sensitive features are crossed. Rows of unknown attribute (None, NaN) keep weight 1. The
        weights multiply the user's `sample_weight`. Rows count alike when they judge, whatever their weights.
        """
        check_parameters(self)
        self.threshold_: float | None = None
        self.__dict__.pop("frontier_", None)
        if sensitive_features is None:
            warnings.warn(
                "sensitive_features is None: the estimator is fitted plainly, without reweighting. Pass them to "
                "fit; within a Pipeline or a search, ask for them by set_fit_request(sensitive_features=True)",
                stacklevel=2,
            )
            return self._fit_estimator(X, y, sample_weight)
        cells = Cells.of(y, sensitive_features)
        rows = count_rows(X)
        check_lengths(X=range(rows), y=cells.label, sensitive_features=cells.attribute.codes)
        given = read_weights(sample_weight, rows)
        tuned = self.aim is not None
        weight = self._tuned_weights(X, cells, given) if tuned else self._weights(X, cells, sensitive_features)
        return self._fit_estimator(X, y, _product(weight, given))

    @classmethod
    def from_fitted(cls, estimator: Any, fitted: Any, threshold: float | None = None) -> "AANReweighting":
        """A classifier that was fitted elsewhere, to predict by a threshold, and to save.

        `estimator` is what it was before, `fitted` has its classes sorted. Without a threshold it decides itself.
        """
        model = cls(estimator, strength=0.0 if threshold is None else 1.0)
        model.threshold_ = threshold
        return model._take_over(fitted, fitted.classes_, None)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; after tuning the second one where its score is above `threshold_`."""
        check_is_fitted(self)
        count_rows(X)
        if self.threshold_ is not None:
            return np.take(self.classes_, scores(self.estimator_, X) > self.threshold_)
        predicted = self.estimator_.predict(X)
        coded = counts_classes_from_zero(self.estimator_)
        return np.take(self.classes_, predicted) if coded else np.asarray(predicted)

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """The estimator's probabilities, a column for each class; the threshold does not change them."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of the estimator's probabilities."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        """The estimator's scores; the threshold does not change them."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write what predicting needs into a folder, whole or not at all; `raan.load` reads it."""
        from raan.files import save
        from raan.reweighting.stored import to_parts

        check_is_fitted(self)
        save(self, folder, kind=AANReweighting, to_parts=to_parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        tags.non_deterministic = inner.non_deterministic
        return tags

    def _fit_estimator(self, X: Any, y: Any, sample_weight: Any) -> "AANReweighting":
        """Fit a clone of the estimator to all rows, and take over what it knows of its input."""
        classes = None
        if counts_classes_from_zero(self.estimator):
            classes, y = read_classes(y)
        fitted = fit_weighted(self.estimator, X, y, sample_weight)
        return self._take_over(fitted, fitted.classes_ if classes is None else classes, sample_weight)

    def _take_over(self, fitted: Any, classes: Any, sample_weight: Any) -> "AANReweighting":
        """Behave as the fitted classifier does."""
        self.estimator_, self.classes_, self.sample_weight_ = fitted, classes, sample_weight
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _weights(self, X: Any, cells: Cells, sensitive_features: Any) -> Float[np.ndarray, "row"] | None:
        """The weights of the parameters; None for strength 0, which is the plain estimator to the last bit."""
        if self.strength == 0:
            return None
        rows = len(cells.label)
        # At temperature inf weights are even within cells, wherever the rows lie.
        vectors = np.ones((rows, 1)) if self.temperature == math.inf else embed(X, self.embedding, rows)
        balance = self.balance
        if isinstance(balance, Mapping):
            balance = _by_name(balance)
        return aan_weights(
            vectors,
            cells.text,
            sensitive_features,
            temperature=self.temperature,
            balance=balance,
            strength=self.strength,
            tolerance=self.tolerance,
            random_state=self.random_state or 0,
        )

    def _tuned_weights(
        self, X: Any, cells: Cells, given: Float[np.ndarray, "row"] | None
    ) -> Float[np.ndarray, "row"] | None:
        """The weights that serve the aim best; what was refitted and the threshold are kept."""
        group = judged_groups(cells, str(self.aim), self.min_count)
        warn_unknown(cells)
        names = keep_judged(cells.attribute, cells.count, self.min_count).names
        vectors = partial(embed, X, self.embedding, len(group))
        weigh = partial(weigh_rows, label=cells.label, group=group, vectors=vectors)
        rule = Rule(self.aim, self.accuracy_drop, self.worst_group_drop, margin=float(norm.ppf(self.confidence)))
        seed = int(np.random.default_rng().integers(2**31) if self.random_state is None else self.random_state)
        with self._judge(X, cells, group, len(names), given, seed) as judge:
            refits = tune(judge, lambda plan: _product(weigh(plan), given), rule, vectors, seed)
        classes = map(class_name, cells.classes.tolist())
        self.frontier_ = refits.frontier(tuple(f"{y} × {a}" for y, a in product(classes, names)))
        chosen = self.frontier_.chosen
        self.threshold_ = chosen.threshold
        if self.frontier_.chosen_place:
            warn_levelling(self.frontier_.plain.counts, chosen.counts)
        return weigh(refits.found[int(chosen.fit)][0])

    @contextmanager
    def _judge(
        self,
        X: Any,
        cells: Cells,
        group: Int[np.ndarray, "row"],
        groups: int,
        given: Float[np.ndarray, "row"] | None,
        seed: int,
    ) -> Iterator[Judge]:
        """The training rows as a judge that shows how many folds were fitted, of how many at most."""
        coded = cells.label if counts_classes_from_zero(self.estimator) else cells.classes[cells.label]
        rows = Rows(X, coded, cells.label, group, groups, given)
        # The folds of the posterior's fits, so that all are judged alike; unknown groups, -1, are cells too.
        fold = stratified_folds(cells.label * (groups + 1) + group + 1, self.folds, seed)
        done = count(1)
        with self._progress() as show:
            judge = Judge(self.estimator, rows, fold, self.n_jobs, lambda: show(next(done), most))
            most = most_fits(judge)
            show(0, most)
            yield judge

    @contextmanager
    def _progress(self) -> Iterator[Callable[[int, int], None]]:
        """What shows how many folds were fitted, of how many at most."""
        if callable(self.verbose):
            yield self.verbose
            return
        with progress_bars(self.verbose) as bars:
            yield bars(f"folds fitted for {self.aim}, at most")


def _by_name(balance: Mapping[Any, float]) -> dict[tuple[str, object], float]:
    """The totals with their classes as text."""
    for key in balance:
        if not (isinstance(key, tuple) and len(key) == 2):
            raise ValueError(f"balance has the key {key!r}; expected (class, attribute)")
    return {(class_name(label), attribute): total for (label, attribute), total in balance.items()}


def _product(
    weight: Float[np.ndarray, "row"] | None, given: Float[np.ndarray, "row"] | None
) -> Float[np.ndarray, "row"] | None:
    """The weights times those given; None stands for 1 everywhere."""
    if weight is None or given is None:
        return given if weight is None else weight
    return np.asarray(weight * given)
