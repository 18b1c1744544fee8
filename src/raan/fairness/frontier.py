"""A trade-off: the points that were tried, their predictions as counts, and the one that a rule takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from jaxtyping import Bool, Float, Int

from raan.errors import InputError, needing
from raan.fairness.counts import Counts
from raan.fairness.measures import ACCURACY, AIMS, MEASURES, Measure
from raan.fairness.metrics import NAMES, Metrics, metrics
from raan.fairness.rule import LAST, Rule
from raan.text import html_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Point:
    """One point: what it is, such as its threshold or its step, and its predictions on the rows that evaluate it.

    Its metrics and what it is are attributes: `point.accuracy`, `point.threshold`.
    """

    what: Mapping[str, Any]
    counts: Float[np.ndarray, "label attribute prediction"]
    rule: Rule = LAST

    @cached_property
    def metrics(self) -> Metrics:
        """Its metrics."""
        return _measure(self.counts, self.rule)

    def to_dict(self) -> dict[str, Any]:
        """What it is, then its metrics as numbers."""
        return {**self.what, **{name: float(getattr(self.metrics, name)) for name in NAMES}}

    def __getattr__(self, name: str) -> Any:
        if name in NAMES:
            return float(getattr(self.metrics, name))
        if name != "what" and name in self.what:
            return self.what[name]
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self.what == other.what and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]


class Traded(NamedTuple):
    """A metric of the reference, and of the point that was taken."""

    reference: float
    chosen: float


@dataclass(frozen=True, eq=False)
class Frontier(Sequence[Point]):
    """The points that were tried, the reference among them, and the rule that takes one.

    The reference is what others are held against, the plain model. Points before it are how it came to be: they
    are shown, and never taken. A frontier without points is one of rows that nobody evaluated.
    """

    what: tuple[Mapping[str, Any], ...]
    counts: Float[np.ndarray, "point label attribute prediction"]
    rule: Rule
    reference: int = 0
    switched: Float[np.ndarray, "point label attribute"] | None = None  # rows right at one of point and reference
    taken: int | None = None  # where the choice was made by tests of its own
    passed: Bool[np.ndarray, "point"] | None = None  # and which points passed them

    @classmethod
    def empty(cls) -> Frontier:
        """A frontier without points."""
        return cls((), np.zeros((0, 0, 1, 0)), Rule(aim=None))

    @cached_property
    def metrics(self) -> Metrics:
        """The metrics of all points."""
        return _measure(self.counts, self.rule)

    @property
    def plain(self) -> Point:
        """The reference."""
        return self[self.reference]

    @cached_property
    def chosen_place(self) -> int:
        """The place of the point that the rule takes; the reference's where it takes none, or is kept."""
        return self.place(self.rule) if self.taken is None else self.taken

    @property
    def chosen(self) -> Point:
        """The point that the rule takes."""
        return self[self.chosen_place]

    def best(self, accuracy_drop: float) -> Point:
        """The point that would be taken with this accuracy budget."""
        return self[self.place(replace(self.rule, accuracy_drop=accuracy_drop))]

    def place(self, rule: Rule) -> int:
        """The place of the point that a rule takes; the reference's where it takes none."""
        since = slice(self.reference, None)
        switched = None if self.switched is None else self.switched[since]
        found = rule.choose(self.counts[since], self.plain.counts, switched=switched)
        return self.reference + max(int(found), 0)

    @property
    def traded(self) -> dict[str, Traded]:
        """Each metric of the reference and of the point taken; empty without points."""
        if not len(self):
            return {}
        plain, chosen = self.plain.metrics, self.chosen.metrics
        return {name: Traded(float(getattr(plain, name)), float(getattr(chosen, name))) for name in NAMES}

    def undominated(self) -> list[int]:
        """The places that no other betters in both accuracy and aim (or first limit), the most accurate first."""
        loss = self._drawn.loss_of(self.counts[self.reference :])
        order = keep_undominated(self.metrics.accuracy[self.reference :], -loss)
        return [self.reference + int(place) for place in order]

    def to_frame(self) -> pd.DataFrame:
        """A pandas table with a row for each point, and whether it is within the allowances, and taken."""
        import pandas as pd

        names = [*dict.fromkeys(name for what in self.what for name in what), *NAMES, "allowed", "chosen"]
        return pd.DataFrame(list(self._rows()), columns=names)

    def _rows(self) -> Iterator[dict[str, Any]]:
        if not len(self):
            return
        allowed = self.passed
        if allowed is None:
            allowed = self.rule.allows(self.counts, self.plain.counts, self.switched)
        for place, point in enumerate(self):
            yield {
                **point.to_dict(),
                "allowed": bool(allowed[place]) and place >= self.reference,
                "chosen": place == self.chosen_place,
            }

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw accuracy against the aim: every point, the trade-off, the accuracy budget and the choice.

        Points that lose more than three times the budget, and 5 points, are beyond the left end.

        Args:
            axes: where to draw; a new figure by default.

        Returns:
            The axes.

        Raises:
            InputError: for a frontier without points.
            MissingExtra: without matplotlib, which the extra `raan[figures]` installs.
        """
        if not len(self):
            raise InputError(
                "the frontier", "has no points", "rows of two groups or more", "pass sensitive_features"
            )
        with needing("plot"):
            from matplotlib.figure import Figure

        axes = Figure(figsize=(6, 4.2), layout="constrained").subplots() if axes is None else axes
        axes.scatter(*self._percent(range(len(self))), s=12, color="#2563eb", alpha=0.4, label="tried")
        axes.plot(*self._percent(self.undominated()), color="black", linewidth=1, label="trade-off")
        axes.scatter(*self._percent([self.reference]), s=60, color="#6b7280", zorder=3, label="plain")
        axes.scatter(
            *self._percent([self.chosen_place]), s=140, marker="*", color="#db2777", zorder=3, label="chosen"
        )
        if self.rule.performance == ACCURACY.key and self.rule.accuracy_drop < 1:
            least = 100 * (self.plain.accuracy - self.rule.accuracy_drop)
            budget = f"budget: {100 * self.rule.accuracy_drop:g} points"
            axes.axvline(least, color="black", linestyle=":", linewidth=1, label=budget)
            across = 100 * self.metrics.accuracy
            left = min(
                100 * self.plain.accuracy - max(5, 300 * self.rule.accuracy_drop), across[self.chosen_place]
            )
            axes.set_xlim(max(left, np.nanmin(across)) - 0.2, np.nanmax(across) + 0.2)
        for limit in self.rule.limits[:1]:
            bound = limit.value * (100 if limit.measure.unit else 1)
            label = f"limit: {limit.side} {limit.measure.format(limit.value)}"
            axes.axhline(bound, color="black", linestyle="--", linewidth=1, label=label)
        drawn = self._drawn
        axes.set(xlabel="accuracy (%)", ylabel=f"{drawn.title} (%)" if drawn.unit else drawn.title)
        axes.set_title("Each point is a choice; nothing is retrained", fontsize=10)
        axes.legend(frameon=False, fontsize=8)
        return axes

    def _percent(self, places: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        here = list(places)
        drawn = self._drawn
        return 100 * self.metrics.accuracy[here], (100 if drawn.unit else 1) * drawn(self.counts[here])

    @property
    def _drawn(self) -> Measure:
        """What accuracy is drawn against: the aim, or the first limit where limits are all that is asked for."""
        return self.rule.limits[0].measure if self.rule.limits else self.rule.goal

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> list[Point]: ...
    def __getitem__(self, index: int | slice) -> Point | list[Point]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        return Point(self.what[index], self.counts[index], self.rule)

    def __len__(self) -> int:
        return len(self.what)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Frontier)
            and (self.what, self.rule, self.reference) == (other.what, other.rule, other.reference)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        if not len(self):
            return "no rows were evaluated, so there is no trade-off"
        parts = [
            f"{measure.title} {100 * before:.1f} -> {100 * after:.1f} %"
            for measure in MEASURES
            for before, after in [self.traded[measure.metric]]
        ]
        return f"{len(self)} points, {_what(self.chosen)} chosen: {', '.join(parts)}"

    def __repr__(self) -> str:
        return f"Frontier({self})"

    def _repr_html_(self) -> str:
        """Plain and chosen as a table for notebooks."""
        named = {measure.metric: measure.title for measure in MEASURES}
        rows = [[named[name], *(f"{100 * each:.1f} %" for each in both)] for name, both in self.traded.items()]
        return html_table(
            [["", "plain", "chosen"], *rows], f"Trade-off of {len(self):,} points, in cross-validation"
        )


def _measure(counts: Counts, rule: Rule) -> Metrics:
    """The metrics of points, between the groups that a rule compares."""
    found = metrics(counts)
    if not rule.strata:
        return found
    return replace(found, **{each.metric: each.at(-1, rule.strata)(counts) for each in AIMS.values()})


def keep_undominated(
    accuracy: Float[np.ndarray, "point"], value: Float[np.ndarray, "point"]
) -> Int[np.ndarray, "kept"]:
    """The places that no other betters in both, the most accurate first; nan is never kept."""
    order = np.lexsort((-value, -accuracy))
    order = order[~np.isnan(value[order])]
    reached = np.maximum.accumulate(value[order])
    return np.asarray(order[np.append(True, reached[1:] > reached[:-1])[: len(order)]])


def _what(point: Point) -> str:
    """What a point is, in a few words."""
    parts = (
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in point.what.items()
    )
    return ", ".join(parts) or "the only one"
