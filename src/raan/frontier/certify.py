"""Certificates of a fitted FairFrontier, from rows that neither trained nor chose it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from raan.errors import InputError, Option
from raan.fairness.certificate import Certificate, certify_counts
from raan.fairness.counts import MIN_MEASURED, count
from raan.fairness.groups import check_lengths, check_order, match_groups
from raan.fitting import class_name, count_rows, match_classes
from raan.frontier.decide import Evaluation, decide
from raan.frontier.sketch import Overlap, Sketch, hash_rows
from raan.io.files import digest

if TYPE_CHECKING:
    from raan.frontier.estimator import FairFrontier

UNCHECKED = "Whether these rows trained the model could not be checked: {}."


def certify(
    model: FairFrontier,
    X: Any,
    y: Any,
    sensitive_features: Any,
    *,
    confidence: float = 0.95,
    min_count: int = MIN_MEASURED,
    classes: Sequence[str] | None = None,
    reference: Int[np.ndarray, "row"] | None = None,
) -> Certificate:
    """Certify a fitted model; see `FairFrontier.certify`.

    Args:
        model: a FairFrontier that chose among the points of a trade-off.
        X: the rows.
        y: their classes.
        sensitive_features: their groups.
        confidence: how sure it is that all bounds hold.
        min_count: groups with fewer rows of some class are left out, by name.
        classes: the names of the classes, where the model knows numbers only.
        reference: the baseline's decisions, as codes, where the baseline is not the model's own.

    Returns:
        The certificate.

    Raises:
        InputError: for rows that trained the model, and for classes or groups that it does not have.
    """
    if len(model.groups_) < 2:
        raise InputError(Option("sensitive_features"), "had fewer than two groups in fit", "groups to compare")
    names = [class_name(value) for value in model.classes_.tolist()] if classes is None else list(classes)
    check_order(X=X, y=y, sensitive_features=sensitive_features)
    label = match_classes(y, names)
    rows = count_rows(X)
    check_lengths(X=range(rows), y=label)
    group = match_groups(sensitive_features, model.groups_, rows)
    hashes = hash_rows(X, label)
    notes = tuple(check_fresh(getattr(model, "sketch_", None), hashes))
    asked = sensitive_features if model.attribute_at_prediction else None
    posterior = model.posterior(X, sensitive_features=asked)
    same = reference is None and not model.frontier_.chosen_place
    reference = decide(posterior, model.points_.weights[0]) if reference is None else reference
    evaluation = Evaluation(posterior, label, group, reference)
    chosen, plain = evaluation.count(model.weights_[None]), _count_decisions(evaluation)
    found = certify_counts(
        chosen.counts[0],
        plain,
        chosen.switched[0],
        model.frontier_.rule,
        names,
        model.groups_,
        confidence=confidence,
        min_count=min_count,
        same=same,
    )
    data = b"" if hashes is None else np.sort(hashes).tobytes() + np.bincount(group + 1).tobytes()
    return replace(
        found, notes=(*found.notes, *notes), model=fingerprint(model), data=digest(data) if data else ""
    )


def fingerprint(model: FairFrontier) -> str:
    """Return what identifies a fit and its choice: its points, its weights and its training rows."""
    sketch = getattr(model, "sketch_", None)
    arrays = [model.weights_, model.points_.weights, model.points_.counts, model.points_.switched]
    content = b"".join(np.asarray(each, np.float64).tobytes() for each in arrays)
    words = repr((model.classes_.tolist(), tuple(model.groups_))).encode()
    return digest(content + words + (b"" if sketch is None else sketch.hashes.tobytes()))


def _count_decisions(evaluation: Evaluation) -> np.ndarray:
    """Count the baseline's decisions."""
    assert evaluation.reference is not None
    classes, slots = evaluation.shape
    return count(evaluation.label, evaluation.group, evaluation.reference, classes, slots - 1)


def check_fresh(sketch: Sketch | None, hashes: Any) -> list[str]:
    """Refuse rows that trained the model; say where this cannot be seen."""
    if sketch is None or hashes is None or not len(sketch.hashes):
        why = "its values cannot be hashed" if hashes is None else "the model keeps no fingerprints of its rows"
        return [UNCHECKED.format(why)]
    overlap = sketch.find(hashes)
    refuse(overlap)
    return [] if overlap.visible else [UNCHECKED.format("too many rows of the table are equal")]


def refuse(overlap: Overlap) -> None:
    """Raise an InputError for rows that trained or chose the model."""
    if overlap.trained:
        raise InputError(
            "the rows",
            f"contain rows that trained or chose the model: about {max(overlap.share, 0.01):.0%}",
            "rows that took no part in the fit",
            "use test rows, or later ones",
        )
