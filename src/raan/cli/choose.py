"""Another point of the trade-off that `raan fit` saved, without training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raan.cli.console import waiting
from raan.cli.options import (
    AccuracyDrop,
    AimOption,
    AtLeast,
    Guard,
    Json,
    MaxDropOption,
    NoFloor,
    Quiet,
    WorstGroupDrop,
    read_limits,
)
from raan.cli.outcome import command, finish, reserve_folder, write

if TYPE_CHECKING:
    from raan.fit.classifier import TableClassifier


def choose(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `raan fit` wrote.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write, new or empty.")],
    aim: Annotated[Any, AimOption] = None,
    accuracy_drop: Annotated[float | None, AccuracyDrop] = None,
    worst_group_drop: Annotated[float | None, WorstGroupDrop] = None,
    guard: Annotated[str | None, Guard] = None,
    no_floor: NoFloor = False,
    at_most: Annotated[
        list[str] | None,
        typer.Option(metavar="MEASURE N", help="The best model whose measure is at most this, such as a gap."),
    ] = None,
    at_least: Annotated[list[str] | None, AtLeast] = None,
    max_drop: Annotated[float | None, MaxDropOption] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder if raan wrote it.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Save another point of a trade-off that `raan fit` found: another aim or accuracy budget. Nothing is trained.

    Example: raan choose fair --aim worst-group --accuracy-drop 1 --out fairer

    What is not given stays as it was. --at-most demographic-parity 5 takes the most accurate model within that
    limit. The new folder is of the same kind, with model, baseline, report and card.

    Exit codes: 0 done, 1 done, but test rows contradict the promise, 2 wrong input.
    """
    begun = monotonic()
    with waiting(f"reading {folder}", quiet):
        from raan.fit.families import choose_with_warnings
        from raan.fit.outcome import Outcome
        from raan.io import load
        from raan.io.files import inside

        model = load_model(folder)
        before = Outcome.load(folder)
        baseline = load(inside(folder, "plain"))
    given = {"at_most": at_most, "at_least": at_least}
    limits = {name: read_limits(each, name.replace("_", "-")) for name, each in given.items() if each}
    options = _options(aim, accuracy_drop, worst_group_drop, no_floor, limits)
    options |= {} if guard is None else {"guard": guard}
    if max_drop is not None:
        unit = before.rule.currency.unit
        options["max_drop"] = max_drop / 100 if unit else max_drop
    frontier, notes = choose_with_warnings(model.classifier, **options)
    outcome = before.choose(frontier, notes, command())
    if not (outcome.improved or outcome.facts.own_plain):
        raise ValueError(
            f"No point of the trade-off is within these limits; the plain model, which is of another kind, is in "
            f"{folder / 'plain'}. A larger --accuracy-drop, or --no-guard, may find one"
        )
    chosen = replace(model, classifier=frontier, about=outcome.about(outcome.method))
    with reserve_folder(out, force) as place, waiting("writing", quiet):
        write(outcome, chosen, baseline.save, place, out)
    finish(outcome, out, notes, monotonic() - begun, as_json=as_json, quiet=quiet)


def load_model(folder: Path) -> TableClassifier:
    """The saved model; an error where there is nothing to choose from."""
    from raan.fit.classifier import TableClassifier
    from raan.frontier.estimator import FairFrontier
    from raan.io import load
    from raan.io.files import inside

    if not (folder / "model").is_dir():
        raise ValueError(f"{folder} has no folder `model`; expected one that `raan fit` wrote")
    model = load(inside(folder, "model"))
    if (
        not isinstance(model, TableClassifier)
        or not isinstance(model.classifier, FairFrontier)
        or len(model.classifier.groups_) < 2
    ):
        raise ValueError(
            f"{folder} holds a model without a trade-off to choose from: choose by `raan fit` with another --aim "
            "or --accuracy-drop"
        )
    return model


def _options(
    aim: Any, drop: float | None, floor: float | None, no_floor: bool, limits: dict[str, dict[str, float]]
) -> dict[str, Any]:
    """What was given, as FairFrontier.choose takes it."""
    if aim is not None and limits:
        raise ValueError(
            "--aim and a limit were given; expected one of them; a limit asks for the best performance"
        )
    options: dict[str, Any] = {} if aim is None else {"aim": aim.key}
    if drop is not None:
        options["accuracy_drop"] = drop / 100
    if floor is not None or no_floor:
        options["worst_group_drop"] = None if no_floor or floor is None else floor / 100
    return options | limits
