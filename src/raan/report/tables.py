"""Tables as data, how they are written in Markdown and LaTeX, and how rules, numbers and settings are written."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from raan.fairness.measures import Measure
from raan.fairness.rule import Rule
from raan.lab.results.statistics import Estimate
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
        """Return whether a column holds numbers, which stand at the right."""
        return column > 0 and column not in self.words


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Cell | str]], words: Sequence[int] = ()
) -> Table:
    """Return a table, whose plain cells may be given as strings."""
    cells = tuple(tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows)
    return Table(caption, tuple(header), cells, tuple(words))


def markdown(table: Table) -> str:
    """Return the table in Markdown, its caption above it."""
    rule = ["---:" if table.is_number(column) else "---" for column in range(len(table.header))]
    lines = [[escape_markdown(name) for name in table.header], rule]
    lines += [[_markdown_cell(cell) for cell in row] for row in table.rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{escape_markdown(table.caption)}\n\n{body}\n"


def latex(table: Table) -> str:
    """Return the table in LaTeX, for the package booktabs."""
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


# Rules, numbers and settings.

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?|true|false|[a-z]", re.IGNORECASE)
_ANSWER = re.compile(r"yes|no", re.IGNORECASE)


def call(name: object, column: str, kind: str) -> str:
    """`Female`, but `sex = 1`, and `hired = yes`; where the column's name is not known, `group 1`, and `yes`."""
    text = str(name)
    number, answer = (pattern.fullmatch(text.strip()) is not None for pattern in (_NUMBER, _ANSWER))
    if column and (number or answer):
        return f"{column} = {text}"
    return f"{kind} {text}" if number else text


NOTHING = "–"
"""Stands where a number is undefined."""


def rule_in_words(rule: Rule) -> str:
    """Return how the reported points were chosen."""
    if rule.aim is None:
        return "the last point of the path"
    extreme = "highest" if rule.goal.more_is_better else "smallest"
    margin = f" with {rule.margin:.2f} standard errors to spare" if rule.margin else ""
    return (
        f"the {extreme} {rule.goal.title} on validation rows, among the points that lose at most "
        f"{points(rule.accuracy_drop)} of plain training's accuracy there{margin}"
    )


def percent(share: float) -> str:
    """Return a share in percent, without the sign."""
    return NOTHING if math.isnan(share) else f"{100 * share:.1f}".replace("-", "−")


def show_level(measure: Measure, value: float) -> str:
    """Return a value of a measure: shares in percent, without the sign, others as they are."""
    return percent(value) if measure.unit or math.isnan(value) else f"{value:.3g}"


def show_move(measure: Measure, difference: float) -> str:
    """Return a difference in a measure: of shares in percentage points."""
    return signed(difference) if measure.unit or math.isnan(difference) else f"{difference:+.3g}"


def signed(share: float) -> str:
    """Return a difference in percentage points, its sign shown unless it rounds to none."""
    if math.isnan(share):
        return NOTHING
    text = f"{100 * share:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def two_places(share: float) -> str:
    """Return a share in points to two places, as small losses need it."""
    text = NOTHING if math.isnan(share) else f"{100 * share:.2f}".replace("-", "−")
    return "0.00" if text == "−0.00" else text


def points(share: float) -> str:
    """`1 point`, `0.5 points`."""
    return f"{100 * share:g} point{'' if share == 0.01 else 's'}"


def spread(estimate: Estimate) -> str:
    """Mean ± standard deviation, in percent."""
    if math.isnan(estimate.deviation):
        return percent(estimate.mean)
    return f"{percent(estimate.mean)} ± {percent(estimate.deviation)}"


def interval(estimate: Estimate, write: Any = percent) -> str:
    """Return the 95 % interval; nothing where there is none."""
    return "" if math.isnan(estimate.low) else f"{write(estimate.low)} to {write(estimate.high)}"


def p_value(p: float) -> str:
    """Return a p-value to three places."""
    if math.isnan(p):
        return NOTHING
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def written(value: Any) -> str:
    """Return a hyperparameter's value."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def settings(hyperparameters: Mapping[str, Any]) -> str:
    """Hyperparameters in one line."""
    return ", ".join(f"{name} = {written(value)}" for name, value in hyperparameters.items()) or "none"


def name_cell(label: object, attribute: object) -> tuple[str, str]:
    """Return the names of a class and of an attribute value, which say what they are where the values do not."""
    return call(label, "", "class"), call(attribute, "", "group")


def group_name(label: object, attribute: object) -> str:
    """What the people of a class and an attribute value are called: `>50K · Female`, but `class 1 · Female`."""
    return " · ".join(name_cell(label, attribute))


def several(number: int, thing: str) -> str:
    """`1 seed`, `5 seeds`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
