"""The paper's Figure 1: two shapes in two colours, on a plane."""

import numpy as np
import torch

from raan.data.table import Table

SHAPE_DIRECTION = (0.0, 1.0)  # the normal of the boundary between the shapes, from circles to triangles
COLOUR_DIRECTION = (1.0, 0.0)  # from red to blue

# The colour is easier to learn than the shape: its two centres are 10 standard deviations of its noise apart,
# those of the shape 1.6. A boundary that can follow either follows the colour.
COLOUR_CENTRE, COLOUR_NOISE = 1.0, 0.2
SHAPE_CENTRE, SHAPE_NOISE = 0.8, 1.0


def toy(rows: int = 800, seed: int = 0, bias: float = 0.88) -> Table:
    """Draw triangles above circles, red ones on the left of blue ones.

    At bias 0 the four cells are equal, as in Figure 1 (a), and cross-entropy separates the shapes. At 0.88 nearly
    every triangle is red and nearly every circle blue (47, 3, 3 and 47 % of the rows), as in Figure 1 (b), and its
    boundary turns towards the colours. Weights that give the four cells the same total turn it back, with
    neighbourhoods and without. Only the sizes of the cells depend on the bias.

    Args:
        rows: the number of points.
        seed: determines the order and the noise.
        bias: the correlation of shape and colour, between -1 and 1.

    Returns:
        A table of two features; the label is the shape and the attribute is the colour.

    Raises:
        ValueError: The bias is out of its range, or there are too few rows for all four cells.

    Examples:
        >>> from raan.data import toy
        >>> print(toy(rows=200, bias=0.5))
        Table(toy: 200 rows × 2 features, 2 classes, 2 attribute values)
    """
    if not -1 < bias < 1:
        raise ValueError(f"bias is {bias}; expected a correlation between -1 and 1, neither included")
    shares = np.array([1 - bias, 1 + bias, 1 + bias, 1 - bias]) / 4
    # Rounding the running sums keeps the total.
    counts = np.diff(np.round(np.cumsum(shares) * rows), prepend=0).astype(int)
    if counts.min() < 1:
        raise ValueError(f"{rows} rows at bias {bias} leave a (shape, colour) cell empty; draw more rows")
    generator = np.random.default_rng(seed)
    order = generator.permutation(rows)
    label, attribute = (np.repeat(codes, counts)[order] for codes in ([0, 0, 1, 1], [0, 1, 0, 1]))
    noise = generator.standard_normal((rows, 2))
    across = COLOUR_CENTRE * (2 * attribute - 1) + COLOUR_NOISE * noise[:, 0]
    upwards = SHAPE_CENTRE * (2 * label - 1) + SHAPE_NOISE * noise[:, 1]
    return Table(
        torch.from_numpy(np.stack([across, upwards], axis=1)).float(),
        torch.from_numpy(label),
        torch.from_numpy(attribute),
        class_names=("circle", "triangle"),
        attribute_names=("red", "blue"),
        feature_names=("across", "upwards"),
        name="toy",
    )
