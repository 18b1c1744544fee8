"""Figures as files, drawn by matplotlib without any global state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from raan.fairness.aims import ACCURACY, AIMS
from raan.report.content import Content
from raan.report.drawn import save_figure
from raan.report.explanation_charts import separability_in_words
from raan.report.measures import group_name
from raan.report.outline import numbered, readings_of
from raan.report.palette import COLOURS, MARKERS, colour, marker
from raan.report.reading import Reading, course, has_courses
from raan.report.reading import trade_off as lines_of
from raan.report.words import group_changes

FORMATS = ("png", "svg")


def trade_off(reading: Reading, path: str | Path) -> None:
    """Accuracy against each aim, a line for each method, a point for each allowance; mean over seeds, bars: sd."""
    save_figure(_trade_off(reading, numbered(reading.comparison.records)), path)


def write_figures(content: Content, folder: str | Path) -> list[Path]:
    """Every figure of a report as PNG and SVG; the files that were written."""
    numbers = numbered(content.records)
    figures: dict[str, Figure] = {}

    def add(name: str, figure: Figure) -> None:
        # Names of data sets may differ in letters alone that a file's name does not have.
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "figure"
        tries = (stem if place == 1 else f"{stem}-{place}" for place in count(1))
        figures[next(each for each in tries if each not in figures)] = figure

    for reading in readings_of(content):
        add(f"{reading.name}-trade-off", _trade_off(reading, numbers))
        if has_courses(reading):
            add(f"{reading.name}-path", _paths(reading, numbers))
        if reading.rivals:
            add(f"{reading.name}-groups", _groups(reading, numbers))
    for entry in (content.explanation or {}).get("weights", ()):
        add(f"{entry['data']}-{entry['method']}-weights", _weights(entry))
    for entry in (content.explanation or {}).get("maps", ()):
        add(f"{entry['data']}-{entry['name']}-map", _map(entry))
    written = [Path(folder) / f"{name}.{suffix}" for name in figures for suffix in FORMATS]
    for path in written:
        save_figure(figures[path.stem], path)
    return written


def plain(text: object) -> str:
    """Text that matplotlib shows as it is: dollars begin no formula, and a leading underscore hides no label."""
    return re.sub(r"^_", " _", str(text).replace("$", r"\$"))


def _trade_off(reading: Reading, numbers: Mapping[str, int]) -> Figure:
    """The figure of `trade_off`; the methods' numbers give colours and markers."""
    figure = Figure(figsize=(4.6 * len(AIMS), 3.9), layout="constrained")
    for axes, (key, aim) in zip(figure.subplots(1, len(AIMS), squeeze=False)[0], AIMS.items(), strict=True):
        for method, choices in lines_of(reading, key).items():
            points = [choice.test for choice in choices.values()]
            across = [(100 * p.accuracy.mean().item(), _deviation(p.accuracy)) for p in points]
            up = [(100 * aim.of(p).mean().item(), _deviation(aim.of(p))) for p in points]
            axes.errorbar(
                [mean for mean, _ in across],
                [mean for mean, _ in up],
                xerr=[spread for _, spread in across],
                yerr=[spread for _, spread in up],
                **_look(method, numbers[method]),
                markersize=5,
                elinewidth=0.6,
                linewidth=1.6,
            )
        better = f"{'up' if aim.more_is_better else 'down'} and right is better"
        axes.set(xlabel="test accuracy (%)", ylabel=f"{aim.title} (%)", title=better)
        axes.title.set_fontsize(9)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        _quiet(axes)
    return _with_legend(figure, axes)


def _paths(reading: Reading, numbers: Mapping[str, int]) -> Figure:
    """The aim and the accuracy along training, means over seeds."""
    figure = Figure(figsize=(9.2, 3.9), layout="constrained")
    measures = (reading.aim, ACCURACY)
    for axes, measure in zip(figure.subplots(1, 2), measures, strict=True):
        for method in reading.chosen:
            along = course(reading, method, measures)
            means = 100 * along.values[measure].mean(1)
            look = _look(method, numbers[method])
            axes.plot(along.step, means, **look, markersize=4, markevery=max(1, len(means) // 8), linewidth=1.6)
        axes.set(xlabel="step of the second stage", ylabel=f"{measure.title} (%)")
        axes.xaxis.set_major_locator(MaxNLocator(5))
        _quiet(axes)
    return _with_legend(figure, axes)


def _groups(reading: Reading, numbers: Mapping[str, int]) -> Figure:
    """The change of each group's accuracy against the baseline, with its interval."""
    groups = [group_name(c, a) for c in reading.comparison.classes for a in reading.comparison.attributes]
    figure = Figure(figsize=(7, 1.4 + len(groups) * (0.25 + 0.14 * len(reading.rivals))), layout="constrained")
    axes = figure.subplots()
    for place, method in enumerate(reading.rivals):
        changes = [change.estimate for _, _, change in group_changes(reading, method)]
        down = np.arange(len(groups)) + 0.7 * ((place + 0.5) / len(reading.rivals) - 0.5)
        reach = np.nan_to_num([100 * (change.high - change.mean) for change in changes])
        look = _look(method, numbers[method])
        axes.errorbar(
            [100 * change.mean for change in changes], down, xerr=reach, **look, linestyle="", elinewidth=1
        )
    axes.axvline(0, color="#374151", linewidth=0.8)
    axes.set_yticks(range(len(groups)), [plain(group) for group in groups])
    axes.invert_yaxis()
    axes.set_xlabel(f"change of accuracy against {plain(reading.against)}, in points")
    _quiet(axes)
    return _with_legend(figure, axes)


def _weights(entry: Mapping[str, Any]) -> Figure:
    """The weights of each class and attribute value, as boxes between their quantiles."""
    cells = entry["cells"]
    figure = Figure(figsize=(7, 1 + 0.5 * len(cells)), layout="constrained")
    axes = figure.subplots()
    names = ("whislo", "q1", "med", "q3", "whishi")
    boxes = [
        {**dict(zip(names, cell["quantiles"], strict=True)), "mean": cell["mean"], "fliers": []} for cell in cells
    ]
    axes.bxp(boxes, orientation="horizontal", showmeans=True, showfliers=False, widths=0.5)
    axes.set_yticks(
        range(1, len(cells) + 1), [plain(group_name(cell["class"], cell["attribute"])) for cell in cells]
    )
    axes.invert_yaxis()
    axes.set_xlabel("weight (1 is the average person's)")
    _quiet(axes)
    return figure


def _map(entry: Mapping[str, Any]) -> Figure:
    """The embedding in the plane: colours are the attribute, shapes the class."""
    figure = Figure(figsize=(5, 4.6), layout="constrained")
    axes = figure.subplots()
    x, y, label, attribute = (np.asarray(entry[name]) for name in ("x", "y", "label", "attribute"))
    for i, of_class in enumerate(entry["classes"]):
        for j, of_attribute in enumerate(entry["attributes"]):
            here = (label == i) & (attribute == j)
            sign, hue = MARKERS[(0, 3, 1, 2)[i % 4]], COLOURS[colour(j + 1)]
            name = plain(group_name(of_class, of_attribute))
            axes.scatter(x[here], y[here], s=10, marker=sign, color=hue, alpha=0.6, linewidths=0, label=name)
    axes.set(xticks=[], yticks=[])
    axes.set_title(plain(separability_in_words(entry)), fontsize=9)
    return _with_legend(figure, axes)


def _look(method: str, number: int) -> dict[str, Any]:
    return {"label": plain(method), "color": COLOURS[colour(number)], "marker": MARKERS[marker(number)]}


def _deviation(values: Any) -> float:
    """The sample standard deviation in percent, none of a single seed."""
    return 100 * values.std(ddof=1).item() if len(values) > 1 else 0.0


def _quiet(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def _with_legend(figure: Figure, axes: Axes) -> Figure:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)), frameon=False)
    return figure
