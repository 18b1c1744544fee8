"""Several classifiers on the same rows, side by side, with the paired differences from the first of them."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from raan.errors import DataWarning, InputError, InputTypeError, Option, needing
from raan.fairness.audit import (
    _check_classes,
    _check_options,
    _estimate,
    _find_positive,
    _generator,
    audit_counts,
    overall_measures,
)
from raan.fairness.counts import MIN_MEASURED, Counts, Estimate, count
from raan.fairness.findings import Audit, _aligned
from raan.fairness.groups import (
    check_common,
    check_lengths,
    check_order,
    check_size,
    check_unmasked,
    encode_attribute,
    match_classes,
)
from raan.fairness.measures import MEASURES, Measure, read_measure
from raan.text import html_table, replace_controls

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Codes: TypeAlias = Int[np.ndarray, "row"]


@dataclass(frozen=True, repr=False)
class ModelComparison:
    """What `compare` found: print it, or use `to_frame()`, `plot()` and `audits`.

    Of each model `audits` has the audit. Of each but the first, `differences` has its measures minus the first
    model's on the same rows, with intervals of the paired difference.
    """

    audits: Mapping[str, Audit]
    differences: Mapping[str, Mapping[str, Estimate]]
    measures: tuple[Measure, ...]

    def to_frame(self) -> "pd.DataFrame":
        """The comparison as a pandas table.

        Returns:
            A row for each model and measure: `model`, `measure`, `value`, `low`, `high`, and the `difference` from
            the first model with its ends `difference_low` and `difference_high` (nan in the first model's rows).
        """
        import pandas as pd

        none = Estimate(np.nan, np.nan, np.nan)
        rows = [
            (
                name,
                key,
                *vars(found.overall[key]).values(),
                *vars(self.differences.get(name, {}).get(key, none)).values(),
            )
            for name, found in self.audits.items()
            for key in (measure.metric for measure in self.measures)
        ]
        ends = ("difference", "difference_low", "difference_high")
        return pd.DataFrame(rows, columns=["model", "measure", "value", "low", "high", *ends])

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw each measure of each model as a dot with its interval; measures that are no shares are left out.

        Args:
            axes: where to draw; a new figure by default.

        Returns:
            The axes.

        Raises:
            MissingExtra: without matplotlib, which the extra `raan[figures]` installs.
        """
        with needing("plot"):
            from matplotlib.figure import Figure

        shown = [measure for measure in self.measures if measure.unit]
        if axes is None:
            height = 1.3 + 0.2 * len(shown) * (len(self.audits) + 1)
            axes = Figure(figsize=(7, height), layout="constrained").subplots()
        step = 0.6 / max(len(self.audits) - 1, 1)
        for place, (name, found) in enumerate(self.audits.items()):
            values = [found.overall[measure.metric] for measure in shown]
            up = [row + place * step - 0.3 * (len(self.audits) > 1) for row in range(len(shown))]
            ends = [
                [100 * (each.value - each.low) for each in values],
                [100 * (each.high - each.value) for each in values],
            ]
            across = [100 * each.value for each in values]
            axes.errorbar(
                across,
                up,
                xerr=np.maximum(ends, 0),
                fmt="o",
                markersize=5,
                capsize=2,
                label=replace_controls(name),
            )
        axes.set_yticks(range(len(shown)), [measure.title for measure in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)  # the first measure on top
        for line in range(1, len(shown)):
            axes.axhline(line - 0.5, color="#e1e5ea", linewidth=1, zorder=0)
        axes.set(xlabel="%")
        axes.set_title(self._title, fontsize=10)
        axes.legend(
            frameon=False, fontsize=9, ncols=len(self.audits), loc="upper center", bbox_to_anchor=(0.5, -0.11)
        )
        return axes

    @property
    def _title(self) -> str:
        first = next(iter(self.audits.values()))
        models = f"{len(self.audits)} model{'s' if len(self.audits) > 1 else ''}"
        return f"{models} on {first.count:,} rows, {100 * first.confidence:g}% intervals"

    def _tables(self) -> list[list[list[str]]]:
        """The measures of every model, and below them the differences from the first."""
        names = list(self.audits)
        rows = [
            [m.title, *(_show(m, found.overall[m.metric]) for found in self.audits.values())]
            for m in self.measures
        ]
        tables = [[["", *names], *rows]]
        if self.differences:
            rows = [
                [m.title, *(_show_difference(m, each[m.metric]) for each in self.differences.values())]
                for m in self.measures
            ]
            tables.append([[f"minus {names[0]}, points", *self.differences], *rows])
        return tables

    def __repr__(self) -> str:
        return replace_controls("\n\n".join([self._title, *map(_aligned, self._tables())]))

    def _repr_html_(self) -> str:
        """The tables for notebooks."""
        first, *others = self._tables()
        return html_table(first, self._title) + "".join(map(html_table, others))


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    measures: Sequence[Any] = (),
    pos_label: Any = None,
    confidence: float = 0.95,
    replicates: int = 1000,
    min_count: int = MIN_MEASURED,
    random_state: int | np.random.Generator | None = 0,
) -> ModelComparison:
    """Compare classifiers on the same rows: accuracy, the worst (class, group), the gaps, and the differences.

    Args:
        models: by name, fitted classifiers, or arrays of the classes that they predict. The others are compared
            with the first one.
        X: the features of the rows; None where all models are arrays.
        y: the true class of each row.
        sensitive_features: the attribute of each row; several columns are crossed.
        measures: what to measure besides the usual: names, formulas or `raan.measures`.
        pos_label: the positive class of these, where there are two; the second in sorted order by default.
        confidence: of the intervals.
        replicates: bootstrap samples of the intervals.
        min_count: samples of some class that a group must have to be evaluated.
        random_state: seed of the bootstrap.

    Returns:
        The audits of the models and the paired differences; print it, or call `plot()` or `to_frame()`.

    Raises:
        InputError: for columns of different lengths, and for no models at all.

    Examples:
        >>> y, sex = np.tile([0, 1], 40), np.repeat(["f", "m"], 40)
        >>> found = compare({"half": np.zeros(80, int), "all": y}, None, y, sensitive_features=sex)
        >>> found.differences["all"]["accuracy"].value
        0.5
    """
    _check_options(confidence, replicates, min_count)
    if not isinstance(models, Mapping) or not models:
        raise InputTypeError(Option("models"), f"is {models!r}", "a dict of fitted classifiers by name")
    predicted = {name: _predict(model, X, sensitive_features) for name, model in models.items()}
    arrays = {f"models[{name!r}]": each for name, each in models.items() if not hasattr(each, "predict")}
    check_order(X=X, y=y, sensitive_features=sensitive_features, **arrays)
    for name, column in {"y": y, **arrays}.items():
        check_unmasked(column, name)
    attribute, true = encode_attribute(sensitive_features), np.asarray(y)
    check_lengths(
        y=true,
        sensitive_features=attribute.codes,
        **{f"models[{name!r}]": each for name, each in predicted.items()},
    )
    label, joint, notes = match_classes(np.tile(true, len(predicted)), np.concatenate([*predicted.values()]))
    if len(label.names) < 2:
        raise InputError(Option("y"), f"holds one class only, {label.names[0]!r}", "at least two")
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    _check_classes(label, joint)
    check_common(label, joint)
    check_size(len(label.names), len(attribute.names))
    classes, groups = len(label.names), len(attribute.names)
    codes = label.codes[: len(true)]
    decided = dict(zip(predicted, np.split(joint.codes, len(predicted)), strict=True))
    asked = [read_measure(each, "measures").at(_find_positive(pos_label, label.names)) for each in measures]
    audits = {
        name: audit_counts(
            count(codes, attribute.codes, each, classes, groups),
            label.names,
            attribute.names,
            confidence=confidence,
            replicates=replicates,
            min_count=min_count,
            random_state=random_state,
            measures=asked,
        )
        for name, each in decided.items()
    }
    first, *others = decided
    left_out = audits[first].left_out
    table = {
        name: partial(_subtract, measured, classes)
        for name, measured in overall_measures(
            np.array([n not in left_out for n in attribute.names]), asked
        ).items()
    }
    differences = {}
    for name in others:
        # Rows are drawn with both decisions, so that the difference is as noisy as it really is.
        pair = _count_pairs(codes, attribute.codes, decided[first], decided[name], (classes, groups + 1))
        found = _estimate(table, pair, replicates, confidence, _generator(random_state))
        differences[name] = {key: Estimate(*each.tolist()) for key, each in found.items()}
    own = [each for each in asked if each.metric not in {measure.metric for measure in MEASURES}]
    return ModelComparison(audits, differences, (*MEASURES, *own))


def _predict(model: Any, X: Any, sensitive_features: Any) -> np.ndarray:
    """The classes that a model predicts; those of an array are there already."""
    if not hasattr(model, "predict"):
        return np.asarray(model)
    given = {"sensitive_features": sensitive_features} if getattr(model, "attribute_at_prediction", False) else {}
    return np.asarray(model.predict(X, **given))


def _count_pairs(
    label: Codes, attribute: Codes, first: Codes, second: Codes, shape: tuple[int, int]
) -> Float[np.ndarray, "label slot pair"]:
    """How many rows of each class and group have each pair of predictions."""
    classes, slots = shape
    cell = ((label * slots + attribute % slots) * classes + first) * classes + second
    return np.bincount(cell, minlength=classes**3 * slots).reshape(classes, slots, classes**2).astype(np.float64)


def _subtract(measured: Callable[[np.ndarray], np.ndarray], classes: int, pairs: Counts) -> np.ndarray:
    """A measure of the second model minus the first's, of counted pairs of predictions."""
    both = pairs.reshape(*pairs.shape[:-1], classes, classes)
    return np.asarray(measured(both.sum(-2)) - measured(both.sum(-1)))


def _show(measure: Measure, found: Estimate) -> str:
    return str(found) if measure.unit else found.as_number()


def _show_difference(measure: Measure, found: Estimate) -> str:
    """'-0.2 [-0.4, +0.1]', in points where the measure is a share."""
    if np.isnan(found.value):
        return "undefined"
    value, low, high = (f"{100 * each:+.1f}" if measure.unit else f"{each:+.3f}" for each in vars(found).values())
    return f"{value} [{low}, {high}]"
