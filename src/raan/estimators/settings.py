"""What the parameters of a classifier may be: read when it is fitted, as scikit-learn wants it."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import nn

from raan.errors import InputError, Option
from raan.fairness.aims import read_aim

CHOICES: dict[str, tuple[str | None, ...]] = {
    "scope": ("model", "head"),
    "balance": ("group", "sample"),
    "style": ("adam", "amsgrad", "sgd"),
    "missing": ("ignore", "group", "error"),
    "precision": (None, "bf16"),
}
PRECISIONS = {None: None, "bf16": torch.bfloat16}
RANGES = {
    "temperature": (0, np.inf),
    "averaging_rate": (0, 1),
    "strength": (0, 1),
    "dropout": (0, 0.99),
    "accuracy_drop": (0, 1),
    "validation_fraction": (0, 0.9),
}

WIDEST = 2**20
"""A wider layer would not fit into memory."""


@dataclass(frozen=True)
class Settings:
    """Those parameters that may be written in more than one way, in one of them."""

    hidden: tuple[int, ...]
    head: tuple[int, ...]
    epochs: tuple[int | None, int | None]  # of each stage; None: as many as the table needs
    learning_rates: tuple[float, float]  # of each stage
    seed: int
    device: torch.device
    precision: torch.dtype | None  # of products and convolutions; None: that of the numbers themselves


def read_settings(parameters: Mapping[str, Any], *, validated: bool = False) -> Settings:
    """The settings, or an error that names the parameter whose value means nothing.

    Where validation rows are given (`validated`), none need be split off.
    """
    _check_choices(parameters)
    if parameters["aim"] is not None:
        read_aim(parameters["aim"])
    _check_ranges(parameters)
    if not _is_count(parameters["batch_size"]) or parameters["batch_size"] >= 2**63:
        raise ValueError(f"batch_size is {parameters['batch_size']!r}; expected a whole number from 1")
    place = parameters["checkpoint"]
    if not isinstance(place, str | PathLike | None) or "\0" in str(place):
        raise TypeError(f"checkpoint is {parameters['checkpoint']!r}; expected a file's path, or None")
    if not isinstance(parameters["encoder"], nn.Module | None):
        raise TypeError(f"encoder is a {type(parameters['encoder']).__name__}; expected an nn.Module or None")
    if parameters["aim"] is not None and not parameters["validation_fraction"] and not validated:
        raise ValueError("validation_fraction is 0, but an aim is chosen on validation rows; aim=None needs none")
    return Settings(
        _layers(parameters, "hidden_layer_sizes"),
        _layers(parameters, "head_layer_sizes"),
        _epochs(parameters["epochs"]),
        _learning_rates(parameters["lr"]),
        _seed(parameters["random_state"]),
        read_device(parameters["device"], parameters["encoder"]),
        PRECISIONS[parameters["precision"]],
    )


def read_device(device: Any, encoder: nn.Module | None) -> torch.device:
    """Where training and embedding happen; "auto" is a GPU where there is one and an encoder to run on it."""
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if encoder is not None and torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(1, device=found)
    except (
        RuntimeError,
        TypeError,
        ValueError,
        AssertionError,
    ) as error:  # NotImplementedErrors are RuntimeErrors
        came = f"is {device!r}, which torch cannot use here ({str(error).splitlines()[0]})"
        raise InputError(Option("device"), came, 'one that it can, such as "cpu", or "auto"') from error
    return found


def _check_choices(parameters: Mapping[str, Any]) -> None:
    for name, choices in CHOICES.items():
        value = parameters[name]
        # Asked of text only: an array compares with each choice to an array.
        if not isinstance(value, str | None) or value not in choices:
            raise ValueError(f"{name} is {value!r}; expected {' or '.join(map(repr, choices))}")


def _check_ranges(parameters: Mapping[str, Any]) -> None:
    for name, (low, high) in RANGES.items():
        if not (_is_number(parameters[name]) and low <= parameters[name] <= high):
            raise ValueError(f"{name} is {parameters[name]!r}; expected a number from {low} to {high}")


def _layers(parameters: Mapping[str, Any], name: str) -> tuple[int, ...]:
    """The widths of the layers: one number, or several."""
    value = parameters[name]
    widths = (
        tuple(value) if isinstance(value, list | tuple | range) or getattr(value, "ndim", 0) == 1 else (value,)
    )
    if not all(_is_count(width) and width <= WIDEST for width in widths):
        raise ValueError(f"{name} is {value!r}; expected whole numbers from 1 to {WIDEST:,}, one for each layer")
    return tuple(map(int, widths))


def _epochs(value: Any) -> tuple[int | None, int | None]:
    if isinstance(value, str) and value == "auto":
        return None, None
    first, second = _pair(value)
    if not (_is_count(first) and _is_count(second)):
        raise ValueError(
            f'epochs is {value!r}; expected "auto", a whole number from 1, or a pair, one for each stage'
        )
    return int(first), int(second)


def _learning_rates(value: Any) -> tuple[float, float]:
    first, second = _pair(value)
    if not all(_is_number(rate) and 0 < rate < np.inf for rate in (first, second)):
        raise ValueError(f"lr is {value!r}; expected a positive number, or a pair, one for each stage")
    return float(first), float(second)


def _seed(random_state: Any) -> int:
    """The seed that everything is drawn from: fresh for None, without a look at numpy's global state."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return int(random_state)
    raise ValueError(f"random_state is {random_state!r}; expected None, a whole number from 0, or a generator")


def _pair(value: Any) -> tuple[Any, Any]:
    """A value for each of the two stages, from one for both or from one for each."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return value[0], value[1]
    return value, value


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
