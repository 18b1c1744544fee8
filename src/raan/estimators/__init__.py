"""Classifiers that follow scikit-learn's conventions."""

from raan.errors import needing

with needing("raan.RAANClassifier"):
    from raan.estimators.classifier import RAANClassifier

__all__ = ["RAANClassifier"]
