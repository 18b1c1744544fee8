"""From a table to a fairer model in one command."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import typer

from raan.cli.console import errors, progress_bar, show_columns, time_bar
from raan.cli.options import (
    AccuracyDrop,
    AimOption,
    CostOption,
    Data,
    Decimal,
    Delimiter,
    Encoding,
    Guard,
    ImageEncoder,
    ImageFolder,
    Json,
    MaxDropOption,
    MergeSpellings,
    NoFloor,
    PerformanceOption,
    Positive,
    Quiet,
    TextEncoder,
    WorstGroupDrop,
    read_performance,
    read_share,
)
from raan.cli.outcome import command, finish, reserve_folder, write
from raan.fairness.rule import ACCURACY_DROP, CONFIDENCE


def fit(
    data: Data,
    label: Annotated[str, typer.Option(metavar="COL", help="The column to predict.")],
    attribute: Annotated[
        list[str], typer.Option(metavar="COL ...", help="The column of the groups; several are crossed.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write, new or empty.")],
    aim: Annotated[Any, AimOption] = "equalized-odds",
    accuracy_drop: Annotated[float, AccuracyDrop] = 100 * ACCURACY_DROP,
    performance: Annotated[Any, PerformanceOption] = None,
    cost: Annotated[list[str] | None, CostOption] = None,
    max_drop: Annotated[float | None, MaxDropOption] = None,
    positive: Annotated[str | None, Positive] = None,
    worst_group_drop: Annotated[float, WorstGroupDrop] = 0.0,
    guard: Annotated[str, Guard] = "worst",
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
        typer.Option(
            min=0.05, metavar="N", help="Roughly how long training may take; embedding is done once, before it."
        ),
    ] = 5.0,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The seed of the split and of training.")] = 0,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="A column to leave out, or a pattern such as 'date*'."),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(metavar="COL", help="What each row counts, such as survey weights; no feature."),
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="COL", help="Whose row it is, where people have several; no feature.")
    ] = None,
    control: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="A column within whose values groups are compared, such as the job."),
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="A column whose numbers are categories.")
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word for a missing value, besides '', ? and NA.")
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(min=100, metavar="N", help="Draw this many rows of DATA, and use no others."),
    ] = None,
    keep_attribute: Annotated[
        bool, typer.Option("--keep-attribute/--drop-attribute", help="Whether the attribute is a feature too.")
    ] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    decimal: Decimal = ".",
    merge_spellings: MergeSpellings = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder if raan fit wrote it.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a fairer model to a table, and its whole trade-off; save model, baseline, report and model card.

    Example: raan fit people.csv --label hired --attribute sex --out fair

    Gradient boosting and logistic regression under FairFrontier are fitted in folds, and evaluated on rows that
    they have not seen. The model that is saved is the best for the aim among the points that lose at most
    --accuracy-drop points against the most accurate plain model, and do not lower the accuracy of the worst-served
    (class, group); if there is none, it is the plain model itself. Other groups may lose, and the report shows
    which. Test rows are for the report alone: if they contradict what was promised, title, report and exit code
    say so. `raan choose` gives another point without training.

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
            from raan.fairness.counts import MIN_CHOSEN
            from raan.fit.clock import Clock
            from raan.fit.fit import FitOptions, Source
            from raan.fit.fit import fit as fit_all
            from raan.fit.rows import IN_MEMORY
            from raan.tables.columns import MISSING
            from raan.tables.load import from_frame
            from raan.tables.media import Media
            from raan.tables.preprocess import Rules
            from raan.tables.read import PARQUET, Layout

            alone = data.suffix.lower() in PARQUET and not (person or text or image)
            columns = tuple(text or ()), tuple(image or ())
            words = (*MISSING, *(missing or ()))
            loaded = from_frame(
                data,
                label,
                attribute,
                ignore=ignore or (),
                weight=weight,
                person=person,
                control=control or (),
                types=dict.fromkeys(category or (), "category"),
                keep_attribute=keep_attribute,
                test=test,
                seed=seed,
                rules=Rules(missing=words, min_cell_rows=MIN_CHOSEN, merge_spellings=merge_spellings),
                layout=Layout(delimiter, encoding, decimal),
                max_rows=max_rows or (IN_MEMORY if alone else None),
                media=Media(*columns, text_encoder, image_encoder, image_folder, show_columns(bar)),
            )
        # Explaining and writing takes the longer, the longer reading took: the table, or the machine, is the same.
        # What embedding took is not of the user's minutes: it is done once.
        read = monotonic() - begun - loaded.embedding_seconds
        floor = None if no_floor else worst_group_drop / 100
        asked = read_performance(performance, cost, max_drop)
        options = FitOptions(
            *(aim.key, accuracy_drop / 100, floor, confidence, 60 * minutes, seed, guard),
            **asked,
            pos_label=positive,
        )
        if max_rows is not None:
            loaded = replace(loaded, rest=None)
        kept_back = min(2 + 0.05 * options.seconds + 2 * read, 0.3 * options.seconds)
        with time_bar(quiet) as show_time:
            with _until_interrupted():
                clock = Clock(options.seconds - read - kept_back, show_time)
                found = fit_all(
                    loaded, options, clock, Source(data.name, label, attribute, command(), control or ())
                )
            show_time("writing", 1, 1)
            write(found.outcome, found.model, found.baseline.save, folder, out)
    facts = found.outcome.facts
    notes = [*facts.warnings, *facts.notes]
    finish(found.outcome, out, notes, monotonic() - begun, as_json=as_json, quiet=quiet)


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Say that nothing is written, and exit, where the user interrupts what goes on within."""
    try:
        yield
    except KeyboardInterrupt:
        errors.print("Interrupted before there was a model: nothing is written.")
        raise typer.Exit(130) from None
