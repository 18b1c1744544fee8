"""How well a classifier serves the groups of a sensitive attribute, with confidence intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from raan.errors import InputError, InputTypeError, Message, Option, is_number, is_whole
from raan.fairness.counts import (
    MIN_MEASURED,
    Counts,
    Estimate,
    bracket,
    count,
    effective_weights,
    resample,
)
from raan.fairness.findings import Audit, Cell, Group, Rates
from raan.fairness.groups import (
    Codes,
    check_common,
    check_lengths,
    check_order,
    check_size,
    encode_attribute,
    match_classes,
    merge_spellings,
    note_missing,
    note_spellings,
    read_weights,
)
from raan.fairness.measures import Measure as MeasureOf
from raan.fairness.measures import read_measure
from raan.fairness.metrics import (
    NAMES,
    attribute_accuracy,
    false_positive_rate,
    group_accuracy,
    measure,
    selection_rate,
    true_positive_rate,
    undefined,
)

Measure: TypeAlias = Callable[[np.ndarray], np.ndarray]
Measured: TypeAlias = Mapping[str, Float[np.ndarray, "*cell 3"]]  # value, low, high

RATES: tuple[Measure, ...] = (selection_rate, true_positive_rate, false_positive_rate)
"""What is measured of each group and class."""

MOST_REPLICATES = 1_000_000

IN_MEMORY = 1 << 22
"""Numbers of replicated counts that are in memory at a time."""

MOST_UNSEEN = 20
"""Classes that may be predicted and never be true."""


def audit(
    y_true: object,
    y_pred: object,
    sensitive_features: object,
    *,
    confidence: float = 0.95,
    replicates: int = 1000,
    min_count: int = MIN_MEASURED,
    random_state: int | np.random.Generator | None = 0,
    merge_spellings: bool = False,
    measures: Sequence[Any] = (),
    pos_label: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    control_features: Any = None,
) -> Audit:
    """Measure how predictions serve the groups of the sensitive features.

    Args:
        y_true: the true class of each sample.
        y_pred: the predicted class.
        sensitive_features: the attribute; several columns are crossed.
        confidence: of the intervals.
        replicates: bootstrap samples of the intervals.
        min_count: samples of some class that a group must have to be evaluated.
        random_state: seed of the bootstrap.
        merge_spellings: whether values that differ only by case or spaces are one.
        measures: what to measure besides the usual: names, formulas or `raan.measures`.
        pos_label: the positive class of these, where there are two; the second in sorted order by default.
        sample_weight: what each sample counts; intervals are those of the effective sample size.
        groups: whose sample each is, where people have several.
        control_features: columns that divide the samples into strata, each with an audit of its own in `strata`.
            Strata in which fewer than two groups are large enough are named in `notes`.

    Returns:
        What was found.

    Groups with fewer than `min_count` samples of some class are too small to evaluate: they have their rows in the
    tables, but the gaps and the worst group are those of the others. `left_out` names them. A class that is
    predicted but never true is legal: the metrics that need samples of it are undefined. Undefined is nan, with
    the reason. Classes that labels and predictions spell differently (1 and True, yes and Yes) are matched, with a
    note in `notes`. Groups or classes that differ only by case or spaces are different ones, with a note, unless
    `merge_spellings` is set.
    """
    _check_options(confidence, replicates, min_count)
    if not isinstance(merge_spellings, bool | np.bool_):
        raise InputTypeError(Option("merge_spellings"), f"is {merge_spellings!r}", "True or False")
    columns = {"sample_weight": sample_weight, "groups": groups, "control_features": control_features}
    check_order(y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features, **columns)
    label, prediction, attribute, notes = _encode(y_true, y_pred, sensitive_features, merge_spellings)
    if not isinstance(measures, list | tuple):
        raise InputTypeError(Option("measures"), f"is {measures!r}", "a list of measures")
    measured = [read_measure(each, "measures") for each in measures]
    weight = _read_weights(sample_weight, groups, label, attribute)
    positive = _find_positive(pos_label, label.names)
    strata = None if control_features is None else encode_attribute(control_features, argument="control_features")
    if strata is not None:
        check_lengths(y_true=label.codes, control_features=strata.codes)

    def audit_some(rows: Any) -> Audit:
        codes = label.codes[rows], attribute.codes[rows], prediction.codes[rows]
        shape = len(label.names), len(attribute.names)
        return audit_counts(
            count(*codes, *shape, None if weight is None else weight[rows]),
            label.names,
            attribute.names,
            confidence=confidence,
            replicates=replicates,
            min_count=min_count,
            random_state=random_state,
            measures=[each.at(positive) for each in measured],
            samples=count(*codes, *shape),
        )

    found = replace(audit_some(slice(None)), notes=notes)
    if strata is None:
        return found
    inside = {name: audit_some(strata.codes == code) for code, name in enumerate(strata.names)}
    small = [name for name, each in inside.items() if len(each.evaluated) < 2]
    if small:
        text = f"Strata with fewer than two groups of {min_count} samples of every class: {', '.join(small)}."
        found = replace(found, notes=(*notes, text))
    return replace(found, strata={name: each for name, each in inside.items() if name not in small})


def audit_counts(
    counts: Float[np.ndarray, "label attribute prediction"],
    class_names: Sequence[str],
    attribute_names: Sequence[str],
    *,
    confidence: float = 0.95,
    replicates: int = 1000,
    min_count: int = MIN_MEASURED,
    random_state: int | np.random.Generator | None = 0,
    measures: Sequence[MeasureOf] = (),
    samples: Float[np.ndarray, "label attribute prediction"] | None = None,
) -> Audit:
    """The audit of predictions that are counted already, as by `raan.fairness.count`.

    The attribute axis has one slot more than there are names: the last is of unknown attribute. Of weighted counts
    `samples` are those without weights, which say how many samples there are.
    """
    _check_options(confidence, replicates, min_count)
    classes, groups = tuple(class_names), tuple(attribute_names)
    if counts.shape != (len(classes), len(groups) + 1, len(classes)):
        raise InputError(
            "counts",
            f"has shape {counts.shape}",
            f"({len(classes)}, {len(groups) + 1}, {len(classes)}) for {len(classes)} classes and {len(groups)} "
            "attribute values",
        )
    samples = counts if samples is None else samples
    evaluated = _large_groups(samples, min_count)
    overall = overall_measures(evaluated, measures)
    table = {**overall, **{rate.__name__: rate for rate in (attribute_accuracy, group_accuracy, *RATES)}}
    rng = _generator(random_state)
    found = _estimate(table, counts, replicates, confidence, rng)
    return Audit(
        count=int(samples.sum()),
        unknown=int(samples[:, -1].sum()),
        confidence=confidence,
        overall={name: Estimate(*found[name].tolist()) for name in overall},
        groups=_groups(found, samples, classes, groups),
        cells=_cells(found, samples, classes, groups),
        undefined=_undefined(counts, evaluated, classes, groups, min_count),
        left_out=tuple(name for name, enough in zip(groups, evaluated, strict=True) if not enough),
        min_count=min_count,
    )


def overall_measures(evaluated: Bool[np.ndarray, "group"], measures: Sequence[MeasureOf]) -> dict[str, Measure]:
    """The usual metrics by name, and the measures besides, of the groups that are evaluated."""
    table: dict[str, Measure] = {name: partial(_metric, name, evaluated) for name in NAMES}
    own = {each.metric: each for each in measures if each.metric not in NAMES}
    return table | {name: partial(_leave_out_and, each, evaluated) for name, each in own.items()}


def _estimate(
    measures: Mapping[str, Measure],
    counts: Float[np.ndarray, "label attribute prediction"],
    replicates: int,
    confidence: float,
    rng: np.random.Generator,
) -> Measured:
    """Each measure of the counts with its interval, the replicates of the counts being drawn some at a time."""
    size = max(1, IN_MEMORY // max(1, counts.size))
    drawn: dict[str, list[np.ndarray]] = {name: [] for name in measures}
    for start in range(0, replicates, size):
        some = resample(counts, min(size, replicates - start), rng)
        for name, function in measures.items():
            drawn[name].append(function(some))
    values = {name: np.concatenate(parts) for name, parts in drawn.items()}
    return {name: bracket(function(counts), values[name], confidence) for name, function in measures.items()}


def _large_groups(
    counts: Float[np.ndarray, "label attribute prediction"], min_count: int
) -> Bool[np.ndarray, "group"]:
    """Whether each group has so many samples of every class that is ever true."""
    size = counts[:, :-1].sum(-1)
    return np.asarray((size[size.sum(1) > 0] >= min_count).all(0))


def _metric(name: str, evaluated: Bool[np.ndarray, "group"], counts: Counts) -> np.ndarray:
    """One of the metrics of the whole; samples of groups that are not evaluated count as of unknown attribute."""
    return measure(name, _leave_out(counts, evaluated))


def _leave_out_and(measured: MeasureOf, evaluated: Bool[np.ndarray, "group"], counts: Counts) -> np.ndarray:
    """A measure of the groups that are evaluated."""
    return measured(_leave_out(counts, evaluated))


def _read_weights(
    sample_weight: Any, groups: Any, label: Codes, attribute: Codes
) -> Float[np.ndarray, "sample"] | None:
    """What each sample counts, scaled to effective sample sizes."""
    weight = read_weights(sample_weight, len(label.codes))
    person = None
    if groups is not None:
        person = encode_attribute(groups, argument="groups", allow_quantity=True).codes
        check_lengths(y_true=label.codes, groups=person)
    return effective_weights(weight, person, label.codes * (len(attribute.names) + 1) + attribute.codes + 1)


def _find_positive(pos_label: Any, names: Sequence[str]) -> int:
    """The number of the positive class; -1, the last, where it is not given."""
    if pos_label is None:
        return -1
    wanted = str(pos_label)
    if wanted not in names:
        raise InputError(Option("pos_label"), f"is {pos_label!r}", f"one of the classes {', '.join(names)}")
    return list(names).index(wanted)


def _leave_out(
    counts: Counts, evaluated: Bool[np.ndarray, "group"]
) -> Float[np.ndarray, "*lead label slot prediction"]:
    """The counts of the evaluated groups, the others' among the unknown; an empty group where there is none."""
    if evaluated.all():
        return counts
    known, unknown = counts[..., :-1, :], counts[..., -1:, :]
    others = unknown + known[..., ~evaluated, :].sum(-2, keepdims=True)
    kept = known[..., evaluated, :] if evaluated.any() else np.zeros_like(unknown)
    return np.concatenate([kept, others], axis=-2)


def _undefined(
    counts: Float[np.ndarray, "label attribute prediction"],
    evaluated: Bool[np.ndarray, "group"],
    classes: tuple[str, ...],
    groups: tuple[str, ...],
    min_count: int,
) -> tuple[str, ...]:
    """The reasons why some metric of the whole is nan."""
    if not evaluated.all() and evaluated.sum() < 2:
        have = f"{evaluated.sum()} of {len(groups)} groups have {min_count} or more samples of every class"
        return (f"{have}, where a gap compares two (min_count is {min_count})",)
    kept = [name for name, enough in zip(groups, evaluated, strict=True) if enough]
    return undefined(_leave_out(counts, evaluated), classes, kept)


def _generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        expected = "None, a whole number from 0, or a generator"
        raise ValueError(f"random_state is {random_state!r}; expected {expected}") from error


def _check_options(confidence: float, replicates: int, min_count: int) -> None:
    if not is_number(confidence) or not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence!r}; expected a share between 0 and 1, such as 0.95")
    if not is_whole(replicates) or not 1 <= replicates <= MOST_REPLICATES:
        most = f"at most {MOST_REPLICATES:,}"
        raise ValueError(f"replicates is {replicates!r}; expected at least 1, {most}; 1000 give steady intervals")
    if not is_number(min_count) or not min_count >= 1:
        raise ValueError(f"min_count is {min_count!r}; expected at least 1")


def _encode(
    y_true: object, y_pred: object, sensitive_features: object, merge: bool
) -> tuple[Codes, Codes, Codes, tuple[str, ...]]:
    """Encode the columns, equally long, with notes; classes are numbered over the union of both columns'."""
    label, prediction, notes = match_classes(y_true, y_pred)
    attribute = encode_attribute(sensitive_features)
    joint = Codes(np.concatenate([label.codes, prediction.codes]), label.names)
    if merge:
        attribute, joint = merge_spellings(attribute), merge_spellings(joint)
        label, prediction = (Codes(part, joint.names) for part in np.split(joint.codes, [len(label.codes)]))
    else:
        advice = Message("to merge them, pass ", Option("merge_spellings", python="merge_spellings=True"))
        found = [note_spellings("The attribute", attribute, advice), note_spellings("The label", label, advice)]
        notes += tuple(Message(note, ".") for note in found if note)
    if look := note_missing("The attribute", attribute):
        notes += (f"{look}.",)
    check_lengths(y_true=label.codes, y_pred=prediction.codes, sensitive_features=attribute.codes)
    if len(label.names) < 2:
        both = Message(Option("y_true"), " and ", Option("y_pred"))
        raise InputError(both, f"hold one class only, {label.names[0]!r}", "at least two")
    _check_classes(label, prediction)
    check_common(label, prediction)
    check_size(len(label.names), len(attribute.names))
    return label, prediction, attribute, notes


def _check_classes(label: Codes, prediction: Codes) -> None:
    """Raise a ValueError for predictions that look like probabilities or scores: each would be a class."""
    unseen = [label.names[code] for code in np.setdiff1d(prediction.codes, label.codes)]
    if len(unseen) > MOST_UNSEEN or any(map(_is_share, unseen)):
        more = f"holds {unseen[0]!r} and {len(unseen) - 1:,} more values that "
        raise InputError(
            Option("y_pred"),
            Message(more, Option("y_true"), " never has"),
            "classes",
            "are these probabilities or scores? Cut them at a threshold first",
        )


def _is_share(name: str) -> bool:
    """Whether the name is that of a number strictly between 0 and 1."""
    try:
        return 0 < float(name) < 1
    except ValueError:
        return False


def _cells(
    found: Measured,
    counts: Float[np.ndarray, "label attribute prediction"],
    class_names: tuple[str, ...],
    attribute_names: tuple[str, ...],
) -> tuple[Cell, ...]:
    """One row for each class and attribute value."""
    size = counts.sum(-1).astype(np.int64).tolist()
    measured = found[group_accuracy.__name__].tolist()
    return tuple(
        Cell(label, group, size[i][j], Estimate(*measured[i][j]))
        for i, label in enumerate(class_names)
        for j, group in enumerate(attribute_names)
    )


def _groups(
    found: Measured,
    counts: Float[np.ndarray, "label attribute prediction"],
    class_names: tuple[str, ...],
    attribute_names: tuple[str, ...],
) -> tuple[Group, ...]:
    """One row for each attribute value."""
    size = counts.sum((0, 2)).astype(np.int64).tolist()
    measured = found[attribute_accuracy.__name__].tolist()
    rates = np.stack([found[rate.__name__] for rate in RATES], 2)
    return tuple(
        Group(name, size[j], Estimate(*measured[j]), _rates(rates[j], class_names))
        for j, name in enumerate(attribute_names)
    )


def _rates(rates: Float[np.ndarray, "label 3 3"], class_names: tuple[str, ...]) -> tuple[Rates, ...]:
    """The selection, true and false positive rate of every class; of two classes the last one says it all."""
    named = list(zip(class_names, rates.tolist(), strict=True))
    shown = named[-1:] if len(named) == 2 else named
    return tuple(Rates(label, *(Estimate(*bounds) for bounds in of_class)) for label, of_class in shown)
