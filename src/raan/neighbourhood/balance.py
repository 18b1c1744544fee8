"""How much each (class, attribute) cell counts in the objective, for tensors; `raan.fairness.counts` counts."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from raan.fairness import counts
from raan.fairness.counts import Balance

__all__ = ["Balance", "anchor_weights", "cell_counts", "has_neighbours", "independent_totals"]


def cell_counts(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Int[Tensor, "label attribute"]:
    """Count the samples of each (class, attribute) cell; unknown attributes (-1) are in none."""
    found = counts.cell_counts(label.numpy(force=True), attribute.numpy(force=True))
    return torch.from_numpy(found).to(label.device)


def has_neighbours(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> Bool[Tensor, "row"]:
    """Return which samples have a neighbour: attribute known, class seen with another attribute value too."""
    found = counts.has_neighbours(label.numpy(force=True), attribute.numpy(force=True))
    return torch.from_numpy(found).to(label.device)


def anchor_weights(
    label: Int[Tensor, "row"], attribute: Int[Tensor, "row"], balance: Balance
) -> Float[Tensor, "row"]:
    """Return the weight of each anchor's neighbourhood loss in the objective; 0 for one without neighbours.

    "sample": each 1, Eq. (5). "group": samples / cells / size of the anchor's cell, Eq. (4).
    """
    anchored = has_neighbours(label, attribute).double()
    if balance == "sample":
        return anchored
    sizes = cell_counts(label, attribute)
    # Unknown attributes (-1) read some cell's size here, and are zero by `anchored`.
    size = sizes[label, attribute].clamp(min=1)
    return anchored * sizes.sum() / (sizes > 0).sum() / size


def independent_totals(sizes: Int[Tensor, "label attribute"]) -> Float[Tensor, "label attribute"]:
    """Return N P(y) P(a): the cell totals under which class and attribute are independent."""
    total = sizes.double()
    return total.sum(1, keepdim=True) * total.sum(0, keepdim=True) / total.sum()
