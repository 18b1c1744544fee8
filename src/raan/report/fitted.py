"""The page and the card of a FairFrontier that Python fitted, from test rows: those of `raan fit`."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from raan.errors import InputError, Option
from raan.fairness.groups import check_lengths, check_order, match_groups
from raan.fit.card import model_card
from raan.fit.inspect import Probe, score_groups, shuffle_columns
from raan.fit.outcome import Facts, Outcome
from raan.fitting import class_name, count_rows, match_classes
from raan.frontier.certify import check_fresh
from raan.frontier.decide import Evaluation, decide
from raan.frontier.sketch import hash_rows
from raan.io.files import write_text
from raan.report.model_page import write_model_page

if TYPE_CHECKING:
    from raan.frontier.estimator import FairFrontier


def report(
    model: FairFrontier,
    path: str | PathLike[str],
    X: Any,
    y: Any,
    sensitive_features: Any,
    *,
    card: str | PathLike[str] | None = None,
    source: str = "",
) -> None:
    """Write the page, and the card if asked for; see `FairFrontier.report`."""
    outcome = make_outcome(model, X, y, sensitive_features, source)
    write_model_page(outcome, str(path), None)
    if card is not None:
        write_text(str(card), model_card(outcome, None))


def make_outcome(model: FairFrontier, X: Any, y: Any, sensitive_features: Any, source: str = "") -> Outcome:
    """Evaluate every point of a fitted model's trade-off on test rows.

    Raises:
        InputError: for rows that trained the model, and for classes or groups that it does not have.
    """
    if len(model.groups_) < 2:
        raise InputError(Option("sensitive_features"), "had fewer than two groups in fit", "groups to compare")
    check_order(X=X, y=y, sensitive_features=sensitive_features)
    classes = tuple(class_name(value) for value in model.classes_.tolist())
    label, rows = match_classes(y, classes), count_rows(X)
    check_lengths(X=range(rows), y=label)
    group = match_groups(sensitive_features, model.groups_, rows)
    sketch = getattr(model, "sketch_", None)
    notes = check_fresh(sketch, hash_rows(X, label))
    asked = sensitive_features if model.attribute_at_prediction else None
    posterior = model.posterior(X, sensitive_features=asked)
    found = Evaluation(posterior, label, group, decide(posterior, model.points_.weights[0]))
    test = found.count(model.points_.weights)
    columns = _columns(X)
    attributes = _names(sensitive_features, "group")
    kind = type(model.estimator[-1] if hasattr(model.estimator, "steps") else model.estimator).__name__
    judged = round(float(model.points_.counts[0].sum()))
    facts = Facts(
        label=_names(y, "class")[0],
        attributes=attributes,
        source=source or "the table",
        classes=classes,
        groups=model.groups_,
        sizes=(*getattr(model, "sizes_", (judged, judged)), rows),
        cells=tuple(tuple(map(int, each)) for each in model.points_.counts[0].sum(2)[:, :-1].round()),
        all_groups=model.groups_,
        columns=(*columns, *(attributes if model.attribute_at_prediction else ())),
        minutes=0,
        trained=(kind,),
        method=f"{kind} under FairFrontier",
        plain_method=kind,
        own_plain=True,
        known={},
        known_rule=(0.0, None),
        notes=tuple(notes),
        warnings=(),
        fingerprint="" if sketch is None else sketch.fingerprint,
        in_python=True,
    )
    scores = score_groups(posterior.sum(2), label, group, model.groups_)
    probe = _no_probe()
    if isinstance(X, pd.DataFrame | np.ndarray) and not model.attribute_at_prediction:
        spans = {name: slice(place, place + 1) for place, name in enumerate(columns)}
        probe = shuffle_columns(X, spans, label, group, model.posterior)
    rule, place = model.frontier_.rule, model.frontier_.chosen_place
    curves = {"plain": scores, "chosen": scores}
    return Outcome(facts, model.points_, rule, place, model.promise_, test.counts, test.switched, curves, probe)


def _no_probe() -> Probe:
    """Of a table whose columns cannot be shuffled."""
    none = np.zeros(0, np.int64)
    return Probe((), none, none, np.zeros((0, 0, 1, 1), np.float32))


def _columns(X: Any) -> tuple[str, ...]:
    """The names of the columns; numbers where they have none."""
    if hasattr(X, "columns"):
        return tuple(map(str, X.columns))
    wide = getattr(X, "ndim", 1) == 2
    return tuple(f"column {place}" for place in range(X.shape[1])) if wide else ("the input",)


def _names(column: Any, otherwise: str) -> tuple[str, ...]:
    """What a column, or several, are called; `otherwise` where they have no names."""
    several = getattr(column, "columns", [getattr(column, "name", None)])
    return tuple(otherwise if name is None else str(name) for name in several)
