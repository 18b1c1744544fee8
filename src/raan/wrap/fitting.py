"""Fitting any scikit-learn classifier with weights, and asking it for scores."""

from inspect import Parameter, signature
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline


def fit_weighted(estimator: Any, X: Any, y: Any, sample_weight: Float[np.ndarray, "row"] | None) -> Any:
    """A clone of the estimator, fitted; without weights the argument is not passed at all."""
    model = clone(estimator)
    if sample_weight is None:
        return model.fit(X, y)
    classifier, argument = last_step(model)
    if not _takes_weights(classifier):
        raise TypeError(
            f"estimator {type(classifier).__name__} takes no sample_weight; expected one whose fit does"
        )
    if argument == "sample_weight":
        return model.fit(X, y, sample_weight=sample_weight)
    # Routing would offer the weights to the other steps of the pipeline too; they are the classifier's alone.
    with config_context(enable_metadata_routing=False):
        return model.fit(X, y, **{argument: sample_weight})


def counts_classes_from_zero(estimator: Any) -> bool:
    """Whether this is one of XGBoost's estimators, which take no other classes than 0, 1, ..."""
    classifier, _ = last_step(estimator)
    return any(kind.__module__.split(".")[0] == "xgboost" for kind in type(classifier).__mro__)


def score_method(estimator: Any) -> str | None:
    """The method whose values a threshold can cut, if the estimator has one."""
    return next((name for name in ("predict_proba", "decision_function") if hasattr(estimator, name)), None)


def scores(model: Any, X: Any) -> Float[np.ndarray, "row"]:
    """How much a fitted binary classifier inclines to its second class."""
    method = score_method(model)
    values = np.asarray(getattr(model, str(method))(X), dtype=np.float64)
    return values[:, 1] if method == "predict_proba" else values.reshape(len(values))


def stratified_folds(cell: Int[np.ndarray, "row"], folds: int, seed: int | None) -> Int[np.ndarray, "row"]:
    """The fold of each row, at random; each cell's rows are dealt out evenly."""
    shuffled = np.random.default_rng(seed).permutation(len(cell))
    by_cell = shuffled[np.argsort(cell[shuffled], kind="stable")]
    fold = np.empty(len(cell), dtype=np.int64)
    # One deal through all cells: a class of two rows or more is then in two folds or more, and never unseen.
    fold[by_cell] = np.arange(len(cell)) % folds
    return fold


def last_step(estimator: Any) -> tuple[Any, str]:
    """The classifier itself, and the name by which `fit` takes its weights: pipelines may stand around it."""
    if not isinstance(estimator, Pipeline):
        return estimator, "sample_weight"
    name, step = estimator.steps[-1]
    classifier, argument = last_step(step)
    return classifier, f"{name}__{argument}"


def _takes_weights(estimator: Any) -> bool:
    """Whether `fit` takes sample_weight, by name or among any keywords."""
    parameters = signature(estimator.fit).parameters.values()
    return any(p.name == "sample_weight" or p.kind is Parameter.VAR_KEYWORD for p in parameters)
