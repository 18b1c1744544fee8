"""The audit of any model's predictions, from a file."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raan.cli.console import console, errors, naming, waiting
from raan.cli.options import Data, Decimal, Delimiter, Encoding, Json, Quiet, points_option, read_points
from raan.errors import InputError
from raan.fairness.aims import AIMS
from raan.fairness.counts import MIN_MEASURED
from raan.fairness.promise import Status

if TYPE_CHECKING:
    from raan.fairness.findings import Audit
    from raan.fairness.promise import Verdict
    from raan.fit.outcome import Outcome
    from raan.tables.read import RawTable


CONTRADICTED = Status.CONTRADICTED

RENAMED = {"y_true": "label", "y_pred": "prediction", "sensitive_features": "attribute"}
"""What Python's audit takes, and the option that names its column."""


LIMITED = {f"{aim.option}-error" if aim.more_is_better else aim.option: aim for aim in AIMS.values()}
"""The metrics that may have a limit: gaps, and how far an accuracy is from perfect."""


def _limited(value: str) -> str:
    """The name of a metric that may have a limit."""
    if value not in LIMITED:
        raise typer.BadParameter(f"{value!r} is no metric; expected one of {', '.join(LIMITED)}")
    return value


Metric = Annotated[
    str, typer.Option(parser=_limited, metavar="|".join(LIMITED), help="The metric that --fail-above limits.")
]


def audit(
    data: Data,
    label: Annotated[str, typer.Option(metavar="COL", help="The column of the true classes.")],
    prediction: Annotated[str, typer.Option(metavar="COL", help="The column of the predicted classes.")],
    attribute: Annotated[
        list[str], typer.Option(metavar="COL [COL ...]", help="The column of the groups; several are crossed.")
    ],
    fail_above: Annotated[
        float | None,
        points_option(
            "Exit with code 1 if the --metric is above this", read=partial(read_points, above=1.0, most=200)
        ),
    ] = None,
    metric: Metric = "equalized-odds",
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="What `raan fit` wrote: exit with code 1 if its promise is contradicted."
        ),
    ] = None,
    min_count: Annotated[
        int, typer.Option(min=1, help="Groups with fewer rows than this of some class are left out of the gaps.")
    ] = MIN_MEASURED,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word for a missing value, besides '', ? and NA.")
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    decimal: Decimal = ".",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Audit the predictions of any model: accuracy, gaps and each group's figures, with intervals.

    Rows of unknown attribute count in the accuracy only, and so do groups too small to evaluate, which are named.
    An attribute of many numbers, such as an age, is binned. The equalized-odds gap is the sum of the differences
    of true and false positive rates.

    With --baseline, accuracy and aim are compared with what was promised of the model for new rows: kept, not
    confirmed (short of it within chance) or contradicted. This is the test that `raan fit` applies to its own test
    rows.

    Exit codes: 0 done, 1 the metric is above --fail-above or undefined, or the promise of --baseline is
    contradicted, 2 wrong input.
    """
    if fail_above is not None and fail_above >= (most := 200 if "odds" in metric else 100):
        raise ValueError(
            f"--fail-above is {fail_above:g} points, and {metric} is never above {most}: it cannot fail"
        )
    with waiting(f"reading {data}", quiet):
        from raan.fairness.audit import audit as measure
        from raan.tables.columns import MISSING
        from raan.tables.read import Layout, read

        promised = _promise(baseline) if baseline else None
        tokens = (*MISSING, *(missing or ()))
        table = read(data, missing=tokens, layout=Layout(delimiter, encoding, decimal))
    truth, predicted = (
        _classes(table, name, what) for name, what in ((label, "label"), (prediction, "prediction"))
    )
    groups, notes = _groups(table, attribute)
    with naming(RENAMED):
        found = measure(truth, predicted, groups, min_count=min_count)
    found = replace(found, notes=(*notes, *found.notes))
    verdict = promised.promise.check(promised.rule, found.overall) if promised else None
    if as_json:
        compared = {"baseline": verdict.to_dict()} if verdict else {}
        sys.stdout.write(json.dumps({**found.to_dict(), **compared}, ensure_ascii=False) + "\n")
    elif not quiet:
        text = found.to_text(console.width) if console.is_terminal else str(found)
        wrap: Any = {"soft_wrap": not console.is_terminal}
        console.print(f"{text}\n\n{found.reading}", markup=False, highlight=False, **wrap)
        if promised and verdict:
            _show_verdict(promised, verdict)
    if fail_above is not None:
        _evaluate(found, metric, fail_above)
    if verdict and (claims := verdict.of(CONTRADICTED)):
        names = ", ".join(claim.title for claim in claims)
        errors.print(f"The promise of {baseline} is contradicted: {names}.", highlight=False, markup=False)
        raise typer.Exit(1)


def _promise(folder: Path) -> Outcome:
    from raan.fit.outcome import Outcome

    return Outcome.load(folder)


def _show_verdict(outcome: Outcome, verdict: Verdict) -> None:
    """A line for each claim, and what test rows said of the model when it was made."""
    from rich.table import Table

    from raan.fit.words import status

    grid = Table("", "promised", "here", "", title="Against the promise", title_justify="left")
    for claim in verdict.claims:
        shown = f"[red]{claim.status}[/red]" if claim.status is CONTRADICTED else str(claim.status)
        grid.add_row(claim.title, claim.promised, claim.shown, shown)
    console.print()
    console.print(grid)
    console.print(f"When the model was made, its test rows said: {status(outcome)}.", highlight=False)


def _classes(table: RawTable, name: str, argument: str) -> Any:
    """Return a column's classes as text; 1 and 1.0 are one."""
    table.check_names([name], argument)
    column = table.check([name], {name: "category"})[name]
    absent = column.isna().to_numpy()
    if absent.any():
        raise InputError(
            f"{table.locate(int(absent.argmax()))}: the {argument} {name!r}",
            f"is missing, as in {absent.sum():,} of {len(absent):,} rows",
            "one in every row",
            "drop those rows",
        )
    return column.to_numpy(dtype=str)


def _groups(table: RawTable, names: list[str]) -> tuple[Any, list[str]]:
    """Return the attribute columns, None where a value is missing, and a note for each that was binned."""
    import numpy as np

    from raan.tables.load import as_groups

    table.check_names(names, "attribute")
    groups = {name: as_groups(name, column) for name, column in table.check(names, {}).items()}
    notes = [f"{note[0].upper()}{note[1:]}." for _, note in groups.values() if note]
    columns = [words.astype(object).where(words.notna(), None).to_numpy() for words, _ in groups.values()]
    return np.stack(columns, axis=1), notes


def _evaluate(found: Audit, metric: str, limit: float) -> None:
    """Exit with code 1 if the metric is above its limit, in points, or undefined."""
    aim = LIMITED[metric]
    value = 100 * found.overall[aim.metric].value
    value = 100 - value if aim.more_is_better else value
    if math.isnan(value) or value > limit:
        shown = "undefined" if math.isnan(value) else f"{value:.2f} points"
        errors.print(f"FAIL: {metric} is {shown}; --fail-above is {limit:g} points", highlight=False)
        raise typer.Exit(1)
