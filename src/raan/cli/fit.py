"""From a table to a fairer model in one command."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raan.cli.console import console, errors, note, time_bar
from raan.cli.options import AimOption, Data, Decimal, Delimiter, Encoding, Json, Points, Quiet
from raan.fairness.rule import ACCURACY_DROP, Rule

if TYPE_CHECKING:
    from raan.fit.fit import Fit
    from raan.tabular.frame import Loaded
    from raan.tabular.lines import Layout


def fit(
    data: Data,
    label: Annotated[str, typer.Option(metavar="COL", help="The column to predict.")],
    attribute: Annotated[
        list[str], typer.Option(metavar="COL [COL ...]", help="The column of the groups; several are crossed.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write, new or empty.")],
    aim: Annotated[Any, AimOption] = "equalized-odds",
    accuracy_drop: Points = 100 * ACCURACY_DROP,
    minutes: Annotated[float, typer.Option(min=0.05, help="The time that training may take, about.")] = 5.0,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the split and of training.")] = 0,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="A column to leave out, such as an identifier.")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="A column whose numbers are categories.")
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word for a missing value, beside '', ? and NA.")
    ] = None,
    keep_attribute: Annotated[
        bool, typer.Option("--keep-attribute/--drop-attribute", help="Whether the attribute is a feature too.")
    ] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    decimal: Decimal = ".",
    force: Annotated[bool, typer.Option("--force", help="Replace the folder if raan fit wrote it.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train plain and fairer models on a table, choose by your rule, and save model, report and model card.

    Vanilla, RAAN, RL-RAAN and, over gradient boosting, AANReweighting are trained within the time. The model that
    is saved is the best for the aim, on validation rows, among those that lose at most --accuracy-drop points
    against the best plain model; that one itself, if no model that knows of groups is better. Test rows are for
    the report alone.

    Exit codes: 0 done, 2 wrong input, 130 interrupted before there was a model.
    """
    begun = monotonic()
    from raan.files.write import write_folder
    from raan.fit.folder import check
    from raan.tabular.lines import Layout

    check(out, force)
    layout = Layout(delimiter, encoding, decimal)
    rule, seconds = Rule(aim.key, accuracy_drop / 100), 60 * minutes
    with time_bar(quiet) as show, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the data warn of is shown as notes; what diverged is in the results
        loaded = _read(data, label, attribute, ignore, category, missing, keep_attribute, seed, layout)
        found = _fit(loaded, rule, seconds, seed, begun, show)
        show("explaining and writing", 1, 1)
        with write_folder(out) as folder:
            write(found, folder, label, attribute, data.name, out)
    if as_json:
        sys.stdout.write(json.dumps(_summary(found, out, monotonic() - begun), ensure_ascii=False) + "\n")
    elif not quiet:
        for text in (*loaded.warnings, *found.notes):
            note(text)
        _show(found, out)


def _read(
    data: Path,
    label: str,
    attribute: list[str],
    ignore: list[str] | None,
    category: list[str] | None,
    missing: list[str] | None,
    keep_attribute: bool,
    seed: int,
    layout: Layout,
) -> Loaded:
    from raan.tabular.columns import MISSING
    from raan.tabular.frame import from_frame
    from raan.tabular.preprocessing import Rules

    return from_frame(
        data,
        label,
        attribute,
        ignore=ignore or (),
        types=dict.fromkeys(category or (), "category"),
        keep_attribute=keep_attribute,
        seed=seed,
        rules=Rules(missing=(*MISSING, *(missing or ()))),
        layout=layout,
    )


def _fit(
    loaded: Loaded, rule: Rule, seconds: float, seed: int, begun: float, show: Callable[[str, float, float], None]
) -> Fit:
    """All that can be trained in what is left of the time, some of it kept back for the report."""
    from raan.fit.clock import Clock
    from raan.fit.fit import Wish
    from raan.fit.fit import fit as fit_all

    kept_back = min(15.0, 2 + 0.05 * seconds)
    clock = Clock(seconds - (monotonic() - begun) - kept_back, show)
    try:
        return fit_all(loaded, Wish(rule, seconds, seed), clock)
    except KeyboardInterrupt:
        errors.print("Interrupted before there was a model: nothing is written.")
        raise typer.Exit(130) from None


def write(found: Fit, folder: Path, label: str, attribute: list[str], source: str, out: Path) -> None:
    """Write everything that the folder holds; `out` is where it will stand."""
    from raan.fit.card import model_card
    from raan.fit.folder import write_json
    from raan.fit.records import explain, records
    from raan.fit.words import verdict
    from raan.report.content import Content
    from raan.report.page import write_page
    from raan.results.records import explanation_of, line_of

    explanation = {
        **explain(found),
        "title": f"{label} in {source}, fair by {' × '.join(attribute)}",
        "verdict": list(verdict(found)),
        "notes": [*found.notes, *found.loaded.warnings],
        "command": shlex.join(["raan", *sys.argv[1:]]),
    }
    runs, results = list(records(found)), folder / "results.jsonl"
    found.model(tuple(attribute), label).save(folder / "model")
    results.write_text("".join(map(line_of, runs)), encoding="utf-8")
    write_json(explanation, explanation_of(results))
    card = model_card(found, label, attribute, source, str(out))
    (folder / "model-card.md").write_text(card, encoding="utf-8")
    stated = {key: explanation[key] for key in ("title", "verdict", "notes", "command")}
    shown = Content(
        records=runs, explanation=explanation, rule=found.wish.rule, saved=found.chosen.method, **stated
    )
    write_page(shown, folder / "report.html")


def _summary(found: Fit, out: Path, seconds: float) -> dict[str, Any]:
    """What was found, for programs."""
    from raan.fit.records import describe
    from raan.fit.words import group_accuracies, sentence

    plain, chosen = (
        {**describe(found, pick), "test_accuracy_of_groups": group_accuracies(found, pick)}
        for pick in (found.plain, found.chosen)
    )
    return {
        "out": str(out),
        "aim": found.rule.aim,
        "accuracy_drop": found.rule.accuracy_drop,
        "improved": found.improved,
        "plain": plain,
        "chosen": chosen,
        "reading": sentence(found),
        "notes": [*found.loaded.warnings, *found.notes],
        "seconds": round(seconds, 1),
    }


def _show(found: Fit, out: Path) -> None:
    """Print the table, the same in words, and where the files are."""
    from raan.fit.words import sentence

    console.print(_table(found))
    console.print(sentence(found), markup=False, highlight=False)
    files = {"model": "model", "report": "report.html", "model card": "model-card.md", "results": "results.jsonl"}
    for what, name in files.items():
        console.print(f"{what + ':':<12}{out / name}", markup=False, highlight=False, soft_wrap=True)


def _table(found: Fit) -> Any:
    """The plain and the chosen model on test rows; the names of groups are the user's, and no markup."""
    from rich.table import Table
    from rich.text import Text

    from raan.fairness.aims import MEASURES
    from raan.fit.words import group_accuracies

    pair = {"plain": found.plain, "chosen": found.chosen}
    caption = (
        "Vanilla (a network) and Boosting are plain; RAAN and RL-RAAN debias the one, AANReweighting the other."
    )
    table = Table(title="test rows (%)", caption=caption, title_justify="left", caption_justify="left")
    table.add_column("")
    for what, pick in pair.items():
        table.add_column(Text(f"{what}: {pick.method}"), justify="right")
    for measure in MEASURES:
        table.add_row(measure.title, *(f"{100 * float(measure.of(pick.test)):.1f}" for pick in pair.values()))
    table.add_section()
    plain, chosen = (group_accuracies(found, pick) for pick in pair.values())
    for group in plain:
        figures = (accuracies[group] for accuracies in (plain, chosen))
        table.add_row(Text(f"accuracy of {group}"), *("" if x is None else f"{100 * x:.1f}" for x in figures))
    return table
