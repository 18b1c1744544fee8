"""Adversarial debiasing (Zhang et al. 2018): an adversary must not predict the attribute from the prediction."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from raan.data.batches import Batch
from raan.data.table import Table
from raan.lab.methods.penalties import NOTIONS, Notion
from raan.methods.method import (
    Memory,
    Method,
    Part,
    Scope,
    as_setting,
    check_attribute,
    check_choice,
    cross_entropy,
    hyperparameter,
    membership,
    no_memory,
    weighted_mean,
    with_gradient,
)
from raan.models.model import Model
from raan.neighbourhood.estimator import Setting


@dataclass(frozen=True)
class Adversarial(Method):
    """The predictor follows g_P - proj_{g_A} g_P - weight * g_A, and an adversary follows its own gradient.

    g_P and g_A are the gradients of the predictor's and the adversary's loss with respect to the predictor's
    weights. The adversary sees the probabilities (DP), or the probabilities and the label (EO).

    Args:
        notion: "DP" for demographic parity or "EO" for equalized odds.
        weight: The weight of the adversary's gradient.
        adversary_rate: The learning rate of the adversary.
        scope: The parameters that are trained.
    """

    notion: Notion = "DP"
    weight: Setting = hyperparameter(0.05, grid=(0.01, 0.03, 0.05, 0.07, 0.09))
    adversary_rate: Setting = hyperparameter(1e-2, grid=(1e-2, 1e-3, 1e-4))
    scope: Scope = Scope.MODEL

    def __post_init__(self) -> None:
        """An unknown notion is an error too."""
        super().__post_init__()
        check_choice("notion", self.notion, NOTIONS)

    @property
    def debiases(self) -> tuple[Part, ...]:
        """The encoder, as in the paper."""
        return ("encoder",) if self.scope is Scope.MODEL else ("head",)

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """Return the memory: for each run, the adversary's weights and their first and second moments."""
        check_attribute(self, table)
        inputs = table.classes ** (1 if self.notion == "DP" else 2)
        start = model.parameters.new_zeros(len(model.parameters), 1 + (inputs + 1) * table.attributes)
        start[:, 0] = 1
        return no_memory(model)._replace(whole=torch.cat([start, torch.zeros_like(start).repeat(1, 2)], dim=1))

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """The predictor's mean cross-entropy, with its gradient turned against the adversary, which steps too."""
        leaf = model.parameters.detach().requires_grad_()
        adversary, *moments = memory.whole.chunk(3, dim=1)
        adversary = adversary.detach().requires_grad_()
        logit = model.at(leaf)(batch.features, batch.keep).logit
        value = cross_entropy(logit, batch.label).mean(-1)
        (predictor_gradient,) = torch.autograd.grad(value.sum(), leaf, retain_graph=True)
        guess = adversary_loss(adversary, logit, batch, self.notion)
        hurt, own = torch.autograd.grad(guess.sum(), [leaf, adversary])
        turned = without_projection(predictor_gradient, hurt, model.encoder.sizes + model.head.sizes)
        gradient = turned - as_setting(self.weight, hurt)[..., None] * hurt
        # One step of the adversary, Adam-style as in Alg. 3.
        first, second = moments[0].lerp(own, 0.1), moments[1].lerp(own.square(), 0.001)
        rate = as_setting(self.adversary_rate, own)[..., None]
        moved = adversary.detach() - rate * first / (second + 1e-8).sqrt()
        whole = torch.cat([moved, first, second], dim=1)
        return with_gradient(value, model.parameters, gradient), memory._replace(whole=whole)


def adversary_loss(
    adversary: Float[Tensor, "run weight"],
    logit: Float[Tensor, "run batch label"],
    batch: Batch,
    notion: Notion,
) -> Float[Tensor, "run"]:
    """Return the adversary's mean cross-entropy in guessing the attribute, where that is known.

    It is linear over s = softmax((1 + |c|) logit), Zhang's input, and for EO over s within each label.
    """
    classes = logit.shape[-1]
    seen = ((1 + adversary[:, :1].abs()).unsqueeze(-1) * logit).softmax(-1)
    if notion == "EO":
        of_class = membership(batch.label, classes, logit)
        seen = (of_class.unsqueeze(-1) * seen.unsqueeze(-2)).flatten(-2)
    attributes = (adversary.shape[-1] - 1) // (seen.shape[-1] + 1)
    bias, weight = torch.split(adversary[:, 1:], [attributes, seen.shape[-1] * attributes], dim=1)
    guess = torch.baddbmm(bias.unsqueeze(1), seen, weight.view(-1, seen.shape[-1], attributes))
    known = (batch.attribute >= 0).to(logit)
    return weighted_mean(cross_entropy(guess, batch.attribute.clamp(min=0)), known)


def without_projection(
    gradient: Float[Tensor, "run parameter"], direction: Float[Tensor, "run parameter"], sizes: list[int]
) -> Float[Tensor, "run parameter"]:
    """The gradient less its projection on the direction, weight tensor by weight tensor (Frobenius product)."""
    parts = []
    for part, along in zip(torch.split(gradient, sizes, dim=1), torch.split(direction, sizes, dim=1), strict=True):
        # A direction of zeros stays zeros, and takes nothing away.
        unit = normalize(along, dim=1, eps=torch.finfo(along.dtype).tiny)
        parts.append(part - (part * unit).sum(1, keepdim=True) * unit)
    return torch.cat(parts, dim=1)
