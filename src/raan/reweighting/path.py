"""Everything that a search tried, and the point that it chose."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from matplotlib.figure import Figure

from raan.reweighting.cells import Plan, PlanBalance

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

AIMS = {
    "equalized_odds": "equalized_odds_gap",
    "demographic_parity": "demographic_parity_gap",
    "worst_group": "worst_group_accuracy",
}
"""The aims, and the metric that each goes by."""

TIE = 0.001
"""Points whose aim differs by less than this are equally good for it, and the more accurate one is taken."""

_COLOURS = {"plain": "#6b7280", "exponents": "#2563eb", "group": "#d97706", "sample": "#059669"}
_MARKERS = {"plain": "o", "exponents": ".", "group": "s", "sample": "^"}


class Point(NamedTuple):
    """A fitted estimator at one threshold, and its metrics on the training rows that judged it.

    `fit` numbers the fitted estimators. `threshold` cuts their scores for the second class; it is None where there
    are more than two.
    """

    fit: int
    balance: PlanBalance
    exponents: tuple[float, ...]
    temperature: float
    threshold: float | None
    accuracy: float
    equalized_odds_gap: float
    demographic_parity_gap: float
    worst_group_accuracy: float

    @property
    def plan(self) -> Plan:
        """The weights it was fitted with."""
        return Plan(self.balance, self.exponents, self.temperature)


@dataclass(frozen=True)
class Rule:
    """How points are compared: the aim among those accurate enough, with noise taken for noise.

    A gap counts as the root of its square plus that of its standard error, `noise`: gaps far above the noise
    compare as they are, and those within it are nearly alike. Else luck with a few rows would cost accuracy.
    """

    aim: str
    noise: float

    def value(self, point: Point) -> float:
        """How good the point is for the aim; more is better."""
        metric = float(getattr(point, AIMS[self.aim]))
        return metric if self.aim == "worst_group" else -math.hypot(metric, self.noise)

    def best(self, points: Iterable[Point], least_accuracy: float) -> Point | None:
        """The most accurate of the points that are as good as the best for the aim; None if none is allowed."""
        allowed = [point for point in points if point.accuracy >= least_accuracy]
        if not allowed:
            return None
        highest = max(map(self.value, allowed))
        return max((p for p in allowed if self.value(p) >= highest - TIE), key=lambda p: p.accuracy)


@dataclass(frozen=True, eq=False, repr=False)
class Path(Sequence[Point]):
    """The points that a search tried, the plain estimator's first; a table, and a plot of the trade-off.

    Of each fitted estimator the points are those no other threshold betters in both accuracy and aim, and its own
    threshold's.
    """

    points: tuple[Point, ...]
    rule: Rule
    accuracy_drop: float
    class_names: tuple[str, ...]

    @property
    def plain(self) -> Point:
        """The plain estimator at its own threshold."""
        return self.points[0]

    @cached_property
    def chosen(self) -> Point:
        """The point that was refitted on all rows."""
        return self.best(self.accuracy_drop)

    def best(self, accuracy_drop: float) -> Point:
        """The point that would be chosen with this allowance."""
        return self.rule.best(self.points, self.plain.accuracy - accuracy_drop) or self.plain

    def frontier(self) -> list[Point]:
        """The points that no other betters in both accuracy and aim, the most accurate first."""
        return frontier(self.points, self.rule)

    def to_frame(self) -> "pd.DataFrame":
        """A pandas table with a row for each point, and whether it was within the allowance, and chosen."""
        import pandas as pd

        return pd.DataFrame([self._row(point) for point in self.points])

    def _row(self, point: Point) -> dict[str, Any]:
        exponents = point.exponents or (math.nan,) * len(self.class_names)
        row = point._asdict()
        del row["exponents"]
        row |= {f"exponent of {name}": s for name, s in zip(self.class_names, exponents, strict=True)}
        allowed = point.accuracy >= self.plain.accuracy - self.accuracy_drop
        return row | {"allowed": allowed, "chosen": point is self.chosen}

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw accuracy against the aim: every point, the trade-off curve, the allowance and the choice."""
        axes = Figure(figsize=(6, 4.2), layout="constrained").subplots() if axes is None else axes
        metric = AIMS[self.rule.aim]
        for balance, colour in _COLOURS.items():
            across, up = self._percent([p for p in self.points if p.balance == balance])
            axes.scatter(across, up, s=12, color=colour, marker=_MARKERS[balance], alpha=0.5, label=balance)
        axes.plot(*self._percent(self.frontier()), color="black", linewidth=1, label="trade-off")
        axes.scatter(*self._percent([self.chosen]), s=140, marker="*", color="#db2777", zorder=3, label="chosen")
        axes.axvline(100 * (self.plain.accuracy - self.accuracy_drop), color="black", linestyle=":", linewidth=1)
        axes.set(xlabel="accuracy (%)", ylabel=f"{metric.replace('_', ' ')} (%)")
        axes.legend(frameon=False, fontsize=8)
        return axes

    def _percent(self, points: Sequence[Point]) -> tuple[list[float], list[float]]:
        metric = AIMS[self.rule.aim]
        return [100 * p.accuracy for p in points], [100 * getattr(p, metric) for p in points]

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Point, ...]: ...
    def __getitem__(self, index: int | slice) -> Point | tuple[Point, ...]:
        return self.points[index]

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        metric, before, after = AIMS[self.rule.aim], self.plain, self.chosen
        return (
            f"Path({len({p.fit for p in self.points})} fits, {len(self)} points; "
            f"{metric} {getattr(before, metric):.3f} -> {getattr(after, metric):.3f}, "
            f"accuracy {before.accuracy:.3f} -> {after.accuracy:.3f})"
        )


def frontier(points: Iterable[Point], rule: Rule) -> list[Point]:
    """The points that no other betters in both accuracy and aim, the most accurate first."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: (-p.accuracy, -rule.value(p))):
        if not kept or rule.value(point) > rule.value(kept[-1]):
            kept.append(point)
    return kept
