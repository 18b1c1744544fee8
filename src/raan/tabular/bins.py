"""Numbers as groups: an age or an income that is the attribute is cut into a few bins, at round places."""

import math
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from raan.fairness.groups import UNKNOWN
from raan.tabular.columns import Numbers, Plain, Words

MANY = 20
"""Numbers of more values are a quantity, and binned; of fewer they are groups as they stand."""

BINS = 3


def as_groups(name: str, column: Plain) -> tuple[Words, str]:
    """The groups of an attribute column, and where it is a quantity that is binned, a note that says so."""
    if not isinstance(column, Numbers):
        return column.as_words(), ""
    known = column.values[~column.missing]
    distinct = len(np.unique(known))
    if distinct <= MANY:
        return column.as_words(), ""
    binned = bin_numbers(column)
    sizes = np.bincount(binned.codes[binned.codes != UNKNOWN], minlength=len(binned.names))
    bins = ", ".join(f"{bin_} ({size:,} rows)" for bin_, size in zip(binned.names, sizes, strict=True))
    return binned, f"the attribute {name!r} has {distinct:,} different numbers, and is binned: {bins}"


def bin_numbers(column: Numbers) -> Words:
    """The numbers by bins of about as many rows each; missing ones stay missing."""
    known = column.values[~column.missing]
    cuts = find_cuts(known)
    codes = np.where(column.missing, UNKNOWN, np.searchsorted(cuts, column.values, side="right"))
    return Words(codes.astype(np.int32), _names(known, cuts))


def find_cuts(values: Float[np.ndarray, "value"]) -> Float[np.ndarray, "cut"]:
    """Where bins begin, the first aside: quantiles at round numbers, as long as no bin is empty."""
    ordered = np.sort(values)
    quantiles = np.quantile(values, np.arange(1, BINS) / BINS)
    for cuts in (np.round(quantiles / (step := _step(values))) * step, np.ceil(quantiles), quantiles):
        _, first = np.unique(np.searchsorted(ordered, cuts), return_index=True)  # one cut of those that part alike
        inside = np.asarray(cuts[first][(cuts[first] > ordered[0]) & (cuts[first] <= ordered[-1])])
        if len(inside) == len(quantiles):
            return inside
    # Most rows have one value, such as 0: what is above it is a bin.
    return inside if len(inside) else np.asarray(np.unique(values)[1:2])


def _step(values: Float[np.ndarray, "value"]) -> float:
    """About a tenth of how far the bulk of the values reaches, as 1, 2 or 5 times a power of ten."""
    low, high = np.quantile(values, [0.05, 0.95])
    width = float(high - low) / 10 or 1.0
    power = 10.0 ** math.floor(math.log10(width))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= 0.7 * width)
    return max(step, 1.0) if _whole(values) else step


def _names(values: Float[np.ndarray, "value"], cuts: Float[np.ndarray, "cut"]) -> tuple[str, ...]:
    """What the bins are called: 17-29, 30-44, 45+ for whole numbers, else by their bounds."""
    if _whole(values) and values.min() >= 0:
        starts = [int(values.min()), *(math.ceil(cut) for cut in cuts)]
        ends = [start - 1 for start in starts[1:]]
        named = [f"{start}-{end}" if end > start else f"{start}" for start, end in zip(starts, ends, strict=False)]
        return *named, f"{starts[-1]}+"
    bounds = [f"{cut:.6g}" for cut in cuts]
    if len(set(bounds)) < len(bounds):
        bounds = [repr(float(cut)) for cut in cuts]
    between = (f"{low} to {high}" for low, high in pairwise(bounds))
    return f"below {bounds[0]}", *between, f"{bounds[-1]} or more"


def _whole(values: Float[np.ndarray, "value"]) -> bool:
    return bool(np.array_equal(values, np.floor(values)))
