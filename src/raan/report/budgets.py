"""The tables of what methods were given and what they spent: configurations, and accuracy."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from raan.lab.results.summary import CAPTIONS, Paths, distinct, expected, spend, varying
from raan.report.measures import NOTHING, percent, settings, two_places, written
from raan.report.reading import Reading, level
from raan.report.tables import Cell, Table, table

SIZES = (3, 9, 15)
"""Numbers of configurations that a method might have had."""

LOSSES = (0.005, 0.01, 0.02)
"""Accuracy really lost, at which methods are held side by side."""


def budgets(reading: Reading) -> dict[str, int]:
    """How many distinct configurations each method was given."""
    return {method: len(distinct(paths.candidates)) for method, paths in reading.comparison.methods.items()}


def budget_table(reading: Reading) -> Table:
    """How many configurations every method was given, over which values, and how its runs ended."""
    rows = [
        [Cell(method), _given(paths), *map(Cell, (str(len(paths.seeds)), str(paths.diverged), _tried(paths)))]
        for method, paths in reading.comparison.methods.items()
    ]
    header = ("method", "configurations", "seeds", "diverged", "values tried")
    return table(f"{reading.name}: the budget of every method", header, rows, words=(4,))


def subset_table(reading: Reading) -> Table | None:
    """What methods would have reached with fewer configurations; None where all had as many, or too few."""
    given = budgets(reading)
    sizes = [size for size in SIZES if size <= max(given.values())]
    if len({*given.values()}) == 1 or not sizes or reading.comparison.rule.aim is None:
        return None
    header = ("method", *(f"{size} configurations" for size in sizes), "all")
    rows = [
        [Cell(method), *(_with(reading, method, size) for size in sizes), _all(reading, method, given[method])]
        for method in reading.comparison.methods
    ]
    return table(
        f"{reading.name}: {reading.aim.short} in percent with so many configurations to choose from, the mean "
        f"over all subsets of a method's distinct ones{_regime(reading)}",
        header,
        rows,
    )


def loss_table(reading: Reading) -> Table | None:
    """The aim where so much accuracy is really lost; None where the rule minds no loss."""
    rule = reading.comparison.rule
    if rule.aim is None or rule.accuracy_drop >= 1:
        return None
    header = ("method", *(f"{100 * loss:g} lost" for loss in LOSSES), "the most that is lost")
    rows = [[Cell(method), *_spent(reading, paths)] for method, paths in reading.comparison.methods.items()]
    return table(
        f"{reading.name}: {reading.aim.short} in percent at so many points of accuracy lost on test rows, in the "
        f"mean over seeds, as the allowance on validation rows grows{_regime(reading)}",
        header,
        rows,
    )


def _given(paths: Paths) -> Cell:
    """The number of distinct configurations; how many runs repeat them beside it."""
    many = len(distinct(paths.candidates))
    repeated = len(paths.candidates) - many
    return Cell(str(many), f"and {repeated} that repeat them" if repeated else "")


def _with(reading: Reading, method: str, size: int) -> Cell:
    paths = reading.comparison.methods[method]
    if size > len(distinct(paths.candidates)):
        return Cell(NOTHING)
    return Cell(percent(expected(paths, reading.comparison.rule, reading.aim, size)))


def _all(reading: Reading, method: str, given: int) -> Cell:
    return Cell(percent(level(reading.chosen[method], reading.aim).mean), str(given))


def _spent(reading: Reading, paths: Paths) -> list[Cell]:
    """The aim at each loss, and the end of the curve."""
    curve = spend(paths, reading.comparison.rule, reading.aim)
    reached = [curve.at(loss) for loss in LOSSES]
    most = int(curve.lost.argmax())
    end = Cell(two_places(curve.lost[most].item()), percent(curve.reached[most].item()))
    return [*(Cell(NOTHING if math.isnan(each) else percent(each)) for each in reached), end]


def _regime(reading: Reading) -> str:
    return f"; {CAPTIONS[reading.regime]}" if reading.regime else ""


def _tried(paths: Paths) -> str:
    """The values of every hyperparameter that the candidates differ in."""
    if len(paths.candidates) == 1:
        return settings(paths.candidates[0])
    names = dict.fromkeys(name for candidate in varying(paths.candidates) for name in candidate)
    return "; ".join(f"{name}: {', '.join(_values(name, paths.candidates))}" for name in names)


def _values(name: str, candidates: Sequence[Mapping[str, Any]]) -> list[str]:
    """The different values of a hyperparameter, in the order of the candidates."""
    return list(dict.fromkeys(written(candidate.get(name, NOTHING)) for candidate in candidates))
