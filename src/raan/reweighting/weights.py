"""Exact sample weights: RAAN for any estimator that takes `sample_weight`.

With a fixed embedding the objective is a weighted mean of the sample losses, and these are its weights.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from raan.errors import needing
from raan.fairness.counts import Balance, cell_counts, even_weights, has_neighbours, independent_totals
from raan.fairness.groups import (
    Codes,
    check_lengths,
    check_order,
    check_unmasked,
    encode_attribute,
    encode_label,
    is_tensor,
)
from raan.neighbourhood.certificate import Certificate, exact_certificate

Totals = Mapping[tuple[object, object], float]
Progress = Callable[[Iterable[Any]], Iterable[Any]]

CHECKED = 1 << 20
"""Numbers that are checked at a time for nan and infinity: an embedding may be larger than memory."""

CONSTRAINTS = {
    "temperature": [Interval(Real, 0, None, closed="both")],
    "balance": [StrOptions({"group", "sample", "independence"}), Mapping],
    "strength": [Interval(Real, 0, 1, closed="both")],
    "tolerance": [Interval(Real, 0, None, closed="neither"), None],
    "random_state": [Interval(Integral, 0, None, closed="left")],
    "return_certificate": ["boolean"],
}
"""The values that the parameters of `aan_weights` may have."""


def aan_weights(
    embedding: Any,
    label: object,
    sensitive_features: object,
    *,
    temperature: float = 0.5,
    balance: Literal["group", "sample", "independence"] | Totals = "group",
    strength: float = 1.0,
    progress: Progress = iter,
    tolerance: float | None = None,
    random_state: int = 0,
    return_certificate: bool = False,
) -> Any:
    """Compute RAAN's exact sample weights, for any estimator that takes `sample_weight`.

    With a fixed embedding, RAAN's objective is a weighted mean of the sample losses, and these are its weights. A
    sample has a large weight if it is near to many samples of the same class and another attribute value. The
    weights of each (class, attribute) cell have a total, which `balance` determines, and a shape within the cell,
    which the neighbourhoods determine.

    Args:
        embedding: One row for each sample, [n, d], as a numpy array, torch tensor or frame of pandas or polars.
            Only the directions of the rows matter. An array may be a memory map that is larger than memory.
        label: The class of each sample: numbers from 0, or strings.
        sensitive_features: The attribute of each sample; several columns are crossed; None and NaN are unknown.
        temperature: How local neighbourhoods are. 0 is the nearest neighbour only; inf gives all samples of a cell
            the same weight.
        balance: The total weight of each cell. "group": all cells have the same total, Eq. (4), which raises the
            accuracy of the worst group. "sample": each cell has the total of its neighbours, Eq. (5), which
            reduces the gap of demographic parity. "independence": n P(y) P(a), which reduces the gap of equalized
            odds. Or a mapping {(class, attribute): total}.
        strength: From 0 (all weights are 1) to 1 (full RAAN): (1 - strength) + strength * weight.
        progress: Wraps the blocks of each of the two exact passes, such as `tqdm` or `rich.progress.track`.
        tolerance: None for exact weights, which take O(n^2 d). Otherwise the largest median relative error of a
            (class, attribute) cell, such as 0.02. Centroids then represent rows, in O(n k d), as many as are
            needed for the error measured on 256 rows of each cell. Weights are exact where the temperature is too
            low for centroids or exact weights cost no more.
        random_state: The seed of centroids and measured rows.
        return_certificate: Whether to also return a `Certificate` with the measured errors.

    Returns:
        One weight for each sample, as a numpy array, or as a tensor if the embedding is one. Their mean is 1 if
        every class occurs with two attribute values or more ("independence": with all of them). A sample without
        any possible neighbour (its attribute is unknown, or its class occurs with one attribute value only) has
        weight 1; a warning counts these. With `return_certificate`, a pair of the weights and the certificate.

    Raises:
        ValueError: An argument has the wrong shape, or contains values that cannot be used.
        TypeError: An argument has the wrong type.

    Examples:
        >>> import numpy as np
        >>> from raan import aan_weights
        >>> X = np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [1.0, 0.2]])
        >>> aan_weights(X, [0, 0, 1, 1], ["f", "m", "f", "m"], temperature=np.inf).tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    parameters = {
        "temperature": temperature,
        "balance": balance,
        "strength": strength,
        "tolerance": tolerance,
        "random_state": random_state,
        "return_certificate": return_certificate,
    }
    validate_parameter_constraints(CONSTRAINTS, parameters, caller_name="aan_weights")
    classes, groups = encode_label(label), encode_attribute(sensitive_features)
    check_unmasked(embedding, "embedding")
    check_order(embedding=embedding, label=label, sensitive_features=sensitive_features)
    vectors = _check_embedding(embedding)
    check_lengths(embedding=vectors, label=classes.codes, sensitive_features=groups.codes)
    codes = classes.codes, groups.codes
    alone = ~has_neighbours(*codes)
    if alone.any():
        unknown = int((groups.codes < 0).sum())
        warnings.warn(
            f"{int(alone.sum())} of {len(alone)} samples keep weight 1: {unknown} of unknown attribute, "
            f"{int(alone.sum()) - unknown} of a class that is seen with one attribute value only",
            stacklevel=2,
        )
    outer: Balance = "group" if balance == "group" else "sample"
    weight, certificate = shape_weights(vectors, *codes, outer, temperature, progress, tolerance, random_state)
    if balance not in ("group", "sample"):
        weight = set_totals(weight, *codes, _totals(balance, cell_counts(*codes), classes, groups))
    weight = (1 - strength) + strength * np.where(alone, 1, weight)
    weights = vectors.new_tensor(weight) if is_tensor(embedding) else weight
    return (weights, certificate) if return_certificate else weights


def shape_weights(
    vectors: Any,
    label: Int[np.ndarray, "row"],
    attribute: Int[np.ndarray, "row"],
    balance: Balance,
    temperature: float,
    progress: Progress = iter,
    tolerance: float | None = None,
    seed: int = 0,
) -> tuple[Float[np.ndarray, "row"], Certificate]:
    """Compute the paper's weights, Eq. (4) or (5), of codes; 0 for a row without neighbours.

    At temperature inf they are even within cells and need neither vectors nor torch.
    """
    why = "no tolerance was given" if tolerance is None else "a closed form"
    if math.isinf(temperature):
        even = even_weights(cell_counts(label, attribute), balance)[label, attribute]
        return np.where(has_neighbours(label, attribute), even, 0), exact_certificate(tolerance, why)
    with needing("a neighbourhood, that is a finite temperature,"):
        import torch

        from raan.neighbourhood.balance import anchor_weights
        from raan.neighbourhood.centroids import approximate_weights
        from raan.neighbourhood.stream import exact_weights
    device = vectors.device if is_tensor(vectors) else "cpu"
    codes = torch.from_numpy(label).to(device), torch.from_numpy(attribute).to(device)
    anchor = anchor_weights(*codes, balance)
    if tolerance is None:
        weight = exact_weights(vectors, *codes, anchor, temperature, progress)
        return weight.numpy(force=True), exact_certificate(tolerance, why)
    weight, certificate = approximate_weights(vectors, *codes, anchor, temperature, tolerance, seed)
    return weight.numpy(force=True), certificate


def set_totals(
    weight: Float[np.ndarray, "row"],
    label: Int[np.ndarray, "row"],
    attribute: Int[np.ndarray, "row"],
    totals: Float[np.ndarray, "label group"],
) -> Float[np.ndarray, "row"]:
    """Scale the weights so that each cell has its total; in a cell without any weight it is spread evenly."""

    def sum_cells(values: Float[np.ndarray, "row"]) -> Float[np.ndarray, "label group"]:
        sums = np.zeros(totals.shape)
        np.add.at(sums, (label, attribute), values)  # rows of unknown attribute (-1) count in the last cell
        return sums

    shape = np.where((sum_cells(weight) > 0)[label, attribute], weight, 1)
    present = sum_cells(shape)
    factor = np.divide(totals, present, out=np.zeros_like(totals), where=present > 0)
    return np.asarray(shape * factor[label, attribute])


def _totals(
    balance: str | Totals, counts: Int[np.ndarray, "label group"], classes: Codes, groups: Codes
) -> Float[np.ndarray, "label group"]:
    """Return the total of each cell that "independence" or a mapping asks for."""
    if isinstance(balance, str):
        return independent_totals(counts)
    for key in balance:
        if not (isinstance(key, tuple) and len(key) == 2):
            raise ValueError(f"balance has the key {key!r}; expected (class, attribute)")
    named = {(str(label), str(attribute)): float(total) for (label, attribute), total in balance.items()}
    totals = np.array([[named.get((c, a), math.nan) for a in groups.names] for c in classes.names])
    missing = np.argwhere(np.isnan(totals) & (counts > 0)).tolist()
    if missing:
        cells = ", ".join(repr((classes.names[c], groups.names[a])) for c, a in missing)
        raise ValueError(f"balance names no total for the cells {cells}; give one for every cell that occurs")
    if (totals < 0).any():
        raise ValueError(f"balance holds a negative total: {dict(balance)}")
    return totals


def _check_embedding(embedding: Any) -> Any:
    """Return the embedding as an array or a floating tensor; an array is not copied, whatever its type."""
    if is_tensor(embedding):
        points = embedding.detach()
        if points.is_sparse or points.is_meta:
            raise TypeError("embedding is a sparse or meta tensor; expected a dense one: embedding.to_dense()")
        points = points if "float64" in str(points.dtype) or points.is_complex() else points.float()
    else:
        try:
            points = np.asarray(embedding)
        except ValueError as error:
            raise ValueError(f"embedding cannot be read as an array ({error})") from error
        if points.dtype.kind not in "biufc":
            raise TypeError(
                f"embedding holds values of type {points.dtype}; expected numbers: encode categories first, for "
                "instance one-hot"
            )
    if points.ndim != 2 or "complex" in str(points.dtype):
        raise ValueError(f"embedding has shape {tuple(points.shape)}; expected [samples, dimensions] of numbers")
    step = max(1, CHECKED // max(points.shape[1], 1))
    for start in range(0, len(points), step):
        finite = _is_finite(points[start : start + step])
        if not finite.all():
            row = start + int(finite.argmin())
            raise ValueError(f"embedding holds NaN or inf, first in row {row}; impute or drop them")
    return points


def _is_finite(points: Any) -> Bool[np.ndarray, "row"]:
    """Return which rows have finite numbers only, in the precision in which they are weighted."""
    if is_tensor(points):
        return np.asarray(points.isfinite().all(1).cpu())
    with np.errstate(over="ignore"):
        kept = points if points.dtype == np.float64 else points.astype(np.float32, copy=False)
    return np.asarray(np.isfinite(kept).all(1))
