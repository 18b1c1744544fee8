"""RNF (Du et al. 2021): the head is retrained on representations in which the attribute is neutralised."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.table import Table
from raan.methods.method import Memory, Method, Scope, as_setting, hyperparameter, no_memory, same, weighted_mean
from raan.models.model import Model
from raan.neighbourhood.estimator import Setting
from raan.neighbourhood.pairs import neighbours

MIXTURES = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of the sample in its mixtures with its partner: the neutral one first, then those compared with it."""

SCATTER = 2_654_435_761
"""A multiplier that scatters row numbers, so that pairs do not follow the table's order."""


@dataclass(frozen=True)
class RNF(Method):
    """The head at the middle of a pair learns the pair's mean soft label, and to answer alike all along the pair.

    A pair: the same label, different attributes. Soft labels: the first stage's softmax at a temperature.

    Args:
        smoothness: The weight of the penalty on differences along the pair, alpha'.
        temperature: The temperature of the teacher's softmax, at least 1.
    """

    smoothness: Setting = hyperparameter(2e-4, grid=(0.0, 1e-4, 2e-4, 3e-4, 4e-4))  # alpha'; Du et al.: 0.035
    temperature: Setting = hyperparameter(5.0, least=1)  # of the teacher

    @property
    def scope(self) -> Scope:
        """The head: the encoder's representations are what is neutralised."""
        return Scope.HEAD

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """Return the memory: for each run, the teacher's parameters."""
        return no_memory(model)._replace(whole=model.parameters.detach().clone())

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Squared error of the neutral answer plus smoothness times L1 along the pair; the mean over the pairs."""
        teacher = model.at(memory.whole)
        warmth = as_setting(self.temperature, batch.features)[..., None, None]
        soft_label = (teacher(batch.features).logit / warmth).softmax(-1)
        partner = partners(batch.label, batch.attribute, batch.row).to(soft_label)
        embedding = model(batch.features, batch.keep).embedding
        neutral, *others = _answers(model, embedding, partner @ embedding, batch.keep)
        error = (neutral - (soft_label + partner @ soft_label) / 2).square().mean(-1)
        bend = sum(((other - neutral).abs().sum(-1) for other in others), torch.zeros_like(error))
        pair_loss = error + as_setting(self.smoothness, error)[..., None] * bend
        return weighted_mean(pair_loss, partner.sum(-1)), memory


def _answers(
    model: Model,
    first: Float[Tensor, "run batch dim"],
    second: Float[Tensor, "run batch dim"],
    keep: Float[Tensor, "run batch unit"] | None,
) -> tuple[Float[Tensor, "run batch label"], ...]:
    """Return the head's probabilities at each mixture of the pairs, under one and the same dropout."""
    mixed = torch.cat([share * first + (1 - share) * second for share in MIXTURES], dim=1)
    if keep is not None:
        keep = keep[..., model.encoder.units :].repeat(1, len(MIXTURES), 1)
    return model.without_encoder()(mixed, keep).logit.softmax(-1).chunk(len(MIXTURES), dim=1)


def partners(
    label: Int[Tensor, "*lead row"], attribute: Int[Tensor, "*lead row"], row: Int[Tensor, "*lead row"]
) -> Float[Tensor, "*lead row row"]:
    """Return for each sample a one at one of its neighbours in the batch, else zeros; whatever the batch's order.

    The first of a cell takes its first neighbour, the second its second, and so on round and round, in an
    arbitrary but fixed order of the rows.
    """
    key = row * SCATTER % 2**32
    no_later = (key.unsqueeze(-2) <= key.unsqueeze(-1)).float()
    neighbour = neighbours(label, attribute).float()
    place = neighbour @ no_later.mT
    cell = (same(label) & same(attribute)).float()
    turn = (cell * no_later).sum(-1) - 1
    wanted = turn.remainder(neighbour.sum(-1).clamp(min=1)) + 1
    return neighbour * (place == wanted.unsqueeze(-1))
