"""Predictions as counts: how many samples of each class and attribute value were predicted as each class.

Every metric, rule and interval is a function of these small arrays. Their attribute axis has one slot more than
there are attribute values: the last one holds the samples of unknown attribute, which count in the accuracy and
nowhere else. Any leading axes may stand before the three: points, runs, replicates.
"""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

Counts: TypeAlias = Float[np.ndarray, "*lead label attribute prediction"]


def count(
    label: Int[np.ndarray, "*#lead sample"],
    attribute: Int[np.ndarray, "*#lead sample"],
    prediction: Int[np.ndarray, "*#lead sample"],
    classes: int,
    attributes: int,
) -> Float[np.ndarray, "*#lead label attribute prediction"]:
    """The number of samples of each (label, attribute, prediction); leading axes broadcast.

    Labels and predictions are codes below `classes`, attributes codes below `attributes` or -1 (unknown).
    """
    slots = attributes + 1
    # The remainder sends -1 to the last slot, as an index would.
    cell = (label.astype(np.int64) * slots + attribute % slots) * classes + prediction
    lead, cells = cell.shape[:-1], classes * slots * classes
    runs = int(np.prod(lead))
    first_cell = (np.arange(runs) * cells).reshape(*lead, 1)
    flat = np.bincount((cell + first_cell).ravel(), minlength=runs * cells)
    return flat.reshape(*lead, classes, slots, classes).astype(np.float64)


def resample(
    counts: Float[np.ndarray, "label attribute prediction"], replicates: int, rng: np.random.Generator
) -> Float[np.ndarray, "{replicates} label attribute prediction"]:
    """Counts of bootstrap samples, each of as many rows as the counts hold.

    Drawing n rows with replacement and counting them is drawing a multinomial over the cells of the counts, so a
    replicate costs as much as there are cells, and no row is ever touched.
    """
    flat = counts.astype(np.float64).ravel()
    rows = flat.sum()
    drawn = rng.multinomial(int(rows), flat / max(rows, 1), size=replicates)
    return drawn.astype(np.float64).reshape(replicates, *counts.shape)
