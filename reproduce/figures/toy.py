"""The paper's first figure: what a linear head follows, the shapes or the colours."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from raan.data.split import Split, split, stack
from raan.data.table import Table
from raan.lab.datasets.toy import SHAPE_DIRECTION, toy
from raan.methods.erm import ERM
from raan.methods.method import Method
from raan.methods.raan import RAAN
from raan.models.model import Model, linear
from raan.training.stages import first_stage, second_stage
from raan.training.train import Schedule
from reproduce.figures.options import ToyOptions
from reproduce.figures.representation import summarise


@dataclass(frozen=True)
class Boundary:
    """A line in the plane: the points where normal.x + offset = 0, predicted triangles on the normal's side."""

    normal: Float[Tensor, "run 2"]
    offset: Float[Tensor, "run"]

    @property
    def angle(self) -> Float[Tensor, "run"]:
        """Degrees between the normal and the direction along which the shapes differ; 90 is the colours'."""
        shape = torch.tensor(SHAPE_DIRECTION, dtype=self.normal.dtype)
        return torch.rad2deg(torch.acos((self.normal @ shape) / self.normal.norm(dim=-1)))


@dataclass(frozen=True)
class Panel:
    """One drawing of the figure: a table and the boundary that a method found in it."""

    title: str
    table: Table
    boundary: Boundary


def boundary(method: Method, table: Table, seeds: Sequence[int]) -> Boundary:
    """Where a linear model's head puts the boundary: cross-entropy first, then the method on the head."""
    rows: Split = stack([split(table.rows, (0.8, 0.1, 0.1), seed) for seed in seeds])
    plain = first_stage(linear(table), table, rows, seeds, Schedule(epochs=40, learning_rate=1e-2))
    trained = second_stage(method, plain.model, table, rows, seeds, Schedule(epochs=40, learning_rate=1e-2))
    return _line(trained.last)


def _line(model: Model) -> Boundary:
    """The boundary of a linear model of two features and two classes, in the features' own units."""
    weight, bias = torch.split(model.parameters, model.head.sizes, dim=1)
    slope = weight.view(-1, 2, 2).diff(dim=-1).squeeze(-1)
    offset = bias.diff(dim=-1).squeeze(-1)
    if model.scaling is not None:
        centre, spread = (part.squeeze(1) for part in model.scaling)
        slope = slope / spread
        offset = offset - (slope * centre).sum(-1)
    return Boundary(slope, offset)


def figure_1(seed: int = 0, rows: int = 800, bias: float = 0.88) -> list[Panel]:
    """Cross-entropy on a fair and on a biased draw, and RAAN on the biased one."""
    fair, biased = toy(rows, seed, 0.0), toy(rows, seed, bias)
    return [
        Panel("(a) fair draw, cross-entropy", fair, boundary(ERM(), fair, [seed])),
        Panel("(b) biased draw, cross-entropy", biased, boundary(ERM(), biased, [seed])),
        Panel("(c) biased draw, RAAN", biased, boundary(RAAN(), biased, [seed])),
    ]


def toy_content(options: ToyOptions, seeds: Sequence[int]) -> dict[str, Any]:
    """The figure as numbers: each panel of the first seed's draw, and its angle over the draws of all seeds.

    A fourth panel, which the paper has not, shows what of the turn is balancing: RAAN at temperature inf.
    """
    figures = [[*figure_1(seed, options.rows, options.bias), _balanced(options, seed)] for seed in seeds]
    return {"panels": [_panel(several) for several in zip(*figures, strict=True)]}


def _balanced(options: ToyOptions, seed: int) -> Panel:
    """The biased draw with weights that know the cells and no neighbourhoods."""
    biased = toy(options.rows, seed, options.bias)
    method = replace(RAAN(), temperature=inf)
    return Panel("(d) biased draw, balancing only", biased, boundary(method, biased, [seed]))


def _panel(several: Sequence[Panel]) -> dict[str, Any]:
    """One panel over all seeds; points and boundary are the first one's."""
    first = several[0]
    across, up = first.table.features.T
    return {
        "title": first.title,
        "x": [round(value, 4) for value in across.tolist()],
        "y": [round(value, 4) for value in up.tolist()],
        "label": first.table.label.tolist(),
        "attribute": first.table.attribute.tolist(),
        "normal": [round(value, 4) for value in first.boundary.normal[0].tolist()],
        "offset": round(first.boundary.offset.item(), 4),
        "angle": summarise([panel.boundary.angle.item() for panel in several], 2),
    }
