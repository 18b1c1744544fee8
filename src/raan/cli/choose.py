"""Another point of the trade-off that `raan fit` saved, without training."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raan.cli.console import waiting
from raan.cli.options import AccuracyDrop, AimOption, Json, NoFloor, Quiet, WorstGroupDrop, read_points
from raan.cli.outcome import command, finish, reserve_folder, write

if TYPE_CHECKING:
    from raan.fit.classifier import TableClassifier


def choose(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `raan fit` wrote.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write, new or empty.")],
    aim: Annotated[Any, AimOption] = None,
    accuracy_drop: Annotated[float | None, AccuracyDrop] = None,
    worst_group_drop: Annotated[float | None, WorstGroupDrop] = None,
    no_floor: NoFloor = False,
    at_most: Annotated[
        list[str] | None,
        typer.Option(metavar="AIM POINTS", help="The most accurate model whose gap is at most this many points."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder if raan wrote it.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Save another point of a trade-off that `raan fit` found: another aim or accuracy budget. Nothing is trained.

    What is not given stays as it was. --at-most demographic-parity 5 takes the most accurate model within that
    limit. The new folder is of the same kind, with model, baseline, report and card.

    Exit codes: 0 done, 1 done, but test rows contradict the promise, 2 wrong input.
    """
    begun = monotonic()
    with waiting(f"reading {folder}", quiet):
        from raan.fit.families import choose_with_warnings
        from raan.fit.outcome import Outcome
        from raan.io import load

        model = _load(folder)
        before = Outcome.load(folder)
        baseline = load(folder / "plain")
    options = _options(aim, accuracy_drop, worst_group_drop, no_floor, _limits(at_most))
    frontier, notes = choose_with_warnings(model.classifier, **options)
    outcome = before.choose(frontier, notes, command())
    if not (outcome.improved or outcome.facts.own_plain):
        raise ValueError(
            f"No point of the trade-off is within these limits; the plain model, which is of another kind, is in "
            f"{folder / 'plain'}. A larger --accuracy-drop, or --no-floor, may find one"
        )
    chosen = model.with_classifier(frontier, outcome.about(outcome.method))
    with reserve_folder(out, force) as place, waiting("writing", quiet):
        write(outcome, chosen, baseline.save, place, out)
    finish(outcome, out, notes, monotonic() - begun, as_json=as_json, quiet=quiet)


def _load(folder: Path) -> TableClassifier:
    """The saved model; an error where there is nothing to choose from."""
    from raan.fit.classifier import TableClassifier
    from raan.frontier.estimator import FairFrontier
    from raan.io import load

    if not (folder / "model").is_dir():
        raise ValueError(f"{folder} has no folder `model`; expected one that `raan fit` wrote")
    model = load(folder / "model")
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
    aim: Any, drop: float | None, floor: float | None, no_floor: bool, at_most: dict[str, float] | None
) -> dict[str, Any]:
    """What was given, as FairFrontier.choose takes it."""
    if aim is not None and at_most:
        raise ValueError("--aim and --at-most were given; expected one of them; --at-most asks for accuracy")
    options: dict[str, Any] = {} if aim is None else {"aim": aim.key}
    if drop is not None:
        options["accuracy_drop"] = drop / 100
    if floor is not None or no_floor:
        options["worst_group_drop"] = None if no_floor or floor is None else floor / 100
    return {**options, "at_most": at_most} if at_most else options


def _limits(at_most: list[str] | None) -> dict[str, float] | None:
    """Pairs of an aim and points, as shares."""
    from raan.fairness.aims import read_aim

    if not at_most:
        return None
    try:
        if len(at_most) % 2:
            raise ValueError("a number of points is lacking")
        pairs = zip(at_most[::2], at_most[1::2], strict=True)
        return {read_aim(aim, "at_most").key: read_points(points, most=200) / 100 for aim, points in pairs}
    except (ValueError, typer.BadParameter) as error:
        raise ValueError(
            f"--at-most is {' '.join(at_most)!r}; expected pairs such as demographic-parity 5; {error}"
        ) from None
