"""Classifiers with scikit-learn's manners."""

from raan.estimators.classifier import RAANClassifier
from raan.estimators.history import History, Point, Traded

__all__ = ["History", "Point", "RAANClassifier", "Traded"]
