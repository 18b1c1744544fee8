"""Classifiers with scikit-learn's manners."""

from raan.errors import needing

with needing("raan.RAANClassifier"):
    from raan.estimators.classifier import RAANClassifier

__all__ = ["RAANClassifier"]
