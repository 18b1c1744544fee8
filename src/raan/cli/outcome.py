"""What `raan fit` and `raan choose` share: the folder that they write, and what they print of it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raan.cli.console import console, note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from raan.fit.classifier import TableClassifier
    from raan.fit.outcome import Outcome
    from raan.results.records import Record

WRITER = "raan fit"
"""What the manifest of a folder says of it; `raan choose` writes the same kind."""

ROOM = 2**23
"""Bytes that the disk must have left: the report takes five million, and it is better to know before training."""

BROKEN = 1
"""The exit code where test rows contradict what was promised."""


def claim_folder(out: Path, force: bool) -> AbstractContextManager[Path]:
    """The folder to fill, claimed from now on, which stands at `out` when all is written."""
    from raan.files.claim import claim

    return claim(out, WRITER, force=force, room=ROOM)


def write(
    outcome: Outcome,
    model: TableClassifier,
    save_plain: Callable[[Path], object],
    runs: Sequence[Record],
    folder: Path,
    out: Path,
) -> None:
    """Write everything that the folder holds; `out` is where it will stand."""
    from raan.fit.card import model_card
    from raan.fit.kept import keep
    from raan.results.records import explanation_of, lines_of
    from raan.results.stated import to_text

    results = folder / "results.jsonl"
    model.save(folder / "model")
    save_plain(folder / "plain")
    results.write_text(lines_of(runs), encoding="utf-8")
    stated = _stated(outcome)
    explanation_of(results).write_text(to_text(stated), encoding="utf-8")
    (folder / "model-card.md").write_text(model_card(outcome, str(out)), encoding="utf-8")
    if has_trade_off(model):
        keep(outcome, folder)
    _write_page(outcome, stated, runs, folder / "report.html", out)


def has_trade_off(model: TableClassifier) -> bool:
    """Whether another point can be chosen without training."""
    from raan.frontier.estimator import FairFrontier

    return isinstance(model.classifier, FairFrontier) and len(model.classifier.groups_) > 1


def _stated(outcome: Outcome) -> dict[str, Any]:
    """What is stated beside the results, for reports of them."""
    from raan.fit.records import METHOD, describe_both, describe_promise
    from raan.fit.words import title, verdict
    from raan.results.explanation import explanation

    pair = describe_both(outcome)
    aim = outcome.rule.aim if outcome.rule.aim != "accuracy" else outcome.rule.limits[0][0]
    return {
        **explanation([], []),
        "rule": {"aim": aim, "accuracy_drop": float(outcome.rule.accuracy_drop)},
        "saved": {**pair["chosen"], "method": METHOD, "model": pair["chosen"]["method"]},
        "plain": pair["plain"],
        "promise": describe_promise(outcome),
        "title": title(outcome),
        "verdict": list(verdict(outcome)),
        "notes": [*outcome.facts.notes, *outcome.facts.warnings],
        "command": shlex.join(["raan", *sys.argv[1:]]),
    }


def _write_page(outcome: Outcome, stated: dict[str, Any], runs: Sequence[Record], path: Path, out: Path) -> None:
    """The page about the saved model; what was trained on the way is its appendix."""
    from raan.cli.saved import to_saved
    from raan.fairness.rule import Rule
    from raan.report.content import Content
    from raan.report.model_page import write_model_page

    appendix = Content(stated["title"], runs, rule=Rule(**stated["rule"]))
    write_model_page(to_saved(outcome, out, stated["command"]), path, appendix)


def summarise(outcome: Outcome, out: Path, seconds: float) -> dict[str, Any]:
    """What was found, for programs."""
    from raan.fit.records import describe_both, describe_promise
    from raan.fit.words import fairer, group_accuracies, regime, sentence, title

    rule = outcome.rule
    pair = describe_both(outcome)
    for who, place in (("plain", 0), ("chosen", outcome.place)):
        pair[who]["test_accuracy_of_groups"] = group_accuracies(outcome, place)
    return {
        "out": str(out),
        "title": title(outcome),
        "aim": rule.aim,
        "accuracy_drop": float(rule.accuracy_drop),
        "worst_group_drop": rule.worst_group_drop,
        "improved": outcome.improved,
        "fairer": fairer(outcome),
        "broken_promises": list(outcome.broken),
        **pair,
        "promise": describe_promise(outcome),
        "regime": list(regime(outcome)),
        "reading": sentence(outcome),
        "notes": [*outcome.facts.warnings, *outcome.facts.notes],
        "seconds": round(seconds, 1),
    }


def show(outcome: Outcome, out: Path, notes: Sequence[str], again: bool = False) -> None:
    """Print notes, the table, the same in words, the regime, where the files are, and what may be done next."""
    from raan.fit.words import regime, verdict

    for text in notes:
        note(text)
    console.print(_table(outcome))
    for text in (*verdict(outcome), *regime(outcome)):
        console.print(text, markup=False, highlight=False)
    files = {
        "model": "model",
        "its plain twin": "plain",
        "report": "report.html",
        "model card": "model-card.md",
        "results": "results.jsonl",
    }
    for what, name in files.items():
        console.print(f"{what + ':':<16}{out / name}", **PLAIN)
    if again:
        console.print("another point of the trade-off, without training:", highlight=False)
        console.print(f"  {choose_command(out)} --aim worst-group --accuracy-drop 1", **PLAIN)


PLAIN: Any = {"markup": False, "highlight": False, "soft_wrap": True}


def choose_command(out: Path) -> str:
    """The command that chooses another point and saves it in a folder called NEW, but for what is asked for."""
    return f"raan choose {shlex.quote(str(out))} --out NEW"


def _table(outcome: Outcome) -> Any:
    """The plain and the saved model on test rows; the names of groups are the user's, and no markup."""
    from rich.table import Table
    from rich.text import Text

    from raan.fairness.aims import MEASURES
    from raan.fit.words import group_accuracies

    table = Table(title="test rows (%)", title_justify="left")
    table.add_column("")
    for head in (f"plain: {outcome.facts.plain_method}", f"saved: {outcome.method}"):
        table.add_column(Text(head), justify="right")
    for measure in MEASURES:
        table.add_row(measure.title, *(f"{100 * float(measure.of(each)):.1f}" for each in outcome.on_test))
    table.add_section()
    plain, chosen = (group_accuracies(outcome, place) for place in (0, outcome.place))
    for group in plain:
        figures = (accuracies[group] for accuracies in (plain, chosen))
        table.add_row(Text(f"accuracy of {group}"), *("" if x is None else f"{100 * x:.1f}" for x in figures))
    return table
