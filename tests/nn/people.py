"""A small data set with a spurious attribute, and a model for it; for the tests of whole training loops."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import TensorDataset

CLASSES, GROUPS = 3, 4


def people(rows=240, seed=0):
    """Features, label and attribute: three classes and four attribute values, unevenly mixed."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, CLASSES, rows)
    attribute = np.where(rng.random(rows) < 0.5, label, rng.integers(0, GROUPS, rows))
    x = rng.normal(size=(rows, 6))
    x[:, 0] += label
    x[:, 1] += 2 * attribute
    return torch.tensor(x, dtype=torch.float32), torch.tensor(label), torch.tensor(attribute)


class Model(nn.Module):
    """An encoder and a head; the same weights for the same seed."""

    def __init__(self, seed=0, outputs=CLASSES):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.Tanh())
        self.head = nn.Linear(8, outputs)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)

    def forward(self, x):
        embedding = self.encoder(x)
        return self.head(embedding), embedding


def dataset(rows=240):
    return TensorDataset(*people(rows))
