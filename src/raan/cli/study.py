"""Run a study file: a table of the paper, or a comparison of one's own."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from raan.cli.console import console, errors, progress_bar, waiting, warnings_as_notes
from raan.errors import needing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raan.lab.results.summary import Comparison
    from raan.lab.study.run import Completion
    from raan.lab.study.study import Study
    from raan.report.content import Paper


def study(
    file: Annotated[
        Path, typer.Argument(help="The study: a TOML file, or the name of a packaged one such as table-2.")
    ],
    results: Annotated[
        Path | None, typer.Option(help="Where the finished runs are kept. By default results/NAME.jsonl.gz.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Processes that train side by side, one thread each; 0: one for each core.")
    ] = 0,
    ray: Annotated[
        str,
        typer.Option(
            metavar="[ADDRESS]",
            help="Train on Ray: on the cluster at the address, or auto; without one, on this machine's cores.",
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and how long it will take.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run a study. Rerunning an interrupted study resumes it."""
    with waiting(f"reading {file}", quiet), needing("raan study"):
        from raan.lab.study.study import read_study

        plan = read_study(file)
    if plan.kind != "comparison":
        raise ValueError(f"{file} is a picture of the paper, which `python -m reproduce.figures` computes")
    path = results or Path("results") / f"{plan.results}.jsonl.gz"
    processes = workers or os.cpu_count() or 1
    if dry_run:
        _show_plan(plan, path, processes, as_json)
        return
    from raan.engines import use_ray
    from raan.lab.study.explain import explain_results

    with warnings_as_notes(quiet):
        with use_ray(ray) if ray else nullcontext():
            completion = _run(plan, path, None if ray else processes, quiet)
        with errors.status("explaining: the chosen runs are trained once more") if not quiet else nullcontext():
            explain_results(plan, path)
    if as_json:
        console.print_json(data={**vars(completion), "path": str(completion.path)})
    elif not quiet:
        _show_completion(plan, completion)


class OptionalAddress(TyperCommand):
    """A command in which `--ray` without an address means `--ray local`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with the word local after a `--ray` that no address follows."""
        words: list[str] = []
        for word, following in zip(args, [*args[1:], "-"], strict=True):
            words += [word, "local"] if word == "--ray" and following.startswith("-") else [word]
        return super().parse_args(ctx, words)


def _run(plan: Study, path: Path, workers: int | None, quiet: bool) -> Completion:
    """Run the study, under a bar that counts steps and finished runs."""
    from raan.lab.study.run import run_study

    if quiet:
        return run_study(plan, path, workers=workers)
    with progress_bar() as bar:
        task = bar.add_task(plan.name, total=None)

        def show(done: int, total: int, runs: int) -> None:
            words = f"{plan.name}: {runs:,} runs finished, steps"
            bar.update(task, completed=done, total=total, description=words)

        return run_study(plan, path, workers=workers, progress=show)


def _show_plan(plan: Study, path: Path, workers: int, as_json: bool) -> None:
    """Show what is left to do, and the time that it will take."""
    from rich.table import Table
    from rich.text import Text

    from raan.lab.results.records import open_results
    from raan.lab.study.plan import packs
    from raan.lab.study.run import estimate_shares

    planned = packs(plan)
    with open_results(path) as results:
        left = [pack for pack in planned if not all(run in results.done for run in pack.runs)]
    with console.status("timing a few steps of each method") if not as_json else nullcontext():
        expected = estimate_shares(left)
    seconds = sum(share.seconds for share in expected) / workers
    if as_json:
        console.print_json(
            data={"left": [vars(share) for share in expected], "seconds": seconds, "workers": workers}
        )
        return
    header = ("data", "style", "method", "runs", "minutes of one core")
    grid = Table(*header, title=Text(plan.title), title_justify="left")
    for share in expected:
        cells = (share.data, share.style, share.method, f"{share.runs:,}", f"{share.seconds / 60:.1f}")
        grid.add_row(*map(Text, cells))  # titles and names are the study's, brackets and all
    console.print(grid)
    total, undone = sum(len(pack.runs) for pack in planned), sum(share.runs for share in expected)
    console.print(
        f"{total:,} runs, {total - undone:,} of them finished. The others take about {seconds / 60:.0f} minutes "
        f"with {workers} worker{'s' if workers > 1 else ''}.",
        highlight=False,
    )


def show_comparisons(comparisons: Sequence[Comparison], paper: Paper | None = None) -> None:
    """Print a table for each data set and style, the conditions of its runs, and the main result in words."""
    from rich.table import Table
    from rich.text import Text

    from raan.lab.results.summary import describe_conditions
    from raan.report.sheets import key_table
    from raan.report.words import headline, significance

    for comparison in comparisons:
        sheet = key_table(comparison, paper)
        title = Text(f"{comparison.name}: test rows, mean ± standard deviation over seeds")
        grid = Table(title=title, title_justify="left")
        for column, name in enumerate(sheet.header):
            grid.add_column(Text(name), justify="right" if sheet.is_number(column) else "left")
        for row in sheet.rows:
            grid.add_row(*(Text(cell.text, style="bold" if cell.best else "") for cell in row))
        console.print(grid)
        for line in describe_conditions(comparison.records):
            console.print(line, highlight=False, markup=False)
        console.print(
            f"{comparison.name}: {headline(comparison)} {significance(comparison)}\n",
            highlight=False,
            markup=False,
        )


def _show_completion(plan: Study, completion: Completion) -> None:
    """Show the tables of the study, and how to see more."""
    from raan.lab.results.records import read
    from raan.lab.study.plan import view
    from raan.report.content import Content
    from raan.report.outline import comparisons_of

    records = view(read(completion.path), plan)
    show_comparisons(comparisons_of(Content(plan.title, records, paper=plan.paper, rule=plan.select)), plan.paper)
    diverged = f", {completion.diverged:,} of them diverged" if completion.diverged else ""
    console.print(
        f"{plan.title}: {completion.finished:,} of {completion.planned:,} runs{diverged}, in {completion.path}",
        highlight=False,
        markup=False,
    )
    errors.print(f"raan report {completion.path} --out report.html shows them.", highlight=False, markup=False)
