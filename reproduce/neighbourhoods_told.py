"""What `reproduce.neighbourhoods` found: the tables and the figure of docs/guides/when-neighbourhoods.md."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from raan.lab.results.statistics import estimate
from reproduce.mixtures import MIXTURES, Mixture
from reproduce.neighbourhoods import DROPS, EVEN, FAMILIES, FIXED, ROOT, read

PAGE = ROOT / "docs" / "guides" / "when-neighbourhoods.md"
FIGURE = ROOT / "docs" / "images" / "when-neighbourhoods.png"
BEGIN, END = "<!-- {} -->", "<!-- end -->"
RIVALS = {"threshold": "#6b7280", "cells": "#d97706", "FairFrontier": "#db2777"}
SHOWN = {"0.05": "#1d4ed8", "0.2": "#0d9488", "1": "#84cc16"}
KINDS = {
    "correlated": "class and attribute correlated",
    "few": "few rows in two cells",
    "natural": "unmodified data",
    "groups": "four groups",
}


def worst(counts: Any) -> float:
    """The accuracy of the worst cell, in per cent."""
    table = np.array(counts)
    return float(100 * min((of_class[:, y] / of_class.sum(1)).min() for y, of_class in enumerate(table)))


class Told(NamedTuple):
    """A mean over seeds, its standard error, and whether its 95 % t-interval leaves out nothing at all."""

    mean: float
    error: float
    settled: bool

    @staticmethod
    def of(values: Sequence[float]) -> "Told":
        """Of the seeds' values."""
        found = estimate(np.array(values))
        return Told(found.mean, found.deviation / len(values) ** 0.5, found.significant)

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.error:.1f}"

    @property
    def signed(self) -> str:
        """With its sign; bold where that is settled."""
        text = f"{self.mean:+.1f} ± {self.error:.1f}"
        return f"**{text}**" if self.settled else text


Records = Sequence[dict[str, Any]]


def of(records: Records, mixture: Mixture) -> list[dict[str, Any]]:
    """The mixture's lines."""
    return [r for r in records if (r["kind"], r["data"], r["title"]) == mixture[:3]]


def gain(records: Records, allowance: str, rival: str) -> Told:
    """What neighbourhoods reach beyond a rival, paired over seeds."""
    chosen = [record["chosen"][allowance] for record in records]
    return Told.of([worst(each["neighbourhoods"]) - worst(each[rival]) for each in chosen])


def shape(records: Records, temperature: str) -> Told:
    """What a finite temperature alone changes: all else fixed, nothing chosen, no threshold."""
    return Told.of([worst(r["fixed"][temperature]) - worst(r["fixed"][EVEN]) for r in records])


def reached(records: Records, allowance: str) -> Iterator[str]:
    """A table: the worst group of every family, and how far neighbourhoods are from each rival."""
    yield f"| worst group, {allowance} | {' | '.join(FAMILIES)} | {' | '.join(f'− {r}' for r in RIVALS)} | seeds |"
    yield "|---" * (2 + len(FAMILIES) + len(RIVALS)) + "|"
    for mixture in MIXTURES:
        own = of(records, mixture)
        if len(own) > 1:
            cells = [str(Told.of([worst(r["chosen"][allowance][name]) for r in own])) for name in FAMILIES]
            cells += [gain(own, allowance, rival).signed for rival in RIVALS]
            yield f"| {mixture.data}: {mixture.title} | {' | '.join(cells)} | {len(own)} |"


def shapes(records: Records) -> Iterator[str]:
    """A table: what each finite temperature alone changes."""
    finite = [each for each in FIXED if each != EVEN]
    each_minus = " | ".join(f"{each} − inf" for each in finite)
    yield f'| "group", no threshold | worst group at inf | {each_minus} |'
    yield "|---" * (2 + len(finite)) + "|"
    for mixture in MIXTURES:
        own = of(records, mixture)
        if len(own) > 1:
            even = Told.of([worst(record["fixed"][EVEN]) for record in own])
            cells = [shape(own, temperature).signed for temperature in finite]
            yield f"| {mixture.data}: {mixture.title} | {even} | {' | '.join(cells)} |"


def summed(records: Records) -> Iterator[str]:
    """A table: in how many mixtures neighbourhoods are ahead of a rival, or behind, with a settled sign."""
    yield "| | " + " | ".join(f"against {rival}: ahead | behind | mean" for rival in RIVALS) + " |"
    yield "|---" * (1 + 3 * len(RIVALS)) + "|"
    for (kind, title), allowance in product(KINDS.items(), DROPS):
        several = [own for m in MIXTURES if m.kind == kind and len(own := of(records, m)) > 1]
        cells = []
        for rival in RIVALS:
            gains = [gain(own, allowance, rival) for own in several]
            ahead = sum(each.settled and each.mean > 0 for each in gains)
            behind = sum(each.settled and each.mean < 0 for each in gains)
            mean = np.mean([each.mean for each in gains]) if gains else np.nan
            cells += [f"{ahead} of {len(gains)}", f"{behind}", f"{mean:+.1f}"]
        yield f"| {title}, {allowance} | {' | '.join(cells)} |"


TABLES: dict[str, Callable[[Records], Iterator[str]]] = {
    "summary": summed,
    "free": lambda records: reached(records, "free"),
    "within a point": lambda records: reached(records, "within a point"),
    "temperatures": shapes,
}


def written() -> str:
    """The page with its tables filled in."""
    text, records = PAGE.read_text(encoding="utf-8"), read()
    for name, table in TABLES.items():
        before, begin, rest = text.partition(BEGIN.format(name) + "\n")
        if begin:
            text = f"{before}{begin}\n" + "\n".join(table(records)) + f"\n\n{END}{rest.partition(END)[2]}"
    return text


def draw(records: Records) -> None:
    """A dot for each mixture and rival: what neighbourhoods reach beyond it; what the temperature alone does."""
    shown = [mixture for mixture in MIXTURES if len(of(records, mixture)) > 1]
    figure = Figure(figsize=(13, 0.33 * len(shown) + 1.8), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    for axes, allowance in zip(panels, DROPS, strict=False):
        for number, (rival, colour) in enumerate(RIVALS.items()):
            told = [gain(of(records, mixture), allowance, rival) for mixture in shown]
            _dots(axes, told, 0.22 * (number - 1), colour, f"minus {rival}")
        axes.set_title(f"neighbourhoods minus a rival,\nchosen on validation rows, {allowance}", fontsize=9)
    for number, (temperature, colour) in enumerate(SHOWN.items()):
        told = [shape(of(records, mixture), temperature) for mixture in shown]
        _dots(panels[2], told, 0.22 * (number - 1), colour, f"{temperature} minus inf")
    panels[2].set_title("the temperature alone,\nall else fixed, nothing chosen", fontsize=9)
    for axes in panels:
        axes.axvline(0, color="#6b7280", linewidth=0.8)
        axes.set_xlabel("worst-group accuracy (points)")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", alpha=0.25)
        axes.legend(fontsize=8, loc="lower right")
        axes.margins(y=0.02)
    panels[0].set_yticks(range(len(shown)), [f"{m.data}: {m.title}" for m in shown], fontsize=8)
    panels[0].invert_yaxis()
    figure.savefig(FIGURE, dpi=110)


def _dots(axes: Axes, told: Sequence[Told], shift: float, colour: str, label: str) -> None:
    """Means with their standard errors, one below the other."""
    places = np.arange(len(told)) + shift
    axes.errorbar(
        [each.mean for each in told],
        places,
        xerr=[each.error for each in told],
        fmt="o",
        color=colour,
        ms=4,
        lw=1,
        label=label,
    )


def write() -> None:
    """The page and its figure."""
    PAGE.write_text(written(), encoding="utf-8")
    draw(read())
