"""How much each (class, attribute) cell counts: the outer average of the objective, apart from its shape."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.fairness.counts import Balance

__all__ = ["Balance", "anchor_weights", "cell_counts", "has_neighbours", "independent_totals"]


def cell_counts(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Int[Tensor, "label attribute"]:
    """How many samples each (class, attribute) cell holds; unknown attributes (-1) are in none."""
    known = attribute >= 0
    classes, attributes = int(label.max()) + 1, max(int(attribute.max()) + 1, 1)
    cell = label[known] * attributes + attribute[known]
    return torch.bincount(cell, minlength=classes * attributes).view(classes, attributes)


def has_neighbours(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Tensor:
    """Which samples have a neighbour at all: attribute known, class seen with another attribute value too."""
    shared = (cell_counts(label, attribute) > 0).sum(1) > 1
    return shared[label] & (attribute >= 0)


def anchor_weights(
    label: Int[Tensor, "row"], attribute: Int[Tensor, "row"], balance: Balance
) -> Float[Tensor, "row"]:
    """How much each anchor's neighbourhood loss counts in the objective; 0 for one without neighbours.

    "sample": each 1, Eq. (5). "group": samples / cells / size of the anchor's cell, Eq. (4).
    """
    anchored = has_neighbours(label, attribute).double()
    if balance == "sample":
        return anchored
    counts = cell_counts(label, attribute)
    # Unknown attributes (-1) read some cell's size here, and are zero by `anchored`.
    size = counts[label, attribute].clamp(min=1)
    return anchored * counts.sum() / (counts > 0).sum() / size


def independent_totals(counts: Int[Tensor, "label attribute"]) -> Float[Tensor, "label attribute"]:
    """N P(y) P(a): the cell totals under which class and attribute are independent."""
    counts = counts.double()
    return counts.sum(1, keepdim=True) * counts.sum(0, keepdim=True) / counts.sum()
