"""RAAN by SOX (Wang & Yang 2022): SCRAAN's moving averages, and one of the gradient too."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.table import Table
from raan.methods.method import Memory, hyperparameter
from raan.methods.raan import RAAN
from raan.methods.terms import dial, with_gradient
from raan.models.model import Model
from raan.neighbourhood.estimator import Dial


@dataclass(frozen=True)
class SOX(RAAN):
    """RAAN along v = (1 - gradient_rate) v + gradient_rate G(w).

    With the SGD-style update this is SOX as its authors print it; Adam's first moment averages once more.
    """

    gradient_rate: Dial = hyperparameter(0.1, grid=(0.1, 0.5, 0.9), most=1)  # ours; 1 is SCRAAN

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """A run: at the end, v, which starts at zero."""
        memory = super().prepare(model, table, train)
        return memory._replace(whole=torch.cat([memory.whole, torch.zeros_like(model.parameters)], dim=1))

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """The estimate of the objective from each run's batch; its gradient is v."""
        leaf = model.parameters.detach().requires_grad_()
        loss, after = super().loss(model.at(leaf), batch, memory)
        (gradient,) = torch.autograd.grad(loss.sum(), leaf)
        others, average = after.whole.tensor_split([-leaf.shape[1]], dim=1)
        average = average + dial(self.gradient_rate, gradient)[..., None] * (gradient - average)
        after = after._replace(whole=torch.cat([others, average], dim=1))
        return with_gradient(loss, model.parameters, average), after
