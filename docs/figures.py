"""Draw the pictures of the docs from committed results; `make figures`. `raan demo` draws the trade-off."""

import json
from itertools import product
from pathlib import Path

from matplotlib.figure import Figure

from raan.fairness.aims import AIMS
from reproduce import frontier
from reproduce.figures.draw import draw

DOCS = Path(__file__).parent
SHOWN = ("plain + threshold", "reweighing + threshold", "linear programme", "OxonFair", "FairFrontier")
COLOURS = ("#6b7280", "#b45309", "#0d9488", "#7c3aed", "#db2777")


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


if __name__ == "__main__":
    draw(json.loads((DOCS.parent / "results" / "figure-1.json").read_text()), DOCS / "images" / "toy.png")
    draw_rivals(DOCS / "images" / "rivals.png")
