"""A crowd on which plain training fails a group, as arrays that any estimator takes."""

from typing import NamedTuple

import numpy as np


class Crowd(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    a: np.ndarray


def crowd(rows=240, features=5, classes=2, attributes=2, seed=0):
    """Samples in every (class, attribute) cell, the classes a little apart, the attribute plain to see."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    likely = rng.random(rows) < 0.75
    a = np.where(likely, y % attributes, rng.integers(attributes, size=rows))
    X = rng.normal(size=(rows, features))
    X[:, 0] += 1.5 * y
    X[:, 1] += 1.5 * a
    order = rng.permutation(rows)
    return Crowd(X[order], y[order], a[order])
