"""Classifiers with scikit-learn's manners."""

from raan.estimators.classifier import RAANClassifier

__all__ = ["RAANClassifier"]
