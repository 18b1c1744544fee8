"""What all interactive figures share: a specification that Plotly draws, its texts made safe, its colours named.

Plotly reads a little HTML in every text, so whatever comes from a user goes through `plain`. Colours are named by
the page's variables, which follow the reader's light or dark scheme.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from raan.report.palette import SYMBOLS, colour, marker
from raan.report.tables import Table

Numbers = Mapping[str, int]
"""The number of each method in the whole report: its colour and marker."""


@dataclass(frozen=True)
class Chart:
    """A figure: its title, what it shows in words, Plotly's data and layout, and its numbers as a table."""

    title: str
    label: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    numbers: Table | None = None


def plain(text: object) -> str:
    """Text that Plotly shows as it is."""
    return html.escape(str(text), quote=False)


def categories(names: Sequence[Sequence[object]]) -> dict[str, Any]:
    """An axis of names in parts, such as class and attribute: from the top down, a line for each part.

    Long parts are cut to leave room for the drawing; the values on the axis are the whole names, by `category`.
    """
    return {
        "type": "category",
        "autorange": "reversed",
        "showgrid": False,
        "tickmode": "array",
        "tickvals": [category(parts) for parts in names],
        "ticktext": ["<br>".join(plain(_cut(str(part))) for part in parts) for parts in names],
    }


def category(parts: Sequence[object]) -> str:
    """The value on a `categories` axis that stands for a name."""
    return plain(" · ".join(map(str, parts)))


def _cut(text: str, most: int = 24) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def points(
    method: str, x: Sequence[Any], y: Sequence[Any], said: Sequence[str], numbers: Numbers
) -> dict[str, Any]:
    """Markers of a method, with what is said where the reader points."""
    number = numbers[method]
    named = f"var(--method-{colour(number)})"
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain(method),
        "legendgroup": str(number),
        "x": list(x),
        "y": list(y),
        "hovertext": said,
        "hoverinfo": "text",
        "marker": {"color": named, "symbol": SYMBOLS[marker(number)], "size": 8},
        "line": {"color": named, "width": 2},
    }


def bars(reach: Sequence[float], number: int) -> dict[str, Any]:
    """Error bars in a method's colour."""
    return {
        "type": "data",
        "array": list(reach),
        "color": f"var(--method-{colour(number)})",
        "thickness": 1.5,
        "width": 3,
    }


def layout_of(across: str, up: str, height: int) -> dict[str, Any]:
    """What all figures have in common."""
    axis = {
        "gridcolor": "var(--line)",
        "zerolinecolor": "var(--muted)",
        "linecolor": "var(--line)",
        "zeroline": False,
        "automargin": True,
    }
    return {
        "height": height,
        "margin": {"l": 12, "r": 12, "t": 12, "b": 12},
        "showlegend": False,
        "hovermode": "closest",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--ink)", "size": 13},
        "hoverlabel": {
            "align": "left",
            "bgcolor": "var(--raised)",
            "bordercolor": "var(--muted)",
            "font": {"color": "var(--ink)"},
        },
        "xaxis": {**axis, "title": {"text": across}},
        "yaxis": {**axis, "title": {"text": up}},
    }
