"""Options that several commands share, each with one spelling and one unit."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from raan.errors import InputError
from raan.fairness.measures import AIMS, Measure, read_aim, read_measure


def _aim(value: Any) -> Measure:
    try:
        return read_aim(value)
    except InputError as error:
        known = ", ".join(aim.option for aim in AIMS.values())
        near = f"; {error.remedy}" if error.remedy else ""
        text = f"{value!r} is no aim; expected one of {known}, or a measure such as selection-rate.ratio{near}"
        raise typer.BadParameter(f"{text} (`raan measures` lists them)") from None


AimOption = typer.Option(
    parser=_aim,
    metavar="AIM",
    help=f"What to make best: {', '.join(aim.option for aim in AIMS.values())}, or any measure of `raan measures` "
    "that compares groups, such as precision.gap.",
)
"""An aim, spelt with hyphens or underscores."""


def _performance(value: Any) -> Measure:
    try:
        return read_measure(value, "performance")
    except InputError as error:
        near = f"; {error.remedy}" if error.remedy else ""
        text = f"{value!r} is no measure; expected one such as balanced-accuracy{near}"
        raise typer.BadParameter(f"{text} (`raan measures` lists them)") from None


PerformanceOption = typer.Option(
    "--performance",
    parser=_performance,
    metavar="MEASURE",
    help="What fairness may cost instead of accuracy, such as balanced-accuracy or f1: --max-drop is its budget.",
)
CostOption = typer.Option(
    "--cost",
    metavar="fp=N fn=N",
    help="What a false positive and a false negative cost; fairness may then cost --max-drop per person.",
)
MaxDropOption = typer.Option(
    "--max-drop",
    metavar="N",
    help="How much of --performance fairness may cost: in points of a share, else in the unit of the cost.",
)
Positive = typer.Option("--positive", metavar="CLASS", help="The positive class, of two.")
AtLeast = typer.Option(
    "--at-least", metavar="MEASURE N", help="The best model whose measure is at least this, such as recall.min 60."
)


def read_performance(
    performance: Measure | None, cost: Sequence[str] | None, max_drop: float | None
) -> dict[str, Any]:
    """Read --performance or --cost, and the budget, as FairFrontier takes them; what is not given is left out."""
    if cost and performance is not None:
        raise ValueError("--performance and --cost were given; expected one of them")
    found: dict[str, Any] = {} if performance is None else {"performance": performance.key}
    if cost:
        words = re.fullmatch(r"\s*(?:(?:fp|fn)=[0-9.]+\s*)+", " ".join(cost))
        if not words:
            raise ValueError(f"--cost is {' '.join(cost)!r}; expected what errors cost, such as fp=1 fn=5")
        found["performance"] = read_measure(f"cost({', '.join(' '.join(cost).split())})").key
    if max_drop is not None:
        unit = read_measure(found.get("performance", "accuracy")).unit
        found["max_drop"] = max_drop / 100 if unit else max_drop
    elif cost:
        raise ValueError("--cost needs --max-drop: how much more a decision may cost in the mean")
    return found


def read_limits(given: Sequence[str] | None, option: str) -> dict[str, float]:
    """Read pairs of a measure and a number: points of shares, other numbers as they are."""
    try:
        if len(given or ()) % 2:
            raise ValueError("a number is lacking")
        pairs = zip((given or ())[::2], (given or ())[1::2], strict=True)
        measures = [(read_measure(name, option.replace("-", "_")), value) for name, value in pairs]
        return {
            measure.key: read_points(value, most=200) / 100 if measure.unit else float(value)
            for measure, value in measures
        }
    except (ValueError, typer.BadParameter) as error:
        raise ValueError(
            f"--{option} is {' '.join(given or ())!r}; expected pairs such as demographic-parity 5; {error}"
        ) from None


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
WorstGroupDrop = points_option("How far what is guarded may fall below plain", "--worst-group-drop")
NoFloor = Annotated[
    bool, typer.Option("--no-guard", "--no-floor", help="Guard nobody: any group may be served worse.")
]


def read_guard(value: Any) -> str:
    """Read what the guard protects."""
    from raan.fairness.evidence import GUARDS

    if value not in GUARDS:
        raise typer.BadParameter(f"{value!r} is no guard; expected one of {', '.join(GUARDS)}")
    return str(value)


Guard = typer.Option(
    "--guard",
    parser=read_guard,
    metavar="WHAT",
    help="What may not fall: worst (the worst-served class of a group), groups (each group's accuracy) or cells "
    "(each class of each group).",
)

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
Delimiter = Annotated[
    str | None, typer.Option(metavar="CHAR", help="What separates the columns of a text file; else guessed.")
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="The encoding of a text file, such as latin-1.")]
Decimal = Annotated[str, typer.Option(metavar="CHAR", help="What marks decimals in a text file.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
MergeSpellings = Annotated[
    bool, typer.Option("--merge-spellings", help="Count values that differ only by case or spaces as one.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Make notes on the data errors: exit with code 2.")]
