"""What a model predicts, and the metrics of that."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.table import Table
from raan.fairness.counts import count
from raan.fairness.metrics import Metrics, metrics
from raan.models.model import Model
from raan.models.outputs import outputs, predictions


def group_counts(
    model: Model, table: Table, rows: Int[Tensor, "run row"]
) -> Float[np.ndarray, "run label attribute prediction"]:
    """How many of each run's rows of each class and attribute are predicted as each class.

    Here the engine hands its numbers over to numpy, in which everything is judged.
    """
    columns = table.label[rows], table.attribute[rows], predictions(model, table, rows)
    label, attribute, prediction = (column.numpy(force=True) for column in columns)
    return count(label, attribute, prediction, table.classes, table.attributes)


def evaluate(model: Model, table: Table, rows: Int[Tensor, "run row"]) -> Metrics:
    """Each run's metrics on its rows."""
    return metrics(group_counts(model, table, rows))


def embed_table(model: Model, table: Table) -> Table:
    """The table in each run's own embedding: features with a run axis."""
    rows = torch.arange(table.rows, device=table.label.device).expand(len(model.parameters), -1)
    return replace(table, features=outputs(model, table, rows).embedding, feature_names=())
