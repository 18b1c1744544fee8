"""Which of a run's many decisions its record keeps: all that a reader may come to choose."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.aims import AIMS
from raan.fairness.metrics import Values, accuracy
from raan.fairness.rule import BUDGETS, CONFIDENCE, HAIR, margin_of, paired_errors

MARGINS = (0.0, margin_of(CONFIDENCE))
"""Standard errors that readers may have the allowance kept with."""


def worth_keeping(
    validation: Float[np.ndarray, "point run label attribute prediction"],
    switched: Float[np.ndarray, "point run label attribute"],
    allowances: Sequence[float] = BUDGETS,
) -> list[Int[np.ndarray, "kept"]]:
    """For each run the places of its first point, which is the reference, and of those that some rule takes.

    The rules are those of every aim and allowance, with and without a margin; of equally good points the most
    accurate is kept, and of these the first. Who chooses by such a rule from the kept points of several runs
    chooses as well as from all of them.
    """
    right = accuracy(validation)
    error, _ = paired_errors(validation, validation[0], switched)
    taken = [np.zeros(right.shape[1], dtype=np.int64)]
    for aim in AIMS.values():
        loss = aim.loss_of(validation)
        for margin in MARGINS:
            spared = right - margin * error
            taken += [_best(loss, right, spared >= right[0] - drop - HAIR) for drop in allowances]
    return [np.unique(places) for places in np.stack(taken, axis=1)]


def _best(loss: Values, right: Values, allowed: np.ndarray) -> Int[np.ndarray, "run"]:
    """The place of each run's best point among those allowed; the first where there is none."""
    wish = np.where(allowed & ~np.isnan(loss), loss, np.inf)
    best = wish.min(0)
    place = np.where((wish == best) & np.isfinite(best), right, -np.inf).argmax(0)
    return np.asarray(place)
