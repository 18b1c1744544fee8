"""A small data set whose plain classifier is unfair, and estimators that tell what they were given."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression


def people(rows=1200, seed=0, groups=2):
    """Features, label (0, 1) and attribute; the favourable class is rarer, and its sign weaker, in group 0."""
    rng = np.random.default_rng(seed)
    attribute = rng.integers(0, groups, rows)
    label = (rng.random(rows) < np.where(attribute == 0, 0.2, 0.45)).astype(int)
    X = rng.normal(size=(rows, 4))
    X[:, 0] += label * np.where(attribute == 0, 0.9, 1.5)
    X[:, 1] += 1.2 * attribute
    # Few distinct values: scikit-learn's boosting is slow to bin many with weights.
    return X.round(1), label, attribute


class Spy(LogisticRegression):
    """A logistic regression that keeps the weights it was fitted with."""

    def fit(self, X, y, sample_weight=None):
        self.given_ = sample_weight
        return super().fit(X, y, sample_weight=sample_weight)


class Memory(ClassifierMixin, BaseEstimator):
    """Knows every row that it was fitted with, and nothing of any other."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.seen_ = {row.tobytes(): label for row, label in zip(np.asarray(X), y, strict=True)}
        return self

    def predict_proba(self, X):
        known = [self.seen_.get(row.tobytes(), self.classes_[0]) == self.classes_[1] for row in np.asarray(X)]
        return np.stack([1 - np.array(known), known], axis=1).astype(float)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(1)]


class Mute(ClassifierMixin, BaseEstimator):
    """A logistic regression that says a class, and neither probability nor score."""

    def fit(self, X, y, sample_weight=None):
        self.inner_ = LogisticRegression().fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)
