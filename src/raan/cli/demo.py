"""The command `raan demo`: a small study on real data, in two minutes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from raan.cli.console import console, errors, progress_bar, waiting
from raan.cli.study import show_comparisons
from raan.errors import needing

if TYPE_CHECKING:
    from raan.lab.study.study import Study

MAX_WORKERS = 4
"""Processes that train side by side; there are only a few packs."""


def demo(
    data: Annotated[Path | None, typer.Option(help="Folder with adult.data and adult.test.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("raan-demo"),
    seeds: Annotated[int, typer.Option(min=2, help="How many splits and starts.")] = 5,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of each of the two stages. By default 6 and 3.")
    ] = None,
    toy: Annotated[bool, typer.Option("--toy", help="Run on the toy instead of Adult.")] = False,
) -> None:
    """Compare plain training, one threshold, FairFrontier, RAAN and RL-RAAN on Adult: a table and a figure."""
    with waiting("starting"), needing("raan demo"):
        import torch  # noqa: F401

    from raan.io.files import write_text
    from raan.lab.study.run import run_in_memory
    from raan.report.charts import as_file
    from raan.report.content import Content
    from raan.report.method_charts import trade_off_charts
    from raan.report.outline import comparisons_of, numbered

    study = _study(data, seeds, epochs, toy)
    with progress_bar() as bar:
        task = bar.add_task("training", total=None)
        records = run_in_memory(
            study,
            workers=min(os.cpu_count() or 1, MAX_WORKERS),
            progress=lambda done, total, runs: bar.update(task, completed=done, total=total),
        )
    (comparison,) = comparisons_of(Content(study.title, records, rule=study.select))
    show_comparisons([comparison])
    write_text(out / "trade-off.svg", as_file(trade_off_charts(comparison, numbered(records))))
    console.print(f"The trade-off is drawn in {out / 'trade-off.svg'}", markup=False, highlight=False)


def _study(data: Path | None, seeds: int, epochs: int | None, toy: bool) -> Study:
    """Read the packaged study and print its data: Adult or, if that is not available, toy data."""
    from dataclasses import replace

    from raan.data.download import DataUnavailable
    from raan.lab.studies import FOLDER
    from raan.lab.study.plan import packs
    from raan.lab.study.study import Data, read_study
    from raan.lab.study.training import load_problem

    study = read_study(FOLDER / "demo.toml")
    adult = replace(study.data[0], options={} if data is None else {"path": str(data)})
    drawn = Data("toy", "toy", {"rows": 4000, "sizes": [2400, 800, 800]}, "linear")
    first, second = (replace(stage, epochs=epochs or stage.epochs) for stage in (study.first, study.second))
    study = replace(study, seeds=tuple(range(seeds)), first=first, second=second, data=(drawn if toy else adult,))
    try:
        problem = load_problem(packs(study)[0])
    except DataUnavailable as error:
        errors.print("[bold yellow]Adult is not available here, so this runs on toy data instead.[/]")
        errors.print(str(error), markup=False, highlight=False)
        study = replace(study, data=(drawn,))
        problem = load_problem(packs(study)[0])
    console.print(problem.table.describe(), highlight=False)
    return study
