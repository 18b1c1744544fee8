"""Predictions of a saved model for new rows, in the order in which they stand."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from raan.cli.console import errors, note, progress_bar, show_columns, write_json
from raan.cli.options import (
    Data,
    Delimiter,
    Encoding,
    ImageEncoder,
    ImageFolder,
    Json,
    Quiet,
    Strict,
    TextEncoder,
)
from raan.errors import InputError, Message, Option

if TYPE_CHECKING:
    from raan.fit.classifier import TableClassifier


class Keep(StrEnum):
    """Which columns of the data are written beside the predictions."""

    ids = "ids"
    all = "all"


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `raan fit` wrote.")],
    data: Data,
    out: Annotated[Path, typer.Option(metavar="FILE", help="A CSV, TSV or Parquet file; - is standard output.")],
    id_columns: Annotated[
        list[str] | None, typer.Option("--id", metavar="COL", help="A column to pass through; may be repeated.")
    ] = None,
    keep: Annotated[Keep, typer.Option(help="Pass the --id columns through, or all.")] = Keep.ids,
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

    A note says how the rows differ from the training rows: new categories, numbers far out of range, many more
    missing values. With --strict these are errors, and nothing is written.

    Exit codes: 0 done, 2 wrong input, 130 interrupted; the output is written whole, or not at all.
    """
    with progress_bar(quiet) as bar:
        task = bar.add_task("reading the model", total=None)
        from raan.fit.predictions import open_writer, predict_file
        from raan.tables.media import Media
        from raan.tables.read import Layout, open_source

        model = _model(folder)
        bar.update(task, description="predicting")
        mark = model.preprocessing.decimal if decimal is None else decimal
        source = open_source(data, Layout(delimiter, encoding, mark))
        kept = (
            [name for name in source.names if name] if keep is Keep.all else list(dict.fromkeys(id_columns or ()))
        )
        with warnings.catch_warnings(), open_writer(out, data) as write:
            warnings.simplefilter("ignore")
            bar.update(task, total=source.total)
            media = Media(
                text_encoder=text_encoder,
                image_encoder=image_encoder,
                image_folder=image_folder,
                progress=show_columns(bar),
            )
            drift = predict_file(model, source, kept, write, lambda done: bar.update(task, completed=done), media)
            if strict and drift.notes:
                rows = Message("rows like the training rows, as ", Option("strict"), " asks")
                raise InputError(str(data), f"differs from the training rows: {'; '.join(drift.notes)}", rows)
    notes, to_stdout = [*drift.notes, *getattr(write, "notes", ())], str(out) == "-"
    if as_json and not to_stdout:
        found = [{name: value for name, value in each._asdict().items() if name != "text"} for each in drift.found]
        write_json({"out": str(out), "rows": drift.rows, "notes": notes, "drift": found})
    elif not quiet:  # on standard error, since the predictions may go to standard output
        for text in notes:
            note(text)
        if not to_stdout:
            errors.print(f"{drift.rows:,} rows predicted: {out}", markup=False, highlight=False, soft_wrap=True)


def _model(folder: Path) -> TableClassifier:
    """The model of a folder of `raan fit`, or of the folder `model` within it."""
    from raan.fit.classifier import TableClassifier
    from raan.io import load
    from raan.io.files import inside

    inner = inside(folder, "model")
    model = load(inner if inner.is_dir() else folder)
    if not isinstance(model, TableClassifier):
        raise ValueError(
            f"{folder} holds a {type(model).__name__}, which knows of features, not of columns; expected what "
            "`raan fit` wrote. In Python raan.load(...).predict(X) takes features"
        )
    return model
