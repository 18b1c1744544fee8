"""Charts as SVG of our own: drawn once, for the page and for files, and readable without any script.

Colours are the page's variables, which follow the reader's light or dark scheme. Whatever a user wrote goes
through `escape`. A mark that belongs to a method carries its number, so that the page can hide and show it.
"""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from raan.report.tables import Table
from raan.text import replace_controls

COLOURS = (
    *("#6b7280", "#d97706", "#2563eb", "#059669", "#db2777", "#7c3aed"),
    *("#0891b2", "#b91c1c", "#65a30d", "#1e3a8a", "#92400e", "#c026d3"),
)
"""Distinguishable also by readers who see few colours; markers differ as well."""

DARK_COLOURS = (
    *("#a3abb8", "#f59e0b", "#60a5fa", "#34d399", "#f472b6", "#a78bfa"),
    *("#22d3ee", "#f87171", "#a3e635", "#e2e8f0", "#d6a77a", "#e879f9"),
)
"""The same, for a dark ground."""

GLYPHS = "●■◆▲▼✚✖★⬟⬢◀▶"
"""The markers as letters, in the order of `_SHAPES`."""

INK, MUTED, LINE, ACCENT = "var(--ink)", "var(--muted)", "var(--line)", "var(--accent)"

WIDTH, RIGHT, TOP, BOTTOM = 460, 14, 12, 46
"""The width of a drawing in its own units, and its margins but for the left one."""

Numbers = Mapping[str, int]
"""The number of each method in the whole report: its colour and marker."""

Key = tuple[str, str, int, bool]
"""An entry of a legend: name, colour, shape, and whether the marker is hollow."""


@dataclass(frozen=True)
class Chart:
    """A figure: its title, what it shows in words, the drawing, its numbers as a table, and its legend.

    Of charts with `buttons` the page shows the legend as buttons, once for several charts.
    """

    title: str
    label: str
    svg: Markup
    numbers: Table | None = None
    keys: Sequence[Key] = ()
    buttons: bool = False

    @property
    def legend(self) -> Markup:
        """The legend under the chart; nothing where buttons are it."""
        entries = "".join(
            f'<li><svg viewBox="-8 -8 16 16" width="14" height="14" aria-hidden="true">{_sample(key)}</svg> '
            f"{escape(key[0])}</li>"
            for key in (() if self.buttons else self.keys)
        )
        return Markup(f'<ul class="keys">{entries}</ul>') if entries else Markup("")


def colour(number: int) -> int:
    """Which colour the method of this number has."""
    return number % len(COLOURS)


def marker(number: int) -> int:
    """Which marker; the second round of colours meets other markers."""
    return (number + number // len(COLOURS)) % len(GLYPHS)


def hue(number: int) -> str:
    """The colour of a method or group as the page names it."""
    return f"var(--method-{colour(number)})"


def escape(text: object) -> str:
    """Text that SVG shows as it is."""
    return html.escape(replace_controls(str(text)))


def cut(text: str, most: int = 24) -> str:
    """Text short enough for an axis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def range_of(values: Any, spare: float = 0.08) -> tuple[float, float]:
    """The range of the finite values, with some space around them."""
    known = np.asarray(values, float).ravel()
    known = known[np.isfinite(known)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    more = max(spare * (high - low), 1e-3 * max(abs(low), abs(high)), 1e-9)
    return low - more, high + more


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between low and high, at most so many."""
    rough = max(high - low, 1e-12) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough)
    return [round(k * step, 12) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


class Canvas:
    """A drawing with two axes, filled one shape after the other."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        titles: tuple[str, str] = ("", ""),
        *,
        height: int = 340,
        names: Sequence[Sequence[str]] = (),
        ticked: bool = True,
    ) -> None:
        """`names` label the places 0, 1, ... of an upright axis of names, from the top down, in lines each."""
        self.x_range, self.y_range = x, (y[1], y[0]) if names else y
        self.left, self.height = (176 if names else 52), height
        self._parts: list[str] = []
        self._draw_axes(titles, names, ticked)

    def x(self, value: float) -> float:
        """Where a value is across the drawing."""
        low, high = self.x_range
        return round(self.left + (WIDTH - RIGHT - self.left) * (value - low) / (high - low), 1)

    def y(self, value: float) -> float:
        """Where a value is down the drawing."""
        low, high = self.y_range
        return round(self.height - BOTTOM - (self.height - BOTTOM - TOP) * (value - low) / (high - low), 1)

    def line(self, points: Any, colour: str, *, width: float = 2, dash: str = "", group: object = None) -> None:
        """Draw a line through points; undefined ones interrupt it."""
        drawn, pen = [], "M"
        for x, y in points:
            if not (math.isfinite(x) and math.isfinite(y)):
                pen = "M"
                continue
            drawn.append(f"{pen}{self.x(x)} {self.y(y)}")
            pen = "L"
        style = f"fill:none;stroke:{colour};stroke-width:{width}" + (f";stroke-dasharray:{dash}" if dash else "")
        if drawn:
            self._add(f'<path d="{"".join(drawn)}" style="{style}"{_of(group)}/>')

    def mark(
        self,
        x: float,
        y: float,
        colour: str,
        *,
        shape: int = 0,
        size: float = 5,
        hint: str = "",
        hollow: bool = False,
        opacity: float = 1,
        group: object = None,
        name: str = "",
    ) -> None:
        """Draw a marker; `hint` is shown where the reader points at it, `name` is its class for scripts."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        look = f"fill:none;stroke:{colour};stroke-width:2" if hollow else f"fill:{colour}"
        look += "" if opacity == 1 else f";opacity:{opacity}"
        at = f'transform="translate({self.x(x)} {self.y(y)})"'
        of = _of(group) + (f' class="{name}"' if name else "")
        said = f"<title>{escape(hint)}</title>" if hint else ""
        self._add(f'<g {at} style="{look}"{of}>{_shape(shape, size)}{said}</g>')

    def bar(self, ends: tuple[float, float], y: float, colour: str, *, thick: float = 12, hint: str = "") -> None:
        """Draw a horizontal bar between two values."""
        if not all(map(math.isfinite, ends)):
            return
        low, high = sorted(map(self.x, ends))
        said = f"<title>{escape(hint)}</title>" if hint else ""
        box = f'x="{low}" y="{self.y(y) - thick / 2:.1f}" width="{max(high - low, 0.5):.1f}" height="{thick}"'
        self._add(f'<rect {box} style="fill:{colour}">{said}</rect>')

    def svg(self) -> Markup:
        """Finish the drawing."""
        return Markup(
            f'<svg viewBox="0 0 {WIDTH} {self.height}" class="drawing" aria-hidden="true" '
            f'xmlns="http://www.w3.org/2000/svg" font-size="12" font-family="system-ui, sans-serif">'
            f"{''.join(self._parts)}</svg>"
        )

    def _add(self, part: str) -> None:
        self._parts.append(part)

    def _draw_axes(self, titles: tuple[str, str], names: Sequence[Sequence[str]], ticked: bool) -> None:
        top, bottom, right = TOP, self.height - BOTTOM, WIDTH - RIGHT
        muted, line = f"fill:{MUTED}", f"stroke:{LINE}"
        for value in ticks(min(self.x_range), max(self.x_range)) if ticked else ():
            x = self.x(value)
            strong = f"stroke:{MUTED}" if names and value == 0 else line
            self._add(f'<path d="M{x} {top}V{bottom}" style="{strong}"/>')
            self._add(
                f'<text x="{x}" y="{bottom + 16}" text-anchor="middle" style="{muted}">{_tick(value)}</text>'
            )
        for value in ticks(min(self.y_range), max(self.y_range)) if ticked and not names else ():
            y = self.y(value)
            self._add(f'<path d="M{self.left} {y}H{right}" style="{line}"/>')
            self._add(
                f'<text x="{self.left - 6}" y="{y + 4}" text-anchor="end" style="{muted}">{_tick(value)}</text>'
            )
        for place, lines in enumerate(names):
            start = self.y(place) + 4 - 7 * (len(lines) - 1)
            for row, words in enumerate(lines):
                at = f'x="{self.left - 8}" y="{start + 14 * row:.1f}" text-anchor="end"'
                self._add(f'<text {at} style="fill:{INK}">{escape(cut(words))}</text>')
        if titles[0]:
            middle = (self.left + right) / 2
            self._add(f'<text x="{middle}" y="{self.height - 8}" text-anchor="middle">{escape(titles[0])}</text>')
        if titles[1]:
            turned = f'transform="translate(14 {(top + bottom) / 2}) rotate(-90)"'
            self._add(f'<text {turned} text-anchor="middle">{escape(titles[1])}</text>')


def as_file(charts: Sequence[Chart]) -> str:
    """Charts side by side as one SVG file, with titles, the first one's legend, and colours of their own."""
    variables = {"--ink": "#1b1f27", "--muted": "#5b6472", "--line": "#e1e5ea", "--accent": "#1d4ed8"}
    variables |= {f"--method-{number}": value for number, value in enumerate(COLOURS)}
    style = ";".join(f"{name}:{value}" for name, value in variables.items())
    heights = [int(str(chart.svg).split('"')[1].split()[3]) for chart in charts]
    parts, across, below = [], WIDTH * len(charts), 24 + max(heights)
    for place, (chart, height) in enumerate(zip(charts, heights, strict=True)):
        size = f'x="{place * WIDTH}" y="24" width="{WIDTH}" height="{height}"'
        parts.append(
            f'<text x="{place * WIDTH + WIDTH / 2}" y="18" text-anchor="middle">{escape(chart.title)}</text>'
        )
        parts.append(str(chart.svg).replace("<svg ", f"<svg {size} ", 1))
    columns = max(1, across // 200)
    for place, key in enumerate(charts[0].keys):
        at = f"translate({12 + 200 * (place % columns)} {below + 14 + 18 * (place // columns)})"
        parts.append(f'<g transform="{at}">{_sample(key)}<text x="12" y="4">{escape(cut(key[0]))}</text></g>')
    whole = below + 18 * -(-len(charts[0].keys) // columns) + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {whole}" width="{across}" '
        f'height="{whole}" font-size="12" font-family="sans-serif"><style>svg{{{style}}}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _sample(key: Key) -> str:
    """The marker of a legend's entry."""
    _, colour, shape, hollow = key
    look = f"fill:none;stroke:{colour};stroke-width:2" if hollow else f"fill:{colour}"
    return f'<g style="{look}">{_shape(shape, 6)}</g>'


def _of(group: object) -> str:
    return "" if group is None else f' data-method="{escape(group)}"'


def _tick(value: float) -> str:
    return f"{value:,g}".replace("-", "−")


def _polygon(corners: int, turn: float = 0, inner: float = 1) -> list[tuple[float, float]]:
    """The corners of a regular polygon, or of a star where every other one lies further in."""
    angles = [2 * math.pi * (k / corners + turn) - math.pi / 2 for k in range(corners)]
    return [
        ((inner if k % 2 else 1) * math.cos(a), (inner if k % 2 else 1) * math.sin(a))
        for k, a in enumerate(angles)
    ]


_CROSS = [(-0.3, -1), (0.3, -1), (0.3, -0.3), (1, -0.3), (1, 0.3), (0.3, 0.3), (0.3, 1), (-0.3, 1), (-0.3, 0.3),
          (-1, 0.3), (-1, -0.3), (-0.3, -0.3)]  # fmt: skip
_SHAPES: tuple[list[tuple[float, float]], ...] = (
    [],  # a circle
    _polygon(4, 1 / 8),
    _polygon(4),
    _polygon(3),
    _polygon(3, 1 / 2),
    _CROSS,
    [((x - y) / math.sqrt(2), (x + y) / math.sqrt(2)) for x, y in _CROSS],
    _polygon(10, inner=0.42),
    _polygon(5),
    _polygon(6),
    _polygon(3, -1 / 4),
    _polygon(3, 1 / 4),
)


def _shape(number: int, size: float) -> str:
    corners = _SHAPES[number % len(_SHAPES)]
    if not corners:
        return f'<circle r="{size:g}"/>'
    return f'<path d="M{"L".join(f"{1.15 * size * x:.1f} {1.15 * size * y:.1f}" for x, y in corners)}Z"/>'
