"""Tables as data, and how they are written in Markdown and LaTeX."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from raan.text import replace_controls

Tone = Literal["", "gain", "loss"]


@dataclass(frozen=True)
class Cell:
    """What stands in a cell: the text, what is said beside it more quietly, and how it stands out."""

    text: str
    note: str = ""
    best: bool = False
    tone: Tone = ""


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows; `words` columns after it hold words, the others numbers."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: tuple[int, ...] = ()

    def is_number(self, column: int) -> bool:
        """Whether a column holds numbers, which stand at the right."""
        return column > 0 and column not in self.words


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Cell | str]], words: Sequence[int] = ()
) -> Table:
    """A table, whose plain cells may be given as strings."""
    cells = tuple(tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows)
    return Table(caption, tuple(header), cells, tuple(words))


def markdown(table: Table) -> str:
    """The table in Markdown, its caption above it."""
    rule = ["---:" if table.is_number(column) else "---" for column in range(len(table.header))]
    lines = [[escape_markdown(name) for name in table.header], rule]
    lines += [[_markdown_cell(cell) for cell in row] for row in table.rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{escape_markdown(table.caption)}\n\n{body}\n"


def latex(table: Table) -> str:
    """The table in LaTeX, for the package booktabs."""
    columns = "".join("r" if table.is_number(column) else "l" for column in range(len(table.header)))
    rows = [" & ".join(map(escape_latex, table.header)) + r" \\", r"\midrule"]
    rows += [" & ".join(map(_latex_cell, row)) + r" \\" for row in table.rows]
    body = "\n".join(rows)
    return (
        "\\begin{table}\n\\centering\n"
        f"\\caption{{{escape_latex(table.caption)}}}\n"
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, on one line; HTML in it stays text."""
    flat = " ".join(replace_controls(text).split())
    # An entity, since a backslash does not keep every renderer from reading HTML.
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|#~$^])", r"\\\1", flat)


def escape_latex(text: str) -> str:
    """Text that LaTeX sets as it is, on one line."""
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(replace_controls(text).split()))


def _markdown_cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    strong = f"**{text}**" if cell.best else text
    return f"{strong} ({escape_markdown(cell.note)})" if cell.note else strong


def _latex_cell(cell: Cell) -> str:
    text = escape_latex(cell.text)
    strong = rf"\textbf{{{text}}}" if cell.best else text
    return rf"{strong} {{\scriptsize ({escape_latex(cell.note)})}}" if cell.note else strong


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "−": r"$-$",
    "–": "--",
    "·": r"$\cdot$",
    "×": r"$\times$",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}
