"""A network of the training engine as the estimator that it would have been, to predict with and to save."""

from dataclasses import replace
from typing import Any

import numpy as np

from raan.estimators.classifier import RAANClassifier
from raan.fairness.frontier import Frontier
from raan.methods.method import Method
from raan.methods.raan import RAAN
from raan.models.model import Model, Scaling
from raan.models.stack import Stack

DIALS = ("temperature", "averaging_rate", "strength", "balance")


def as_estimator(
    model: Model, run: int, method: Method, rates: tuple[float, float], epochs: int, batch_size: int
) -> RAANClassifier:
    """One run of a trained model as a fitted RAANClassifier; plain training is RAAN of strength 0.

    Its classes are the codes 0, 1, ... of the table.
    """
    network = _one(model, run)
    hidden, head = _widths(network)
    fitted = RAANClassifier(
        hidden[1:],
        head_layer_sizes=head[1:-1],
        lr=rates,
        epochs=(epochs, epochs),
        batch_size=batch_size,
        dropout=model.dropout,
        **_dials(method),
    )
    fitted.encoder_, fitted.model_, fitted.frontier_, fitted.groups_ = None, network, Frontier.empty(), ()
    fitted.classes_, fitted.n_features_in_ = np.arange(head[-1]), hidden[0]
    return fitted


def _dials(method: Method) -> dict[str, Any]:
    if not isinstance(method, RAAN):
        return {"strength": 0.0}
    return {**{name: getattr(method, name) for name in DIALS}, "scope": method.scope.value}


def _widths(model: Model) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The widths of the layers of encoder and head."""
    if not isinstance(model.encoder, Stack):
        raise TypeError(f"an encoder of type {type(model.encoder).__name__} has no layers to read off")
    return model.encoder.widths, model.head.widths


def _one(model: Model, run: int) -> Model:
    """One run of all, with numbers of its own."""
    scaling = None if model.scaling is None else Scaling(*(part[run : run + 1].clone() for part in model.scaling))
    return replace(model, parameters=model.parameters[run : run + 1].clone(), scaling=scaling)
