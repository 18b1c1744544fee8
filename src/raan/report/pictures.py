"""The paper's pictures from the plain data that `raan.study.pictures` computes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from raan.report.drawn import save_figure
from raan.report.palette import COLOURS, MARKERS

ATTRIBUTE_COLOURS = ("#dc2626", "#2563eb", *COLOURS)


def draw(content: Mapping[str, Any], path: str | Path) -> None:
    """The picture, as the file's ending says: .png, .svg or .pdf."""
    figure = DRAWN[content["kind"]](content)
    save_figure(figure, path)


def toy_picture(content: Mapping[str, Any]) -> Figure:
    """Figure 1: colours are the attribute, shapes the label, the background what is predicted."""
    panels = content["panels"]
    figure = Figure(figsize=(3.4 * len(panels), 3.5), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _toy_panel(axes, panel)
    return figure


def _toy_panel(axes: Axes, panel: Mapping[str, Any]) -> None:
    """One draw under what is predicted where."""
    across, up = np.meshgrid(np.linspace(-2, 2, 200), np.linspace(-4, 4, 200))
    first, second = panel["normal"]
    triangles = first * across + second * up + panel["offset"] > 0
    axes.contourf(across, up, triangles, levels=1, colors=["#fef3c7", "#d1fae5"])
    _scatter(axes, panel, by_shape=True)
    axes.set(xlim=(-2, 2), ylim=(-4, 4), xticks=[], yticks=[])
    axes.set_title(f"{panel['title']}\n{_spread(panel['angle'], 0)}° off the shapes' boundary", fontsize=9)


def _scatter(axes: Axes, points: Mapping[str, Any], by_shape: bool = False) -> None:
    """Points coloured by their attribute; with `by_shape`, their label is their shape."""
    x, y, label, attribute = (np.array(points[name]) for name in ("x", "y", "label", "attribute"))
    shapes = MARKERS[0] + MARKERS[3] if by_shape else MARKERS[0]
    for group in np.unique(attribute[attribute >= 0]):
        for shape, marker in enumerate(shapes):
            here = (attribute == group) & ((label == shape) | (not by_shape))
            axes.scatter(
                x[here], y[here], s=9, marker=marker, color=ATTRIBUTE_COLOURS[group], alpha=0.5, linewidths=0
            )


def representation_picture(content: Mapping[str, Any]) -> Figure:
    """Figure 2: a row for each data set, a map for each method, coloured by the attribute."""
    several = content["representations"]
    names, methods = (list(dict.fromkeys(each[key] for each in several)) for key in ("data", "method"))
    figure = Figure(figsize=(3.6 * len(methods), 3.5 * len(names)), layout="constrained")
    grid = figure.subplots(len(names), len(methods), squeeze=False)
    for each in several:
        axes = grid[names.index(each["data"])][methods.index(each["method"])]
        _scatter(axes, each["map"])
        axes.set(xticks=[], yticks=[])
        axes.set_title(f"{each['data']}, {each['method']}\n{_told(each)}", fontsize=9)
    handles = [
        figure.axes[0].scatter([], [], s=20, color=colour, label=name)
        for name, colour in zip(several[0]["attributes"], ATTRIBUTE_COLOURS, strict=False)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    return figure


def _told(each: Mapping[str, Any]) -> str:
    """How well the attribute can be told: of all rows, and within each class."""
    within = [f"{name}: {_spread(told, 3)}" for name, told in each["separability_within_class"].items()]
    return "\n".join([f"AUC of the attribute {_spread(each['separability'], 3)}", *within])


def convergence_picture(content: Mapping[str, Any]) -> Figure:
    """The theorem: a curve for each size, and a line of its rate from the curve's first point."""
    panels: dict[tuple[str, str, float], list[Mapping[str, Any]]] = {}
    for curve in content["curves"]:
        panels.setdefault((curve["data"], curve["style"], curve["constant"]), []).append(curve)
    figure = Figure(figsize=(4.6 * len(panels), 3.9), layout="constrained")
    for axes, (title, curves) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        for number, curve in enumerate(curves):
            _curve(axes, curve, content["exponent"], COLOURS[number + 1], MARKERS[number + 1])
        axes.set(yscale="log", xlabel="steps T", ylabel="mean squared norm of the exact gradient")
        axes.set_xscale("log", base=2)
        axes.set_title(_setting(*title), fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, fontsize=8, loc="lower left")
    return figure


def _setting(data: str, style: str, constant: float) -> str:
    """What a panel shows."""
    return f"{data}, {style.upper()}-style, learning rate {constant:g} × n$^{{-2/5}}$ T$^{{-3/5}}$"


def _curve(axes: Axes, curve: Mapping[str, Any], exponent: float, colour: str, marker: str) -> None:
    """The means over seeds with their standard deviations; dashed, the theorem's rate from the first point."""
    steps, told = np.array(curve["steps"]), curve["squared_norm"]
    means, bars = [each["mean"] for each in told], [each["sd"] or 0 for each in told]
    slope, error = curve["slope"]["mean"], curve["slope"]["standard_error"]
    label = f"n = {curve['rows']}: slope {slope:.2f}{'' if error is None else f' ± {error:.2f}'}"
    axes.errorbar(steps, means, yerr=bars, fmt="none", ecolor=colour, elinewidth=0.6, alpha=0.4)
    axes.plot(steps, means, color=colour, marker=marker, markersize=5, label=label)
    axes.plot(steps, means[0] * (steps / steps[0]) ** exponent, color=colour, linestyle="--", linewidth=0.8)


def _spread(told: Mapping[str, Any] | None, digits: int) -> str:
    """Mean and standard deviation, as far as they are known."""
    if told is None:
        return "unknown"
    return f"{told['mean']:.{digits}f}" + ("" if told["sd"] is None else f" ± {told['sd']:.{digits}f}")


DRAWN: dict[str, Callable[[Mapping[str, Any]], Figure]] = {
    "toy": toy_picture,
    "representation": representation_picture,
    "convergence": convergence_picture,
}
"""By the study's kind."""


def told(content: Mapping[str, Any]) -> list[str]:
    """What the picture says in numbers, a line each; deviations are over seeds."""
    return [
        *(f"{panel['title']}: {_spread(panel['angle'], 1)}°" for panel in content.get("panels", ())),
        *(_representation_line(each) for each in content.get("representations", ())),
        *(_curve_line(curve, content["exponent"]) for curve in content.get("curves", ())),
    ]


def _representation_line(each: Mapping[str, Any]) -> str:
    """How well one representation tells the attribute, and how good its predictions are."""
    line = f"{each['data']}, {each['method']}: {_told(each)}, test accuracy {_spread(each['accuracy'], 3)}"
    return line.replace("\n", ", ")


def _curve_line(curve: Mapping[str, Any], exponent: float) -> str:
    """The slope of one curve beside the theorem's."""
    setting = (
        f"{curve['data']}, {curve['style']}, n = {curve['rows']}, learning rate {curve['constant']:g} x alpha"
    )
    slope = curve["slope"]
    return f"{setting}: slope {slope['mean']:.3f}, standard error {slope['standard_error']}; theorem {exponent:g}"
