"""The main job: what raan does, on real data, in a few minutes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from raan.cli.console import console, errors, progress_bar

if TYPE_CHECKING:
    from raan.data.table import Table
    from raan.fairness.metrics import Metrics
    from raan.study.compare import Curves

TABLE_ALLOWANCE = 0.005


def demo(
    data: Annotated[Path | None, typer.Option(help="Folder with adult.data and adult.test.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("raan-demo"),
    seeds: Annotated[int, typer.Option(min=2, help="How many splits and starts.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each of the two stages.")] = 6,
    toy: Annotated[bool, typer.Option("--toy", help="Run on the toy instead of Adult.")] = False,
) -> None:
    """Train Vanilla, RAAN and RL-RAAN on Adult, five seeds: the table, the trade-off and a figure."""
    from raan.data.split import split, stack
    from raan.models.model import linear, mlp
    from raan.study.compare import compare, four_each
    from raan.training.train import Schedule

    table, sizes = _data(data, toy)
    console.print(table.describe(), highlight=False)
    rows = stack([split(table.rows, sizes, seed) for seed in range(seeds)])
    architecture = linear(table) if table.name == "toy" else mlp(table)
    schedule = Schedule(epochs=epochs)
    candidates = four_each()
    with progress_bar() as bar:
        tasks = {name: bar.add_task(name, total=None) for name in ("stage one", *candidates)}
        curves = compare(
            candidates,
            architecture,
            table,
            rows,
            range(seeds),
            schedule,
            schedule,
            progress=lambda name, done, total: bar.update(tasks[name], completed=done, total=total),
        )
    _show(table, curves)
    _draw(curves, out / "trade-off.png")


def _data(data: Path | None, toy: bool) -> tuple[Table, tuple[int, int, int]]:
    """Adult with the paper's split; the toy when asked for, or when Adult is not to be had."""
    from raan.data.download.find import DataUnavailable
    from raan.data.sets.adult import SPLIT, adult
    from raan.data.sets.toy import toy as draw_toy

    if not toy:
        try:
            return adult(data), SPLIT
        except DataUnavailable as error:
            errors.print("[bold yellow]Adult is not to be had here, so this runs on the toy instead.[/]")
            errors.print(str(error), markup=False, highlight=False)
    return draw_toy(rows=4000), (2400, 800, 800)


def _show(table: Table, curves: dict[str, Curves]) -> None:
    """The table, and what it says in words."""
    from rich.table import Table as Grid

    from raan.fairness.rule import Rule

    rule = Rule("worst_group", TABLE_ALLOWANCE)
    chosen = {name: curve.choose(rule) for name, curve in curves.items()}
    seeds = len(chosen["Vanilla"].accuracy)
    grid = Grid(
        title=f"{table.name}: test rows, {seeds} seeds, mean ± standard deviation (%)",
        caption="Stage one is plain training, where all start. Then, for each method and seed, the point with the "
        "best worst-group accuracy on validation rows, over four configurations and their training paths, "
        f"among those within {100 * TABLE_ALLOWANCE:g} points of stage one's accuracy.",
        title_justify="left",
        caption_justify="left",
    )
    for column in ("method", "accuracy", "DP gap", "EO gap (sum)", "worst group"):
        grid.add_column(column, justify="left" if column == "method" else "right")
    for name, metrics in {"stage one": curves["Vanilla"].start, **chosen}.items():
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


def _draw(curves: dict[str, Curves], path: Path) -> None:
    """The trade-off: what each allowance of accuracy buys, chosen on validation rows."""
    from raan.fairness.aims import AIMS
    from raan.fairness.rule import ALLOWANCES, Rule
    from raan.report.figures import trade_off

    points = {
        aim.metric: {
            name: [curve.choose(Rule(aim.key, allowance)) for allowance in ALLOWANCES]
            for name, curve in curves.items()
        }
        for aim in AIMS.values()
    }
    titles = {
        aim.metric: (aim.title, f"{'up' if aim.more_is_better else 'down'} and right is better")
        for aim in AIMS.values()
    }
    trade_off(points, titles, path)
    console.print(f"The trade-off is drawn in {path}", highlight=False)
