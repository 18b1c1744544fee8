"""The slider over the trade-off: every figure that it can show, computed beforehand and written out.

The page's script only looks up what stands here; it computes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from raan.fairness.aims import ACCURACY, AIMS, MEASURES, Aim
from raan.fairness.metrics import metrics
from raan.report.charts import Chart
from raan.report.measures import percent, points, signed
from raan.report.model_charts import place_points, trade_off_chart
from raan.report.rates import Rate, rates_of
from raan.report.saved import Choice, Saved
from raan.report.served import changes_at, class_names, group_names, tone_of
from raan.report.tables import Cell, Table, table


@dataclass(frozen=True, eq=False)
class Slider:
    """What the reader can ask for, where it starts, and all that it shows."""

    aims: Sequence[Aim]
    allowances: Sequence[float]
    floors: Sequence[bool]  # whether the floor can be kept, lifted, or both
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
    def chart(self) -> Chart:
        """The figure that is shown first."""
        return self.charts[self.start[0]]

    @property
    def marks(self) -> list[str]:
        """The allowances in points."""
        return [f"{100 * allowance:g}" for allowance in self.allowances]


def make_slider(saved: Saved) -> Slider | None:
    """The slider over the choices that there are for every aim and floor alike; None where there are none."""
    # Of several floors the rule's own counts: it comes last, and stays.
    ordered = sorted(saved.choices, key=lambda c: c.worst_group_drop == saved.rule.worst_group_drop)
    answers = {(c.aim, c.accuracy_drop, c.worst_group_drop is not None): c for c in ordered}
    aims = [aim for key, aim in AIMS.items() if any(c.aim == key for c in saved.choices)]
    floors = sorted({floor for *_, floor in answers}, reverse=True)
    allowances = [
        drop
        for drop in sorted({c.accuracy_drop for c in saved.choices})
        if all((aim.key, drop, floor) in answers for aim in aims for floor in floors)
    ]
    if not allowances:
        return None
    start = _start(saved, aims, allowances, floors)
    charts = {aim.key: trade_off_chart(saved, aim, list(answers.values())) for aim in aims}
    shown = sorted({choice.point for choice in answers.values()} | {saved.chosen})
    cells = {point: _cells(saved, point) for point in shown}
    first = answers[start[0], allowances[start[1]], start[2]].point
    data = {
        "start": start,
        "answers": {
            aim.key: {
                ("floor" if floor else "free"): [
                    _answer(saved, answers[aim.key, drop, floor]) for drop in allowances
                ]
                for floor in floors
            }
            for aim in aims
        },
        "told": [f"up to {points(drop)} of accuracy" for drop in allowances],
        "cells": {str(point): [[c.text, c.note, c.tone] for c in cells[point]] for point in shown},
        "places": {
            aim.key: {str(point): place_points(saved, aim)[point].tolist() for point in shown} for aim in aims
        },
        "figures": {
            key: {
                "meaning": _meaning(AIMS[key]),
                "title": chart.title,
                "label": chart.label,
                "data": chart.data,
                "layout": chart.layout,
            }
            for key, chart in charts.items()
        },
    }
    overall, groups = _tables(saved, cells[first])
    return Slider(aims, allowances, floors, start, charts, overall, groups, data)


def _start(
    saved: Saved, aims: Sequence[Aim], allowances: Sequence[float], floors: Sequence[bool]
) -> tuple[str, int, bool]:
    """Where the saved model's own rule stands, or nearest to it."""
    rule = saved.rule
    keys = [aim.key for aim in aims]
    near = min(range(len(allowances)), key=lambda place: abs(allowances[place] - rule.accuracy_drop))
    floor = rule.worst_group_drop is not None
    return rule.aim if rule.aim in keys else keys[0], near, floor if floor in floors else floors[0]


def _meaning(aim: Aim) -> str:
    return f"{aim.meaning[0].upper()}{aim.meaning[1:]}."


def command_of(saved: Saved, choice: Choice) -> str:
    """The command that saves this choice."""
    floor = "" if choice.worst_group_drop is not None else " --no-floor"
    aim = AIMS[choice.aim].option
    return f"{saved.choose_command} --aim {aim} --accuracy-drop {100 * choice.accuracy_drop:g}{floor}"


def _answer(saved: Saved, choice: Choice) -> dict[str, Any]:
    return {"point": int(choice.point), "command": command_of(saved, choice), "said": _said(saved, choice)}


def _said(saved: Saved, choice: Choice) -> str:
    """What the choice is, in a sentence."""
    if choice.point == saved.chosen:
        return "This is the saved model."
    if choice.point == saved.plain:
        return "This is the plain model: nothing better is known within this allowance."
    aim = AIMS[choice.aim]
    test = metrics(saved.test)
    now, was = (aim.of(test)[point].item() for point in (choice.point, saved.chosen))
    right, before = (test.accuracy[point].item() for point in (choice.point, saved.chosen))
    return (
        f"On test rows, against the saved model: {aim.title} {signed(now - was)}, "
        f"accuracy {signed(right - before)} points."
    )


def _cells(saved: Saved, point: int) -> list[Cell]:
    """The figures of a point: for each measure out of fold and on test rows, then each rate of each group."""
    held_out, test, plain = (
        metrics(each) for each in (saved.held_out[point], saved.test[point], saved.test[saved.plain])
    )
    cells = []
    for measure in MEASURES:
        moved = measure.of(test).item() - measure.of(plain).item()
        cells += [
            Cell(percent(measure.of(held_out).item())),
            Cell(percent(measure.of(test).item())),
            Cell(signed(moved)),
        ]
    rates = rates_of(class_names(saved))
    columns = [_rate_cells(saved, rate, point) for rate in rates]
    return cells + [column[group] for group in range(len(saved.groups)) for column in columns]


def _rate_cells(saved: Saved, rate: Rate, point: int) -> list[Cell]:
    """A rate of each group on test rows, in colour where it differs from the plain model's beyond chance."""
    levels, before = rate.of(saved.test[point]).tolist(), rate.of(saved.held_out[point]).tolist()
    return [
        Cell(
            percent(level), f"{signed(moved.value)}; {percent(out)} out of fold", tone=tone_of(moved, rate.better)
        )
        for level, out, moved in zip(levels, before, changes_at(saved, rate, point), strict=True)
    ]


def _tables(saved: Saved, cells: Sequence[Cell]) -> tuple[Table, Table]:
    """The tables that the slider moves, filled with the figures of one point."""
    count = 3 * len(MEASURES)
    overall = [[Cell(measure.title), *cells[3 * place : 3 * place + 3]] for place, measure in enumerate(MEASURES)]
    rates = rates_of(class_names(saved))
    width = len(rates)
    groups = [
        [Cell(name), *cells[count + width * place : count + width * (place + 1)]]
        for place, name in enumerate(group_names(saved))
    ]
    return (
        table(
            "The choice in percent",
            ("", "out of fold", "test rows", "test, against plain"),
            overall,
        ),
        table(
            "Each group on test rows in percent; below, the change against the plain model",
            ("group", *(rate.title for rate in rates)),
            groups,
        ),
    )


def choices_table(saved: Saved) -> Table:
    """Everything the slider can choose, for readers without it."""
    held_out, test = metrics(saved.held_out), metrics(saved.test)
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
            command_of(saved, choice),
        ]
        for choice in saved.choices
    ]
    header = (
        "aim",
        "may lose (points)",
        "floor",
        "accuracy out of fold",
        "accuracy, test",
        "aim out of fold",
        "aim, test",
        "command",
    )
    return table("What each allowance buys, in percent, and the command that saves it", header, rows, words=(2, 7))


def points_table(saved: Saved) -> Table:
    """All points of the trade-off, out of fold and on test rows, the most accurate out of fold first."""
    held_out, test = metrics(saved.held_out), metrics(saved.test)
    named = {saved.plain: " (plain)", saved.chosen: " (saved)"}
    order = sorted(range(len(saved.test)), key=lambda point: -held_out.accuracy[point])
    rows = [
        [
            f"{point}{named.get(point, '')}",
            *(percent(measure.of(part)[point].item()) for part in (held_out, test) for measure in MEASURES),
        ]
        for point in order
    ]
    header = ("point", *(f"{m.short}, {part}" for part in ("out of fold", "test") for m in MEASURES))
    return table(f"All {len(rows):,} points of the trade-off, in percent", header, rows)
