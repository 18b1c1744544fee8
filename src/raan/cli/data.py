"""The data sets that are known: listed, fetched, checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raan.cli.console import console, progress_bar, waiting
from raan.errors import needing

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress

    from raan.lab.datasets.dataset import About, Need

data_app = typer.Typer(help="List the data sets that are known, fetch them, check them.")

Name = Annotated[str, typer.Argument(help="A data set, as `raan data` calls it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@data_app.callback(invoke_without_command=True)
def data(context: typer.Context, as_json: Json = False) -> None:
    """List the data sets: state, size, licence, citation, and what others have got wrong with them."""
    with waiting("looking up"), needing("raan data"):
        from raan.lab.datasets.catalogue import CATALOGUE

    if context.invoked_subcommand is not None:
        return
    if as_json:
        console.print_json(json.dumps([_entry(about) for about in CATALOGUE.values()]))
        return
    console.print(_table(list(CATALOGUE.values())))
    for about in CATALOGUE.values():
        _print_about(about)


@data_app.command()
def fetch(name: Name, as_json: Json = False) -> None:
    """Fetch a data set's files into the cache; or say what to get by hand, and where to put it."""
    from raan.lab.datasets import catalogue

    found = []
    # What must be got by hand comes last: its error keeps nothing from being fetched.
    needs = sorted(catalogue.look_up(name).needs, key=lambda need: need.here is None and not need.can_be_fetched)
    with progress_bar() as bar:
        for need in needs:
            found.append(catalogue.fetch(need, _follow(bar, need.names[0])))
    if as_json:
        console.print_json(json.dumps([str(path) for path in found]))
        return
    for path in found:
        _print(str(path))


@data_app.command()
def check(name: Name, as_json: Json = False) -> None:
    """Check that a data set's files are here and, where their checksums are known, as published."""
    from raan.lab.datasets import catalogue

    findings = [catalogue.check(need) for need in catalogue.look_up(name).needs]
    if as_json:
        entries = [{"path": str(path), "sound": sound, "said": note} for path, sound, note in findings]
        console.print_json(json.dumps(entries))
    else:
        for path, _, note in findings:
            _print(f"{path}: {note}")
    if any(finding.sound is False for finding in findings):
        raise typer.Exit(1)


def _follow(bar: Progress, name: str) -> Callable[[int, int | None], None]:
    """A function that moves the bar as a file comes in."""
    task = bar.add_task(name, total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)


def _entry(about: About) -> dict[str, Any]:
    """What is known of a data set, for programs."""
    from dataclasses import asdict

    from raan.lab.datasets.catalogue import state

    files = [
        {
            "names": [*need.names, *need.instead],
            "here": str(need.here) if need.here else None,
            "put": str(need.put),
            "bytes": need.file.size if need.file else None,
            "sha256": need.file.sha256 if need.file else None,
        }
        for need in about.needs
    ]
    facts = {name: value for name, value in asdict(about).items() if name != "needs"}
    return {**facts, "state": state(about), "files": files}


def _table(abouts: list[About]) -> Any:
    """One line for each data set."""
    from rich.table import Table

    from raan.lab.datasets.catalogue import state

    table = Table("name", "state", "size", "licence", box=None, pad_edge=False)
    for about in abouts:
        table.add_row(about.name, state(about), _size(about.needs), about.licence)
    return table


def _size(needs: tuple[Need, ...]) -> str:
    """How large the files are, as far as is known."""
    from rich.filesize import decimal

    known = sum(need.file.size for need in needs if need.file)
    unknown = any(need.file is None for need in needs)
    return (f"{decimal(known)} and more" if unknown else decimal(known)) if known else "not known"


def _print_about(about: About) -> None:
    """The data set's task, attribute, citation and cautions, and what is lacking."""
    console.print(f"\n[bold]{about.name}[/]: {about.title}", highlight=False)
    prose = [("label", about.task), ("attribute", about.attribute), ("cite", about.citation)]
    for what, text in [*prose, *(("caution", caution) for caution in about.cautions)]:
        console.print(f"{what}: {text}", markup=False, highlight=False)
    for need in about.needs:
        if need.here is None:
            how = (
                f"raan data fetch {about.name}"
                if need.can_be_fetched
                else f"put it at {need.put}\n  {need.advice}"
            )
            _print(f"lacking: {' or '.join((*need.names, *need.instead))}: {how}")


def _print(text: str) -> None:
    """Print text that may hold brackets and long paths: neither marked up nor cut."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)
