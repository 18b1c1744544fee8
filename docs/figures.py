"""Draw the pictures of the docs from committed results; `make figures`. `raan demo` draws the trade-off."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from raan import audit
from raan.fairness.measures import AIMS
from reproduce import coverage, frontier
from reproduce.figures.draw import draw

DOCS = Path(__file__).parent
SHOWN = ("plain + threshold", "reweighing + threshold", "linear programme", "OxonFair", "FairFrontier")
COLOURS = ("#6b7280", "#b45309", "#0d9488", "#7c3aed", "#db2777")


def draw_adult(path: Path) -> None:
    """Draw the README's example: its trade-off, and the groups' rates before and after on its test rows."""
    code = re.search(r"```python\n(.*?)```", (DOCS.parent / "README.md").read_text(encoding="utf-8"), re.S)
    example: dict[str, Any] = {}
    exec(code[1] if code else "", example)
    fair, truth = example["fair"], (example["y_test"], example["gender_test"])
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    left, *others = figure.subplots(1, 3, width_ratios=(1.2, 1, 1))
    fair.plot(left).set_title("one fit on Adult, in cross-validation", fontsize=10)
    for axes, model, title in zip(others, (fair.plain(), fair), ("before", "after"), strict=True):
        audit(truth[0], model.predict(example["X_test"]), truth[1]).plot(axes)
        axes.set_title(f"{title}: test rows, 95 % intervals", fontsize=10)
        axes.tick_params("x", rotation=20)
        axes.set_ylim(0, 100)
    figure.savefig(path, dpi=110)


def draw_rivals(path: Path) -> None:
    """What each method reaches at each allowance against what it really lost, over boosting, attribute unseen."""
    records = frontier.read()
    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 3)
    for place, (data, aim) in zip(axes.flat, product(("adult", "meps"), frontier.AIMED), strict=True):
        asked = [frontier.Asked(aim, drop, 0.0) for drop in frontier.DROPS]
        found = [dict(frontier.summarise(records, each)) for each in asked]
        start = found[0][data, False, "boosting", "plain"]
        for method, colour in zip(SHOWN, COLOURS, strict=True):
            cells = [start, *(each[data, False, "boosting", method] for each in found)]
            place.plot(
                [cell.lost for cell in cells], [cell.aim for cell in cells], "o-", color=colour, ms=4, label=method
            )
        place.set(
            title=f"{data.upper() if data == 'meps' else data.title()}", xlabel="accuracy really lost (points)"
        )
        place.set_ylabel(f"{AIMS[aim].title} (%)")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(SHOWN), frameon=False
    )
    figure.suptitle(
        "Gradient boosting that does not see the attribute: 0.5, 1 and 2 points allowed, with the floor"
    )
    figure.savefig(path, dpi=110)


def draw_coverage(path: Path) -> None:
    """How often claims failed on new rows against how often they may, by confidence."""
    records = coverage.read()
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    kinds = {
        "developed on": coverage.DEVELOPED,
        "simulated": tuple(coverage.SIMULATED),
        "kept apart": coverage.APART,
    }
    titles = {
        "exceeded": "accuracy budget exceeded",
        "broken": "guard broken",
        "worse": "aim worse than the baseline",
    }
    for axes, (field, title) in zip(figure.subplots(1, 3, sharey=True), titles.items(), strict=True):
        axes.plot([0, 50], [0, 50], color="black", linewidth=1, linestyle=":", label="nominal")
        for (kind, tables), colour in zip(kinds.items(), COLOURS[2:], strict=True):
            rows = coverage.collect(records, table=tables)
            found = [coverage.summarise(rows[rows[:, 1] == each]) for each in coverage.CONFIDENCES]
            allowed = [100 * (1 - each) for each in coverage.CONFIDENCES]
            axes.plot(
                allowed, [100 * getattr(each, field) for each in found], "o-", color=colour, ms=4, label=kind
            )
        axes.set(title=title, xlabel="allowed: 100 - confidence (%)")
    figure.axes[0].set_ylabel("of all choices on new rows (%)")
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(json.loads((DOCS.parent / "results" / "figure-1.json").read_text()), DOCS / "images" / "toy.png")
    draw_adult(DOCS / "images" / "adult.png")
    draw_rivals(DOCS / "images" / "rivals.png")
    draw_coverage(DOCS / "images" / "coverage.png")
