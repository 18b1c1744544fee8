"""Group weights: every (class, attribute) cell counts the same, by weights instead of by sampling."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.table import Table
from raan.methods.method import Scope
from raan.methods.weighted import Weighted, cell_weights
from raan.models.model import Model
from raan.neighbourhood.balance import cell_counts


@dataclass(frozen=True)
class GroupWeights(Weighted):
    """Cross-entropy with weight samples / cells / size of the sample's cell."""

    scope: Scope = Scope.MODEL

    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """The weights that give each cell of a run's training rows the same total."""
        return torch.stack([group_weights(table.label[rows], table.attribute[rows]) for rows in train])


def group_weights(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Float[Tensor, "row"]:
    """The number of samples over that of cells over the size of the sample's cell; empty cells do not count."""
    counts = cell_counts(label, attribute).double()
    weight = counts.sum() / (counts > 0).sum() / counts.clamp(min=1)
    return cell_weights(label, attribute, weight)
