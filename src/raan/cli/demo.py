"""The main job: what raan does, on real data, in two minutes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from raan.cli.console import console, errors, progress_bar, waiting
from raan.errors import needing

if TYPE_CHECKING:
    import numpy as np

    from raan.fairness.aims import Measure
    from raan.lab.results.records import Record
    from raan.lab.study.study import Study
    from raan.report.reading import Reading


MOST_WORKERS = 4
"""Processes that train side by side; there are few packs."""


def demo(
    data: Annotated[Path | None, typer.Option(help="Folder with adult.data and adult.test.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("raan-demo"),
    seeds: Annotated[int, typer.Option(min=2, help="How many splits and starts.")] = 5,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of each of the two stages. By default 6 and 3.")
    ] = None,
    toy: Annotated[bool, typer.Option("--toy", help="Run on the toy instead of Adult.")] = False,
) -> None:
    """Plain training, one threshold, FairFrontier, RAAN and RL-RAAN on Adult: a table and the trade-off."""
    with waiting("starting"), needing("raan demo"):
        import torch  # noqa: F401

    from raan.io.files import write_text
    from raan.report.charts import as_file
    from raan.report.content import Content
    from raan.report.method_charts import trade_off_charts
    from raan.report.outline import numbered, readings_of

    study = _study(data, seeds, epochs, toy)
    records = _run(study)
    (reading,) = readings_of(Content(study.title, records, rule=study.select))
    _show(reading)
    write_text(out / "trade-off.svg", as_file(trade_off_charts(reading, numbered(records))))
    console.print(f"The trade-off is drawn in {out / 'trade-off.svg'}", markup=False, highlight=False)


def _study(data: Path | None, seeds: int, epochs: int | None, toy: bool) -> Study:
    """The packaged study, on Adult or where that is not to be had on the toy, with the data shown."""
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
        errors.print("[bold yellow]Adult is not to be had here, so this runs on the toy instead.[/]")
        errors.print(str(error), markup=False, highlight=False)
        study = replace(study, data=(drawn,))
        problem = load_problem(packs(study)[0])
    console.print(problem.table.describe(), highlight=False)
    return study


def _run(study: Study) -> list[Record]:
    """The runs of the study, which nothing keeps."""
    from raan.lab.study.run import run_in_memory

    with progress_bar() as bar:
        task = bar.add_task("training", total=None)
        return run_in_memory(
            study,
            workers=min(os.cpu_count() or 1, MOST_WORKERS),
            progress=lambda done, total, runs: bar.update(task, completed=done, total=total),
        )


def _show(reading: Reading) -> None:
    """The table, and what it says in words."""
    from rich.table import Table as Grid

    from raan.lab.results.summary import describe_conditions

    shown = _shown()
    data, seeds = reading.comparison.data, len(reading.start.seeds)
    drop = 100 * reading.comparison.rule.accuracy_drop
    grid = Grid(
        title=f"{data}: test rows, {seeds} seeds, mean ± standard error (%)",
        caption="Stage one is plain training, where all start. Then, for each method and seed, the point with the "
        "best worst-group accuracy on validation rows, over the method's settings, steps and thresholds, "
        f"among those that lose at most {drop:g} points of stage one's accuracy there, noise considered. "
        + " ".join(describe_conditions(reading.comparison.records)),
        title_justify="left",
        caption_justify="left",
    )
    for column in ("method", *(measure.short for measure in shown)):
        grid.add_column(column, justify="left" if column == "method" else "right")
    for name, choice in {"stage one": reading.start, **reading.chosen}.items():
        grid.add_row(name, *(_level(100 * measure.of(choice.test)) for measure in shown))
    console.print(grid)
    console.print(_words(reading), highlight=False)


def _shown() -> list[Measure]:
    """The columns: accuracy, and the aims but equal opportunity, which is half of equalized odds."""
    from raan.fairness.aims import MEASURES

    return [measure for measure in MEASURES if measure.metric != "equal_opportunity_gap"]


def _level(values: np.ndarray, sign: str = "") -> str:
    """Mean and standard error over seeds."""
    return f"{values.mean():{sign}.1f} ± {values.std(ddof=1) / len(values) ** 0.5:.1f}"


def _words(reading: Reading) -> str:
    """What the table says against one common threshold, a sentence for each method, and what may be luck."""
    from scipy.stats import t as student  # type: ignore[import-untyped]

    against, seeds = "Plain + threshold", len(reading.start.seeds)
    plain = reading.chosen[against].test
    lines = []
    for name in reading.chosen:
        if name not in ("Vanilla", against):
            shifts = (
                f"{measure.short} {_level(100 * (measure.of(reading.chosen[name].test) - measure.of(plain)), '+')}"
                for measure in _shown()
            )
            lines.append(f"{name} against {against}, seed by seed, in points: {', '.join(shifts)}.")
    sure = float(student.ppf(0.975, seeds - 1))
    lines.append(f"With {seeds} seeds, a difference of less than {sure:.1f} standard errors may well be chance.")
    return "\n".join(lines)
