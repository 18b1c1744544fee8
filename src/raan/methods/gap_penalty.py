"""Gap penalties: the fairness gap itself with mean probabilities for predictions (DiffDP, DiffEOdd)."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from raan.data.batches import Batch
from raan.methods.gaps import NOTIONS, Notion, score_gap
from raan.methods.method import Memory, Method, Scope, check_choice, cross_entropy, hyperparameter
from raan.methods.terms import dial
from raan.models.model import Model
from raan.neighbourhood.estimator import Dial


@dataclass(frozen=True)
class GapPenalty(Method):
    """Cross-entropy plus weight times the groups' gap in mean probability, overall (DP) or within classes (EO)."""

    notion: Notion = "DP"
    weight: Dial = hyperparameter(0.5, grid=(0.05, 0.1, 0.2, 0.5, 1.0, 2.0))
    scope: Scope = Scope.MODEL

    def __post_init__(self) -> None:
        """An unknown notion is an error too."""
        super().__post_init__()
        check_choice("notion", self.notion, NOTIONS)

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean cross-entropy of each run's batch plus the weighted gap."""
        logit = model(batch.features, batch.keep).logit
        gap = score_gap(logit.softmax(-1), batch.label, batch.attribute, self.notion)
        return cross_entropy(logit, batch.label).mean(-1) + dial(self.weight, gap) * gap, memory
