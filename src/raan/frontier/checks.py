"""What `FairFrontier` refuses, in words that name the argument."""

from typing import Any

import numpy as np

from raan.errors import InputError, InputTypeError, Option, is_number, is_whole


def check_parameters(model: Any) -> None:
    """An error for a parameter that means nothing; the rule checks its own."""
    if isinstance(model.estimator, type) or not hasattr(model.estimator, "fit"):
        raise InputTypeError(Option("estimator"), f"is {model.estimator!r}", "an instance of a classifier")
    if not hasattr(model.estimator, "predict_proba"):
        raise InputTypeError(
            Option("estimator"),
            f"{type(model.estimator).__name__} gives no probabilities",
            "a classifier with predict_proba",
            "wrap it in sklearn.calibration.CalibratedClassifierCV",
        )
    other = model.attribute_estimator
    if other is not None and (isinstance(other, type) or not hasattr(other, "fit")):
        raise InputTypeError(
            Option("attribute_estimator"), f"is {other!r}", "an instance of a classifier, or None"
        )
    if not isinstance(model.attribute_at_prediction, bool | np.bool_):
        raise InputTypeError(
            Option("attribute_at_prediction"), f"is {model.attribute_at_prediction!r}", "True or False"
        )
    if model.random_state is not None and not (is_whole(model.random_state) and model.random_state >= 0):
        raise InputTypeError(
            Option("random_state"), f"is {model.random_state!r}", "a whole number from 0, or None"
        )
    if not isinstance(model.factorisation, str) or model.factorisation not in ("chain", "joint"):
        raise InputError(Option("factorisation"), f"is {model.factorisation!r}", "'chain' or 'joint'")
    if model.factorisation == "joint" and model.attribute_at_prediction:
        raise InputError(Option("factorisation"), "is 'joint'", "'chain' where the attribute is given")
    if not is_number(model.confidence) or not 0.5 <= model.confidence < 1:
        raise InputError(Option("confidence"), f"is {model.confidence!r}", "a share from 0.5 up, below 1")
    for name, least in (("folds", 2), ("repeats", 1), ("min_count", 2)):
        value = getattr(model, name)
        if not isinstance(value, int | np.integer) or value < least:
            raise InputError(Option(name), f"is {value!r}", f"a whole number from {least} up")
