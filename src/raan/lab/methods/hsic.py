"""The HSIC penalty (Gretton et al. 2005): probabilities made independent of the attribute, in all moments."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.methods.method import Memory, Method, Scope, cross_entropy, hyperparameter
from raan.methods.terms import as_setting, same
from raan.models.model import Model
from raan.neighbourhood.estimator import Setting


@dataclass(frozen=True)
class HSIC(Method):
    """Cross-entropy plus weight times the Hilbert-Schmidt criterion of probabilities and attribute."""

    weight: Setting = hyperparameter(10.0, grid=(1.0, 3.0, 10.0, 30.0, 100.0))
    bandwidth: Setting = hyperparameter(0.5)  # of the Gaussian kernel between probabilities
    scope: Scope = Scope.MODEL

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """Mean cross-entropy of each run's batch plus the weighted criterion."""
        logit = model(batch.features, batch.keep).logit
        criterion = hsic(logit.softmax(-1), batch.attribute, as_setting(self.bandwidth, logit))
        return cross_entropy(logit, batch.label).mean(-1) + as_setting(self.weight, criterion) * criterion, memory


def hsic(
    score: Float[Tensor, "run batch label"], attribute: Int[Tensor, "run batch"], bandwidth: Float[Tensor, "*#run"]
) -> Float[Tensor, "run"]:
    """tr(K H L H) / n^2: K Gaussian between the scores, L one for equal attributes; over the known ones alone."""
    distance = (score.unsqueeze(-2) - score.unsqueeze(-3)).square().sum(-1)
    kernel = (-distance / (2 * bandwidth.square()[..., None, None])).exp()
    weight = (attribute >= 0).to(score)
    count = weight.sum(-1).clamp(min=1)[..., None, None]
    row_mean = kernel @ weight.unsqueeze(-1) / count
    mean = weight.unsqueeze(-2) @ row_mean / count
    centred = kernel - row_mean - row_mean.mT + mean
    return (centred * same(attribute)).sum((-1, -2)) / count.squeeze((-1, -2)).square()
