"""AANReweighting: any classifier that takes `sample_weight`, fitted with RAAN's exact weights."""

import math
import warnings
from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from raan.errors import InputError, Option
from raan.fairness.groups import check_lengths, check_order, read_weights
from raan.fitting import (
    Cells,
    class_name,
    count_rows,
    counts_classes_from_zero,
    fit_weighted,
    read_classes,
)
from raan.io import estimator_state, restore_input, save_model
from raan.reweighting.embedding import embed
from raan.reweighting.weights import CONSTRAINTS, aan_weights


def _estimator_has(name: str) -> Any:
    """Return a check for `available_if`: whether the estimator, fitted or not, has the method."""

    def check(self: "AANReweighting") -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)  # its AttributeError says more than ours would
        return True

    return check


class AANReweighting(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fit any classifier that takes `sample_weight` with RAAN's exact weights.

    A row has a large weight if it is near to many rows of the same class and another attribute value. The weights
    are those of `raan.aan_weights`. The result is one classifier that behaves as the estimator does: it is
    deterministic if the estimator is, and needs no attribute to predict. To choose a model for a fairness goal
    within an accuracy budget, use `raan.FairFrontier`.

    Args:
        estimator: The classifier, or a pipeline that ends in one. It is cloned, never changed.
        embedding: The space in which neighbours are found. None: numeric columns standardised and the others
            one-hot; if X is a list, series or array of texts, their words by TF-IDF, reduced. Or a transformer,
            which is cloned and fitted to X; a callable of X; the name of a column of X; or the beginning of the
            names of several columns.
        temperature: How local neighbourhoods are, from 0 (the nearest neighbour) to inf (all rows of a cell weigh
            the same).
        balance: The total weight of each (class, attribute) cell: "group", "sample", "independence", or a mapping
            {(class, attribute): total}; see `raan.aan_weights`.
        strength: From 0 (the plain estimator) to 1 (the full weights).
        tolerance: None for exact weights, or the relative error that is allowed for tables with many rows.
        random_state: The seed of approximate weights.
        aim: No longer used; anything but None is an error. `raan.FairFrontier` chooses a model for an aim.

    Attributes:
        estimator_: The fitted classifier.
        classes_: The classes, sorted; of two, the second is the favourable one.
        sample_weight_: The weights of the training rows, multiplied by the user's; None if it was fitted without.
        n_features_in_: The number of features, if the estimator has it.
        feature_names_in_: The names of the features, if the estimator has them.

    Examples:
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> from raan import AANReweighting
        >>> rng = np.random.default_rng(0)
        >>> X, sex = rng.normal(size=(100, 2)), rng.integers(2, size=100)
        >>> y = (X[:, 0] + sex > 0.5).astype(int)
        >>> model = AANReweighting(LogisticRegression(), temperature=np.inf).fit(X, y, sensitive_features=sex)
        >>> model.predict(X).shape
        (100,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "embedding": "no_validation",
        **{name: CONSTRAINTS[name] for name in ("temperature", "balance", "strength", "tolerance")},
        "random_state": [*CONSTRAINTS["random_state"], None],
        "aim": "no_validation",
    }

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
        """Fit the estimator with the weights.

        Args:
            X: The features, as the estimator takes them.
            y: The class of each row.
            sensitive_features: The attribute of each row; several columns are crossed. Rows of unknown attribute
                (None, NaN) keep weight 1. Without it the estimator is fitted plainly, with a warning.
            sample_weight: Weights by which RAAN's are multiplied.

        Returns:
            The fitted classifier.
        """
        self._validate_params()
        if isinstance(self.estimator, type):
            raise TypeError(f"estimator is the class {self.estimator.__name__}; expected an instance of it")
        if self.aim is not None:
            raise InputError(
                Option("aim"),
                f"is {self.aim!r}, which AANReweighting no longer tunes",
                "None",
                f"write raan.FairFrontier(estimator, aim={self.aim!r}, accuracy_drop=...) instead",
            )
        check_order(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
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
        given, weight = read_weights(sample_weight, rows), self._weights(X, cells, sensitive_features)
        if weight is None or given is None:
            return self._fit_estimator(X, y, given if weight is None else weight)
        return self._fit_estimator(X, y, weight * given)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        check_is_fitted(self)
        count_rows(X)
        predicted = self.estimator_.predict(X)
        coded = counts_classes_from_zero(self.estimator_)
        return np.take(self.classes_, predicted) if coded else np.asarray(predicted)

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the estimator's probabilities, one column for each class."""
        check_is_fitted(self)
        count_rows(X)
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the estimator's probabilities."""
        check_is_fitted(self)
        count_rows(X)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the estimator's scores."""
        check_is_fitted(self)
        count_rows(X)
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
        self.classes_, label = read_classes(y)
        coded = label if counts_classes_from_zero(self.estimator) else self.classes_[label]
        self.estimator_, self.sample_weight_ = fit_weighted(self.estimator, X, coded, sample_weight), sample_weight
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _weights(self, X: Any, cells: Cells, sensitive_features: Any) -> Float[np.ndarray, "row"] | None:
        """Return the weights; None for strength 0, which is the plain estimator to the last bit."""
        if self.strength == 0:
            return None
        rows = len(cells.label)
        # At temperature inf weights are even within cells, wherever the rows lie.
        vectors = np.ones((rows, 1)) if self.temperature == math.inf else embed(X, self.embedding, rows)
        balance = self.balance
        if isinstance(balance, Mapping) and all(isinstance(key, tuple) and len(key) == 2 for key in balance):
            balance = {(class_name(label), group): total for (label, group), total in balance.items()}
        weights: np.ndarray = aan_weights(
            vectors,
            cells.text,
            sensitive_features,
            temperature=self.temperature,
            balance=balance,
            strength=self.strength,
            tolerance=self.tolerance,
            random_state=self.random_state or 0,
        )
        return weights
