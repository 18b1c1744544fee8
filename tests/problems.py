"""Small random problems for the tests, and where the real data may lie."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Problem(NamedTuple):
    embedding: Tensor
    label: Tensor
    attribute: Tensor
    loss: Tensor

    def arrays(self):
        return tuple(part.numpy() for part in self)


def problem(seed=0, rows=24, dim=5, classes=3, attributes=3, unknown=0, dtype=torch.float64):
    """A random problem in which every (class, attribute) cell has at least one sample."""
    rng = np.random.default_rng(seed)
    cells = [(c, a) for c in range(classes) for a in range(attributes)]
    drawn = rng.integers(0, len(cells), rows - len(cells))
    label, attribute = np.array([*cells, *(cells[cell] for cell in drawn)]).T
    order = rng.permutation(rows)
    label, attribute = label[order].copy(), attribute[order].copy()
    attribute[rng.permutation(rows)[:unknown]] = -1
    return Problem(
        torch.tensor(rng.normal(size=(rows, dim)), dtype=dtype),
        torch.tensor(label),
        torch.tensor(attribute),
        torch.tensor(rng.exponential(size=rows), dtype=dtype),
    )
