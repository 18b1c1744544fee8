"""How strongly the rows support a claim about new rows, in standard errors.

Every choice of FairFrontier tests a few claims: the accuracy budget is kept, no group falls below the guard, the
aim gets better, a limit holds. Each function returns how far the counts are on the right side of the claim,
divided by the standard error of that distance. A claim is accepted at a confidence c where this exceeds the normal
quantile of c. All of them broadcast over leading axes of points.
"""

from typing import Literal, TypeAlias, get_args

import numpy as np
from jaxtyping import Float

from raan.fairness.counts import Counts, resample_pair
from raan.fairness.measures import ACCURACY, Limit, Measure
from raan.fairness.metrics import Values, group_accuracy

GuardLevel = Literal["worst", "groups", "cells"]
"""What the guard protects: the worst (class, group) cell, the accuracy of every group, or that of every cell."""

GUARDS: tuple[GuardLevel, ...] = get_args(GuardLevel)

REPLICATES = 400
"""Bootstrap samples for the standard error of a gain."""

CONSTANT = 0.1
"""A class is hardly ever predicted if it is predicted less often than this share of its own frequency."""

Switched = Float[np.ndarray, "*lead label attribute"]
"""How many rows of each cell are right at a point and wrong in the reference, or the reverse."""

Reference = Float[np.ndarray, "*batch label attribute prediction"]
"""The counts of what points are compared with; leading axes broadcast against theirs."""


Numbers: TypeAlias = np.ndarray | np.floating


def paired_error(change: Numbers, switched: Numbers, size: Numbers) -> np.ndarray:
    """Return the standard error of a paired difference of two shares of `size` rows.

    It is at least that of one switched row: no change among few rows is no proof that none happens.
    """
    size = np.maximum(size, 1.0)
    return np.asarray(np.sqrt(np.maximum(switched / size - change**2, 1 / size) / size))


def support_budget(
    counts: Counts, reference: Reference, switched: Switched, drop: float, currency: Measure = ACCURACY
) -> Values:
    """Test that at most `drop` of the reference's performance is lost.

    The error of a loss of accuracy has a closed form. That of another measure comes from a bootstrap of both
    models' rows, and is at least that of one switched row.
    """
    loss = currency.gain(currency(reference) - currency(counts))
    rows = reference.sum((-1, -2, -3))
    if currency.key == ACCURACY.key:
        return np.asarray((drop - loss) / paired_error(loss, switched.sum((-1, -2)), rows))
    flat = [each.reshape(-1, *each.shape[-size:]) for each, size in ((np.asarray(counts), 3), (switched, 2))]
    errors = [
        np.nanstd(np.subtract(*map(currency, resample_pair(reference, one, moved, REPLICATES))))
        for one, moved in zip(*flat, strict=True)
    ]
    return np.asarray((drop - loss) / np.maximum(np.reshape(errors, loss.shape), 1 / rows))


def support_guard(
    counts: Counts, reference: Reference, switched: Switched, drop: float, level: GuardLevel = "worst"
) -> Values:
    """Test that what the guard protects falls by at most `drop`; the weakest of its tests counts.

    With the level "worst", a cell is safe if it is not below its own accuracy in the reference, by the paired
    error, or not below the reference's worst cell, by the error of a difference between different rows.
    """
    if level == "groups":
        right = np.diagonal(counts, axis1=-3, axis2=-1)[..., :-1, :].sum(-1)
        before = np.diagonal(reference, axis1=-3, axis2=-1)[..., :-1, :].sum(-1)
        size = reference[..., :-1, :].sum((-1, -3))
        change = (right - before) / np.maximum(size, 1)
        support = (change + drop) / paired_error(change, switched[..., :-1].sum(-2), size)
        return np.asarray(np.where(size > 0, support, np.inf).min(-1))
    size = np.broadcast_to(
        reference[..., :-1, :].sum(-1), (*counts.shape[:-3], *reference[..., :-1, 0].shape[-2:])
    )
    after, before = group_accuracy(counts), group_accuracy(reference)
    change = after - before
    support = (change + drop) / paired_error(change, switched[..., :-1], size)
    if level == "worst":
        apart, error = compare_with_worst(after, before, size)
        support = np.maximum(support, (apart + drop) / error)
    return np.asarray(np.where(np.isnan(change) | (size == 0), np.inf, support).min((-1, -2)))


def compare_with_worst(
    after: Float[np.ndarray, "*lead label group"],
    before: Float[np.ndarray, "*batch label group"],
    size: Float[np.ndarray, "*lead label group"],
) -> tuple[np.ndarray, np.ndarray]:
    """Return each cell's distance to the reference's worst cell, and its standard error.

    The two cells are different people, so the error is not that of a paired difference. The worst cell itself is
    compared in pairs only: its error is infinite here.
    """
    before = np.broadcast_to(before, after.shape)
    flat = np.where(np.isnan(before), np.inf, before).reshape(*before.shape[:-2], -1)
    worst = flat.argmin(-1)[..., None]
    level, rows = (
        np.take_along_axis(each.reshape(flat.shape), worst, -1)[..., None] for each in (before, np.asarray(size))
    )
    spread, other = (np.maximum(each * (1 - each), 0) for each in (after, level))  # rates pass 1 by rounding
    error = np.sqrt(spread / np.maximum(size, 1) + other / np.maximum(rows, 1))
    error = np.maximum(error, 1 / np.maximum(size, 1)).reshape(flat.shape).copy()
    np.put_along_axis(error, worst, np.inf, -1)
    return np.asarray(after - level), error.reshape(after.shape)


def support_gain(
    aim: Measure,
    counts: Float[np.ndarray, "label attribute prediction"],
    reference: Float[np.ndarray, "label attribute prediction"],
    switched: Float[np.ndarray, "label attribute"],
) -> float:
    """Test that the aim is better than the reference's; the error comes from a bootstrap of both models' rows."""
    before, after = resample_pair(reference, counts, switched, REPLICATES)
    error = np.nanstd(aim.loss_of(before) - aim.loss_of(after))
    gain = float(aim.loss_of(reference) - aim.loss_of(counts))
    return gain / max(float(error), 1e-9) if gain == gain else -np.inf


def support_limit(limit: Limit, counts: Float[np.ndarray, "label attribute prediction"]) -> float:
    """Test that a limit is kept; the error comes from a bootstrap of the rows."""
    again, _ = resample_pair(counts, counts, np.zeros(counts.shape[:2]), REPLICATES)
    error, spare = np.nanstd(limit.spare(again)), float(limit.spare(counts))
    return spare / max(float(error), 1e-9) if spare == spare else -np.inf


def is_constant(counts: Counts) -> np.ndarray:
    """Return whether some class is hardly ever predicted: such decisions are alike for all, and serve nobody."""
    total = np.maximum(counts.sum((-1, -2, -3)), 1)[..., None]
    predicted, actual = counts.sum((-2, -3)) / total, counts.sum((-1, -2)) / total
    return np.asarray((predicted < CONSTANT * actual).any(-1))
