"""The path that training took on validation rows, the point chosen on it, and what that point traded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, NamedTuple

from raan.fairness.metrics import Metrics
from raan.training.path import Path

if TYPE_CHECKING:
    import pandas as pd

Stage = Literal["plain", "raan"]
METRICS = tuple(field.name for field in fields(Metrics))


class Point(NamedTuple):
    """The validation metrics after so many steps of a stage; nan where one is undefined."""

    stage: Stage
    step: int
    accuracy: float
    demographic_parity_gap: float
    equalized_odds_gap: float  # the sum of the two gaps, as in the paper
    worst_group_accuracy: float


class Traded(NamedTuple):
    """A metric at the end of plain training, and at the point that was chosen."""

    start: float
    selected: float


@dataclass(frozen=True)
class History:
    """Every point at which validation rows were looked at, plain training first; empty if none were held out."""

    points: tuple[Point, ...] = ()
    selected_index: int | None = None

    @staticmethod
    def of(plain: Path, debiased: Path) -> History:
        """The history of the first run of both stages."""
        points = (*_points("plain", plain), *_points("raan", debiased))
        chosen = ("raan", int(debiased.chosen_step[0]))
        return History(points, next(place for place, point in enumerate(points) if point[:2] == chosen))

    @property
    def start(self) -> Point | None:
        """The end of plain training, where RAAN starts."""
        return next((point for point in self.points if point.stage == "raan"), None)

    @property
    def selected(self) -> Point | None:
        """The point whose model was kept."""
        return None if self.selected_index is None else self.points[self.selected_index]

    @property
    def traded(self) -> dict[str, Traded]:
        """Each metric at the start and at the selected point."""
        if self.start is None or self.selected is None:
            return {}
        return {name: Traded(getattr(self.start, name), getattr(self.selected, name)) for name in METRICS}

    def to_frame(self) -> pd.DataFrame:
        """The path as a pandas frame: a row a point, with a column that marks the selected one."""
        import pandas as pd

        frame = pd.DataFrame(self.points, columns=Point._fields)
        return frame.assign(selected=frame.index == self.selected_index)

    def __len__(self) -> int:
        return len(self.points)

    def __str__(self) -> str:
        if self.selected is None:
            return "no validation rows, so no history"
        told = [
            f"{name.replace('_', ' ')} {100 * start:.1f} -> {100 * selected:.1f} %"
            for name, (start, selected) in self.traded.items()
        ]
        return f"step {self.selected.step} of {self.points[-1].step} selected: {', '.join(told)}"


def _points(stage: Stage, path: Path) -> Iterator[Point]:
    for point in path.points:
        metrics = (float(getattr(point.validation, name)[0]) for name in METRICS)
        yield Point(stage, point.step, *metrics)
