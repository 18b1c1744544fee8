"""A certificate of a saved model, from rows that neither trained nor chose it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from raan.cli.audit import RENAMED, read_classes, read_groups
from raan.cli.choose import load_model
from raan.cli.console import console, naming, note, waiting, write_json
from raan.cli.options import Data, Delimiter, Encoding, ImageFolder, Json, Quiet, read_share
from raan.errors import in_shell, spell
from raan.fairness.counts import MIN_MEASURED

NOT_CERTIFIED = 1
"""The exit code where the accuracy budget or a limit is not certified."""


def certify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `raan fit` wrote.")],
    data: Data,
    label: Annotated[
        str | None, typer.Option(metavar="COL", help="The column of the true classes; by default that of the fit.")
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(metavar="COL [COL ...]", help="The column of the groups; by default that of the fit."),
    ] = None,
    confidence: Annotated[
        float, typer.Option(parser=read_share, metavar="SHARE", help="How sure it is that all bounds hold.")
    ] = 0.95,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the certificate as JSON.")] = None,
    min_count: Annotated[
        int, typer.Option(min=1, help="Groups with fewer rows than this of some class are left out, by name.")
    ] = MIN_MEASURED,
    image_folder: ImageFolder = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    decimal: Annotated[
        str | None, typer.Option(help="What marks decimals in a text file; by default, what did in training.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Certify a model of `raan fit` on rows that neither trained nor chose it.

    The bounds of the accuracy lost against the baseline, of the recall of every class of every group, and of the
    gaps hold all together with the given confidence, for any number of rows. Rows that trained the model are
    recognised by their fingerprints and refused. The model's own test rows may be used, once. An attribute of many
    numbers, such as an age, is binned anew: give the bins of the fit.

    Exit codes: 0 the accuracy budget and the limits of the model's rule are certified, 1 they are not, 2 wrong
    input.
    """
    with waiting(f"reading {data}", quiet):
        from raan.frontier.certify import certify as certify_rows
        from raan.io import load
        from raan.io.files import inside
        from raan.tables.media import Media
        from raan.tables.read import Layout, read

        model, baseline = load_model(folder), load(inside(folder, "plain"))
        made = model.preprocessing
        layout = Layout(delimiter, encoding, made.decimal if decimal is None else decimal)
        table = read(data, missing=made.missing, text=made.text, layout=layout)
        truth = read_classes(table, label or model.about["label"], "label")
        groups, notes = read_groups(table, attribute or list(model.about["attributes"]))
        features = made.encode(table, Media(image_folder=image_folder).beside(data))
        reference = baseline.classifier.predict(features)
    with naming(RENAMED), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = certify_rows(
            model.classifier,
            features,
            truth,
            groups,
            confidence=confidence,
            min_count=min_count,
            classes=model.class_names,
            reference=reference,
        )
    said = [spell(each.message, in_shell(RENAMED)) for each in caught if isinstance(each.message, UserWarning)]
    found = replace(found, notes=(*found.notes, *notes, *dict.fromkeys(said)))
    if out:
        found.save(out)
    if as_json:
        write_json(found.to_dict())
    elif not quiet:
        for text in found.notes:
            note(text)
        console.print(
            str(replace(found, notes=())), markup=False, highlight=False, soft_wrap=not console.is_terminal
        )
    if not found.certified:
        raise typer.Exit(NOT_CERTIFIED)
