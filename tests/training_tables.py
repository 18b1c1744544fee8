"""A small table on which training is quick and succeeds."""

import torch

from raan.data import Table


def small_table(rows=240, features=6, classes=2, attributes=2, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    label = torch.arange(rows) % classes
    attribute = torch.randint(attributes, (rows,), generator=generator)
    x = torch.randn(rows, features, generator=generator, dtype=dtype)
    x[:, 0] += 1.5 * label
    x[:, 1] += 1.5 * attribute
    return Table.of(x, label, attribute, dtype=dtype)
