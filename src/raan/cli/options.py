"""Options that several commands share, each with one spelling and one unit."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from raan.fairness.aims import AIMS, Aim, read_aim


def _aim(value: Any) -> Aim:
    try:
        return read_aim(value)
    except ValueError:
        known = ", ".join(aim.option for aim in AIMS.values())
        raise typer.BadParameter(f"{value!r} is no aim; expected one of {known}") from None


AimOption = typer.Option(
    parser=_aim,
    metavar="|".join(aim.option for aim in AIMS.values()),
    help=f"What to make best. {'; '.join(f'{a.option}: {a.meaning}' for a in AIMS.values())}.",
)
"""An aim, spelt with hyphens or underscores."""


def read_points(value: str | float, *, above: float = 0.05, most: float = 100) -> float:
    """Read percentage points: `0.5`, `0.5%` and `0.5pp` are half a point.

    The command line counts in points, Python in shares. A bare number above 0 and below `above` is almost
    certainly a share, and is refused; with a unit it is accepted.
    """
    found = re.fullmatch(r"\s*([0-9.eE+-]+)\s*(%|pp|points?)?\s*", str(value))
    try:
        points = float(found[1]) if found else None
    except ValueError:
        points = None
    if found is None or points is None or not 0 <= points <= most:
        raise typer.BadParameter(
            f"{value!r} is no number of points from 0 to {most:g}; expected 0.5, 0.5% or 0.5pp"
        )
    if 0 < points < above and not found[2] and isinstance(value, str):
        raise typer.BadParameter(
            f"{value} is ambiguous: this option is in percentage points, and {value} looks like a share. Write "
            f"{100 * points:g} for {100 * points:g} points, or {value}pp for {value} of a point"
        )
    return points


def read_share(value: str | float) -> float:
    """Read a confidence: `0.9` and `90%` are the same."""
    text = str(value).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1
    if not 0.5 <= share < 1:
        raise typer.BadParameter(f"{value!r} is no confidence from 0.5 up, below 1; expected 0.9 or 90%")
    return share


def points_option(help: str, *names: str, read: Callable[[Any], float] = read_points) -> Any:
    """Make an option in percentage points."""
    return typer.Option(*names, parser=read, metavar="POINTS", help=f"{help}, in points (0.5, 0.5% or 0.5pp).")


AccuracyDrop = points_option("How much accuracy fairness may cost", "--accuracy-drop")
WorstGroupDrop = points_option(
    "How far the worst-served (class, group) may fall below plain", "--worst-group-drop"
)
NoFloor = Annotated[
    bool, typer.Option("--no-floor", help="Allow the worst-served (class, group) to be served worse.")
]

Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="A CSV, TSV or Parquet file whose first line names the columns.")
]
TextEncoder = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What embeds texts: a sentence-transformers model, or a folder with one."),
]
ImageEncoder = Annotated[
    str | None, typer.Option(metavar="NAME", help="What embeds images: a model of timm's, by name.")
]
ImageFolder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where the image files are; by default the folder of DATA.")
]
Delimiter = Annotated[str | None, typer.Option(help="What separates the columns of a text file; else guessed.")]
Encoding = Annotated[str, typer.Option(help="The encoding of a text file, such as latin-1.")]
Decimal = Annotated[str, typer.Option(help="What marks decimals in a text file.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
