"""RAAN for every estimator that takes `sample_weight`: exact sample weights."""

from raan.reweighting.estimator import AANReweighting

__all__ = ["AANReweighting"]
