"""What `AANReweighting` refuses, in words that name the argument, and what it warns of."""

import warnings
from numbers import Real
from typing import Any

import numpy as np

from raan.fairness.aims import read_aim
from raan.fairness.groups import UNKNOWN
from raan.wrap.cells import Cells


def check_parameters(model: Any) -> None:
    """An error for a parameter that means nothing; `aan_weights` checks the range of its own."""
    if isinstance(model.estimator, type):
        raise TypeError(f"estimator is the class {model.estimator.__name__}; expected an instance of it")
    if not hasattr(model.estimator, "fit"):
        raise TypeError(f"estimator is a {type(model.estimator).__name__}; expected a classifier")
    for name in ("temperature", "strength", "accuracy_drop", "confidence"):
        value = getattr(model, name)
        if not isinstance(value, Real):
            raise TypeError(f"{name} is {value!r}; expected a number")
    if model.aim is not None:
        read_aim(model.aim)
    if not 0 <= model.accuracy_drop <= 1:
        raise ValueError(f"accuracy_drop is {model.accuracy_drop}; expected a share of the rows, such as 0.005")
    if not 0.5 <= model.confidence < 1:
        raise ValueError(f"confidence is {model.confidence!r}; expected a share from 0.5 up, below 1")
    if not (isinstance(model.folds, int | np.integer) and model.folds >= 2):
        raise ValueError(f"folds is {model.folds!r}; expected a number from 2 up")
    if not (isinstance(model.min_count, int | np.integer) and model.min_count >= 2):
        raise ValueError(f"min_count is {model.min_count!r}; expected a number from 2 up")
    if not isinstance(model.random_state, int | np.integer | None):
        raise TypeError(f"random_state is {model.random_state!r}; expected a whole number, or None")


def warn_unknown(cells: Cells) -> None:
    """One warning that counts the rows of unknown attribute."""
    unknown = int((cells.attribute.codes == UNKNOWN).sum())
    if unknown:
        warnings.warn(
            f"{unknown} of {len(cells.label)} samples keep weight 1: their attribute is unknown", stacklevel=4
        )
