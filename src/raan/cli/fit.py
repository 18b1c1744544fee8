"""From a table to a fairer model in one command."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raan.cli.console import errors, progress_bar, show_columns, time_bar
from raan.cli.options import (
    AccuracyDrop,
    AimOption,
    Data,
    Decimal,
    Delimiter,
    Encoding,
    ImageEncoder,
    ImageFolder,
    Json,
    NoFloor,
    Quiet,
    TextEncoder,
    WorstGroupDrop,
    read_share,
)
from raan.cli.outcome import command, finish, reserve_folder, write
from raan.fairness.rule import ACCURACY_DROP, CONFIDENCE

if TYPE_CHECKING:
    from raan.fit.fit import Fit, FitOptions, Source
    from raan.tables.load import Loaded
    from raan.tables.media import Media
    from raan.tables.read import Layout


def fit(
    data: Data,
    label: Annotated[str, typer.Option(metavar="COL", help="The column to predict.")],
    attribute: Annotated[
        list[str], typer.Option(metavar="COL [COL ...]", help="The column of the groups; several are crossed.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write, new or empty.")],
    aim: Annotated[Any, AimOption] = "equalized-odds",
    accuracy_drop: Annotated[float, AccuracyDrop] = 100 * ACCURACY_DROP,
    worst_group_drop: Annotated[float, WorstGroupDrop] = 0.0,
    no_floor: NoFloor = False,
    confidence: Annotated[
        float,
        typer.Option(parser=read_share, metavar="SHARE", help="How sure to be that both hold on new rows."),
    ] = CONFIDENCE,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file of test rows; without it a fifth of DATA is held back."),
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="A column of texts, to be embedded; may be repeated.")
    ] = None,
    image: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="A column of paths of images, to be embedded.")
    ] = None,
    image_folder: ImageFolder = None,
    text_encoder: TextEncoder = None,
    image_encoder: ImageEncoder = None,
    minutes: Annotated[
        float,
        typer.Option(min=0.05, help="Roughly how long training may take; embedding is done once, before it."),
    ] = 5.0,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the split and of training.")] = 0,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="A column to leave out, or a pattern such as 'date*'."),
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="A column whose numbers are categories.")
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word for a missing value, besides '', ? and NA.")
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(min=100, metavar="N", help="Draw this many rows of DATA; else all that fit into memory."),
    ] = None,
    keep_attribute: Annotated[
        bool, typer.Option("--keep-attribute/--drop-attribute", help="Whether the attribute is a feature too.")
    ] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    decimal: Decimal = ".",
    force: Annotated[bool, typer.Option("--force", help="Replace the folder if raan fit wrote it.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a fairer model to a table, and its whole trade-off; save model, baseline, report and model card.

    Gradient boosting and logistic regression under FairFrontier are fitted in folds, and evaluated on rows that
    they have not seen. The model that is saved is the best
    for the aim among the points that lose at most --accuracy-drop points against the most accurate plain model,
    and do not lower the accuracy of the worst-served (class, group); if there is none, it is the plain model
    itself. Other groups may lose, and the report shows which. Test rows are for the report
    alone: if they contradict what was promised, title, report and exit code say so. `raan choose` gives another
    point without training.

    Columns of --text and --image are embedded by a fixed model, once: what was embedded before is kept in raan's
    cache. Other columns are used too. A missing text is an empty one; a missing image is an error.

    Exit codes: 0 done, 1 done, but test rows contradict the promise, 2 wrong input, 130 interrupted before there
    was a model.
    """
    begun = monotonic()
    with (
        warnings.catch_warnings(action="ignore"),  # what the data warn of is shown as notes
        reserve_folder(out, force) as folder,
    ):
        with _until_interrupted(), progress_bar(quiet) as bar:
            bar.add_task("reading", total=None)
            from raan.fit.fit import FitOptions, Source
            from raan.tables.media import Media
            from raan.tables.read import Layout

            layout = Layout(delimiter, encoding, decimal)
            columns = tuple(text or ()), tuple(image or ())
            media = Media(*columns, text_encoder, image_encoder, image_folder, show_columns(bar))
            read = (data, label, attribute, ignore, category, missing, keep_attribute, test, seed, layout)
            loaded = _read(*read, max_rows, media)
        with time_bar(quiet) as show_time:
            floor = None if no_floor else worst_group_drop / 100
            options = FitOptions(aim.key, accuracy_drop / 100, floor, confidence, 60 * minutes, seed)
            source = Source(data.name, label, attribute, command())
            with _until_interrupted():
                found = _fit(loaded, options, source, begun, show_time)
            show_time("writing", 1, 1)
            write(found.outcome, found.model, found.baseline.save, folder, out)
    facts = found.outcome.facts
    notes = [*facts.warnings, *facts.notes]
    finish(found.outcome, out, notes, monotonic() - begun, as_json=as_json, quiet=quiet)


def _read(
    data: Path,
    label: str,
    attribute: list[str],
    ignore: list[str] | None,
    category: list[str] | None,
    missing: list[str] | None,
    keep_attribute: bool,
    test: Path | None,
    seed: int,
    layout: Layout,
    max_rows: int | None,
    media: Media,
) -> Loaded:
    from raan.fairness.counts import MIN_CHOSEN
    from raan.tables.columns import MISSING
    from raan.tables.load import from_frame
    from raan.tables.preprocess import Rules

    return from_frame(
        data,
        label,
        attribute,
        ignore=ignore or (),
        types=dict.fromkeys(category or (), "category"),
        keep_attribute=keep_attribute,
        test=test,
        seed=seed,
        rules=Rules(missing=(*MISSING, *(missing or ())), min_cell_rows=MIN_CHOSEN),
        layout=layout,
        max_rows=max_rows,
        media=media,
    )


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Say that nothing is written, and exit, where the user interrupts what goes on within."""
    try:
        yield
    except KeyboardInterrupt:
        errors.print("Interrupted before there was a model: nothing is written.")
        raise typer.Exit(130) from None


def _fit(
    loaded: Loaded,
    options: FitOptions,
    source: Source,
    begun: float,
    show_time: Callable[[str, float, float], None],
) -> Fit:
    """All that can be trained in what is left of the time, some of it kept back for the report."""
    from raan.fit.clock import Clock
    from raan.fit.fit import fit as fit_all

    # Explaining and writing takes the longer, the longer reading took: the table, or the machine, is the same.
    # What embedding took is not of the user's minutes: it is done once.
    read = monotonic() - begun - loaded.embedding_seconds
    kept_back = min(2 + 0.05 * options.seconds + 2 * read, 0.3 * options.seconds)
    return fit_all(loaded, options, Clock(options.seconds - read - kept_back, show_time), source)
