"""Words for messages and tables of text."""

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np
from jaxtyping import Int

from raan.errors import Option


def listed(names: Sequence[str], most: int = 8) -> str:
    """The names in a row, the first few of them if they are many."""
    return ", ".join(names[:most]) + (f", ... ({len(names):,} in all)" if len(names) > most else "")


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The name that is most like this one, whatever the case of its letters."""
    folded = {candidate.casefold(): candidate for candidate in names}
    near = get_close_matches(name.strip().casefold(), list(folded), n=1)
    return folded[near[0]] if near else None


def ignoring(column: str) -> Option:
    """The option that leaves a column out."""
    return Option("ignore", column, python=f"ignore=[{column!r}]")


def align(lines: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    """The lines with their columns padded to one width; all but the first to the right if they are numbers."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    pad = [str.ljust, *[str.rjust if numbers else str.ljust] * (len(widths) - 1)]
    padded = ([f(text, width) for f, text, width in zip(pad, line, widths, strict=True)] for line in lines)
    return ["  ".join(line).rstrip() for line in padded]


def describe_cells(
    cells: Int[np.ndarray, "label attribute"], classes: Sequence[str], groups: Sequence[str], unknown: int
) -> list[str]:
    """The number of rows of each (class, attribute) cell as lines of text, and of those of unknown attribute."""
    counts = [(name, *(f"{count:,}" for count in row)) for name, row in zip(classes, cells.tolist(), strict=True)]
    note = [f"attribute unknown: {unknown:,} rows"] if unknown else []
    return [*align([("", *groups), *counts], numbers=True), *note]
