"""What an audit finds, as plain values, as a table for the terminal, in plain English, and for JSON."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from raan.errors import needing
from raan.fairness.counts import MIN_CHOSEN, Estimate
from raan.fairness.measures import MEASURES, read_measure
from raan.text import html_table, replace_controls

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

RATES = {
    "selected": "selection_rate",
    "true positives": "true_positive_rate",
    "false positives": "false_positive_rate",
}
"""The rates of a class, by what tables call them."""


@dataclass(frozen=True)
class Cell:
    """The samples of one class and one attribute value."""

    label: str
    group: str
    count: int
    accuracy: Estimate


@dataclass(frozen=True)
class Rates:
    """How often one class is predicted: for all samples, for those of the class, and for the others."""

    label: str
    selection_rate: Estimate
    true_positive_rate: Estimate
    false_positive_rate: Estimate


@dataclass(frozen=True)
class Group:
    """The samples of one attribute value. Where there are two classes, `rates` are of the last one alone."""

    name: str
    count: int
    accuracy: Estimate
    rates: tuple[Rates, ...]


@dataclass(frozen=True, repr=False)
class Audit:
    """What `audit` found: print it, or use `reading`, `to_frame()`, `plot()` and `to_dict()`.

    Intervals are percentiles of the bootstrap. A gap is a largest absolute difference, so its interval
    tends to lie above zero even between groups that are served alike: compare it with a baseline's.
    The metrics of the whole are attributes: `audit.accuracy`, `audit.equalized_odds_gap`.
    """

    count: int
    unknown: int
    confidence: float
    overall: Mapping[str, Estimate]  # by the metrics' names
    groups: tuple[Group, ...]
    cells: tuple[Cell, ...]
    undefined: tuple[str, ...]
    left_out: tuple[str, ...] = ()  # groups too small to evaluate: no gap is theirs
    min_count: int = 1  # of samples of every class, for a group to be evaluated
    notes: tuple[str, ...] = ()  # what the user should know of the reading of the columns
    strata: Mapping[str, "Audit"] = field(default_factory=dict)  # by control features, each with its own audit

    def __getattr__(self, name: str) -> Estimate:
        if name != "overall" and name in self.overall:
            return self.overall[name]
        raise AttributeError(name)

    @property
    def evaluated(self) -> tuple[Group, ...]:
        """The groups that the gaps and the worst group are taken over."""
        return tuple(group for group in self.groups if group.name not in self.left_out)

    @property
    def small(self) -> tuple[str, ...]:
        """The groups, and the classes within larger groups, that have samples but fewer than 30."""
        few = {group.name for group in self.groups if group.count < MIN_CHOSEN}
        groups = (f"group {group.name!r} ({group.count})" for group in self.groups if group.name in few)
        cells = (
            f"class {cell.label!r} of group {cell.group!r} ({cell.count})"
            for cell in self.cells
            if 0 < cell.count < MIN_CHOSEN and cell.group not in few
        )
        return (*groups, *cells)

    @property
    def reading(self) -> str:
        """The audit in plain English: accuracy, the worst-served group, the gaps, and what is undefined."""
        return replace_controls(" ".join(_sentences(self)))

    def to_dict(self) -> dict[str, Any]:
        """The audit as dicts, lists, strings and numbers, with None for what is undefined."""
        found: dict[str, Any] = {}
        for name, value in asdict(self).items():
            found |= value if name == "overall" else {name: value}
        return {name: _jsonable(value) for name, value in {**found, "small": self.small}.items()}

    def to_frame(self) -> "pd.DataFrame":
        """The audit as a pandas table.

        Returns:
            A row for each number, with its interval: `measure`, `group` and `label` (empty where the number is of
            all), `value`, `low`, `high`, and the `count` of samples.

        Examples:
            >>> frame = raan.audit(y_true, y_pred, sex).to_frame()  # doctest: +SKIP
            >>> frame.pivot(index="group", columns="measure", values="value")  # doctest: +SKIP
        """
        import pandas as pd

        rows: list[tuple[str, str, str, int, Estimate]] = [
            (name, "", "", self.count, value) for name, value in self.overall.items()
        ]
        for group in self.groups:
            rows.append(("accuracy", group.name, "", group.count, group.accuracy))
            for rates in group.rates:
                rows += [
                    (name, group.name, rates.label, group.count, getattr(rates, name)) for name in RATES.values()
                ]
        rows += [("accuracy", cell.group, cell.label, cell.count, cell.accuracy) for cell in self.cells]
        flat = [(*names, each.value, each.low, each.high, count) for *names, count, each in rows]
        return pd.DataFrame(flat, columns=["measure", "group", "label", "value", "low", "high", "count"])

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw accuracy and rates of every group as bars with their intervals.

        Args:
            axes: where to draw; a new figure by default.

        Returns:
            The axes.

        Raises:
            MissingExtra: without matplotlib, which the extra `raan[figures]` installs.
        """
        with needing("plot"):
            from matplotlib.figure import Figure

        names = ["accuracy"]
        names += [_rate_title(self, rates, title) for rates in self.groups[0].rates for title in RATES]
        if axes is None:
            axes = Figure(figsize=(2 + 1.2 * len(names), 4.2), layout="constrained").subplots()
        width = 0.8 / len(self.groups)
        for place, group in enumerate(self.groups):
            found = [group.accuracy, *(getattr(r, name) for r in group.rates for name in RATES.values())]
            across = [each + (place - (len(self.groups) - 1) / 2) * width for each in range(len(names))]
            ends = [[100 * (e.value - e.low) for e in found], [100 * (e.high - e.value) for e in found]]
            label = f"{group.name} ({group.count:,})"
            axes.bar(across, [100 * e.value for e in found], width, yerr=ends, capsize=2, label=label)
        axes.set_xticks(range(len(names)), names)
        axes.set(ylabel="%", title=f"By group, {_level(self)} intervals")
        axes.legend(frameon=False, fontsize=8)
        return axes

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """The tables and notes for notebooks."""
        tables = [[["measure", "value"], *_overall_table(self)], _group_table(self), _cell_table(self)]
        notes = (f"<p>{escape(replace_controls(note))}</p>" for note in _notes(self))
        title = f"<p>{escape(_title(self))}</p>"
        return "".join([title, *map(html_table, tables), *notes])

    def to_text(self, width: float = math.inf) -> str:
        """The tables as text, with tables no wider than `width` as far as names allow; notes are not wrapped."""
        groups = [_aligned(_group_table(self))]
        if max(map(len, groups[0].splitlines())) > width:
            groups = [_aligned(_count_table(self)), _aligned(_rate_table(self))]
        tables = [_aligned(_overall_table(self)), *groups, _aligned(_cell_table(self))]
        tables += [_aligned(_strata_table(self))] if self.strata else []
        return replace_controls("\n\n".join([_title(self), *tables, *_notes(self)]))


def _jsonable(value: Any) -> Any:
    """The value with lists for tuples and None for nan, all the way down."""
    if isinstance(value, dict):
        return {key: _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _overall(audit: Audit) -> dict[str, Estimate]:
    """The metrics of the whole by the names they have in text."""
    return {measure.title: audit.overall[measure.metric] for measure in MEASURES}


def _level(audit: Audit) -> str:
    return f"{100 * audit.confidence:g}%"


def _samples(number: int) -> str:
    return f"{number:,} sample{'' if number == 1 else 's'}"


# The table


def _title(audit: Audit) -> str:
    classes = len({cell.label for cell in audit.cells})
    return (
        f"Fairness audit of {audit.count:,} samples: {classes} classes, {len(audit.groups)} groups "
        f"({_level(audit)} bootstrap intervals in brackets)"
    )


def _overall_table(audit: Audit) -> list[list[str]]:
    rows = [[name, str(estimate)] for name, estimate in _overall(audit).items()]
    usual = {measure.metric for measure in MEASURES}
    for name, found in audit.overall.items():
        if name not in usual:
            measured = read_measure(name)
            rows.append([measured.title, str(found) if measured.unit else found.as_number()])
    return rows


def _group_table(audit: Audit) -> list[list[str]]:
    """One line for each group and class whose rates are given; a group's own numbers stand once."""
    header = ["group", "    count", "accuracy", "class", "selected", "true positives", "false positives"]
    rows = [header]
    for group in audit.groups:
        own = [group.name, f"{group.count:9,}", str(group.accuracy)]
        for rates in group.rates:
            measured = (rates.selection_rate, rates.true_positive_rate, rates.false_positive_rate)
            rows.append([*own, rates.label, *map(str, measured)])
            own = ["", "", ""]
    return rows


def _count_table(audit: Audit) -> list[list[str]]:
    rows = ([group.name, f"{group.count:9,}", str(group.accuracy)] for group in audit.groups)
    return [["group", "    count", "accuracy"], *rows]


def _rate_table(audit: Audit) -> list[list[str]]:
    """The rates of `_group_table` below one another: one line for each class, rate and group."""
    rows = [["class", "", "group", ""]]
    for place, rates in enumerate(audit.groups[0].rates):
        for title, name in RATES.items():
            own = [rates.label, title]
            for group in audit.groups:
                rows.append([*own, group.name, str(getattr(group.rates[place], name))])
                own = ["", ""]
    return rows


def _cell_table(audit: Audit) -> list[list[str]]:
    rows = ([cell.label, cell.group, f"{cell.count:9,}", str(cell.accuracy)] for cell in audit.cells)
    return [["class", "group", "    count", "accuracy"], *rows]


def _rate_title(audit: Audit, rates: Rates, title: str) -> str:
    """What a chart calls a rate; the class is named where there are rates of several."""
    return title if len(audit.groups[0].rates) == 1 else f"{title}\n({rates.label})"


def _strata_table(audit: Audit) -> list[list[str]]:
    """The gaps within each stratum."""
    names = [measure for measure in MEASURES if measure.compares_groups]
    rows = (
        [name, f"{each.count:9,}", *(str(each.overall[measure.metric]) for measure in names)]
        for name, each in audit.strata.items()
    )
    return [["within", "    count", *(measure.short for measure in names)], *rows]


def _notes(audit: Audit) -> Iterator[str]:
    """What the numbers do not show: how columns were read, unknown attributes, what is undefined, small groups."""
    yield from audit.notes
    if audit.left_out:
        yield _on_those_left_out(audit)
    if audit.unknown:
        yield f"Unknown attribute: {_samples(audit.unknown)}, counted in the accuracy only."
    if audit.undefined:
        yield "\n".join(["Undefined metrics, for these reasons:", *(f"  {why}" for why in audit.undefined)])
    if audit.small:
        yield "\n".join(
            [f"Fewer than {MIN_CHOSEN} samples, interpret with caution:", *(f"  {who}" for who in audit.small)]
        )


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """The rows as lines whose columns stand below one another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


# The paragraph


def _sentences(audit: Audit) -> Iterator[str]:
    yield f"Accuracy is {_in_words(audit.accuracy, '%', audit)} over {_samples(audit.count)}."
    yield from audit.notes
    yield from _on_the_worst_served(audit)
    yield from _on_the_gaps(audit)
    if audit.undefined:
        names = [name for name, estimate in _overall(audit).items() if math.isnan(estimate.value)]
        yield f"Undefined: {', '.join(names)}. Why: {_listed(audit.undefined)}."
    if audit.left_out:
        yield _on_those_left_out(audit)
    if audit.unknown:
        yield f"The attribute of {_samples(audit.unknown)} is unknown; these count in the accuracy only."
    if audit.small:
        yield f"Fewer than {MIN_CHOSEN} samples, to be interpreted with caution: {_listed(audit.small)}."


def _on_those_left_out(audit: Audit) -> str:
    return (
        f"Left out of the gaps and the worst group, with fewer than {audit.min_count} samples of some class: "
        f"{_listed([repr(name) for name in audit.left_out])}."
    )


def _on_the_worst_served(audit: Audit) -> Iterator[str]:
    cells = [cell for cell in audit.cells if cell.group not in audit.left_out]
    measured = [cell for cell in cells if not math.isnan(cell.accuracy.value)]
    if measured:
        worst = min(measured, key=lambda cell: cell.accuracy.value)
        among = "The" if len(measured) == len(audit.cells) else "Among the groups that can be measured, the"
        yield (
            f"{among} worst-served group is class {worst.label!r} with attribute {worst.group!r}: "
            f"its accuracy is {_in_words(worst.accuracy, '%', audit)} over {_samples(worst.count)}."
        )


def _on_the_gaps(audit: Audit) -> Iterator[str]:
    if not math.isnan(audit.demographic_parity_gap.value):
        gap = _in_words(audit.demographic_parity_gap, " points", audit)
        yield f"The demographic-parity gap is {gap}: {_selection_extremes(audit.evaluated)}."
    if not math.isnan(audit.equalized_odds_gap.value):
        gap = _in_words(audit.equalized_odds_gap, " points", audit)
        yield f"The equalized-odds gap, the sum of the differences in true and false positive rates, is {gap}."


def _selection_extremes(groups: Sequence[Group]) -> str:
    """The class and the two groups that make the demographic-parity gap, in words."""
    ranges = [_selection_range(groups, place) for place in range(len(groups[0].rates))]
    label, (least, seldom), (most, often) = max(ranges, key=lambda found: found[2][0] - found[1][0])
    return f"{label!r} is predicted for {100 * most:.1f}% of {often!r} and {100 * least:.1f}% of {seldom!r}"


def _selection_range(groups: Sequence[Group], place: int) -> tuple[str, tuple[float, str], tuple[float, str]]:
    """The class at this place, with its least and its greatest selection rate and their groups."""
    rates = [(group.rates[place].selection_rate.value, group.name) for group in groups]
    return groups[0].rates[place].label, min(rates), max(rates)


def _in_words(estimate: Estimate, unit: str, audit: Audit) -> str:
    """'85.3% (95% interval 84.9 to 85.7)'."""
    if math.isnan(estimate.value):
        return "undefined"
    value = f"{100 * estimate.value:.1f}{unit}"
    if math.isnan(estimate.low):
        return f"{value} (too few samples for an interval)"
    return f"{value} ({_level(audit)} interval {100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


def _listed(items: Sequence[str], most: int = 5) -> str:
    """The first few items, and how many more there are: a paragraph should stay one."""
    more = [f"{len(items) - most} more (see the table)"] if len(items) > most else []
    return "; ".join([*items[:most], *more])
