"""RAAN for every estimator that takes `sample_weight`: weights of your choice, or tuned to an aim."""

from raan.reweighting.estimator import AANReweighting
from raan.reweighting.path import Path, Point

__all__ = ["AANReweighting", "Path", "Point"]
