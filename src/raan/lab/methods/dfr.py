"""DFR (Kirichenko et al. 2023): only the last layer is retrained, on held-out rows balanced by group."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.split import Split
from raan.data.streams import stream
from raan.data.table import Table
from raan.methods.method import Refit, Scope, hyperparameter
from raan.models.model import Model, Stack, outputs
from raan.neighbourhood.estimator import Setting

REFITS = 10
"""Logistic regressions that are averaged, each on balanced rows of its own draw."""

HELD_OUT = 0.2
"""The share of the training rows that is DFR's: the last ones of each run, whose order is random."""

ITERATIONS = 300
"""Of the proximal gradient: the regressions are small and their features standardised."""


@dataclass(frozen=True)
class DFR(Refit):
    """The last layer as the mean of L1 logistic regressions on equally many rows of each (class, attribute) cell.

    Its rows are the last of each run's training rows, which a first stage on `first_split` has not seen.

    Args:
        inverse_penalty: The inverse of the L1 penalty, C in scikit-learn.
    """

    inverse_penalty: Setting = hyperparameter(1.0, grid=(1.0, 0.7, 0.3, 0.1, 0.07, 0.03, 0.01))  # C

    @property
    def scope(self) -> Scope:
        """The last layer of the head."""
        return Scope.HEAD

    def first_split(self, split: Split) -> Split:
        """Return the split for a first stage that leaves DFR's rows alone."""
        return split._replace(train=split.train[:, : -_held_out(split)])

    def refit(self, model: Model, table: Table, split: Split, seeds: Sequence[int]) -> Model:
        """Return the model with its last layer fitted anew."""
        rows = split.train[:, -_held_out(split) :]
        # What the last layer gets of the rows: the signal after the layers before it.
        before = Stack(model.head.widths[:-1])
        trimmed = model.parameters[:, : sum(model.encoder.sizes + before.sizes)]
        signal = outputs(replace(model, head=before, parameters=trimmed), table, rows).logit
        inputs = (signal.relu() if before.sizes else signal).double()
        penalties = torch.as_tensor(self.inverse_penalty, dtype=torch.float64).expand(len(rows)).tolist()
        layers = []
        for features, chosen, seed, penalty in zip(inputs, rows, seeds, penalties, strict=True):
            centre, spread = features.mean(0), features.std(0, correction=0)
            spread = torch.where(spread > 0, spread, 1)
            draws = draw_balanced(table, chosen, seed)
            standard = (features - centre) / spread
            weight, bias = l1_logistic(standard[draws], table.label[chosen][draws], table.classes, penalty)
            # The mean of the refits, as the layer keeps it, for features that are not standardised.
            weight, bias = weight.mean(0) / spread.unsqueeze(-1), bias.mean(0)
            layers.append(torch.cat([weight.flatten(), bias - centre @ weight]))
        last = torch.stack(layers).to(model.parameters)
        return model.at(torch.cat([model.parameters[:, : -last.shape[1]], last], dim=1))


def _held_out(split: Split) -> int:
    """Return how many rows of each run are DFR's."""
    return max(1, round(HELD_OUT * split.train.shape[1]))


def draw_balanced(table: Table, rows: Int[Tensor, "row"], seed: int) -> Int[Tensor, "refit draw"]:
    """Draw for each refit the positions of as many rows of every cell as the smallest cell has."""
    label, attribute = table.label[rows].numpy(force=True), table.attribute[rows].numpy(force=True)
    cells = [
        members
        for k in range(table.classes)
        for a in range(table.attributes)
        if len(members := np.flatnonzero((label == k) & (attribute == a)))
    ]
    if len(np.unique(label[attribute >= 0])) < 2:
        raise ValueError("DFR needs rows of known attribute from two classes, and its training rows have not")
    share, rng = min(map(len, cells)), stream(seed, "dfr")
    draws = [np.concatenate([rng.permutation(cell)[:share] for cell in cells]) for _ in range(REFITS)]
    return torch.from_numpy(np.stack(draws)).to(rows.device)


def l1_logistic(
    features: Float[Tensor, "fit row width"], label: Int[Tensor, "fit row"], classes: int, inverse_penalty: float
) -> tuple[Float[Tensor, "fit width label"], Float[Tensor, "fit label"]]:
    """The minimum of inverse_penalty * sum of cross-entropies + |weight|_1, by accelerated proximal gradient."""
    rows = features.shape[-2]
    inputs = torch.nn.functional.pad(features, (0, 1), value=1.0)  # the bias is the weight of a constant
    target = torch.nn.functional.one_hot(label, classes).to(inputs)
    step = 2 * rows / torch.linalg.matrix_norm(inputs, 2).square()[..., None, None]
    shrink = step.expand(-1, inputs.shape[-1], 1).clone() / (inverse_penalty * rows)
    shrink[:, -1] = 0  # the bias is free
    now = ahead = inputs.new_zeros(len(inputs), inputs.shape[-1], classes)
    for iteration in range(ITERATIONS):
        slope = inputs.mT @ ((inputs @ ahead).softmax(-1) - target) / rows
        moved = ahead - step * slope
        before, now = now, moved.sign() * (moved.abs() - shrink).clamp(min=0)
        ahead = now + iteration / (iteration + 3) * (now - before)
    return now[:, :-1], now[:, -1]
