"""The slider over the trade-off: every figure that it can show, computed beforehand and written out.

The page's script looks up what is here, and computes nothing.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raan.fairness.aims import ACCURACY, AIMS, MEASURES, Aim
from raan.fairness.metrics import metrics
from raan.fit.outcome import Choice, Outcome
from raan.report.charts import Chart
from raan.report.groups import Rate, changes_at, class_names, group_names, rates_of, tone_of
from raan.report.measures import percent, points, signed
from raan.report.model_charts import TradeOffChart
from raan.report.tables import Cell, Table, table


@dataclass(frozen=True, eq=False)
class Slider:
    """What the reader can ask for, where it starts, and all that it shows."""

    aims: Sequence[Aim]
    budgets: Sequence[float]
    start: tuple[str, int, bool]
    charts: dict[str, Chart]
    overall: Table
    groups: Table
    data: dict[str, Any]

    @property
    def meaning(self) -> str:
        """What the aim that it starts with asks for."""
        return _meaning(AIMS[self.start[0]])

    @property
    def marks(self) -> list[str]:
        """The budgets in points."""
        return [f"{100 * budget:g}" for budget in self.budgets]


def make_slider(outcome: Outcome, folder: Path) -> Slider:
    """The slider over the choices of an outcome that is saved in a folder."""
    # Of several guards the rule's own counts: it comes last, and stays.
    ordered = sorted(outcome.choices, key=lambda choice: choice.worst_group_drop == outcome.rule.worst_group_drop)
    answers = {(c.aim, c.accuracy_drop, c.worst_group_drop is not None): c for c in ordered}
    budgets = sorted({choice.accuracy_drop for choice in ordered})
    start = _start(outcome, budgets)
    charts = {key: TradeOffChart(outcome, aim) for key, aim in AIMS.items()}
    shown = sorted({choice.point for choice in ordered} | {outcome.place})
    cells = {point: _cells(outcome, point) for point in shown}
    data = {
        "start": start,
        "answers": {
            key: {
                ("guard" if guard else "free"): [
                    _answer(outcome, answers[key, budget, guard], folder) for budget in budgets
                ]
                for guard in (True, False)
            }
            for key in AIMS
        },
        "allowed": [f"up to {points(budget)} of accuracy" for budget in budgets],
        "meanings": {key: _meaning(aim) for key, aim in AIMS.items()},
        "cells": {str(point): [[c.text, c.note, c.tone] for c in cells[point]] for point in shown},
        "places": {key: {str(point): chart.place(point) for point in shown} for key, chart in charts.items()},
    }
    first = answers[start[0], budgets[start[1]], start[2]].point
    overall, groups = _tables(outcome, cells[first])
    drawings = {key: chart.chart for key, chart in charts.items()}
    return Slider(list(AIMS.values()), budgets, start, drawings, overall, groups, data)


def _start(outcome: Outcome, budgets: Sequence[float]) -> tuple[str, int, bool]:
    """Where the saved model's own rule is, or nearest to it."""
    rule = outcome.rule
    near = min(range(len(budgets)), key=lambda place: abs(budgets[place] - rule.accuracy_drop))
    aim = rule.aim if rule.aim in AIMS else rule.limits[0][0] if rule.limits else next(iter(AIMS))
    return str(aim), near, rule.worst_group_drop is not None


def _meaning(aim: Aim) -> str:
    return f"{aim.meaning[0].upper()}{aim.meaning[1:]}."


def command_of(choice: Choice, folder: Path) -> str:
    """The command that saves this choice."""
    guard = "" if choice.worst_group_drop is not None else " --no-floor"
    asked = f"--aim {AIMS[choice.aim].option} --accuracy-drop {100 * choice.accuracy_drop:g}{guard}"
    return f"raan choose {shlex.quote(str(folder))} --out NEW {asked}"


def _answer(outcome: Outcome, choice: Choice, folder: Path) -> dict[str, Any]:
    return {"point": int(choice.point), "command": command_of(choice, folder), "said": _describe(outcome, choice)}


def _describe(outcome: Outcome, choice: Choice) -> str:
    """What the choice is, in a sentence."""
    if choice.point == outcome.place:
        return "This is the saved model."
    if choice.point == 0:
        return "This is the plain model: nothing better is known within this budget."
    aim = AIMS[choice.aim]
    test = metrics(outcome.test)
    now, was = (aim.of(test)[point].item() for point in (choice.point, outcome.place))
    right, before = (test.accuracy[point].item() for point in (choice.point, outcome.place))
    return (
        f"On test rows, against the saved model: {aim.title} {signed(now - was)}, "
        f"accuracy {signed(right - before)} points."
    )


def _cells(outcome: Outcome, point: int) -> list[Cell]:
    """The figures of a point: for each measure in cross-validation and on test rows, then each group's rates."""
    held_out, test, plain = (
        metrics(each) for each in (outcome.held_out[point], outcome.test[point], outcome.test[0])
    )
    cells = []
    for measure in MEASURES:
        now = measure.of(test).item()
        moved = signed(now - measure.of(plain).item())
        cells += [Cell(percent(measure.of(held_out).item())), Cell(percent(now)), Cell(moved)]
    columns = [_rate_cells(outcome, rate, point) for rate in rates_of(class_names(outcome))]
    return cells + [column[group] for group in range(len(outcome.facts.groups)) for column in columns]


def _rate_cells(outcome: Outcome, rate: Rate, point: int) -> list[Cell]:
    """A rate of each group on test rows, in colour where it differs from the plain model's beyond chance."""
    levels, before = rate.of(outcome.test[point]).tolist(), rate.of(outcome.held_out[point]).tolist()
    return [
        Cell(
            percent(level),
            f"{signed(moved.value)}; {percent(other)} in cross-validation",
            tone=tone_of(moved, rate.better),
        )
        for level, other, moved in zip(levels, before, changes_at(outcome, rate, point), strict=True)
    ]


def _tables(outcome: Outcome, cells: Sequence[Cell]) -> tuple[Table, Table]:
    """The tables that the slider moves, filled with the figures of one point."""
    count = 3 * len(MEASURES)
    overall = [[Cell(measure.title), *cells[3 * place : 3 * place + 3]] for place, measure in enumerate(MEASURES)]
    rates = rates_of(class_names(outcome))
    width = len(rates)
    groups = [
        [Cell(name), *cells[count + width * place : count + width * (place + 1)]]
        for place, name in enumerate(group_names(outcome))
    ]
    return (
        table("The choice in percent", ("", "cross-validation", "test rows", "test, against plain"), overall),
        table(
            "Each group on test rows in percent; below, the change against the plain model",
            ("group", *(rate.title for rate in rates)),
            groups,
        ),
    )


def choices_table(outcome: Outcome, folder: Path) -> Table:
    """Everything the slider can choose, for readers without it."""
    held_out, test = metrics(outcome.held_out), metrics(outcome.test)
    rows = [
        [
            AIMS[choice.aim].title,
            f"{100 * choice.accuracy_drop:g}",
            "yes" if choice.worst_group_drop is not None else "no",
            *(
                percent(measure.of(part)[choice.point].item())
                for measure in (ACCURACY, AIMS[choice.aim])
                for part in (held_out, test)
            ),
            command_of(choice, folder),
        ]
        for choice in outcome.choices
    ]
    measured = ("accuracy, cross-validation", "accuracy, test", "aim, cross-validation", "aim, test")
    header = ("aim", "may lose (points)", "guard", *measured, "command")
    return table("What each budget gives, in percent, and the command that saves it", header, rows, words=(2, 7))
