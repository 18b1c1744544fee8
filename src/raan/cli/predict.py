"""Predictions of a saved model for new rows, in the order in which they stand."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raan.cli.console import CommandError, errors, note, progress_bar, show_columns, write_json
from raan.cli.options import (
    Delimiter,
    Encoding,
    ImageEncoder,
    ImageFolder,
    Json,
    Quiet,
    Strict,
    TextEncoder,
)
from raan.errors import InputError, Message, Option, in_shell, spell

if TYPE_CHECKING:
    from raan.fit.scoring import Scored
    from raan.tables.preprocess import Drift


class Keep(StrEnum):
    """Which columns of the data are written beside the predictions."""

    ids = "ids"
    all = "all"


class Engine(StrEnum):
    """What predicts the files of a folder side by side."""

    loky = "loky"
    dask = "dask"
    ray = "ray"


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `raan fit` wrote.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A CSV, TSV or Parquet file, or a folder of such files.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE|DIR",
            help="A CSV, TSV or Parquet file, or - for standard output; for a folder, a folder.",
        ),
    ],
    id_columns: Annotated[
        list[str] | None, typer.Option("--id", metavar="COL", help="A column to pass through; may be repeated.")
    ] = None,
    keep: Annotated[Keep, typer.Option(help="Pass the --id columns through, or all.")] = Keep.ids,
    engine: Annotated[
        Engine | None,
        typer.Option(
            help="Of a folder: predict its files in processes of this machine (loky), on Dask or on Ray."
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The Dask or Ray cluster to join; else one is started here."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Of a folder: files that are predicted side by side; 0: one for each core.")
    ] = 0,
    image_folder: ImageFolder = None,
    text_encoder: TextEncoder = None,
    image_encoder: ImageEncoder = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    decimal: Annotated[
        str | None, typer.Option(help="What marks decimals in a text file; by default, what did in training.")
    ] = None,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a file of any size with a model of `raan fit`; the rows keep their order.

    The output has the --id columns, `prediction`, and `probability_CLASS` for each class. A fair model weighs
    classes and groups: its prediction need not be the most probable class. DIR/plain is the baseline model. Texts
    and images are embedded by the encoder that the model was fitted with; one that was a folder has to be named
    again.

    Of a folder, every table in it or below it is predicted into a file of the same name in the folder of --out.
    Run the same command again after an interruption: files that are finished are passed over, unless they, the
    model or the options have changed since.

    A note says how the rows differ from the training rows: new categories, numbers far out of range, many more
    missing values. With --strict these are errors: of a file nothing is written; the rows of a folder count
    together, and its outputs stay.

    Exit codes: 0 done, 2 wrong input, 130 interrupted; each output is written whole, or not at all.
    """
    kept = None if keep is Keep.all else tuple(dict.fromkeys(id_columns or ()))
    media: dict[str, Any] = {
        "text_encoder": text_encoder,
        "image_encoder": image_encoder,
        "image_folder": image_folder,
    }
    if data.is_dir():
        layout = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
        cluster = (engine or Engine.loky, address, workers or None)
        scored = _predict_folder(folder, data, out, cluster, media, quiet, kept=kept, **layout)
        _show_scored(scored, out, as_json, quiet)
        _check_strictly(strict, data, scored.drift)
        return
    if engine or address or workers:
        raise ValueError(f"--engine, --address and --workers are for a folder of files, and {data} is none")
    with progress_bar(quiet) as bar:
        task = bar.add_task("reading the model", total=None)
        from raan.fit.predictions import keep_columns, load_model, open_writer, predict_file
        from raan.tables.media import Media
        from raan.tables.read import Layout, open_source

        model = load_model(folder)
        bar.update(task, description="predicting")
        mark = model.preprocessing.decimal if decimal is None else decimal
        source = open_source(data, Layout(delimiter, encoding, mark))
        with warnings.catch_warnings(), open_writer(out, data) as write:
            warnings.simplefilter("ignore")
            bar.update(task, total=source.total)

            def show(done: int, rows: int) -> None:
                bar.update(task, completed=done)

            shown = Media(**media, progress=show_columns(bar))
            drift = predict_file(model, source, keep_columns(source, kept), write, show, shown)
            _check_strictly(strict, data, drift)
    notes, to_stdout = [*drift.notes, *getattr(write, "notes", ())], str(out) == "-"
    if as_json and not to_stdout:
        write_json({"out": str(out), "rows": drift.rows, "notes": notes, "drift": _list_drift(drift)})
    elif not quiet:  # on standard error, since the predictions may go to standard output
        for text in notes:
            note(text)
        if not to_stdout:
            errors.print(f"{drift.rows:,} rows predicted: {out}", markup=False, highlight=False, soft_wrap=True)


def _predict_folder(
    folder: Path, data: Path, out: Path, cluster: tuple[str, Any, Any], media: Any, quiet: bool, **options: Any
) -> Scored:
    """Predict the files of a folder under a bar that counts bytes, files and rows."""
    if str(out) == "-":
        raise ValueError(f"--out is - and {data} is a folder; expected a folder for its predictions")
    with progress_bar(quiet) as bar:
        task = bar.add_task("reading the model", total=None)
        from raan.engines import use_engine
        from raan.fit.scoring import predict_folder
        from raan.tables.media import Media

        def show(done: int, total: int, files: int, rows: int) -> None:
            bar.update(task, completed=done, total=total, description=f"{files:,} files, {rows:,} rows; bytes")

        with use_engine(*cluster):
            return predict_folder(
                folder, data, out, **options, media=Media(**media), workers=cluster[2] or -1, progress=show
            )


def _show_scored(scored: Scored, out: Path, as_json: bool, quiet: bool) -> None:
    """Say what has become of a folder; an error if some file could not be predicted."""
    if as_json:
        failed = {file: str(error) for file, error in scored.failed.items()}
        counts = {"files": len(scored.finished), "predicted": scored.predicted, "rows": scored.drift.rows}
        write_json(
            {
                "out": str(out),
                **counts,
                "notes": scored.notes,
                "drift": _list_drift(scored.drift),
                "failed": failed,
            }
        )
    elif not quiet:
        for text in scored.notes:
            note(text)
        errors.print(_summarise(scored, out), markup=False, highlight=False, soft_wrap=True)
    if scored.failed:
        first = spell(next(iter(scored.failed.values())), in_shell())
        some = f"{len(scored.failed):,} of {len(scored.failed) + len(scored.finished):,} files"
        raise CommandError(f"{some} could not be predicted; the others are finished. The first: {first}")


def _summarise(scored: Scored, out: Path) -> str:
    """How many files and rows are predicted, and how many of them were before."""
    there = len(scored.finished) - scored.predicted
    before = f" ({there:,} of them were finished before)" if there else ""
    return f"{scored.drift.rows:,} rows in {len(scored.finished):,} files predicted{before}: {out}"


def _list_drift(drift: Drift) -> list[dict[str, Any]]:
    """The differences from the training rows for JSON."""
    return [{name: value for name, value in each._asdict().items() if name != "text"} for each in drift.found]


def _check_strictly(strict: bool, data: Path, drift: Drift) -> None:
    """An error if the rows differ from the training rows, and --strict asks that they do not."""
    if strict and drift.notes:
        rows = Message("rows like the training rows, as ", Option("strict"), " asks")
        raise InputError(str(data), f"differs from the training rows: {'; '.join(drift.notes)}", rows)
