"""A report of results: a page for readers, tables for papers, figures as files."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raan.cli.console import console, waiting
from raan.cli.options import AccuracyDrop, AimOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raan.fairness.measures import Measure
    from raan.fairness.rule import Rule
    from raan.report.content import Content


class Format(StrEnum):
    """What is written."""

    HTML = "html"
    MD = "md"
    TEX = "tex"


def report(
    results: Annotated[
        list[Path],
        typer.Argument(help="Results files, folders that `raan fit` wrote, study files, packaged studies."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write: report.html by default; md and tex go to standard output."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="A page, or tables for a paper.")] = Format.HTML,
    figures: Annotated[Path | None, typer.Option(help="Folder for the figures as SVG.")] = None,
    aim: Annotated[Any, AimOption] = None,
    accuracy_drop: Annotated[float | None, AccuracyDrop] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Write a report: one page that opens offline, or tables in Markdown or LaTeX, and figures as files."""
    from dataclasses import replace

    if out and out.exists() and any(source.exists() and out.samefile(source) for source in results):
        raise ValueError(f"--out {out} is what is reported, which the report would replace: name another file")
    if len(results) == 1 and results[0].is_dir():
        if aim is not None or accuracy_drop is not None:
            raise ValueError(f"{results[0]} holds a model: `raan choose` takes another --aim or --accuracy-drop")
        _report_model(results[0], out, form, quiet)
        return
    with waiting("reading the results", quiet):
        from raan.report.content import load
        from raan.report.page import write_figures

        content = load(results)
    content = replace(
        content,
        rule=_rule(content.rule, aim, accuracy_drop),
        command="\n".join(filter(None, (content.command, _command(results, out, form, aim, accuracy_drop)))),
    )
    written = _write(content, form, out)
    drawn = write_figures(content, figures) if figures else []
    if not quiet and (written or drawn):
        _say(content, written, len(drawn), figures)


def _report_model(folder: Path, out: Path | None, form: Format, quiet: bool) -> None:
    """Write the page, or as Markdown the card, of the model that a folder of `raan fit` holds."""
    with waiting(f"reading {folder}", quiet):
        from raan.fit.card import model_card
        from raan.fit.outcome import Outcome
        from raan.fit.words import title
        from raan.io.files import write_text
        from raan.report.model_page import write_model_page

        outcome = Outcome.load(folder)
    if form is Format.TEX:
        raise ValueError(
            f"--format tex is for results of studies, and {folder} holds a model; expected html or md"
        )
    if form is Format.MD and out is None:
        typer.echo(model_card(outcome, str(folder)), nl=False)
        return
    path = out or Path("report.html")
    if form is Format.MD:
        write_text(path, model_card(outcome, str(folder)))
    else:
        write_model_page(outcome, path, folder)
    if not quiet:
        console.print(f"{title(outcome)}\nWritten: {path}", markup=False, highlight=False)


def _rule(own: Rule, aim: Measure | None, accuracy_drop: float | None) -> Rule:
    """The rule asked for; what was not asked for is as in the results."""
    from dataclasses import replace

    drop = own.accuracy_drop if accuracy_drop is None else accuracy_drop / 100
    return replace(own, aim=aim.key if aim else own.aim, accuracy_drop=drop)


def _command(
    results: Sequence[Path], out: Path | None, form: Format, aim: Measure | None, accuracy_drop: float | None
) -> str:
    """The command that writes the same report."""
    options = {"--out": out, "--format": None if form is Format.HTML else form, "--aim": aim and aim.option}
    given = [part for name, value in options.items() if value is not None for part in (name, str(value))]
    drop = [] if accuracy_drop is None else ["--accuracy-drop", f"{accuracy_drop:g}"]
    return shlex.join(["raan", "report", *map(str, results), *given, *drop])


def _write(content: Content, form: Format, out: Path | None) -> list[Path]:
    """Write the report; the file, or none where it went to standard output."""
    if form is Format.HTML:
        from raan.report.page import write_page

        path = out or Path("report.html")
        write_page(content, path)
        return [path]
    from raan.io.files import write_text
    from raan.report.outline import latex_report, markdown_report

    text = markdown_report(content) if form is Format.MD else latex_report(content)
    if out is None:
        typer.echo(text, nl=False)
        return []
    write_text(out, text)
    return [out]


def _say(content: Content, written: Sequence[Path], drawn: int, folder: Path | None) -> None:
    """What was written, and the first thing it says."""
    from raan.cli.console import errors
    from raan.report.outline import comparisons_of
    from raan.report.words import headline

    for note in content.notes:
        errors.print(note, markup=False, highlight=False)
    for comparison in comparisons_of(content):
        console.print(f"{comparison.name}: {headline(comparison)}", markup=False, highlight=False)
    files = [*map(str, written), *([f"{drawn} figures in {folder}"] if drawn else [])]
    console.print(f"Written: {', '.join(files)}", markup=False, highlight=False)
