"""How one column becomes features: fitted to its training rows, written into the features' array."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Float32, Int

from raan.errors import InputError, Message
from raan.fairness.groups import UNKNOWN, Codes
from raan.tabular.reading import Type
from raan.tabular.words import ignoring, listed

OTHER, ABSENT = "(other)", "(missing)"
"""The categories of pooled values and of missing ones; a value that is literally so called joins the pool."""


@dataclass(frozen=True)
class Standardised:
    """A number as (x - mean) / scale, x being the median where it is missing.

    An indicator of the missing follows, if any training row lacked the number.
    """

    takes: ClassVar[Type] = "number"
    column: str
    median: float
    mean: float
    scale: float
    indicator: bool

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the features are called."""
        return (self.column, f"{self.column}={ABSENT}") if self.indicator else (self.column,)

    def write(self, values: Float[np.ndarray, "row"], features: Float32[np.ndarray, "row feature"]) -> None:
        """Write the features of each row."""
        absent = np.isnan(values)
        with np.errstate(over="ignore"):  # what is too large is told where its row can be named
            features[:, 0] = (np.where(absent, self.median, values) - self.mean) / self.scale
        if self.indicator:
            features[:, 1] = absent

    def __str__(self) -> str:
        filled = f"; missing as {self.median:.4g}, with an indicator" if self.indicator else ""
        return f"(x - {self.mean:.4g}) / {self.scale:.4g}{filled}"


@dataclass(frozen=True)
class OneHot:
    """A category as a feature for each of those kept, 1 where it is the row's, else 0.

    A value that is not among them is "(other)" if there is such a category; else all features are 0. So
    with missing values and "(missing)".
    """

    takes: ClassVar[Type] = "category"
    column: str
    categories: tuple[str, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the features are called."""
        return tuple(f"{self.column}={category}" for category in self.categories)

    def write(self, column: Codes, features: Float32[np.ndarray, "row feature"]) -> None:
        """Write the features of each row, over zeros."""
        place = {category: place for place, category in enumerate(self.categories)}
        nowhere = -1
        other, absent = place.get(OTHER, nowhere), place.get(ABSENT, nowhere)
        where = np.array([*(place.get(name, other) for name in column.names), absent])[column.codes]
        rows = np.flatnonzero(where != nowhere)
        features[rows, where[rows]] = 1

    def unfamiliar(self, column: Codes) -> Int[np.ndarray, "found"]:
        """The rows whose value is not among the categories, if there is no pool for it."""
        if OTHER in self.categories:
            return np.empty(0, dtype=np.int64)
        strange = np.array([*(name not in self.categories for name in column.names), False])
        return np.flatnonzero(strange[column.codes])

    def __str__(self) -> str:
        return f"one-hot: {listed(self.categories, 4)}"


Encoding = Standardised | OneHot


def fit_number(name: str, values: Float[np.ndarray, "row"]) -> Standardised | None:
    """The encoding by the statistics of these rows; none if they are all missing, or all the same."""
    absent = np.isnan(values)
    known = values[~absent]
    if not len(known):
        return None
    low, high, median = float(known.min()), float(known.max()), float(np.median(known))
    if low == high:  # by rounding, the mean of equal numbers may differ from them, and their deviation from 0
        return Standardised(name, median, median, 1.0, indicator=True) if absent.any() else None
    filled = np.where(absent, median, values)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(filled.mean()), float(filled.std())
    if not np.isfinite(deviation):
        raise InputError(
            f"the column {name!r}",
            f"reaches from {low:.3g} to {high:.3g}, too far to be standardised",
            "numbers of like size",
            "take its logarithm, or its ranks",
        )
    # Squares of very small numbers vanish, the distance between them does not.
    return Standardised(name, median, mean, deviation or high - low, bool(absent.any()))


def fit_category(name: str, column: Codes, *, rare: int, most: int) -> tuple[OneHot | None, dict[str, int]]:
    """The encoding by the counts of these rows, and the categories that were pooled, with their counts.

    There is none if all rows are the same.
    """
    count = np.bincount(column.codes[column.codes != UNKNOWN], minlength=len(column.names))
    _check_repeats(name, count, most)
    frequent = sorted(np.flatnonzero(count), key=lambda code: (-count[code], code))
    kept = {code for code in frequent[:most] if count[code] >= rare and column.names[code] not in (OTHER, ABSENT)}
    pooled = {column.names[code]: int(count[code]) for code in frequent if code not in kept}
    categories = [column.names[code] for code in sorted(kept)]
    categories += [OTHER] * bool(pooled) + [ABSENT] * bool((column.codes == UNKNOWN).any())
    return (OneHot(name, tuple(categories)) if len(categories) > 1 else None), pooled


def _check_repeats(name: str, count: Int[np.ndarray, "category"], most: int) -> None:
    """Raise a ValueError where the values hardly repeat: an identifier or free text teaches nothing."""
    distinct, rows = np.count_nonzero(count), count.sum()
    if distinct > most and 2 * distinct > rows:
        raise InputError(
            f"the column {name!r}",
            f"has {distinct:,} categories in {rows:,} training rows",
            "categories that repeat",
            Message(
                "it looks like an identifier or free text: leave it out by ",
                ignoring(name),
                ", or derive categories from it",
            ),
        )
