"""Exact sample weights, the door: RAAN for any estimator that takes `sample_weight`.

With a fixed embedding the objective is a weighted mean of the sample losses, and these are its weights.
"""

import warnings
from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from raan.fairness.groups import Codes, check_lengths, encode_attribute, encode_label
from raan.neighbourhood.balance import (
    anchor_weights,
    cell_counts,
    has_neighbours,
    independent_totals,
    named_totals,
)
from raan.neighbourhood.stream import Progress, exact_weights

Totals = Mapping[tuple[object, object], float]


@overload
def aan_weights(
    embedding: Tensor,
    label: object,
    sensitive_features: object,
    *,
    temperature: float = ...,
    balance: Literal["group", "sample", "independence"] | Totals = ...,
    strength: float = ...,
    progress: Progress = ...,
) -> Tensor: ...
@overload
def aan_weights(
    embedding: Any,
    label: object,
    sensitive_features: object,
    *,
    temperature: float = ...,
    balance: Literal["group", "sample", "independence"] | Totals = ...,
    strength: float = ...,
    progress: Progress = ...,
) -> np.ndarray: ...
def aan_weights(
    embedding: Any,
    label: object,
    sensitive_features: object,
    *,
    temperature: float = 0.5,
    balance: Literal["group", "sample", "independence"] | Totals = "group",
    strength: float = 1.0,
    progress: Progress = iter,
) -> Tensor | np.ndarray:
    """RAAN as exact sample weights, for any estimator that takes `sample_weight`.

    A sample weighs more the more the people *like it but with another attribute value* point to it: same class,
    near in the embedding. Weights have a total per (class, attribute) cell and a shape within it.

    Args:
        embedding: one row a sample, [n, d]; only directions count. numpy, torch, pandas or polars.
        label: the class of each sample: numbers from 0 up, or strings.
        sensitive_features: the attribute of each sample; several columns are crossed; None and NaN are unknown.
        temperature: how local neighbourhoods are: 0 is the nearest neighbour only, inf drops the shape within
            cells and leaves their balance.
        balance: the cells' totals. "group": all alike, Eq. (4), lifts the worst group. "sample": each cell has
            its neighbours' total, Eq. (5), lowers demographic parity's gap. "independence": n P(y) P(a), serves
            equalized odds. Or a mapping {(class, attribute): total}.
        strength: 0 is plain training (all weights 1), 1 is full RAAN: (1 - strength) + strength * weight.
        progress: wraps the blocks of each of the two passes, as `tqdm` or `rich.progress.track` do.

    Returns:
        One weight a sample, mean 1 where every class is seen with two attribute values or more ("independence":
        with all of them). A sample with no possible neighbour (attribute unknown, or its class is seen with one
        attribute value only) has weight 1; a warning counts these. numpy, or torch if the embedding is.
    """
    points = _check_embedding(embedding)
    classes, groups = encode_label(label), encode_attribute(sensitive_features)
    check_lengths(embedding=points, label=classes.codes, sensitive_features=groups.codes)
    _check_dials(temperature, balance, strength)
    codes = (
        torch.from_numpy(classes.codes).to(points.device),
        torch.from_numpy(groups.codes).to(points.device),
    )

    alone = ~has_neighbours(*codes)
    _warn_alone(alone.cpu().numpy(), groups)
    anchor_weight = anchor_weights(*codes, "group" if balance == "group" else "sample")
    weight = exact_weights(points, *codes, anchor_weight, temperature, progress)
    if balance not in ("group", "sample"):
        totals = _totals(balance, cell_counts(*codes), classes, groups)
        weight = _with_totals(weight, *codes, totals.to(points.device))
    weight = (1 - strength) + strength * weight.masked_fill(alone, 1)
    return weight.to(points.dtype) if isinstance(embedding, Tensor) else weight.numpy()


def _with_totals(
    weight: Float64[Tensor, "row"],
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    totals: Float64[Tensor, "label attribute"],
) -> Float64[Tensor, "row"]:
    """The weights scaled so that each cell has its total; a cell that no one points to has it spread evenly."""
    zeros = torch.zeros_like(totals)
    present = zeros.index_put((label, attribute), weight, accumulate=True)
    shape = torch.where((present > 0)[label, attribute], weight, 1)
    present = zeros.index_put((label, attribute), shape, accumulate=True)
    return shape * (totals / present)[label, attribute]


def _totals(
    balance: str | Totals, counts: Int[Tensor, "label attribute"], classes: Codes, groups: Codes
) -> Float64[Tensor, "label attribute"]:
    """The totals that "independence" or a mapping asks for."""
    if isinstance(balance, str):
        return independent_totals(counts)
    totals = named_totals(balance, classes.names, groups.names)
    missing = (totals.isnan() & (counts.cpu() > 0)).nonzero().tolist()
    if missing:
        cells = ", ".join(repr((classes.names[c], groups.names[a])) for c, a in missing)
        raise ValueError(f"balance names no total for the cells {cells}; give one for every cell that occurs")
    if (totals < 0).any():
        raise ValueError(f"balance holds a negative total: {dict(balance)}")
    return totals


def _check_embedding(embedding: Any) -> Float[Tensor, "row dim"]:
    """The embedding as a floating tensor, or an error that says what is wrong with it."""
    points = embedding.detach() if isinstance(embedding, Tensor) else _tensor(np.asarray(embedding))
    if points.ndim != 2 or points.is_complex():
        raise ValueError(f"embedding has shape {tuple(points.shape)}; expected [samples, dimensions] of numbers")
    if points.dtype != torch.float64:
        points = points.float()
    broken = ~points.isfinite().all(1)
    if broken.any():
        raise ValueError(
            f"embedding holds NaN or inf in {int(broken.sum())} of {len(points)} rows, "
            f"first in row {int(broken.int().argmax())}; impute or drop them"
        )
    return points


def _tensor(values: np.ndarray) -> Tensor:
    """A copy as a tensor: memory-mapped and read-only arrays are left alone."""
    if values.dtype.kind not in "biuf":
        raise TypeError(
            f"embedding holds values of type {values.dtype}; expected numbers: encode categories first, for "
            "instance one-hot"
        )
    return torch.tensor(values)


def _check_dials(temperature: float, balance: object, strength: float) -> None:
    """An error for a temperature, balance or strength that means nothing."""
    if not temperature >= 0:
        raise ValueError(f"temperature is {temperature}; expected 0 (nearest neighbour) up to inf (uniform)")
    if not 0 <= strength <= 1:
        raise ValueError(f"strength is {strength}; expected 0 (plain training) to 1 (full RAAN)")
    if not isinstance(balance, Mapping) and balance not in ("group", "sample", "independence"):
        raise ValueError(
            f'balance is {balance!r}; expected "group", "sample", "independence" or a mapping '
            "{(class, attribute): total}"
        )


def _warn_alone(alone: np.ndarray, groups: Codes) -> None:
    """One warning that counts the samples without any possible neighbour, by reason."""
    if not alone.any():
        return
    unknown = int((groups.codes < 0).sum())
    only = int(alone.sum()) - unknown
    warnings.warn(
        f"{int(alone.sum())} of {len(alone)} samples keep weight 1: {unknown} of unknown attribute, "
        f"{only} of a class that is seen with one attribute value only",
        stacklevel=3,
    )
