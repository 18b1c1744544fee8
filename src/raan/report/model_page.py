"""The page about one saved model: what it does to each group, what that costs, and what else can be chosen."""

from pathlib import Path

from raan.fairness.aims import AIMS
from raan.fairness.promise import Claim, Status
from raan.fit.outcome import Outcome
from raan.fit.words import inputs, title, verdict
from raan.io.files import write_text
from raan.report.groups import compare, count_people
from raan.report.measures import percent, points
from raan.report.model_charts import importance_chart, score_charts
from raan.report.page import render
from raan.report.slider import choices_table, make_slider
from raan.report.tables import Cell, Table, table

FEW = 3
"""With more groups than this, who gains and who loses comes before the table of groups."""

SIGNS = {Status.KEPT: "✓", Status.NOT_CONFIRMED: "≈", Status.CONTRADICTED: "✗"}


def write_model_page(outcome: Outcome, path: str | Path, folder: Path) -> None:
    """Write the page, whole or not at all; `folder` is where the model is saved."""
    write_text(path, model_page(outcome, folder))


def model_page(outcome: Outcome, folder: Path) -> str:
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
        scores=score_charts(outcome),
        importance=importance_chart(outcome),
        choices=choices_table(outcome, folder),
    )


def claims_table(outcome: Outcome) -> Table:
    """What was promised, what test rows show, and the verdict on each claim."""
    header = ("claim", "promised", "on test rows", "verdict")
    rows = [[Cell(c.title), Cell(c.promised), Cell(c.shown), _verdict(c)] for c in outcome.verdict.claims]
    return table(
        "Promised in cross-validation, and found on test rows, which chose nothing; 95 % intervals",
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
    limits = ", ".join(f"{AIMS[aim].title} {percent(most)} %" for aim, most in rule.limits)
    asked = f"to be the most accurate with at most {limits}" if limits else f"so that {rule.goal.meaning}"
    within = "" if limits else f", within {points(rule.accuracy_drop)} of accuracy"
    return f"{method[:1].upper()}{method[1:]}. Chosen in cross-validation {asked}{within}{guard}."
