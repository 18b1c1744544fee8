"""The main job: what raan does, on real data, in a few minutes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from raan.cli.console import console, errors, progress_bar, waiting
from raan.errors import needing

if TYPE_CHECKING:
    from raan.fairness.metrics import Metrics
    from raan.report.reading import Reading
    from raan.results.records import Record
    from raan.study.study import Study


def demo(
    data: Annotated[Path | None, typer.Option(help="Folder with adult.data and adult.test.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("raan-demo"),
    seeds: Annotated[int, typer.Option(min=2, help="How many splits and starts.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each of the two stages.")] = 6,
    toy: Annotated[bool, typer.Option("--toy", help="Run on the toy instead of Adult.")] = False,
) -> None:
    """Train Vanilla, RAAN and RL-RAAN on Adult, five seeds: the table, the trade-off and a figure."""
    with waiting("starting"), needing("raan demo"):
        import torch  # noqa: F401

        from raan.report.figures import trade_off
    from raan.report.content import Content
    from raan.report.outline import readings_of

    study = _study(data, seeds, epochs, toy)
    (reading,) = readings_of(Content(study.title, _run(study), rule=study.select))
    _show(reading)
    trade_off(reading, out / "trade-off.png")
    console.print(f"The trade-off is drawn in {out / 'trade-off.png'}", markup=False, highlight=False)


def _study(data: Path | None, seeds: int, epochs: int, toy: bool) -> Study:
    """The packaged study, on Adult or where that is not to be had on the toy, with the data shown."""
    from dataclasses import replace

    from raan.data.download.find import DataUnavailable
    from raan.studies import FOLDER
    from raan.study.plan import packs
    from raan.study.study import Data, read_study
    from raan.study.training import problem_of

    study = read_study(FOLDER / "demo.toml")
    adult = replace(study.data[0], options={} if data is None else {"path": str(data)})
    drawn = Data("toy", "toy", {"rows": 4000, "sizes": [2400, 800, 800]}, "linear")
    first, second = (replace(stage, epochs=epochs) for stage in (study.first, study.second))
    study = replace(study, seeds=tuple(range(seeds)), first=first, second=second, data=(drawn if toy else adult,))
    try:
        problem = problem_of(packs(study)[0])
    except DataUnavailable as error:
        errors.print("[bold yellow]Adult is not to be had here, so this runs on the toy instead.[/]")
        errors.print(str(error), markup=False, highlight=False)
        study = replace(study, data=(drawn,))
        problem = problem_of(packs(study)[0])
    console.print(problem.table.describe(), highlight=False)
    return study


def _run(study: Study) -> list[Record]:
    """The runs of the study, which nothing keeps."""
    from raan.study.execute import run_in_memory

    with progress_bar() as bar:
        task = bar.add_task("training", total=None)
        return run_in_memory(
            study, progress=lambda done, total, runs: bar.update(task, completed=done, total=total)
        )


def _show(reading: Reading) -> None:
    """The table, and what it says in words."""
    from rich.table import Table as Grid

    chosen = {name: choice.test for name, choice in reading.chosen.items()}
    data, seeds = reading.comparison.data, len(reading.start.seeds)
    drop = 100 * reading.comparison.rule.accuracy_drop
    grid = Grid(
        title=f"{data}: test rows, {seeds} seeds, mean ± standard deviation (%)",
        caption="Stage one is plain training, where all start. Then, for each method and seed, the point with the "
        "best worst-group accuracy on validation rows, over four configurations and their training paths, "
        f"among those within {drop:g} points of stage one's accuracy.",
        title_justify="left",
        caption_justify="left",
    )
    for column in ("method", "accuracy", "DP gap", "EO gap (sum)", "worst group"):
        grid.add_column(column, justify="left" if column == "method" else "right")
    for name, metrics in {"stage one": reading.start.test, **chosen}.items():
        grid.add_row(name, *_cells(metrics))
    console.print(grid)
    console.print(_words(chosen), highlight=False)


def _cells(metrics: Metrics) -> list[str]:
    parts = (
        metrics.accuracy,
        metrics.demographic_parity_gap,
        metrics.equalized_odds_gap,
        metrics.worst_group_accuracy,
    )
    return [f"{100 * part.mean():.1f} ± {100 * part.std(ddof=1):.1f}" for part in parts]


def _words(chosen: dict[str, Metrics]) -> str:
    """What the table says, in a sentence for each method."""
    plain = chosen["Vanilla"]
    lines = []
    for name, metrics in chosen.items():
        if name != "Vanilla":
            gain = 100 * (metrics.worst_group_accuracy - plain.worst_group_accuracy)
            cost = 100 * (metrics.accuracy - plain.accuracy)
            lines.append(
                f"{name} against Vanilla, seed by seed: the worst-served group {gain.mean():+.1f} ± "
                f"{gain.std(ddof=1):.1f} points, accuracy {cost.mean():+.1f} ± {cost.std(ddof=1):.1f} points."
            )
    return "\n".join(lines)
