"""The audit of any model's predictions, from a file."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raan.cli.console import console, errors, naming, waiting, write_json
from raan.cli.options import (
    Data,
    Decimal,
    Delimiter,
    Encoding,
    Json,
    MergeSpellings,
    Positive,
    Quiet,
    Strict,
    points_option,
    read_points,
)
from raan.errors import InputError, Option, in_shell, listed, spell
from raan.fairness.counts import MIN_MEASURED
from raan.fairness.measures import AIMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raan.fairness.findings import Audit
    from raan.fairness.monitor import Watched
    from raan.fit.outcome import Facts, Outcome
    from raan.tables.read import RawTable


RENAMED = {
    "y_true": "label",
    "y_pred": "prediction",
    "sensitive_features": "attribute",
    "pos_label": "positive",
    "control_features": "control",
}
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
    prediction: Annotated[str, typer.Option(metavar="COL", help="The column of the predicted classes.")],
    attribute: Annotated[
        list[str], typer.Option(metavar="COL [COL ...]", help="The column of the groups; several are crossed.")
    ],
    label: Annotated[
        str | None,
        typer.Option(metavar="COL", help="The column of the true classes; with --baseline they may come later."),
    ] = None,
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
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --baseline: the file that keeps the months' counts, made if needed."
        ),
    ] = None,
    month: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --state: the month; one of this name is replaced. Default: DATA's name."
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="More measures, such as precision.gap or selection-rate.ratio."),
    ] = None,
    positive: Annotated[str | None, Positive] = None,
    weight: Annotated[str | None, typer.Option(metavar="COL", help="What each row counts.")] = None,
    person: Annotated[
        str | None, typer.Option(metavar="COL", help="Whose row it is, where people have several.")
    ] = None,
    control: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="Columns within whose values the gaps are shown too.")
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
    merge_spellings: MergeSpellings = False,
    strict: Strict = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Audit the predictions of any model: accuracy, gaps and each group's figures, with intervals.

    Rows of unknown attribute count in the accuracy only, and so do groups too small to evaluate, which are named.
    An attribute of many numbers, such as an age, is binned. The equalized-odds gap is the sum of the differences
    of true and false positive rates. Groups and classes that differ only by case or spaces, and predicted classes
    that no label has, are noted; with --strict they are errors.

    With --baseline, accuracy, aim, and every group's recalls and selection rates are compared with what could be
    expected of the model: within chance, in danger, or contradicted. With --state the months add up, and a false
    alarm in any of them has a probability of at most 5 %. Rows without a label count in the selection rates; audit
    the month again under its name when the labels have come. Without --state this is a history of one month.

    Exit codes: 0 done, 1 the metric is above --fail-above or undefined, or the promise of --baseline is
    contradicted, 2 wrong input.
    """
    if baseline is None and (label is None or state or month):
        raise ValueError("--label is needed without --baseline, and --state and --month only go with it")
    if month and not state:
        raise ValueError("--month names a month of a history; expected --state FILE too")
    if fail_above is not None and fail_above >= (most := 200 if "odds" in metric else 100):
        raise ValueError(
            f"--fail-above is {fail_above:g} points, and {metric} is never above {most}: it cannot fail"
        )
    with waiting(f"reading {data}", quiet):
        import numpy as np

        from raan.fairness.audit import audit as measure_all
        from raan.fit.outcome import Outcome
        from raan.tables.columns import MISSING
        from raan.tables.load import read_person
        from raan.tables.read import Layout, read, read_weight

        outcome = Outcome.load(baseline) if baseline else None
        tokens = (*MISSING, *(missing or ()))
        table = read(data, missing=tokens, layout=Layout(delimiter, encoding, decimal))
    predicted = read_classes(table, prediction, "prediction")
    truth = (
        read_classes(table, label, "label", late=outcome is not None) if label else np.full(len(predicted), None)
    )
    groups, notes = read_groups(table, attribute)
    for option, name in (("weight", weight), ("person", person)):
        table.check_names([name] if name else [], option)
    weights, persons = read_weight(table, weight), read_person(table, person)
    strata = read_groups(table, control, "control")[0] if control else None
    known = np.array([value is not None for value in truth])
    found, said = None, []
    claims: tuple[Watched, ...] = ()
    with naming(RENAMED):
        if known.any() or outcome is None:
            options: Any = {"min_count": min_count, "merge_spellings": merge_spellings, "pos_label": positive}
            columns = {"sample_weight": weights, "groups": persons, "control_features": strata}
            options |= {name: each[known] for name, each in columns.items() if each is not None}
            truths = truth[known].astype(str)
            found = measure_all(truths, predicted[known], groups[known], measures=measure or (), **options)
            said = [spell(note, in_shell()) for note in found.notes]
            said += _note_unknown(outcome.facts, found) if outcome else []
            found = replace(found, notes=(*notes, *said))
        if strict and said:
            raise InputError(str(data), f"is not as --strict asks: {' '.join(said)}", "values spelt in one way")
        if outcome:
            claims = _watch(outcome, truth, predicted, groups, state, month, data)
    if as_json:
        compared = {"baseline": _to_dict(claims)} if outcome else {}
        write_json({**(found.to_dict() if found else {}), **compared})
    elif not quiet:
        if found:
            text = found.to_text(console.width) if console.is_terminal else str(found)
            wrap: Any = {"soft_wrap": not console.is_terminal}
            console.print(f"{text}\n\n{found.reading}", markup=False, highlight=False, **wrap)
        if outcome:
            _show_claims(outcome, claims)
    if fail_above is not None:
        if found is None:
            raise ValueError("--fail-above needs labels, and no row has one yet")
        _evaluate(found, metric, fail_above)
    from raan.fairness.monitor import Standing

    if titles := [claim.title for claim in claims if claim.standing is Standing.CONTRADICTED]:
        named = f"The promise of {baseline} is contradicted: {'; '.join(titles)}."
        errors.print(named, highlight=False, markup=False)
        raise typer.Exit(1)


def _watch(
    outcome: Outcome, truth: Any, predicted: Any, groups: Any, state: Path | None, month: str | None, data: Path
) -> tuple[Watched, ...]:
    """Test what was expected of a model by all months so far; keep them in the state file, if there is one."""
    import numpy as np

    from raan.fairness.groups import UNKNOWN, encode_attribute, match_names
    from raan.fairness.monitor import History, Month, Watch
    from raan.io.files import lock

    facts = outcome.facts
    watch = Watch(outcome.rule, outcome.promise, outcome.held_out[outcome.place], facts.classes, facts.groups)
    known = np.array([value is not None for value in truth])
    label = np.full(len(truth), UNKNOWN)
    label[known] = _match_classes(truth[known], facts.classes, "y_true")
    attribute = encode_attribute(groups)
    group = np.array([*match_names(attribute.names, facts.groups), UNKNOWN])[attribute.codes]
    if (group == UNKNOWN).all():
        came = f"has none of the groups of the fit, but {listed(attribute.names, 5)}"
        raise InputError(Option("sensitive_features"), came, listed(facts.groups))
    shape = (len(facts.classes), len(facts.groups))
    rows = Month.of(label, group, _match_classes(predicted, facts.classes, "y_pred"), shape)
    if state is None:
        return watch.check([rows])
    with lock(state.with_name(f".{state.name}.lock"), wait=True):
        history = History.read(state, watch)
        history.add(month or data.stem, rows, named=month is not None)
        history.save(state)
    return watch.check(list(history.months.values()))


def _note_unknown(facts: Facts, found: Audit) -> list[str]:
    """Return a note on the groups, and on the classes, that the rows of the baseline did not have."""
    here = (tuple(each.name for each in found.groups), tuple(dict.fromkeys(each.label for each in found.cells)))
    known = (("groups", facts.all_groups), ("classes", facts.classes))
    new = [
        (what, had, [name for name in names if name not in had])
        for names, (what, had) in zip(here, known, strict=True)
    ]
    return [f"The baseline had no {what} {listed(names)}, but {listed(had)}." for what, had, names in new if names]


def _match_classes(values: Any, classes: tuple[str, ...], argument: str) -> Any:
    """Return the number of each value's class among those of the model."""
    import numpy as np

    from raan.fairness.groups import UNKNOWN, match_names

    names, codes = np.unique(np.asarray(values, dtype=str), return_inverse=True)
    places = match_names(names.tolist(), classes)
    if UNKNOWN in places:
        came = f"has {str(names[places.index(UNKNOWN)])!r}, which is no class of the model"
        raise InputError(Option(argument), came, f"one of {listed(classes)}")
    return np.array(places, dtype=np.int64)[codes]


def _to_dict(claims: Sequence[Watched]) -> dict[str, Any]:
    """The claims for JSON, with the standing of the one that fares worst."""
    from raan.fairness.monitor import Standing, describe

    worst = max((claim.standing for claim in claims), key=list(Standing).index)
    named = {claim.key: claim.to_dict() for claim in claims}
    return {"status": str(worst), "reading": describe(claims), "claims": named}


def _show_claims(outcome: Outcome, claims: Sequence[Watched]) -> None:
    """A line for each claim, who is in danger, and what test rows said of the model when it was made."""
    from rich.table import Table
    from rich.text import Text

    from raan.fairness.monitor import Standing, describe
    from raan.fit.words import status

    heads = ("", "expected", "month", "all months", "")
    grid = Table(*heads, title="Against the promise (%)", title_justify="left", box=None, pad_edge=False)
    for claim in claims:
        latest = "" if math.isnan(claim.latest) else f"{100 * claim.latest:.1f}"
        style = {Standing.CONTRADICTED: "red", Standing.DANGER: "yellow"}.get(claim.standing, "")
        standing = "" if claim.standing is Standing.WITHIN else str(claim.standing)
        expected = claim.promised.removesuffix(" %")
        grid.add_row(Text(claim.title), expected, latest, claim.shown, Text(standing, style))
    console.print()
    console.print(grid)
    console.print(describe(claims), markup=False, highlight=False)
    console.print(f"When the model was made, its test rows said: {status(outcome)}.", highlight=False)


def read_classes(table: RawTable, name: str, argument: str, late: bool = False) -> Any:
    """Return a column's classes as text, or None where they may come late; 1 and 1.0 are one."""
    table.check_names([name], argument)
    column = table.check([name], {name: "category"})[name]
    absent = column.isna().to_numpy()
    if late:
        return column.astype(object).where(~absent, None).to_numpy()
    if absent.any():
        raise InputError(
            f"{table.locate(int(absent.argmax()))}: the {argument} {name!r}",
            f"is missing, as in {absent.sum():,} of {len(absent):,} rows",
            "one in every row",
            "drop those rows",
        )
    return column.to_numpy(dtype=str)


def read_groups(table: RawTable, names: list[str], argument: str = "attribute") -> tuple[Any, list[str]]:
    """Return the columns of the groups, None where a value is missing, and a note for each that was binned."""
    import numpy as np

    from raan.tables.load import as_groups

    table.check_names(names, argument)
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
