"""The page about one saved model: what it does to each group, what that costs, and what else can be chosen."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from raan.fairness.measures import ACCURACY, Measure
from raan.fairness.promise import Claim, Status
from raan.fit.outcome import Choice, Outcome
from raan.fit.record import TO_FILL_IN, describe_record
from raan.fit.words import budget, inputs, title, verdict
from raan.io.files import write_text
from raan.report.charts import Chart
from raan.report.groups import Rate, changes_at, class_names, compare, count_people, group_names, rates_of, tone_of
from raan.report.model_charts import TradeOffChart, chart_sections
from raan.report.page import render
from raan.report.tables import Cell, Table, percent, show_level, show_move, signed, table

FEW = 3
"""With more groups than this, who gains and who loses comes before the table of groups."""

SIGNS = {Status.KEPT: "✓", Status.NOT_CONFIRMED: "≈", Status.CONTRADICTED: "✗"}


def write_model_page(outcome: Outcome, path: str | Path, folder: Path | None) -> None:
    """Write the page, whole or not at all; `folder` is where `raan fit` saved the model."""
    write_text(path, model_page(outcome, folder))


def model_page(outcome: Outcome, folder: Path | None) -> str:
    """The page's HTML."""
    facts, status = outcome.facts, outcome.verdict.status
    return render(
        "model.html.jinja",
        title(outcome),
        kind="model",
        slid=(slider := make_slider(outcome, folder)).data,
        status=str(status).replace(" ", "-"),
        sign=SIGNS[status] if outcome.improved else "–",
        verdict=verdict(outcome),
        inputs=inputs(outcome),
        about=_about(outcome),
        notes=[*facts.notes, *facts.warnings],
        command=facts.command,
        test_rows=f"{facts.sizes[2]:,}",
        compared=compare(outcome),
        people=count_people(outcome),
        many=len(facts.groups) > FEW,
        unchanged=not outcome.improved,
        claims=claims_table(outcome) if outcome.improved else None,
        slider=slider,
        chart_sections=chart_sections(outcome),
        choices=choices_table(outcome, folder),
        record=describe_record(outcome),
        to_fill_in=TO_FILL_IN,
        in_python=facts.in_python,
    )


def claims_table(outcome: Outcome) -> Table:
    """What was promised, what test rows show, and the verdict on each claim."""
    header = ("claim", "promised", "on test rows", "verdict")
    rows = [[Cell(c.title), Cell(c.promised), Cell(c.shown), _verdict(c)] for c in outcome.verdict.claims]
    return table(
        "Promised on held-out rows, and found on test rows, which chose nothing; 95 % intervals",
        header,
        rows,
        (3,),
    )


def _verdict(claim: Claim) -> Cell:
    lost = claim.status is Status.CONTRADICTED
    return Cell(f"{SIGNS[claim.status]} {claim.status}", claim.note, tone="loss" if lost else "")


def _about(outcome: Outcome) -> str:
    """Which model, chosen how."""
    rule, method = outcome.rule, outcome.method
    guard = ", the worst group no worse than the plain model's" if rule.worst_group_drop is not None else ""
    limits = " and ".join(map(str, rule.limits))
    asked = f"for the best {rule.currency.title} with {limits}" if limits else f"so that {rule.goal.meaning}"
    within = "" if limits else f", within {budget(rule)}"
    return f"{method[:1].upper()}{method[1:]}. Chosen on held-out rows {asked}{within}{guard}."


# The slider over the trade-off: every figure that it can show, computed beforehand; the page's script looks up
# what is here, and computes nothing.


@dataclass(frozen=True, eq=False)
class Slider:
    """What the reader can ask for, where it starts, and all that it shows."""

    aims: Sequence[Measure]
    budgets: Sequence[float]
    currency: Measure
    start: tuple[str, int, bool]
    charts: dict[str, Chart]
    overall: Table
    groups: Table
    data: dict[str, Any]

    @property
    def meaning(self) -> str:
        """What the aim that it starts with asks for."""
        return _meaning(next(aim for aim in self.aims if aim.key == self.start[0]))

    @property
    def marks(self) -> list[str]:
        """The budgets, in points where the performance is a share."""
        return [f"{100 * each:g}" if self.currency.unit else f"{each:g}" for each in self.budgets]


def make_slider(outcome: Outcome, folder: Path | None) -> Slider:
    """The slider over the choices of an outcome that is saved in a folder."""
    # Of several guards the rule's own counts: it comes last, and stays.
    ordered = sorted(outcome.choices, key=lambda choice: choice.worst_group_drop == outcome.rule.worst_group_drop)
    answers = {(c.aim, c.accuracy_drop, c.worst_group_drop is not None): c for c in ordered}
    budgets = sorted({choice.accuracy_drop for choice in ordered})
    start = _start(outcome, budgets)
    charts = {key: TradeOffChart(outcome, aim) for key, aim in outcome.aims.items()}
    shown = sorted({choice.point for choice in ordered} | {outcome.place})
    cells = {point: _cells(outcome, point) for point in shown}
    data = {
        "start": start,
        "answers": {
            key: {
                ("guard" if guard else "free"): [
                    _answer(outcome, answers[key, each, guard], folder) for each in budgets
                ]
                for guard in (True, False)
            }
            for key in outcome.aims
        },
        "allowed": [f"up to {budget(replace(outcome.rule, accuracy_drop=each))}" for each in budgets],
        "meanings": {key: _meaning(aim) for key, aim in outcome.aims.items()},
        "cells": {str(point): [[c.text, c.note, c.tone] for c in cells[point]] for point in shown},
        "places": {key: {str(point): chart.place(point) for point in shown} for key, chart in charts.items()},
    }
    first = answers[start[0], budgets[start[1]], start[2]].point
    overall, groups = _tables(outcome, cells[first])
    drawings = {key: chart.chart for key, chart in charts.items()}
    return Slider([*outcome.aims.values()], budgets, outcome.rule.currency, start, drawings, overall, groups, data)


def _start(outcome: Outcome, budgets: Sequence[float]) -> tuple[str, int, bool]:
    """Where the saved model's own rule is, or nearest to it."""
    rule = outcome.rule
    near = min(range(len(budgets)), key=lambda place: abs(budgets[place] - rule.accuracy_drop))
    limited = [limit.measure.key for limit in rule.limits if limit.measure.key in outcome.aims]
    aim = rule.goal.key if rule.goal.key in outcome.aims else [*limited, *outcome.aims][0]
    return aim, near, rule.worst_group_drop is not None


def _meaning(aim: Measure) -> str:
    return f"{aim.meaning[0].upper()}{aim.meaning[1:]}."


def command_of(outcome: Outcome, choice: Choice, folder: Path | None) -> str:
    """The command that saves this choice; the call that returns it, where Python made the model."""
    if outcome.facts.in_python:
        budget = "accuracy_drop" if outcome.rule.performance == ACCURACY.key else "max_drop"
        given = {"aim": choice.aim, budget: choice.accuracy_drop, "worst_group_drop": choice.worst_group_drop}
        return f"fair.choose({', '.join(f'{name}={value!r}' for name, value in given.items())})"
    guard = "" if choice.worst_group_drop is not None else " --no-guard"
    drop = f"--accuracy-drop {100 * choice.accuracy_drop:g}"
    if outcome.rule.performance != ACCURACY.key:
        drop = f"--max-drop {100 * choice.accuracy_drop if outcome.rule.currency.unit else choice.accuracy_drop:g}"
    asked = f"--aim {shlex.quote(outcome.aims[choice.aim].option)} {drop}{guard}"
    return f"raan choose {shlex.quote(str(folder))} --out NEW {asked}"


def _answer(outcome: Outcome, choice: Choice, folder: Path | None) -> dict[str, Any]:
    return {
        "point": int(choice.point),
        "command": command_of(outcome, choice, folder),
        "said": _describe(outcome, choice),
    }


def _describe(outcome: Outcome, choice: Choice) -> str:
    """What the choice is, in a sentence."""
    if choice.point == outcome.place:
        return "This is the saved model."
    if choice.point == 0:
        return "This is the plain model: nothing better is known within this budget."
    aim, currency = outcome.aims[choice.aim], outcome.rule.currency
    now, was = (outcome.test[point] for point in (choice.point, outcome.place))
    gained, cost = (show_move(each, float(each(now) - each(was))) for each in (aim, currency))
    points = " points" if currency.unit else ""
    return f"On test rows, against the saved model: {aim.title} {gained}, {currency.title} {cost}{points}."


def _cells(outcome: Outcome, point: int) -> list[Cell]:
    """The figures of a point: for each measure on held-out rows and on test rows, then each group's rates."""
    counts = outcome.held_out[point], outcome.test[point], outcome.test[0]
    cells = []
    for measure in outcome.rule.measures:
        held_out, now, before = (float(measure(each)) for each in counts)
        shown = show_level(measure, held_out), show_level(measure, now), show_move(measure, now - before)
        cells += [Cell(text) for text in shown]
    columns = [_rate_cells(outcome, rate, point) for rate in rates_of(class_names(outcome))]
    return cells + [column[group] for group in range(len(outcome.facts.groups)) for column in columns]


def _rate_cells(outcome: Outcome, rate: Rate, point: int) -> list[Cell]:
    """A rate of each group on test rows, in colour where it differs from the plain model's beyond chance."""
    levels, before = rate.of(outcome.test[point]).tolist(), rate.of(outcome.held_out[point]).tolist()
    return [
        Cell(
            percent(now),
            f"{signed(change.value)}; {percent(other)} on held-out rows",
            tone=tone_of(change, rate.better),
        )
        for now, other, change in zip(levels, before, changes_at(outcome, rate, point), strict=True)
    ]


def _tables(outcome: Outcome, cells: Sequence[Cell]) -> tuple[Table, Table]:
    """The tables that the slider moves, filled with the figures of one point."""
    measures = outcome.rule.measures
    count = 3 * len(measures)
    overall = [[Cell(measure.title), *cells[3 * place : 3 * place + 3]] for place, measure in enumerate(measures)]
    rates = rates_of(class_names(outcome))
    width = len(rates)
    groups = [
        [Cell(name), *cells[count + width * place : count + width * (place + 1)]]
        for place, name in enumerate(group_names(outcome))
    ]
    return (
        table("The choice in percent", ("", "held-out rows", "test rows", "test, against plain"), overall),
        table(
            "Each group on test rows in percent; below, the change against the plain model",
            ("group", *(rate.title for rate in rates)),
            groups,
        ),
    )


def choices_table(outcome: Outcome, folder: Path | None) -> Table:
    """Everything the slider can choose, for readers without it."""
    currency = outcome.rule.currency
    rows = [
        [
            outcome.aims[choice.aim].title,
            f"{100 * choice.accuracy_drop if currency.unit else choice.accuracy_drop:g}",
            "yes" if choice.worst_group_drop is not None else "no",
            *(
                show_level(measure, float(measure(part[choice.point])))
                for measure in (currency, outcome.aims[choice.aim])
                for part in (outcome.held_out, outcome.test)
            ),
            command_of(outcome, choice, folder),
        ]
        for choice in outcome.choices
    ]
    title = currency.title
    measured = (f"{title}, held-out", f"{title}, test", "aim, held-out", "aim, test")
    header = ("aim", f"may lose{' (points)' if currency.unit else ''}", "guard", *measured, "command")
    return table("What each budget gives, in percent, and the command that saves it", header, rows, words=(2, 7))
