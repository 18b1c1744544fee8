"""The whole trade-off between accuracy and fairness from one fit of any classifier with probabilities."""

from raan.frontier.estimator import FairFrontier

__all__ = ["FairFrontier"]
