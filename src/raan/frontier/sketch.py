"""A small sketch of the training rows, by which a model recognises rows that trained it.

Every row has a hash of its values and its class. The sketch contains the smallest hashes with their frequencies: a
random sample of the distinct rows, and the same sample in whichever table they occur. Rows of different people may
be equal, so a few matches prove nothing. How many to expect follows from how many rows occur exactly twice in
training (Good, 1953).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int, UInt64
from pandas.util import hash_array
from scipy import sparse  # type: ignore[import-untyped]
from scipy.stats import binom  # type: ignore[import-untyped]

from raan.io.files import digest

MOST = 8_192
"""Different rows that a sketch holds: 64 KB of hashes."""

LEVEL = 1e-4
"""How often fresh rows are taken for training rows, at most."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Sketch:
    """The smallest hashes of the training rows, how often each occurs, and how many rows there are."""

    hashes: UInt64[np.ndarray, "hash"]
    counts: Int[np.ndarray, "hash"]
    rows: int

    @classmethod
    def of(cls, X: Any, label: Int[np.ndarray, "row"]) -> "Sketch":
        """Make the sketch of training rows; an empty one if they cannot be hashed, such as nested objects."""
        return cls.of_hashes(hash_rows(X, label), len(label))

    @classmethod
    def of_hashes(cls, row: UInt64[np.ndarray, "row"] | None, rows: int) -> "Sketch":
        """Make the sketch of rows of which these are the hashes; None where they cannot be hashed."""
        hashes, counts = np.unique(np.zeros(0, np.uint64) if row is None else row, return_counts=True)
        return cls(hashes[:MOST], counts[:MOST].astype(np.int64), rows)

    def __add__(self, other: "Sketch") -> "Sketch":
        """The sketch of the rows of both."""
        hashes, place = np.unique(np.concatenate([self.hashes, other.hashes]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.counts, other.counts]), len(hashes)).astype(np.int64)
        return Sketch(hashes[:MOST], counts[:MOST], self.rows + other.rows)

    @property
    def once(self) -> UInt64[np.ndarray, "hash"]:
        """The hashes that occur once, by which rows are recognised."""
        return np.asarray(self.hashes[self.counts == 1])

    @classmethod
    def read(cls, hashes: Any, counts: Any, rows: Any) -> "Sketch":
        """Make a sketch from the values of a file; a ValueError if they are not those of one."""
        found = cls(np.asarray(hashes, np.uint64), np.asarray(counts, np.int64), int(rows))
        if found.hashes.ndim != 1 or found.hashes.shape != found.counts.shape or found.rows < len(found.hashes):
            raise ValueError("the fingerprints of the training rows do not fit together")
        return found

    @property
    def fingerprint(self) -> str:
        """What identifies the training rows, in whatever order they come."""
        return digest(self.hashes.tobytes() + self.counts.tobytes() + str(self.rows).encode())

    def find(self, hashes: UInt64[np.ndarray, "row"]) -> "Overlap":
        """Compare rows with the training rows."""
        return self.judge(int(np.isin(self.once, hashes).sum()), len(hashes))

    def judge(self, met: int, rows: int) -> "Overlap":
        """Say whether rows trained the model, if so many hashes of `once` are met among so many rows.

        Of the rows that occur once in training, some occur among fresh rows of other people too: in expectation at
        most 2 t N2, where N2 rows occur twice in training and t is the ratio of the numbers of rows.
        """
        once, twice = len(self.once), int((self.counts == 2).sum())
        ratio = 2 * rows / max(self.rows, 1)
        chance = ratio / (1 + ratio)
        # The most that could be met: all of `once`, or as many as there are rows of the sketch's range.
        most = round(min(once, once * rows / max(self.rows, 1)))
        refused, possible = (binom.sf(each - 1, each + twice, chance) < LEVEL for each in (met, most))
        share = met / max(most, 1)
        return Overlap(bool(refused), bool(possible), min(share, 1.0))


@dataclass(frozen=True)
class Overlap:
    """Whether rows trained the model, whether that could be seen if all of them had, and about how many did."""

    trained: bool
    visible: bool
    share: float


def hash_rows(X: Any, label: Int[np.ndarray, "row"]) -> UInt64[np.ndarray, "row"] | None:
    """Return a hash of the values and the class of each row; None for values that cannot be hashed.

    Equal values have equal hashes, whatever holds them: 1, 1.0 and True are one, in an array or in a frame.
    """
    try:
        return np.asarray(_mix(_hash_values(X) + _mix(label.astype(np.uint64) + GOLDEN)))
    except (TypeError, ValueError):
        return None


def _hash_values(X: Any) -> UInt64[np.ndarray, "row"]:
    """Return the sum over the columns of a hash of the value and of the column's place; zeros add nothing."""
    if sparse.issparse(X):
        found = X.tocoo()
        total = np.zeros(found.shape[0], np.uint64)
        np.add.at(total, found.row, _hash_column(found.data, found.col.astype(np.uint64)))
        return total
    if isinstance(X, pd.DataFrame):
        columns = [X.iloc[:, place] for place in range(X.shape[1])]
    elif hasattr(X, "columns") and hasattr(X, "to_numpy"):  # polars
        columns = [X[name].to_numpy() for name in X.columns]
    else:
        array = np.asarray(X)
        columns = list(array.reshape(len(array), -1).T)
    total = np.zeros(len(columns[0]), np.uint64)
    for place, column in enumerate(columns):
        total += _hash_column(column, np.uint64(place))
    return total


def _hash_column(column: Any, place: Any) -> UInt64[np.ndarray, "row"]:
    values = pd.Series(column)
    if values.dtype.kind not in "biuf":
        values = values.astype(object)
        numbers = pd.to_numeric(values, errors="coerce")
        if values.isna().equals(numbers.isna()):
            values = numbers
    if values.dtype.kind in "biuf":
        plain = values.to_numpy(dtype=np.float64, na_value=np.nan)
        hashed = hash_array(np.where(np.isnan(plain), np.nan, plain + 0.0))  # one nan, and no negative zero
        return np.where(plain == 0, np.uint64(0), _mix(hashed ^ _mix(place + GOLDEN)))
    words = values.where(values.notna(), "").astype(str).to_numpy(object)
    return np.asarray(_mix(hash_array(words) ^ _mix(place + GOLDEN)))


def _mix(value: Any) -> Any:
    """Mix the bits of numbers, as splitmix64 does."""
    with np.errstate(over="ignore"):
        value = np.asarray(value, np.uint64)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return value ^ (value >> np.uint64(31))
