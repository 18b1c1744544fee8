"""The paper's pictures from the plain data that `reproduce.figures.run` computes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from raan.io.files import write_whole
from raan.report.charts import COLOURS

ATTRIBUTE_COLOURS = ("#dc2626", "#2563eb", *COLOURS)


MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "p", "h", "<", ">")


def draw(content: Mapping[str, Any], path: str | Path) -> None:
    """The picture, as the file's ending says: .png, .svg or .pdf."""
    figure = DRAWN[content["kind"]](content)
    kind = Path(path).suffix.lower().removeprefix(".") or "png"
    # An SVG without the time of its drawing: the same numbers give the same picture.
    metadata = {"Date": None} if kind == "svg" else None
    with write_whole(path) as part:
        figure.savefig(part, format=kind, dpi=150, metadata=metadata)


def toy_picture(content: Mapping[str, Any]) -> Figure:
    """Figure 1: colours are the attribute, shapes the label, the background what is predicted."""
    panels = content["panels"]
    figure = Figure(figsize=(3.4 * len(panels), 3.5), dpi=150, layout="constrained")
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
    """Figure 2: a row for each data set and learning rate, a map for each method, coloured by the attribute."""
    several = content["representations"]
    rows = list(dict.fromkeys((each["data"], each["learning_rate"]) for each in several))
    methods = list(dict.fromkeys(each["method"] for each in several))
    figure = Figure(figsize=(2.7 * len(methods), 2.9 * len(rows)), dpi=100, layout="constrained")
    grid = figure.subplots(len(rows), len(methods), squeeze=False)
    for each in several:
        axes = grid[rows.index((each["data"], each["learning_rate"]))][methods.index(each["method"])]
        _scatter(axes, each["map"])
        axes.set(xticks=[], yticks=[])
        axes.set_title("\n".join([_trained(each, between="\n"), _told(each)]), fontsize=7)
    handles = [
        figure.axes[0].scatter([], [], s=20, color=colour, label=name)
        for name, colour in zip(several[0]["attributes"], ATTRIBUTE_COLOURS, strict=False)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    return figure


def _trained(each: Mapping[str, Any], between: str = ", ") -> str:
    """The data, the learning rate and the method."""
    return f"{each['data']}, rate {each['learning_rate']:g}{between}{each['method']}"


def _told(each: Mapping[str, Any]) -> str:
    """The three measures: a linear probe's AUC, that on the map which is drawn, and how mixed neighbours are."""
    return (
        f"AUC {_spread(each['separability'], 3)}, on the map {_spread(each['separability_on_the_map'], 3)}\n"
        f"neighbours mixed {_spread(each['mixing'], 3)} (1 = as by chance)"
    )


def convergence_picture(content: Mapping[str, Any]) -> Figure:
    """The theorem: above, a curve for each size and its rate from the curve's first point; below, local slopes."""
    panels: dict[tuple[str, str, float], list[Mapping[str, Any]]] = {}
    for curve in content["curves"]:
        panels.setdefault((curve["data"], curve["style"], curve["constant"]), []).append(curve)
    figure = Figure(figsize=(4.2 * len(panels), 6.4), dpi=100, layout="constrained")
    grid = figure.subplots(2, len(panels), squeeze=False, sharex="col", sharey="row", height_ratios=(3, 2))
    for (above, below), (title, curves) in zip(grid.T, panels.items(), strict=True):
        for number, curve in enumerate(curves):
            colour, marker = COLOURS[number + 1], MARKERS[number + 1]
            _curve(above, curve, content["exponent"], colour, marker)
            _local_slopes(below, curve, colour, marker)
        above.set(yscale="log")
        above.set_xscale("log", base=2)
        above.set_title(_setting(*title), fontsize=9)
        above.legend(frameon=False, fontsize=8, loc="lower left")
        below.axhline(content["exponent"], color="#6b7280", linestyle="--", linewidth=0.8)
        below.set(xlabel="steps T")
        for axes in (above, below):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(alpha=0.25)
    grid[0][0].set_ylabel("mean squared norm of the exact gradient")
    grid[1][0].set_ylabel("slope between successive T")
    return figure


def _local_slopes(axes: Axes, curve: Mapping[str, Any], colour: str, marker: str) -> None:
    """The slopes between successive T, at the middle of each step, with their standard errors over seeds."""
    steps, local = np.array(curve["steps"]), curve["local_slopes"]
    means, errors = ([each[key] or 0 for each in local] for key in ("mean", "standard_error"))
    axes.errorbar(
        np.sqrt(steps[1:] * steps[:-1]), means, yerr=errors, color=colour, marker=marker, markersize=4, linewidth=1
    )


STYLES = {"sgd": "SGD-style", "adam": "Adam-style", "amsgrad": "AMSGrad"}


def _setting(data: str, style: str, constant: float) -> str:
    """What a panel shows."""
    return f"{data}, {STYLES[style]}, learning rate {constant:g} × n$^{{-2/5}}$ T$^{{-3/5}}$"


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
        *_change_lines(content.get("representations", ())),
        *(_curve_line(curve, content["exponent"]) for curve in content.get("curves", ())),
        *(_size_line(each, content["exponent"]) for each in content.get("sizes", ())),
        *(CONVERGENCE if content.get("curves") else ()),
    ]


CONVERGENCE = (
    "the theorem is an upper bound up to a constant: a local slope above -0.4 that does not last agrees with it, "
    "and so does a steeper one; a finite T can neither confirm nor refute it",
)


def _representation_line(each: Mapping[str, Any]) -> str:
    """How well one representation tells the attribute, and how good its predictions are."""
    within = ", ".join(f"{name}: {_spread(told, 3)}" for name, told in each["separability_within_class"].items())
    return (
        f"{_trained(each)}: AUC of the attribute {_spread(each['separability'], 3)} ({within}), on the map "
        f"{_spread(each['separability_on_the_map'], 3)}, neighbours mixed {_spread(each['mixing'], 3)}; test "
        f"accuracy {_spread(each['accuracy'], 3)}, worst group {_spread(each['worst_group_accuracy'], 3)}, EO gap "
        f"{_spread(each['equalized_odds_gap'], 3)}"
    )


MEASURES = {
    "separability": "AUC of the attribute",
    "separability_on_the_map": "on the map",
    "mixing": "neighbours mixed",
}


def _change_lines(several: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What each method changes against the first of the same data and rate, paired over seeds."""
    first: dict[tuple[str, float], Mapping[str, Any]] = {}
    for each in several:
        plain = first.setdefault((each["data"], each["learning_rate"]), each)
        shifts = [f"{name} {_shift(plain[key], each[key])}" for key, name in MEASURES.items()]
        if plain is not each:
            yield f"{_trained(each)} against {plain['method']}, paired over seeds ± s.e.: {', '.join(shifts)}"


def _shift(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    """The mean difference over seeds and its standard error."""
    if before is None or after is None:
        return "unknown"
    shift = np.subtract(after["values"], before["values"])
    error = f" ± {shift.std(ddof=1) / len(shift) ** 0.5:.3f}" if len(shift) > 1 else ""
    return f"{shift.mean():+.3f}{error}"


def _curve_line(curve: Mapping[str, Any], exponent: float) -> str:
    """The slope of one curve and its local slopes beside the theorem's."""
    setting = (
        f"{curve['data']}, {curve['style']}, n = {curve['rows']}, learning rate {curve['constant']:g} x alpha, "
        f"T = {curve['steps'][0]:,} to {curve['steps'][-1]:,}"
    )
    local = ", ".join(f"{each['mean']:.2f}" for each in curve["local_slopes"])
    return f"{setting}: slope {_sure(curve['slope'])}; between successive T {local}; theorem {exponent:g}"


def _size_line(each: Mapping[str, Any], exponent: float) -> str:
    """The power of n at one number of steps beside the theorem's."""
    setting = f"{each['data']}, {each['style']}, learning rate {each['constant']:g} x alpha, T = {each['steps']:,}"
    return f"{setting}: power of n {_sure(each['slope'])}; theorem {-exponent:g}"


def _sure(slope: Mapping[str, Any]) -> str:
    """A slope and its 95 % interval over seeds, where there is one."""
    if slope["interval"] is None:
        return f"{slope['mean']:.2f}"
    low, high = slope["interval"]
    return f"{slope['mean']:.2f} [{low:.2f}, {high:.2f}]"
