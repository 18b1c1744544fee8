"""AANReweighting: any classifier that takes `sample_weight`, fitted with RAAN's exact weights."""

import math
import warnings
from collections.abc import Mapping
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from raan.errors import InputError, Option
from raan.fairness.groups import check_lengths
from raan.fitting import (
    Cells,
    class_name,
    count_rows,
    counts_classes_from_zero,
    fit_weighted,
    read_classes,
    read_weights,
)
from raan.io import estimator_state, restore_input, save_model
from raan.reweighting.embedding import embed
from raan.reweighting.weights import aan_weights


def _estimator_has(name: str) -> Any:
    """A check for `available_if`: whether the estimator, fitted or not, has the method."""

    def check(self: "AANReweighting") -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)  # its AttributeError says more than ours would
        return True

    return check


class AANReweighting(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """RAAN for any classifier that takes `sample_weight`: fits it with exact weights, and behaves as it does.

    People weigh more the more those *like them but with another attribute value* point to them. The weights are
    those of `raan.aan_weights` with the given temperature, balance and strength. To choose a model for a fairness
    aim within an accuracy budget, use `raan.FairFrontier`.

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
        random_state: the seed of approximate weights.
        aim: no longer tuned here: `raan.FairFrontier` is what tunes an aim. Anything but None is an error.

    After `fit`:
        estimator_: the fitted classifier.
        classes_: the classes, sorted; of two, the second is the favourable one.
        sample_weight_: the weights it was fitted with, the user's included; None if it was fitted without.
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
        random_state: int | None = 0,
        aim: None = None,
    ) -> None:
        self.estimator = estimator
        self.embedding = embedding
        self.temperature = temperature
        self.balance = balance
        self.strength = strength
        self.tolerance = tolerance
        self.random_state = random_state
        self.aim = aim

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> "AANReweighting":
        """Fit the estimator with the weights; without sensitive features plainly, with a warning.

        Several columns of sensitive features are crossed. Rows of unknown attribute (None, NaN) keep weight 1. The
        weights multiply the user's `sample_weight`.
        """
        self._check_parameters()
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
        return self._fit_estimator(X, y, _product(self._weights(X, cells, sensitive_features), given))

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        check_is_fitted(self)
        count_rows(X)
        predicted = self.estimator_.predict(X)
        coded = counts_classes_from_zero(self.estimator_)
        return np.take(self.classes_, predicted) if coded else np.asarray(predicted)

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """The estimator's probabilities, a column for each class."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of the estimator's probabilities."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        """The estimator's scores."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write what predicting needs into a folder, whole or not at all; `raan.load` reads it."""
        check_is_fitted(self)
        save_model(self, folder)

    def _to_state(self) -> dict[str, Any]:
        # No embedding is needed to predict, and the weights of training rows stay behind.
        return estimator_state(self, "estimator_", without=("embedding",))

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "AANReweighting":
        model = cls(**state["parameters"])
        model.estimator_, model.classes_, model.sample_weight_ = state["estimator_"], state["classes_"], None
        if not isinstance(model.classes_, np.ndarray) or model.classes_.ndim != 1:
            raise ValueError("the classes are not a list of classes")
        restore_input(model, state)
        return model

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
        self.estimator_, self.sample_weight_ = fit_weighted(self.estimator, X, y, sample_weight), sample_weight
        self.classes_ = self.estimator_.classes_ if classes is None else classes
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

    def _check_parameters(self) -> None:
        """Raise an error for a parameter that cannot be used; `aan_weights` checks the range of its own."""
        if isinstance(self.estimator, type):
            raise TypeError(f"estimator is the class {self.estimator.__name__}; expected an instance of it")
        if not hasattr(self.estimator, "fit"):
            raise TypeError(f"estimator is a {type(self.estimator).__name__}; expected a classifier")
        for name in ("temperature", "strength"):
            if not isinstance(getattr(self, name), Real):
                raise TypeError(f"{name} is {getattr(self, name)!r}; expected a number")
        if not isinstance(self.random_state, int | np.integer | None):
            raise TypeError(f"random_state is {self.random_state!r}; expected a whole number, or None")
        if self.aim is not None:
            raise InputError(
                Option("aim"),
                f"is {self.aim!r}, which AANReweighting no longer tunes",
                "None",
                f"write raan.FairFrontier(estimator, aim={self.aim!r}, accuracy_drop=...) instead",
            )


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
