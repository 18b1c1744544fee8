"""What `raan fit` and `raan choose` share: the folder that they write, and what they print of it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from raan.cli.console import console, note, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from raan.fit.classifier import TableClassifier
    from raan.fit.outcome import Outcome

WRITER = "raan fit"
"""What the manifest of a folder says of it; `raan choose` writes the same kind."""

SPACE = 2**23
"""Bytes that the disk must have left: it is better to know before training."""

CONTRADICTED = 1
"""The exit code where test rows contradict what was promised."""

PLAIN: Any = {"markup": False, "highlight": False, "soft_wrap": True}


def reserve_folder(out: Path, force: bool) -> AbstractContextManager[Path]:
    """The folder to fill, reserved from now on, which is moved to `out` when everything is written."""
    from raan.io.files import new_folder

    return new_folder(out, WRITER, force=force, needed=SPACE)


def command() -> str:
    """The command that runs, as the user typed it."""
    return shlex.join(["raan", *sys.argv[1:]])


def write(
    outcome: Outcome, model: TableClassifier, save_plain: Callable[[Path], object], folder: Path, out: Path
) -> None:
    """Write everything that the folder holds; `out` is where it will stand."""
    from raan.fit.card import model_card
    from raan.report.model_page import write_model_page

    model.save(folder / "model")
    save_plain(folder / "plain")
    outcome.save(folder)
    (folder / "model-card.md").write_text(model_card(outcome, str(out)), encoding="utf-8")
    write_model_page(outcome, folder / "report.html", out)


def summarise(outcome: Outcome, out: Path, seconds: float) -> dict[str, Any]:
    """What was found, for programs."""
    from raan.fit.words import group_accuracies, inputs, sentence, title

    found = outcome.to_dict()
    for who, place in (("plain", 0), ("chosen", outcome.place)):
        found[who]["test_accuracy_of_groups"] = group_accuracies(outcome, place)
    words = {"inputs": list(inputs(outcome)), "reading": sentence(outcome), "seconds": round(seconds, 1)}
    return {"out": str(out), "title": title(outcome), **found, **words}


def finish(
    outcome: Outcome, out: Path, notes: Sequence[str], seconds: float, *, as_json: bool, quiet: bool
) -> None:
    """Print the outcome, and exit with code 1 if test rows contradict it or it is nearly constant."""
    if as_json:
        write_json(summarise(outcome, out, seconds))
    elif not quiet:
        _show(outcome, out, notes)
    if outcome.contradicted or outcome.constant:
        raise typer.Exit(CONTRADICTED)


def _show(outcome: Outcome, out: Path, notes: Sequence[str]) -> None:
    """Print the verdict with who gains and loses, the table, notes, where the files are, and what may be next."""
    from raan.fit.words import inputs, verdict

    for text in verdict(outcome):
        console.print(text, markup=False, highlight=False)
    console.print(_table(outcome))
    for text in inputs(outcome):
        console.print(text, markup=False, highlight=False)
    for text in notes:
        note(text)
    files = {"model": "model", "baseline": "plain", "report": "report.html", "model card": "model-card.md"}
    for what, name in files.items():
        console.print(f"{what + ':':<12}{out / name}", **PLAIN)
    console.print("another point of the trade-off, without training:", highlight=False)
    console.print(f"  raan choose {shlex.quote(str(out))} --out NEW --aim worst-group --accuracy-drop 1", **PLAIN)


def _table(outcome: Outcome) -> Any:
    """The plain and the saved model on test rows; the names of groups are the user's, and no markup."""
    from rich.table import Table
    from rich.text import Text

    from raan.fit.words import group_accuracies

    table = Table(title="test rows (%)", title_justify="left")
    table.add_column("")
    for head in (f"plain: {outcome.facts.plain_method}", f"saved: {outcome.method}"):
        table.add_column(Text(head), justify="right")
    for measure in outcome.rule.measures:
        found = (float(measure(outcome.test[place])) for place in (0, outcome.place))
        table.add_row(measure.title, *(f"{100 * x:.1f}" if measure.unit else f"{x:.3g}" for x in found))
    table.add_section()
    plain, chosen = (group_accuracies(outcome, place) for place in (0, outcome.place))
    for group in plain:
        figures = (accuracies[group] for accuracies in (plain, chosen))
        table.add_row(Text(f"accuracy of {group}"), *("" if x is None else f"{100 * x:.1f}" for x in figures))
    return table
