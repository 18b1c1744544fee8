"""Empirical risk minimisation: plain training, the paper's Vanilla and everyone's first stage."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from raan.data.batches import Batch, Sampling
from raan.methods.method import GroupUse, Memory, Method, Part, Scope, cross_entropy
from raan.models.model import Model


@dataclass(frozen=True)
class ERM(Method):
    """The mean cross-entropy; over balanced batches it shows how much of a gain is the sampler's."""

    scope: Scope = Scope.MODEL
    sampling: Sampling = Sampling.SHUFFLED

    @property
    def debiases(self) -> tuple[Part, ...]:
        """Nothing, unless its batches are balanced."""
        return super().debiases if self.sampling is Sampling.BALANCED else ()

    @property
    def group_use(self) -> GroupUse:
        """None, unless its batches are balanced."""
        return GroupUse(training="attribute" if self.sampling is Sampling.BALANCED else "")

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean cross-entropy of each run's batch."""
        logit = model(batch.features, batch.keep).logit
        return cross_entropy(logit, batch.label).mean(-1), memory
