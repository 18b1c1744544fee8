"""Why a decision is another one than the baseline's: the exact contribution of each group's weights.

A row is given the class whose score, the weighted sum over groups of w[y, a] q[y, a](x), is the largest. A score
is a sum, so what the weights of one group add to it is exact: nothing is approximated or sampled.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from raan.frontier.decide import decide, score
from raan.frontier.posterior import Posterior

if TYPE_CHECKING:
    import pandas as pd

CellWeights = Float[np.ndarray, "label group"]


class Parts(NamedTuple):
    """The margin of the decided class over the class that it is compared with, as a sum.

    `margin` is `baseline` plus the sum of `added` over the groups.
    """

    decided: Int[np.ndarray, "row"]
    compared: Int[np.ndarray, "row"]
    baseline: Float[np.ndarray, "row"]
    added: Float[np.ndarray, "row group"]
    margin: Float[np.ndarray, "row"]


def split_margin(posterior: Posterior, weights: CellWeights, reference: CellWeights) -> Parts:
    """Split the margin by which a row is decided into the baseline's margin and each group's contribution.

    Args:
        posterior: P(y, a | x) of each row.
        weights: those of the model.
        reference: those of the baseline.

    Returns:
        The parts. The decision is compared with the baseline's; where both are the same, with the runner-up.
    """
    rows = np.arange(len(posterior))
    decided, before = decide(posterior, weights), decide(posterior, reference)
    scores = score(posterior, weights)
    others = scores.copy()
    others[rows, decided] = -np.inf
    compared = np.where(decided != before, before, others.argmax(1))
    moved = posterior * (weights - reference)
    added = moved[rows, decided] - moved[rows, compared]
    plain = score(posterior, reference)
    baseline = plain[rows, decided] - plain[rows, compared]
    return Parts(decided, compared, baseline, added, scores[rows, decided] - scores[rows, compared])


def tabulate(
    parts: Parts, before: Int[np.ndarray, "row"], classes: np.ndarray, groups: Sequence[str]
) -> "pd.DataFrame":
    """Give the parts as a table, with the names of classes and groups."""
    import pandas as pd

    columns = {
        "baseline": classes[before],
        "decision": classes[parts.decided],
        "changed": parts.decided != before,
        "against": classes[parts.compared],
        "baseline_margin": parts.baseline,
        **{f"added by weights of {group}": parts.added[:, a] for a, group in enumerate(groups)},
        "margin": parts.margin,
    }
    return pd.DataFrame(columns)
