"""The posterior of (class, group) cells whose frontier the weights are taken from."""

from dataclasses import replace

from sklearn.linear_model import LogisticRegression

from raan.frontier.posterior import Posterior, Recipe, cross_fit, soften
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
        Recipe(label, soften(label)),
        rows,
        folds=int(judge.fold.max()) + 1,
        repeats=1,
        seed=seed,
        n_jobs=judge.n_jobs,
        show=lambda done, total: judge.show(),
    )
    return posterior
