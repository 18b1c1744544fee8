"""How one column becomes features: fitted to its training rows, written into the features' array."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float32

from raan.tabular import faults
from raan.tabular.columns import Numbers, Place, Plain, Type, Words
from raan.tabular.media import Encoder, Vectors
from raan.tabular.words import listed

OTHER, ABSENT = "(other)", "(missing)"
"""The categories of pooled values and of missing ones; a value that is literally so called joins the pool."""


@dataclass(frozen=True)
class Standardised:
    """A number as (x - mean) / scale, x being the median where it is missing.

    An indicator of the missing follows, if any training row lacked the number.
    """

    takes: ClassVar[Type] = "number"
    kind: ClassVar[str] = "number"
    column: str
    median: float
    mean: float
    scale: float
    indicator: bool

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the features are called."""
        return (self.column, f"{self.column}={ABSENT}") if self.indicator else (self.column,)

    def write(self, column: Numbers, features: Float32[np.ndarray, "row feature"], place: Place) -> None:
        """Write the features of each row; an error for one that overflows, so far off is it."""
        values, absent = column.values, column.missing
        with np.errstate(over="ignore"):
            features[:, 0] = (np.where(absent, self.median, values) - self.mean) / self.scale
        infinite = np.isinf(features[:, 0])
        if infinite.any():
            row = int(infinite.argmax())
            raise faults.too_far(place(row), self.column, values[row], self.mean, self.scale)
        if self.indicator:
            features[:, 1] = absent

    def unfamiliar(self, column: Numbers) -> tuple[int, str]:
        """No row: any number will do."""
        return 0, ""

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
    kind: ClassVar[str] = "category"
    column: str
    categories: tuple[str, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the features are called."""
        return tuple(f"{self.column}={category}" for category in self.categories)

    def write(self, column: Words, features: Float32[np.ndarray, "row feature"], place: Place) -> None:
        """Write the features of each row, over zeros."""
        number = {category: number for number, category in enumerate(self.categories)}
        nowhere = -1
        other, absent = number.get(OTHER, nowhere), number.get(ABSENT, nowhere)
        where = np.array([*(number.get(name, other) for name in column.names), absent])[column.codes]
        rows = np.flatnonzero(where != nowhere)
        features[rows, where[rows]] = 1

    def unfamiliar(self, column: Words) -> tuple[int, str]:
        """How many rows have a value that is not among the categories, if there is no pool for it; an example."""
        strange = [name for name in column.names if name not in self.categories]
        if OTHER in self.categories or not strange:
            return 0, ""
        found = column.codes[np.isin(column.codes, [column.names.index(name) for name in strange])]
        return len(found), column.names[found[0]] if len(found) else ""

    def __str__(self) -> str:
        return f"one-hot: {listed(self.categories, 4)}"


@dataclass(frozen=True)
class Embedded:
    """A text or an image as the numbers that an encoder made of it, each as (x - mean) / scale."""

    takes: ClassVar[Type] = "category"
    column: str
    encoder: Encoder
    mean: tuple[float, ...]
    scale: tuple[float, ...]

    @property
    def kind(self) -> str:
        """What the column holds."""
        return self.encoder.kind

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the features are called."""
        return tuple(f"{self.column}[{number}]" for number in range(len(self.mean)))

    def write(self, column: Vectors, features: Float32[np.ndarray, "row feature"], place: Place) -> None:
        """Write the features of each row."""
        mean, scale = (np.array(each, np.float32) for each in (self.mean, self.scale))
        features[:] = ((column.vectors - mean) / scale)[column.codes]  # code -1 is the last: missing

    def unfamiliar(self, column: Vectors) -> tuple[int, str]:
        """No row: any text or image will do."""
        return 0, ""

    def __str__(self) -> str:
        return f"embedded by {self.encoder} as {len(self.mean)} numbers"


Encoding = Standardised | OneHot | Embedded


def fit_column(name: str, column: Plain, *, rare: int, most: int) -> tuple[Encoding | None, dict[str, int]]:
    """The encoding by the training rows, none if all are the same; the categories pooled, with their counts."""
    if isinstance(column, Vectors):
        return fit_vectors(name, column), {}
    if isinstance(column, Words):
        return fit_category(name, column, rare=rare, most=most)
    return fit_number(name, column), {}


def fit_number(name: str, column: Numbers) -> Standardised | None:
    """The encoding by the statistics of these rows; none if they are all missing, or all the same."""
    values, absent = column.values, column.missing
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
        raise faults.too_wide(name, low, high)
    # Squares of very small numbers vanish, the distance between them does not.
    return Standardised(name, median, mean, deviation or high - low, bool(absent.any()))


def fit_vectors(name: str, column: Vectors) -> Embedded | None:
    """The encoding by the statistics of these rows; none if they are all the same."""
    rows = column.vectors[column.codes].astype(np.float64)
    scale = rows.std(0)
    if not scale.any():
        return None
    # A number that hardly varies says nothing; to blow it up would let rounding speak.
    scale = np.where(scale > 1e-6 * scale.max(), scale, scale.max())
    return Embedded(name, column.encoder, tuple(rows.mean(0).tolist()), tuple(scale.tolist()))


def fit_category(name: str, column: Words, *, rare: int, most: int) -> tuple[OneHot | None, dict[str, int]]:
    """The encoding by the counts of these rows, and the categories that were pooled, with their counts.

    There is none if all rows are the same.
    """
    count = np.bincount(column.codes[~column.missing], minlength=len(column.names))
    frequent = sorted(np.flatnonzero(count), key=lambda code: (-count[code], code))
    kept = {code for code in frequent[:most] if count[code] >= rare and column.names[code] not in (OTHER, ABSENT)}
    pooled = {column.names[code]: int(count[code]) for code in frequent if code not in kept}
    categories = [column.names[code] for code in sorted(kept)]
    categories += [OTHER] * bool(pooled) + [ABSENT] * bool(column.missing.any())
    return (OneHot(name, tuple(categories)) if len(categories) > 1 else None), pooled
