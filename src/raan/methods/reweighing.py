"""Reweighing (Kamiran & Calders 2012): weights under which class and attribute are independent."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.table import Table
from raan.methods.method import Scope
from raan.methods.weighted import Weighted, cell_weights
from raan.models.model import Model
from raan.neighbourhood.balance import cell_counts, independent_totals


@dataclass(frozen=True)
class Reweighing(Weighted):
    """Cross-entropy with weight P(y) P(a) / P(y, a)."""

    scope: Scope = Scope.MODEL

    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """The weights of each run's training rows."""
        return torch.stack([independence_weights(table.label[rows], table.attribute[rows]) for rows in train])


def independence_weights(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Float[Tensor, "row"]:
    """P(y) P(a) / P(y, a), the probabilities counted among the samples of known attribute."""
    counts = cell_counts(label, attribute)
    return cell_weights(label, attribute, independent_totals(counts) / counts.clamp(min=1))
