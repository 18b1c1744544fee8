"""What models decide at the points of training, as counts; the best point so far under a rule."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.split import Split
from raan.data.table import Table
from raan.fairness.counts import count
from raan.fairness.metrics import Metrics, metrics
from raan.fairness.rule import Rule
from raan.models.model import Model, logits, outputs, predictions

EVEN = 0.5
"""The threshold of the likeliest class."""

REACH = 2.0
"""Thresholds decide for nearly nobody, or for up to so many times as many rows as have the second class."""


class Decided(NamedTuple):
    """Decisions of each run by some rules, counted; those of a model at its common thresholds, or any others.

    `switched` are the validation rows of each cell that are right here and wrong in the reference, or the reverse.
    """

    threshold: Float[np.ndarray, "run setting"]  # of the second class' probability; nan: no threshold
    validation: Float[np.ndarray, "run setting label attribute prediction"]
    test: Float[np.ndarray, "run setting label attribute prediction"]
    switched: Float[np.ndarray, "run setting label attribute"]


class Rows(NamedTuple):
    """Each run's rows as codes: their class, attribute (-1: unknown) and what a reference decides for them."""

    label: Int[np.ndarray, "run row"]
    attribute: Int[np.ndarray, "run row"]
    held: Int[np.ndarray, "run row"]
    classes: int
    attributes: int


def margins(logit: Float[Tensor, "run row 2"]) -> Float[Tensor, "run row"]:
    """Return the log odds of the second of two classes: above 0 it is the likelier one."""
    return logit[..., 1] - logit[..., 0]


def threshold_grid(
    margin: Float[Tensor, "run row"], label: Int[np.ndarray, "run row"], many: int
) -> Float[Tensor, "run setting"]:
    """So many thresholds of the log odds for each run, and 0, rising.

    The share of rows above them falls evenly from REACH times the share that has the second class (at most all) to
    nearly none: the grid is as fine where scores are crowded as where they are not, whatever their scale.
    """
    rows = margin.shape[1]
    reach = np.minimum(REACH * label.mean(1, keepdims=True), 1)
    above = np.floor(np.arange(many, 0, -1) * reach * rows / (many + 1)).astype(np.int64)
    falling = margin.sort(dim=1, descending=True).values
    next_below = falling.gather(1, torch.from_numpy(above))
    last_above = falling.gather(1, torch.from_numpy(np.maximum(above - 1, 0)))
    grid = torch.cat([(next_below + last_above) / 2, margin.new_zeros(len(margin), 1)], dim=1)
    return grid.sort(dim=1).values


def count_at(
    margin: Float[Tensor, "run row"], threshold: Float[Tensor, "run setting"], rows: Rows
) -> tuple[Float[np.ndarray, "run setting label attribute 2"], Float[np.ndarray, "run setting label attribute"]]:
    """The decisions "above the threshold" of each run, counted for all thresholds at once, and those switched.

    A row is above the thresholds below its margin, so one histogram of how many these are, summed from its end,
    counts for every threshold. Thresholds rise.
    """
    runs, settings = threshold.shape
    slots, bins = rows.attributes + 1, settings + 1
    passed = torch.searchsorted(threshold.contiguous(), margin.contiguous()).numpy(force=True)
    run = np.arange(runs)[:, None]
    cell = ((run * 2 + rows.held) * 2 + rows.label) * slots + rows.attribute % slots
    flat = np.bincount((cell * bins + passed).ravel(), minlength=runs * 4 * slots * bins)
    exactly = flat.reshape(runs, 2, 2, slots, bins).astype(np.float64)
    at_least = np.moveaxis(exactly[..., ::-1].cumsum(-1)[..., ::-1], -1, 1)  # [run, bin, held, label, slot]
    above, below = at_least[:, 1:], at_least[:, :1] - at_least[:, 1:]
    counts = np.stack([below.sum(2), above.sum(2)], axis=-1)
    return counts, above[:, :, 0] + below[:, :, 1]


def decide_at_thresholds(
    logit: tuple[Float[Tensor, "run row label"], Float[Tensor, "run test label"]],
    rows: tuple[Rows, Rows],
    many: int,
) -> Decided:
    """A model's decisions at common thresholds, from its logits on validation and test rows; of two classes.

    With more there is no common threshold, and the likeliest class is all that is decided for.
    """
    if rows[0].classes != 2:
        likeliest = [each.argmax(-1).numpy(force=True)[:, None] for each in logit]
        return count_decisions((likeliest[0], likeliest[1]), rows)
    validation, test = (margins(each.cpu()) for each in logit)
    grid = threshold_grid(validation, rows[0].label, many)
    counts, switched = count_at(validation, grid, rows[0])
    return Decided(torch.sigmoid(grid.double()).numpy(), counts, count_at(test, grid, rows[1])[0], switched)


def count_decisions(
    prediction: tuple[Int[np.ndarray, "run setting row"], Int[np.ndarray, "run setting test"]],
    rows: tuple[Rows, Rows],
) -> Decided:
    """Any decisions on validation and test rows, counted; no thresholds."""
    counts = [
        count(of.label[:, None], of.attribute[:, None], decided, of.classes, of.attributes)
        for decided, of in zip(prediction, rows, strict=True)
    ]
    of = rows[0]
    right, held = prediction[0] == of.label[:, None], (of.held == of.label)[:, None]
    moved = (right != held).astype(np.int64)
    switched = count(of.label[:, None], of.attribute[:, None], moved, max(of.classes, 2), of.attributes)[..., 1]
    return Decided(np.full(prediction[0].shape[:2], np.nan), counts[0], counts[1], switched)


@dataclass(frozen=True, eq=False)
class Point:
    """Where every run stands after so many steps. Rules see the validation rows only."""

    step: int
    validation_counts: Float[np.ndarray, "run label attribute prediction"]
    test_counts: Float[np.ndarray, "run label attribute prediction"] | None = None
    decided: Decided | None = None  # what else may be decided here, as at other thresholds

    @cached_property
    def validation(self) -> Metrics:
        """Every run's metrics on its validation rows."""
        return metrics(self.validation_counts)

    @cached_property
    def test(self) -> Metrics | None:
        """Every run's metrics on its test rows, where these are watched."""
        return None if self.test_counts is None else metrics(self.test_counts)


@dataclass(frozen=True)
class Path:
    """The points so far, and for each run the parameters at the one that the rule likes best."""

    points: tuple[Point, ...]
    objective: Float[np.ndarray, "run"]  # the rule's smallest number so far
    chosen: Float[Tensor, "run parameter"]
    chosen_step: Int[Tensor, "run"]


def extend(path: Path | None, parameters: Float[Tensor, "run parameter"], point: Point, rule: Rule) -> Path:
    """Return the path with one more point, or with its first; of equal points the earlier one stays chosen."""
    reference = point if path is None else path.points[0]
    objective = rule.objective(point.validation_counts, reference.validation_counts, point.step)
    steps = torch.full((len(parameters),), point.step, device=parameters.device)
    if path is None:
        return Path((point,), objective, parameters, steps)
    better = torch.from_numpy(np.asarray(objective < path.objective)).to(parameters.device)
    return Path(
        (*path.points, point),
        np.minimum(objective, path.objective),
        torch.where(better.unsqueeze(-1), parameters, path.chosen),
        torch.where(better, steps, path.chosen_step),
    )


def group_counts(
    model: Model, table: Table, rows: Int[Tensor, "run row"]
) -> Float[np.ndarray, "run label attribute prediction"]:
    """Return how many of each run's rows of each class and attribute are predicted as each class.

    Here the engine hands its numbers over to numpy, in which everything is evaluated.
    """
    columns = table.label[rows], table.attribute[rows], predictions(model, table, rows)
    label, attribute, prediction = (column.numpy(force=True) for column in columns)
    return count(label, attribute, prediction, table.classes, table.attributes)


@dataclass(frozen=True, eq=False)
class Watch:
    """Looks at the rows where a model stands; the reference is the model that all start from."""

    reference: Model
    table: Table
    split: Split
    test: bool = False
    thresholds: int = 0

    def __call__(self, step: int, model: Model) -> Point:
        """What the model predicts after so many steps, counted; after the first, at other thresholds too."""
        if step and self.thresholds:
            return self._at_thresholds(step, model)
        test = group_counts(model, self.table, self.split.test) if self.test else None
        return Point(step, group_counts(model, self.table, self.split.validation), test)

    def _at_thresholds(self, step: int, model: Model) -> Point:
        validation, test = (logits(model, self.table, rows) for rows in (self.split.validation, self.split.test))
        counts = [
            count(of.label, of.attribute, logit.argmax(-1).numpy(force=True), of.classes, of.attributes)
            for of, logit in zip(self.rows, (validation, test), strict=True)
        ]
        return Point(
            step, counts[0], counts[1], decide_at_thresholds((validation, test), self.rows, self.thresholds)
        )

    @cached_property
    def rows(self) -> tuple[Rows, Rows]:
        """The validation and test rows, with what the reference decides for them."""
        return self._rows(self.split.validation), self._rows(self.split.test)

    def _rows(self, rows: Int[Tensor, "run row"]) -> Rows:
        table, held = self.table, predictions(self.reference, self.table, rows)
        label, attribute, decided = (
            each.numpy(force=True) for each in (table.label[rows], table.attribute[rows], held)
        )
        return Rows(label, attribute, decided, table.classes, table.attributes)


def evaluate(model: Model, table: Table, rows: Int[Tensor, "run row"]) -> Metrics:
    """Return each run's metrics on its rows."""
    return metrics(group_counts(model, table, rows))


def embed_table(model: Model, table: Table) -> Table:
    """Return the table in each run's own embedding: features with a run axis."""
    rows = torch.arange(table.rows, device=table.label.device).expand(len(model.parameters), -1)
    return replace(table, features=outputs(model, table, rows).embedding, feature_names=())
