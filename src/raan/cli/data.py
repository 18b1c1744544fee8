"""The command `raan data`: list, download and check the published data sets."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from raan.cli.console import console, progress_bar, waiting

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from raan.lab.datasets.description import Description

data_app = typer.Typer(help="List the published data sets, fetch them, check them.")

Name = Annotated[str, typer.Argument(help="A data set, by its name in `raan data`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@data_app.callback(invoke_without_command=True)
def data(context: typer.Context, as_json: Json = False) -> None:
    """List the data sets: state, size, licence, citation, and what others have got wrong with them."""
    if context.invoked_subcommand is not None:
        return
    with waiting("looking up"):
        from raan.lab.datasets.description import CATALOGUE

    descriptions = list(CATALOGUE.values())
    if as_json:
        _print_json(descriptions)
    else:
        _print_descriptions(descriptions)


@data_app.command()
def fetch(name: Name, as_json: Json = False) -> None:
    """Fetch a data set's files into the cache; or say what to get by hand, and where to put it."""
    from raan.data.download import locate
    from raan.lab.datasets import description

    # Files that have to be obtained by hand come last: their error prevents no download.
    files = sorted(description.look_up(name).files, key=lambda file: locate(file) is None and not file.urls)
    found = []
    with progress_bar() as bar:
        for file in files:
            show = partial(_show, bar, bar.add_task(file.name, total=None))
            found.append(description.fetch(file, show))
    if as_json:
        console.print_json(json.dumps([str(path) for path in found]))
    else:
        _print(*map(str, found))


@data_app.command()
def check(name: Name, as_json: Json = False) -> None:
    """Check that a data set's files are here and, where their checksums are known, as published."""
    from raan.lab.datasets import description

    findings = [description.check(file) for file in description.look_up(name).files]
    if as_json:
        entries = [{"path": str(path), "sound": sound, "said": note} for path, sound, note in findings]
        console.print_json(json.dumps(entries))
    else:
        _print(*(f"{path}: {note}" for path, _, note in findings))
    if any(finding.sound is False for finding in findings):
        raise typer.Exit(1)


def _show(bar: Progress, task: TaskID, done: int, total: int | None) -> None:
    bar.update(task, completed=done, total=total)


def _print_json(descriptions: list[Description]) -> None:
    """Print everything that is known of the data sets, for programs."""
    from dataclasses import asdict

    from raan.data.download import locate
    from raan.lab.datasets.description import state

    entries = []
    for description in descriptions:
        files = [
            {
                "names": list(file.names),
                "here": str(place) if (place := locate(file)) else None,
                "put": str(file.target),
                "bytes": file.size or None,
                "sha256": file.sha256 or None,
            }
            for file in description.files
        ]
        entries.append({**asdict(description), "state": state(description), "files": files})
    console.print_json(json.dumps(entries))


def _print_descriptions(descriptions: list[Description]) -> None:
    """Print a table of the data sets; then the task, citation, cautions and missing files of each."""
    from rich.filesize import decimal
    from rich.table import Table

    from raan.data.download import locate
    from raan.lab.datasets.description import state

    table = Table("name", "state", "size", "licence", box=None, pad_edge=False)
    for description in descriptions:
        known = sum(file.size for file in description.files)
        more = " and more" if any(not file.size for file in description.files) else ""
        size = f"{decimal(known)}{more}" if known else "not known"
        table.add_row(description.name, state(description), size, description.licence)
    console.print(table)
    for description in descriptions:
        console.print(f"\n[bold]{description.name}[/]: {description.title}", highlight=False)
        prose = [("label", description.task), ("attribute", description.attribute), ("cite", description.citation)]
        for what, text in [*prose, *(("caution", caution) for caution in description.cautions)]:
            console.print(f"{what}: {text}", markup=False, highlight=False)
        for file in description.files:
            if locate(file) is None:
                by_hand = f"put it at {file.target}\n  {file.advice}"
                how = f"raan data fetch {description.name}" if file.urls else by_hand
                _print(f"missing: {' or '.join(file.names)}: {how}")


def _print(*lines: str) -> None:
    """Print lines that may contain brackets and long paths: without markup, and not wrapped."""
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
