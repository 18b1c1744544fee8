"""How much of the networks can be trained in the time there is: the most that fits, by what a few steps took."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from time import monotonic
from typing import NamedTuple

EFFORTS = ((5, 10), (5, 6), (3, 6), (3, 4), (3, 3), (1, 6), (1, 4), (1, 3), (1, 2), (1, 1))
"""Starts and epochs, the most first."""

BATCH_SIZES = (64, 256, 1024)
"""The paper's, and larger ones for tables so long that an epoch of small batches would take too long."""

MOST_TIMED = 3
"""Starts that are timed at most."""

MARGIN = 1.15
"""What is planned beyond what was measured: other programs take their share of the machine."""

POINTS = 24
"""The most points of a run, about."""

MOST_BYTES, EMBEDDING_BYTES = 500_000_000, 200
"""How large a pack's embedded table may be, and how large one row of it is."""


@dataclass(frozen=True)
class Effort:
    """How much is trained: so many starts, epochs of each stage, rows in a batch, points of an epoch."""

    seeds: int
    epochs: int
    batch_size: int
    parts: int

    @property
    def points(self) -> int:
        """The points of a run, its start among them."""
        return self.epochs * self.parts + 1


class Rates(NamedTuple):
    """Seconds of a step and of a look at validation and test rows: of stage one, and of each pack."""

    first: tuple[float, float]
    second: Mapping[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class Costs:
    """Seconds that stage one and each pack of each method take."""

    first: float
    second: Mapping[str, tuple[float, ...]]

    @property
    def total(self) -> float:
        """Everything together."""
        return self.first + sum(map(sum, self.second.values()))


def plan_effort(rows: int, train: int, time: Callable[[Effort], Rates], seconds: float) -> tuple[Effort, Costs]:
    """The most that can be trained in the time, and its cost; the least there is if even that does not fit.

    Timing itself costs time: once a tenth of it is gone, what was timed last stands for all that is left.
    """
    begun, seen = monotonic(), dict[tuple[int, int], Rates]()
    for effort in _efforts(rows, train):
        key = min(effort.seeds, MOST_TIMED), effort.batch_size
        if not seen or (key not in seen and monotonic() - begun < 0.1 * seconds):
            seen[key] = time(replace(effort, seeds=key[0]))
        timed = key if key in seen else list(seen)[-1]
        costs = _costs(seen[timed], effort, train, effort.seeds / timed[0])
        if costs.total <= seconds - (monotonic() - begun):
            break
    return effort, costs


def _efforts(rows: int, train: int) -> Iterator[Effort]:
    """All efforts, the most first: small batches before large ones, many starts before few."""
    for batch_size, (seeds, epochs) in product(BATCH_SIZES, EFFORTS):
        long_enough = batch_size == BATCH_SIZES[0] or train >= 20 * batch_size
        if long_enough and (seeds == 1 or 2 * seeds * rows * EMBEDDING_BYTES <= MOST_BYTES):
            yield Effort(seeds, epochs, batch_size, parts=max(1, min(4, POINTS // epochs, train // batch_size)))


def _costs(rates: Rates, effort: Effort, train: int, times: float) -> Costs:
    """The seconds of the whole effort, which has so many times as many starts as were timed."""
    steps = effort.epochs * -(-train // effort.batch_size)

    def cost(step: float, look: float) -> float:
        return MARGIN * times * (steps * step + effort.points * look)

    second = {name: tuple(cost(*pack) for pack in several) for name, several in rates.second.items()}
    return Costs(cost(*rates.first), second)
