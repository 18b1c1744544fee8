"""Colours and markers of the methods, on paper and in the browser, by light and by dark."""

COLOURS = (
    "#6b7280",
    "#d97706",
    "#2563eb",
    "#059669",
    "#db2777",
    "#7c3aed",
    "#0891b2",
    "#b91c1c",
    "#65a30d",
    "#1e3a8a",
    "#92400e",
    "#c026d3",
)
"""Told apart also by readers who see few colours; markers differ as well."""

DARK_COLOURS = (
    "#a3abb8",
    "#f59e0b",
    "#60a5fa",
    "#34d399",
    "#f472b6",
    "#a78bfa",
    "#22d3ee",
    "#f87171",
    "#a3e635",
    "#e2e8f0",
    "#d6a77a",
    "#e879f9",
)
"""The same, for a dark ground."""

MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "p", "h", "<", ">")

SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "triangle-down",
    "cross",
    "x",
    "star",
    "pentagon",
    "hexagon",
    "triangle-left",
    "triangle-right",
)
"""The markers as Plotly calls them."""

GLYPHS = "●■◆▲▼✚✖★⬟⬢◀▶"
"""The markers as letters."""


def colour(number: int) -> int:
    """Which colour the method of this number has."""
    return number % len(COLOURS)


def marker(number: int) -> int:
    """Which marker; the second round of colours meets other markers."""
    return (number + number // len(COLOURS)) % len(MARKERS)
