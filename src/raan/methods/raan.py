"""RAAN and RL-RAAN by SCRAAN: the paper's method."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.table import Table
from raan.methods.method import Memory, Method, Scope, as_setting, check_choice, cross_entropy, hyperparameter
from raan.models.model import Model
from raan.neighbourhood.balance import Balance, anchor_weights
from raan.neighbourhood.estimator import InnerEstimate, Setting, stochastic_objective

TEMPERATURES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9)

BALANCES = {"group": "Eq. (4)", "sample": "Eq. (5)"}


@dataclass(frozen=True)
class RAAN(Method):
    """RAAN by SCRAAN: the loss of each sample is replaced by the mean loss of its neighbours.

    Neighbours have the same class and another attribute value, and are near in the embedding. With scope HEAD the
    method debiases the head over a fixed encoder (RAAN), with MODEL both (RL-RAAN).

    Args:
        temperature: How local neighbourhoods are, from 0 (the nearest neighbour) to inf (the whole other group).
        averaging_rate: The share of a sample's moving average that is replaced at each visit; 1 is BSGD.
        strength: From 0 (ERM) to 1 (full RAAN).
        balance: "group" gives all (class, attribute) cells the same weight, Eq. (4), "sample" all samples, Eq.
            (5).
        scope: The parameters that are trained.
        denominator_floor: The least mean affinity, u0; 0 for none, which is safe since averages are in log space.
    """

    temperature: Setting = hyperparameter(0.5, grid=TEMPERATURES)  # 0 and inf are legal
    averaging_rate: Setting = hyperparameter(0.5, grid=(0.1, 0.5, 0.9), most=1)  # 1 forgets, and is BSGD
    strength: Setting = hyperparameter(1.0, most=1)  # 0 is ERM
    balance: Balance = "group"
    scope: Scope = Scope.HEAD
    denominator_floor: Setting = hyperparameter(0.0)  # u0; log space needs none

    def __post_init__(self) -> None:
        """An unknown balance is an error too."""
        super().__post_init__()
        check_choice("balance", self.balance, BALANCES)

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """Return the memory before the first step.

        For each row: its moving average (log u2, u1 / u2) and its weight as an anchor. For each run: the number of
        anchors visited, and of those that had no neighbour in their batch.
        """
        runs, rows = len(train), table.rows
        weight = torch.stack(
            [anchor_weights(table.label[rows], table.attribute[rows], self.balance) for rows in train]
        )
        anchor = model.parameters.new_zeros(runs, rows).scatter(1, train, weight.to(model.parameters))
        average = InnerEstimate.unknown(runs, rows, dtype=anchor.dtype, device=anchor.device)
        return Memory(torch.stack([*average, anchor], dim=-1), model.parameters.new_zeros(runs, 2))

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Estimate the objective from each run's batch; the gradient of the estimate is G(w)."""
        output = model(batch.features, batch.keep)
        sample_loss = self.sample_loss(output.logit, batch, memory)
        log_denominator, neighbourhood_loss, anchor_weight = memory.rows[..., :3].unbind(-1)
        estimated = stochastic_objective(
            self.compared(output.embedding),
            batch.label,
            batch.attribute,
            sample_loss,
            InnerEstimate(log_denominator, neighbourhood_loss),
            anchor_weight,
            self.temperature,
            self.averaging_rate,
            self.denominator_floor,
        )
        strength = as_setting(self.strength, sample_loss)[..., None]
        loss = sample_loss.lerp(estimated.term, strength).mean(-1)
        visits = torch.stack([(anchor_weight > 0).sum(-1), estimated.skipped.sum(-1)], dim=-1)
        average = torch.stack(estimated.average, dim=-1)
        return loss, Memory(
            torch.cat([average, memory.rows[..., 2:]], dim=-1),
            torch.cat([memory.whole[:, :2] + visits, memory.whole[:, 2:]], dim=-1),
        )

    def compared(self, embedding: Float[Tensor, "run batch dim"]) -> Float[Tensor, "run batch dim"]:
        """Return the vectors that affinities are computed from, with gradients."""
        return embedding

    def sample_loss(
        self, logit: Float[Tensor, "run batch label"], batch: Batch, memory: Memory
    ) -> Float[Tensor, "run batch"]:
        """Return each sample's own loss: its cross-entropy."""
        return cross_entropy(logit, batch.label)


@dataclass(frozen=True)
class FixedAffinities(RAAN):
    """RAAN of the whole model along the first term of Eq. (6) alone: each batch's pair weights are constants.

    They still follow the embedding from batch to batch; only their derivative is left out.
    """

    scope: Scope = Scope.MODEL

    def compared(self, embedding: Float[Tensor, "run batch dim"]) -> Float[Tensor, "run batch dim"]:
        """Return the embedding as a constant."""
        return embedding.detach()
