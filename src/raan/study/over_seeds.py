"""A number for each seed as plain data: mean, standard deviation, and the numbers themselves."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any


def over_seeds(values: Sequence[float], digits: int) -> dict[str, Any]:
    """Mean and sample standard deviation over the seeds, rounded; of one seed there is no deviation."""
    deviation = round(stdev(values), digits) if len(values) > 1 else None
    return {
        "mean": round(fmean(values), digits),
        "sd": deviation,
        "values": [round(value, digits) for value in values],
    }
