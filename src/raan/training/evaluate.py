"""What a model predicts, and the metrics of that."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.split import Split
from raan.data.table import Table
from raan.fairness.counts import count
from raan.fairness.metrics import Metrics, metrics
from raan.models.model import Model, logits, outputs, predictions
from raan.training.decided import Point, Rows, decide_at_thresholds


def group_counts(
    model: Model, table: Table, rows: Int[Tensor, "run row"]
) -> Float[np.ndarray, "run label attribute prediction"]:
    """How many of each run's rows of each class and attribute are predicted as each class.

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
    """Each run's metrics on its rows."""
    return metrics(group_counts(model, table, rows))


def embed_table(model: Model, table: Table) -> Table:
    """The table in each run's own embedding: features with a run axis."""
    rows = torch.arange(table.rows, device=table.label.device).expand(len(model.parameters), -1)
    return replace(table, features=outputs(model, table, rows).embedding, feature_names=())
