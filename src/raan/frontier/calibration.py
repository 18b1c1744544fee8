"""Calibration within groups, for plans where the attribute is known.

A classifier that does not see the attribute can be calibrated for all people and yet be far off within a group: it
gives a woman and a man with the same features the same probability. Decisions stay thresholds of that probability,
one for each group, but what they will lead to must be calculated with the group's own probability. This is a
logistic function of the classifier's log-odds with two numbers for each group (Platt scaling).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from sklearn.linear_model import LogisticRegression

from raan.frontier.posterior import Posterior

FLATTEST = 0.05
"""A group whose slope is smaller is left as it is: its classes do not become likelier with the score."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """For each group, log-odds of the second class: intercept + slope * log-odds by the classifier."""

    intercept: Float[np.ndarray, "group"]
    slope: Float[np.ndarray, "group"]

    @classmethod
    def fit(
        cls,
        posterior: Posterior,
        label: Int[np.ndarray, "row"],
        group: Int[np.ndarray, "row"],
        weight: Float[np.ndarray, "row"] | None = None,
    ) -> "Calibration | None":
        """Fit the numbers of every group; None unless there are two classes and each row's own group is known."""
        classes, groups = posterior.shape[1:]
        known = group >= 0
        if classes != 2 or not (np.count_nonzero(posterior.sum(1), axis=1) == 1)[known].all():
            return None
        intercept, slope = np.zeros(groups), np.ones(groups)
        odds = _log_odds(posterior.sum(2))
        for a in range(groups):
            here = np.flatnonzero(group == a)
            if len(np.unique(label[here])) < 2:
                continue
            model = LogisticRegression(C=100.0)
            model.fit(odds[here, None], label[here], sample_weight=None if weight is None else weight[here])
            if model.coef_[0, 0] > FLATTEST:
                intercept[a], slope[a] = model.intercept_[0], model.coef_[0, 0]
        return cls(intercept, slope)

    def __call__(self, posterior: Posterior) -> Posterior:
        """Return the posterior of rows with the calibrated probability of each group."""
        odds = self.intercept + self.slope * _log_odds(posterior.sum(2))[:, None]
        second = 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
        return np.asarray(posterior.sum(1, keepdims=True) * np.stack([1 - second, second], axis=1))

    def to_scores(self, weights: Float[np.ndarray, "label group"]) -> Float[np.ndarray, "label group"]:
        """Return the weights that decide by the classifier's probabilities as these do by calibrated ones."""
        first, second = weights
        threshold = (first > 0) & (second > 0)
        ratio = np.where(threshold, first, 1.0) / np.where(threshold, second, 1.0)
        ratio = np.exp(np.clip((np.log(ratio) - self.intercept) / self.slope, -50, 50))
        scores = np.stack([ratio, np.ones_like(ratio)]) / (1 + ratio) * (first + second)
        return np.asarray(np.where(threshold, scores, weights))


def _log_odds(of_class: Float[np.ndarray, "row label"]) -> Float[np.ndarray, "row"]:
    first, second = np.clip(of_class, 1e-9, None).T
    return np.asarray(np.log(second / first))
