"""How much of the networks can be trained in the time there is: the most that fits, by what a few steps took."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from time import monotonic
from typing import NamedTuple

EFFORTS = (10, 6, 4, 3, 2, 1)
"""Epochs, the most first."""

BATCH_SIZES = (64, 256, 1024)
"""The paper's, and larger ones for tables so long that an epoch of small batches would take too long."""

MARGIN = 1.15
"""What is planned beyond what was measured: other programs take their share of the machine."""

POINTS = 24
"""The most points of a run, about."""


@dataclass(frozen=True)
class Effort:
    """How much is trained: so many epochs of each stage, rows in a batch, points of an epoch."""

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


def plan_effort(train: int, time: Callable[[Effort], Rates], seconds: float) -> tuple[Effort, Costs]:
    """The most that can be trained in the time, and its cost; the least there is if even that does not fit.

    Timing itself costs time: once a tenth of it is gone, what was timed last stands for all that is left.
    """
    begun, seen = monotonic(), dict[int, Rates]()
    for effort in _efforts(train):
        size = effort.batch_size
        if not seen or (size not in seen and monotonic() - begun < 0.1 * seconds):
            seen[size] = time(effort)
        costs = _costs(seen.get(size, list(seen.values())[-1]), effort, train)
        if costs.total <= seconds - (monotonic() - begun):
            break
    return effort, costs


def _efforts(train: int) -> Iterator[Effort]:
    """All efforts, the most first: small batches before large ones."""
    for batch_size, epochs in product(BATCH_SIZES, EFFORTS):
        if batch_size == BATCH_SIZES[0] or train >= 20 * batch_size:
            yield Effort(epochs, batch_size, parts=max(1, min(4, POINTS // epochs, train // batch_size)))


def _costs(rates: Rates, effort: Effort, train: int) -> Costs:
    """The seconds of the whole effort."""
    steps = effort.epochs * -(-train // effort.batch_size)

    def cost(step: float, look: float) -> float:
        return MARGIN * (steps * step + effort.points * look)

    second = {name: tuple(cost(*pack) for pack in several) for name, several in rates.second.items()}
    return Costs(cost(*rates.first), second)
