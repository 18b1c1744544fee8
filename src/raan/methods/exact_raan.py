"""RAAN over a fixed encoder, exactly: a cross-entropy whose weights are computed once."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.table import Table
from raan.methods.method import Scope, check_choice, hyperparameter
from raan.methods.raan import BALANCES, TEMPERATURES
from raan.methods.terms import dial
from raan.methods.weighted import Weighted
from raan.models.model import Model
from raan.models.outputs import outputs
from raan.neighbourhood.balance import Balance, anchor_weights, has_neighbours
from raan.neighbourhood.estimator import Dial
from raan.neighbourhood.stream import exact_weights


@dataclass(frozen=True)
class ExactRAAN(Weighted):
    """Cross-entropy with the weights p_j of all training rows' neighbourhoods; what SCRAAN's averages tend to."""

    temperature: Dial = hyperparameter(0.5, grid=TEMPERATURES)
    strength: Dial = hyperparameter(1.0, most=1)  # 0 is ERM
    balance: Balance = "group"

    def __post_init__(self) -> None:
        """An unknown balance is an error too."""
        super().__post_init__()
        check_choice("balance", self.balance, BALANCES)

    @property
    def scope(self) -> Scope:
        """The head: with the encoder the weights would change."""
        return Scope.HEAD

    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """(1 - strength) + strength * p_j; p_j is 1 for a sample that can have no neighbour."""
        embedding = outputs(model, table, train).embedding
        temperature = torch.as_tensor(self.temperature, dtype=torch.float64).expand(len(train)).tolist()
        weight = torch.stack(
            [
                _weights(points, table.label[rows], table.attribute[rows], warmth, self.balance)
                for points, rows, warmth in zip(embedding, train, temperature, strict=True)
            ]
        )
        strength = dial(self.strength, weight)[..., None]
        return (1 - strength) + strength * weight


def _weights(
    embedding: Float[Tensor, "row dim"],
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    temperature: float,
    balance: Balance,
) -> Float[Tensor, "row"]:
    """p_j of one run's training rows."""
    weight = exact_weights(embedding, label, attribute, anchor_weights(label, attribute, balance), temperature)
    return weight.masked_fill(~has_neighbours(label, attribute), 1)
