"""The posterior of (class, group) cells whose frontier the weights are taken from."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from raan.frontier.posterior import Posterior, Recipe, cross_fit
from raan.reweighting.judge import Judge
from raan.reweighting.plans import Vectors


def fit_posterior(judge: Judge, vectors: Vectors, seed: int) -> Posterior:
    """The posterior of each row by models that have not seen it, of the estimator's own kind.

    Where it gives no probabilities, logistic regression on the rows' vectors stands in.
    """
    rows, label = judge.rows, judge.estimator
    if not hasattr(label, "predict_proba"):
        label = LogisticRegression(max_iter=1000)
        rows = replace(rows, X=vectors(), y=rows.label)
    _, posterior = cross_fit(
        Recipe(label, _without_class_weights(label)),
        rows,
        folds=int(judge.fold.max()) + 1,
        repeats=1,
        seed=seed,
        n_jobs=judge.n_jobs,
        show=lambda done, total: judge.show(),
    )
    return posterior


def _without_class_weights(estimator: Any) -> Any:
    """The estimator for groups instead of classes, for which weights by the user's classes mean nothing."""
    named = {
        name: None
        for name, value in estimator.get_params().items()
        if name.endswith("class_weight") and isinstance(value, Mapping)
    }
    return clone(estimator).set_params(**named) if named else estimator
