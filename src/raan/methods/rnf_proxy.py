"""RNF without attributes (Du et al. 2021): a bias-amplified model shows whom the bias serves."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch, gather
from raan.data.table import Table
from raan.methods.method import GroupUse, Memory
from raan.methods.rnf import RNF
from raan.models.model import Model
from raan.models.outputs import outputs

AMPLIFICATION = 0.7  # q of the generalised cross-entropy
PASSES, BATCH, RATE = 2, 256, 0.1  # of the amplifying training, by plain gradient descent


@dataclass(frozen=True)
class ProxyRNF(RNF):
    """RNF between the samples of a class that a bias-amplified model is sure of and those it is not.

    Du et al. call the sure ones of the desired class privileged, and the unsure ones of the other; pairs have one
    label, so that names do not matter. Half of each class counts as sure.
    """

    @property
    def group_use(self) -> GroupUse:
        """None: that is its point."""
        return GroupUse()

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """A run: the teacher's parameters, the amplified model's, and its median confidence in each class."""
        amplified = amplify(model, table, train)
        sure = outputs(amplified, table, train).logit.softmax(-1)
        medians = [
            torch.stack([_median(of_run[rows == k, k]) for k in range(table.classes)])
            for of_run, rows in zip(sure, table.label[train], strict=True)
        ]
        memory = super().prepare(model, table, train)
        return memory._replace(whole=torch.cat([memory.whole, amplified.parameters, torch.stack(medians)], dim=1))

    def attribute(self, model: Model, batch: Batch, memory: Memory) -> Int[Tensor, "run batch"]:
        """One for the sure, zero for the others."""
        size = model.parameters.shape[1]
        _, amplified, medians = memory.whole.tensor_split([size, 2 * size], dim=1)
        with torch.no_grad():
            sure = model.at(amplified)(batch.features).logit.softmax(-1)
        own = sure.gather(-1, batch.label.unsqueeze(-1)).squeeze(-1)
        is_sure: Tensor = own > medians.gather(-1, batch.label)
        return is_sure.long()


def amplify(model: Model, table: Table, train: Int[Tensor, "run row"]) -> Model:
    """The model trained on with the generalised cross-entropy, which trusts the samples it already gets right."""
    parameters = model.parameters.detach()
    for rows in torch.split(train, BATCH, dim=1) * PASSES:
        leaf = parameters.requires_grad_()
        logit = model.at(leaf)(gather(table.features, rows)).logit
        loss = generalised_cross_entropy(logit, table.label[rows]).mean(-1)
        parameters = (leaf - RATE * torch.autograd.grad(loss.sum(), leaf)[0]).detach()
    return model.at(parameters)


def generalised_cross_entropy(
    logit: Float[Tensor, "*lead label"], label: Int[Tensor, "*lead"]
) -> Float[Tensor, "*lead"]:
    """(1 - p^q) / q of the label's probability p: cross-entropy at q = 0, mean absolute error at q = 1."""
    own = logit.log_softmax(-1).gather(-1, label.unsqueeze(-1)).squeeze(-1)
    return (1 - (AMPLIFICATION * own).exp()) / AMPLIFICATION


def _median(values: Float[Tensor, "sample"]) -> Float[Tensor, ""]:
    """The median, or zero of nothing."""
    return values.median() if len(values) else values.new_zeros(())
