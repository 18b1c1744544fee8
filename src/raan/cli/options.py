"""Options that several commands share, each with one spelling and one unit."""

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

Points = Annotated[
    float,
    typer.Option("--accuracy-drop", min=0, max=100, help="How much accuracy that may cost, in points."),
]
"""An allowance of accuracy in points, as people speak of it; Python takes shares."""

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
