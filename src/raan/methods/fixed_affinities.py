"""RL-RAAN whose affinities carry no gradient: the encoder learns to classify neighbours, not to move them."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from raan.methods.method import Scope
from raan.methods.raan import RAAN


@dataclass(frozen=True)
class FixedAffinities(RAAN):
    """RAAN of the whole model along the first term of Eq. (6) alone: each batch's pair weights are constants.

    They still follow the embedding from batch to batch; only their derivative is left out.
    """

    scope: Scope = Scope.MODEL

    def compared(self, embedding: Float[Tensor, "run batch dim"]) -> Float[Tensor, "run batch dim"]:
        """The embedding as a constant."""
        return embedding.detach()
