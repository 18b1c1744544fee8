"""Exact sample weights: RAAN for any estimator that takes `sample_weight`.

With a fixed embedding the objective is a weighted mean of the sample losses, and these are its weights.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np
from jaxtyping import Bool, Float, Int

from raan.errors import is_number, needing
from raan.fairness.counts import Balance, cell_counts, even_weights, has_neighbours, independent_totals
from raan.fairness.groups import Codes, check_lengths, encode_attribute, encode_label, is_tensor
from raan.neighbourhood.certificate import Certificate, exact_certificate

if TYPE_CHECKING:
    from torch import Tensor

Totals = Mapping[tuple[object, object], float]
Progress = Callable[[Iterable[Any]], Iterable[Any]]

CHECKED = 1 << 20
"""Numbers that are looked at, at a time, for any that are not finite."""


class Dials(TypedDict, total=False):
    """What `aan_weights` takes by name."""

    temperature: float
    balance: Literal["group", "sample", "independence"] | Totals
    strength: float
    progress: Progress
    tolerance: float | None
    random_state: int


@overload
def aan_weights(
    embedding: Tensor,
    label: object,
    sensitive_features: object,
    *,
    return_certificate: Literal[False] = ...,
    **settings: Unpack[Dials],
) -> Tensor: ...
@overload
def aan_weights(
    embedding: Any,
    label: object,
    sensitive_features: object,
    *,
    return_certificate: Literal[False] = ...,
    **settings: Unpack[Dials],
) -> np.ndarray: ...
@overload
def aan_weights(
    embedding: Any,
    label: object,
    sensitive_features: object,
    *,
    return_certificate: Literal[True],
    **settings: Unpack[Dials],
) -> tuple[Any, Certificate]: ...
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
) -> Tensor | np.ndarray | tuple[Any, Certificate]:
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
        progress: wraps the blocks of each of the two exact passes, as `tqdm` or `rich.progress.track` do.
        tolerance: None: exact, in O(n^2 d). Else centroids may stand for rows, in O(n k d), as many as it takes
            for the median relative error of each (class, attribute) cell to be within the tolerance, such as 0.02:
            measured on 256 rows of each cell, before totals and strength. Where the temperature is too low for
            that, or exact weights cost no more, they are exact.
        random_state: the seed of centroids and measured rows.
        return_certificate: whether to return (weights, `Certificate`): the errors that were measured.

    Returns:
        One weight a sample, mean 1 where every class is seen with two attribute values or more ("independence":
        with all of them). A sample with no possible neighbour (attribute unknown, or its class is seen with one
        attribute value only) has weight 1; a warning counts these. numpy, or torch if the embedding is.
    """
    classes, groups = encode_label(label), encode_attribute(sensitive_features)
    vectors = _check_embedding(embedding)
    check_lengths(embedding=vectors, label=classes.codes, sensitive_features=groups.codes)
    _check_dials(temperature, balance, strength, tolerance)
    if not isinstance(return_certificate, bool):
        raise TypeError(f"return_certificate is {return_certificate!r}; expected True or False")
    codes = classes.codes, groups.codes
    alone = ~has_neighbours(*codes)
    _warn_alone(alone, groups)
    outer: Balance = "group" if balance == "group" else "sample"
    if tolerance is None or math.isinf(temperature):
        weight = shape_weights(vectors, *codes, outer, temperature, progress)
        certificate = exact_certificate(
            tolerance, "no tolerance was given" if tolerance is None else "a closed form"
        )
    else:
        weight, certificate = shape_within(vectors, *codes, outer, temperature, tolerance, random_state)
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
) -> Float[np.ndarray, "row"]:
    """The paper's weights, Eq. (4) or (5), of codes; 0 for a row without neighbours.

    At temperature inf they are even within cells and need no vectors; else this is the bridge to the torch floor.
    """
    if math.isinf(temperature):
        even = even_weights(cell_counts(label, attribute), balance)[label, attribute]
        return np.where(has_neighbours(label, attribute), even, 0)
    problem = _as_tensors(vectors, label, attribute, balance)
    from raan.neighbourhood.stream import exact_weights

    return exact_weights(*problem, temperature, progress).numpy(force=True)


def shape_within(
    vectors: Any,
    label: Int[np.ndarray, "row"],
    attribute: Int[np.ndarray, "row"],
    balance: Balance,
    temperature: float,
    tolerance: float,
    seed: int = 0,
) -> tuple[Float[np.ndarray, "row"], Certificate]:
    """The paper's weights within a tolerance, at a finite temperature, and how far they are off."""
    problem = _as_tensors(vectors, label, attribute, balance)
    from raan.neighbourhood.centroids import approximate_weights

    weight, certificate = approximate_weights(*problem, temperature, tolerance, seed)
    return weight.numpy(force=True), certificate


def _as_tensors(
    vectors: Any, label: Int[np.ndarray, "row"], attribute: Int[np.ndarray, "row"], balance: Balance
) -> tuple[Any, Tensor, Tensor, Tensor]:
    """The vectors as they are, the codes as tensors beside them, and the anchors' weights."""
    with needing("a neighbourhood, that is a finite temperature,"):
        import torch

        from raan.neighbourhood.balance import anchor_weights
    device = vectors.device if is_tensor(vectors) else "cpu"
    codes = (torch.from_numpy(label).to(device), torch.from_numpy(attribute).to(device))
    return vectors, *codes, anchor_weights(*codes, balance)


def set_totals(
    weight: Float[np.ndarray, "row"],
    label: Int[np.ndarray, "row"],
    attribute: Int[np.ndarray, "row"],
    totals: Float[np.ndarray, "label group"],
) -> Float[np.ndarray, "row"]:
    """The weights scaled so that each cell has its total; a cell that no one points to has it spread evenly."""
    shape = np.where((_sums(weight, label, attribute, totals.shape) > 0)[label, attribute], weight, 1)
    present = _sums(shape, label, attribute, totals.shape)
    return np.asarray(
        shape * np.divide(totals, present, out=np.zeros_like(totals), where=present > 0)[label, attribute]
    )


def _sums(
    weight: Float[np.ndarray, "row"],
    label: Int[np.ndarray, "row"],
    attribute: Int[np.ndarray, "row"],
    shape: tuple[int, ...],
) -> Float[np.ndarray, "label group"]:
    """The weight of each cell; rows of unknown attribute (-1) read the last one, and count there."""
    sums = np.zeros(shape)
    np.add.at(sums, (label, attribute), weight)
    return sums


def _totals(
    balance: str | Totals, counts: Int[np.ndarray, "label group"], classes: Codes, groups: Codes
) -> Float[np.ndarray, "label group"]:
    """The totals that "independence" or a mapping asks for."""
    if isinstance(balance, str):
        return independent_totals(counts)
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
    """The embedding as an array or a floating tensor, or an error that says what is wrong with it.

    An array is not copied, whatever its type: it may be memory-mapped, and larger than memory.
    """
    points: Any = _dense(embedding.detach()) if is_tensor(embedding) else _numbers(_array(embedding))
    if points.ndim != 2 or "complex" in str(points.dtype):
        raise ValueError(f"embedding has shape {tuple(points.shape)}; expected [samples, dimensions] of numbers")
    if is_tensor(points) and "float64" not in str(points.dtype):
        points = points.float()
    step = max(1, CHECKED // max(points.shape[1], 1))
    parts = [_finite(points[start : start + step]) for start in range(0, len(points), step)]
    broken = ~np.concatenate([np.ones(0, dtype=bool), *parts])
    if broken.any():
        raise ValueError(
            f"embedding holds NaN or inf in {int(broken.sum())} of {len(points)} rows, "
            f"first in row {int(broken.argmax())}; impute or drop them"
        )
    return points


def _finite(points: Any) -> Bool[np.ndarray, "row"]:
    """Which rows hold finite numbers only, in the precision in which they are weighed."""
    if is_tensor(points):
        return np.asarray(points.isfinite().all(1).cpu())
    with np.errstate(over="ignore"):
        kept = points if points.dtype == np.float64 else points.astype(np.float32, copy=False)
    return np.asarray(np.isfinite(kept).all(1))


def _dense(tensor: Any) -> Any:
    """The tensor, if its numbers are in memory, all of them."""
    if tensor.is_sparse or tensor.is_meta:
        kind = "sparse" if tensor.is_sparse else "meta"
        raise TypeError(f"embedding is a {kind} tensor; expected a dense one, such as embedding.to_dense()")
    return tensor


def _array(values: Any) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"embedding cannot be read as an array ({error}); expected rows of one length") from error


def _numbers(values: np.ndarray) -> np.ndarray:
    """The values, if they are numbers."""
    if values.dtype.kind not in "biufc":
        raise TypeError(
            f"embedding holds values of type {values.dtype}; expected numbers: encode categories first, for "
            "instance one-hot"
        )
    return values


def _check_dials(temperature: float, balance: object, strength: float, tolerance: float | None) -> None:
    """An error for a temperature, balance, strength or tolerance that means nothing."""
    if not is_number(temperature) or not temperature >= 0:
        raise ValueError(f"temperature is {temperature!r}; expected 0 (nearest neighbour) up to inf (uniform)")
    if not is_number(strength) or not 0 <= strength <= 1:
        raise ValueError(f"strength is {strength!r}; expected 0 (plain training) to 1 (full RAAN)")
    if tolerance is not None and not (is_number(tolerance) and tolerance > 0):
        raise ValueError(f"tolerance is {tolerance!r}; expected None (exact), or a relative error such as 0.02")
    named = isinstance(balance, str) and balance in ("group", "sample", "independence")
    if not named and not (isinstance(balance, Mapping) and all(map(_is_pair, balance))):
        raise ValueError(
            f'balance is {balance!r}; expected "group", "sample", "independence" or a mapping '
            "{(class, attribute): total}"
        )


def _is_pair(key: object) -> bool:
    return isinstance(key, tuple) and len(key) == 2


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
