"""RAAN for every estimator that takes `sample_weight`: weights of your choice, or tuned to an aim."""

from raan.reweighting.estimator import AANReweighting

__all__ = ["AANReweighting"]
