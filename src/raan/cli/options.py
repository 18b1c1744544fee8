"""Options that several commands share, each with one spelling and one unit."""

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
    help=f"What the model is to be best for. {'; '.join(f'{a.option}: {a.meaning}' for a in AIMS.values())}.",
)
"""An aim, spelt with hyphens or underscores."""

Points = Annotated[
    float,
    typer.Option("--accuracy-drop", min=0, max=100, help="How much accuracy that may cost, in points."),
]
"""An allowance of accuracy in points, as people speak of it; Python takes shares."""
