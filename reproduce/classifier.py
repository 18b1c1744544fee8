"""Which learning rates RAANClassifier had best start from: `python -m reproduce.classifier [--seeds 3 4 5 ...]`.

On Adult and MEPS every rate of stage one is followed by every rate of stage two, all in one pack, everything else
at the classifier's defaults. Only training and validation rows are used: one half of the latter chooses the point,
by the classifier's own rule, and the other half judges it; then they change places. So a path that jumps about
does not win by having more luck to choose from.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from raan import RAANClassifier
from raan.data.split import Split, split, stack
from raan.data.table import Table
from raan.estimators.arguments import read_settings
from raan.fairness.metrics import accuracy, worst_group_accuracy
from raan.fairness.rule import Rule
from raan.lab.datasets.adult import SPLIT as ADULT_SPLIT
from raan.lab.datasets.adult import adult
from raan.lab.datasets.meps import SPLIT as MEPS_SPLIT
from raan.lab.datasets.meps import meps
from raan.methods import RAAN, Scope
from raan.models.model import mlp
from raan.training.stages import first_stage, second_stage
from raan.training.train import Schedule

ROOT = Path(__file__).parents[1]
DATA: dict[str, tuple[Callable[[Path | None], Table], tuple[int, int, int]]] = {
    "adult": (adult, ADULT_SPLIT),
    "meps": (meps, MEPS_SPLIT),
}


class Grid(NamedTuple):
    """The rates of each stage, all with all, and the splits."""

    first: Sequence[float] = (3e-4, 1e-3, 3e-3)
    second: Sequence[float] = (1e-4, 3e-4, 1e-3, 3e-3)
    seeds: Sequence[int] = (0, 1, 2)

    def pairs(self) -> Iterator[tuple[tuple[int, int], str]]:
        """The places of each pair of rates, and its name."""
        for (i, first), (j, second) in product(enumerate(self.first), enumerate(self.second)):
            yield (j, i), f"rates {first:g}, {second:g}"


Judged = Float[np.ndarray, "metric second first seed"]
"""Accuracy at the end of stage one; accuracy and worst group at the point chosen; all in per cent."""


def judged(data: str, grid: Grid) -> Judged:
    """What each pair of rates comes to on validation rows that did not choose."""
    read, (train, validation, _) = DATA[data]
    folder = Path(os.environ.get("RAAN_DATA") or ROOT.parent / "shared" / "data") / data
    table = read(folder if folder.is_dir() else None)
    half = validation // 2
    rows = stack([split(table.rows, (train, half, half), seed) for seed in grid.seeds])
    one, other = (np.stack(side) for side in zip(*path(table, rows, grid), strict=True))
    return np.asarray((_chosen(one, other) + _chosen(other, one)) * 50)


def path(table: Table, rows: Split, grid: Grid) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The counts at each point of stage two, on either half: [second, first, seed, ...]."""
    default = RAANClassifier()
    once, twice = len(grid.first), len(grid.first) * len(grid.second)
    rates = torch.tensor(grid.first).repeat_interleave(len(grid.seeds))
    architecture, seeds = mlp(table, dropout=default.dropout), list(grid.seeds)
    plain = first_stage(architecture, table, _times(rows, once), seeds * once, Schedule(learning_rate=rates))
    method = RAAN(default.temperature, default.averaging_rate, default.strength, default.balance, Scope.MODEL)
    rates = torch.tensor(grid.second).repeat_interleave(once * len(seeds))
    schedule = Schedule(learning_rate=rates, watch_test=True)
    model = plain.last.repeat(len(grid.second))
    trained = second_stage(method, model, table, _times(rows, twice), seeds * twice, schedule)
    for point in trained.path.points:
        if point.test_counts is not None:
            yield _by_rate(point.validation_counts, grid), _by_rate(point.test_counts, grid)


def _chosen(choosing: np.ndarray, judging: np.ndarray) -> Judged:
    """The judging half's metrics at the start, and at the point that the other half chooses for each run."""
    default = RAANClassifier()
    best = Rule(default.aim, default.accuracy_drop).choose(choosing, choosing[0])
    taken = np.take_along_axis(judging, best[None, ..., None, None, None], 0)[0]
    return np.stack([accuracy(judging[0]), accuracy(taken), worst_group_accuracy(taken)])


def _by_rate(counts: np.ndarray, grid: Grid) -> np.ndarray:
    return counts.reshape(len(grid.second), len(grid.first), len(grid.seeds), *counts.shape[1:])


def _times(rows: Split, times: int) -> Split:
    return Split(*(part.repeat(times, 1) for part in rows))


def main() -> None:
    """Print the means over the seeds for each data set, then how far each pair of rates is from the defaults."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, values in Grid()._asdict().items():
        parser.add_argument(f"--{name}", nargs="+", type=type(values[0]), default=values)
    grid = Grid(**vars(parser.parse_args()))
    found = [judged(data, grid) for data in DATA]
    print("                            plain accuracy  accuracy  worst group")
    for data, each in zip(DATA, found, strict=True):
        for place, name in grid.pairs():
            plain, reached, worst = (metric[place].mean().item() for metric in each)
            print(f"{data:6s} {name:21s} {plain:13.1f} {reached:9.1f} {worst:12.1f}")
    lowest = np.concatenate([each[2] for each in found], axis=-1)
    first, second = read_settings(RAANClassifier()).learning_rates
    gain = lowest - lowest[grid.second.index(second), grid.first.index(first)]
    print("worst group against the defaults: mean of all splits ± its paired standard error")
    for place, name in grid.pairs():
        error = gain[place].std(ddof=1).item() / gain.shape[-1] ** 0.5
        print(f"{name:21s} {gain[place].mean().item():6.2f} ± {error:.2f}")


if __name__ == "__main__":
    main()
