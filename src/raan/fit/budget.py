"""How much can be trained in the time there is: measured on a few steps, then the most that fits."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from time import monotonic
from typing import NamedTuple

import torch

from raan.data.split import Split
from raan.data.table import Table
from raan.fit.clock import Clock
from raan.fit.networks import Effort, Ground, plain_training, walks
from raan.methods.method import alike
from raan.models.model import mlp
from raan.study.compare import Candidate
from raan.training.evaluate import group_counts

EFFORTS = ((5, 10), (5, 6), (3, 6), (3, 4), (3, 3), (1, 6), (1, 4), (1, 3), (1, 2), (1, 1))
"""Starts and epochs, the most first."""

BATCH_SIZES = (64, 256, 1024)
"""The paper's, and larger ones for tables so long that an epoch of small batches would take too long."""

STEPS, MOST_TIMED = 3, 3
"""Steps that are timed, and of how many starts at most."""

MARGIN = 1.15
"""What is planned beyond what was measured: other programs take their share of the machine."""

POINTS = 24
"""The most points of a walk, about."""

MOST_BYTES, EMBEDDING_BYTES = 500_000_000, 200
"""How large a pack's embedded table may be, and how large one row of it is."""


@dataclass(frozen=True)
class Costs:
    """Seconds that stage one and each pack of each method take."""

    first: float
    second: Mapping[str, tuple[float, ...]]

    @property
    def total(self) -> float:
        """Everything together."""
        return self.first + sum(map(sum, self.second.values()))


def affordable(
    table: Table, split: Split, methods: Mapping[str, Sequence[Candidate]], seconds: float
) -> tuple[Effort, Costs]:
    """The most that can be trained in the time, and its cost; the least there is if even that does not fit.

    Timing itself costs time: once a tenth of it is gone, what was timed last stands for all that is left.
    """
    begun, seen = monotonic(), dict[tuple[int, int], Rates]()
    for effort in _efforts(table, split):
        key = min(effort.seeds, MOST_TIMED), effort.batch_size
        if not seen or (key not in seen and monotonic() - begun < 0.1 * seconds):
            seen[key] = _timed(table, split, methods, replace(effort, seeds=key[0]))
        timed = key if key in seen else list(seen)[-1]
        costs = _costs(seen[timed], effort, len(split.train), effort.seeds / timed[0])
        if costs.total <= seconds - (monotonic() - begun):
            break
    return effort, costs


def _efforts(table: Table, split: Split) -> Iterator[Effort]:
    """All efforts, the most first: small batches before large ones, many starts before few."""
    rows = len(split.train)
    for batch_size, (seeds, epochs) in product(BATCH_SIZES, EFFORTS):
        long_enough = batch_size == BATCH_SIZES[0] or rows >= 20 * batch_size
        if long_enough and (seeds == 1 or 2 * seeds * table.rows * EMBEDDING_BYTES <= MOST_BYTES):
            yield Effort(seeds, epochs, batch_size, parts=max(1, min(4, POINTS // epochs, rows // batch_size)))


class Rates(NamedTuple):
    """Seconds of a step and of a look at validation and test rows: of stage one, and of each pack."""

    first: tuple[float, float]
    second: dict[str, list[tuple[float, float]]]


def _timed(table: Table, split: Split, methods: Mapping[str, Sequence[Candidate]], effort: Effort) -> Rates:
    """The rates, from a few steps of everything on a few rows."""
    once = replace(effort, epochs=1, parts=1)
    few = _few(table, split, STEPS * effort.batch_size)
    ground = Ground.of(few, Split(*(torch.arange(few.rows),) * 3), 0, effort.seeds)
    start = mlp(few).start(few, ground.split.train, ground.seeds)
    steps = -(-few.rows // effort.batch_size)
    judged = (len(split.validation) + len(split.test)) / few.rows
    plain_training(ground, once, _endless(), 0)  # the first time pays for much that later ones find there
    plain = _seconds(partial(plain_training, ground, once, _endless(), 0)) / steps

    def rates(name: str, pack: Sequence[Candidate]) -> tuple[float, float]:
        many = start.repeat(len(pack))
        rows = ground.times(len(pack)).split.test
        step = _seconds(partial(walks, name, pack, start, ground, once, _endless(), 0)) / steps
        return step, judged * _seconds(partial(group_counts, many, few, rows))

    second = {name: [rates(name, pack) for pack in alike(several)] for name, several in methods.items()}
    return Rates((plain, 0.0), second)


def _few(table: Table, split: Split, rows: int) -> Table:
    """The first training rows as a table of their own."""
    kept = split.train[:rows]
    parts = table.features[kept], table.label[kept], table.attribute[kept]
    return Table(*parts, table.class_names, table.attribute_names)


def _endless() -> Clock:
    return Clock(math.inf)


def _seconds(work: Callable[[], object]) -> float:
    begun = monotonic()
    work()
    return monotonic() - begun


def _costs(rates: Rates, effort: Effort, rows: int, times: float) -> Costs:
    """The seconds of the whole effort, which has so many times as many starts as were timed."""
    steps = effort.epochs * -(-rows // effort.batch_size)
    looks = effort.epochs * effort.parts + 1

    def cost(step: float, look: float) -> float:
        return MARGIN * times * (steps * step + looks * look)

    second = {name: tuple(cost(*pack) for pack in several) for name, several in rates.second.items()}
    return Costs(cost(*rates.first), second)
