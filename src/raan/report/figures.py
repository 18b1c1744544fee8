"""Figures as files, drawn by matplotlib without any global state."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from raan.fairness.metrics import Metrics
from raan.study.toy import Panel

COLOURS = ("#6b7280", "#d97706", "#2563eb", "#059669", "#db2777", "#7c3aed")
"""Told apart also by readers who see few colours; markers differ as well."""

MARKERS = ("o", "s", "D", "^", "v", "P")


def trade_off(
    curves: Mapping[str, Mapping[str, Sequence[Metrics]]], titles: Mapping[str, tuple[str, str]], path: str | Path
) -> None:
    """Accuracy against each metric, a line for each method, a point for each allowance; mean over seeds, bars: sd.

    `curves[metric][method]` has the chosen test metrics for each allowance, one value for each seed; `titles`
    says for each metric its axis' name and in which direction it is better.
    """
    figure = Figure(figsize=(4.6 * len(curves), 3.9), layout="constrained")
    for axes, (metric, methods) in zip(
        figure.subplots(1, len(curves), squeeze=False)[0], curves.items(), strict=True
    ):
        for (name, points), colour, marker in zip(methods.items(), COLOURS, MARKERS, strict=False):
            across = [(100 * p.accuracy.mean().item(), 100 * p.accuracy.std().item()) for p in points]
            up = [(100 * getattr(p, metric).mean().item(), 100 * getattr(p, metric).std().item()) for p in points]
            axes.errorbar(
                [mean for mean, _ in across],
                [mean for mean, _ in up],
                xerr=[spread for _, spread in across],
                yerr=[spread for _, spread in up],
                label=name,
                color=colour,
                marker=marker,
                markersize=5,
                elinewidth=0.6,
                linewidth=1.6,
            )
        label, better = titles[metric]
        axes.set(xlabel="test accuracy (%)", ylabel=f"{label} (%)", title=better)
        axes.title.set_fontsize(9)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(methods), frameon=False)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def toy_panels(panels: Sequence[Panel], path: str | Path) -> None:
    """The paper's Figure 1: colours are the attribute, shapes the label, the background what is predicted."""
    figure = Figure(figsize=(3.6 * len(panels), 3.5), layout="constrained")
    across, up = np.meshgrid(np.linspace(-2, 2, 200), np.linspace(-4, 4, 200))
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        (first, second), offset = panel.boundary.normal[0].tolist(), panel.boundary.offset[0].item()
        triangles = first * across + second * up + offset > 0
        axes.contourf(across, up, triangles, levels=1, colors=["#fef3c7", "#d1fae5"])
        table = panel.table
        for group, colour in enumerate(("#dc2626", "#2563eb")):
            for shape, marker in enumerate(("o", "^")):
                here = (table.label == shape) & (table.attribute == group)
                axes.scatter(*table.features[here].T, s=9, marker=marker, color=colour, alpha=0.6, linewidths=0)
        axes.set(xlim=(-2, 2), ylim=(-4, 4), xticks=[], yticks=[])
        axes.set_title(f"{panel.title}\n{panel.boundary.angle.item():.0f}° off the shapes' boundary", fontsize=9)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
