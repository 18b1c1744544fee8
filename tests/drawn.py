"""What can be seen in a picture that was written to a file."""

import numpy as np
from matplotlib.image import imread


def colours(path, least=30):
    """The colours, greys aside, that fill at least so many pixels of a picture: an empty figure has none."""
    pixels = (255 * imread(path)[..., :3]).round().astype(int).reshape(-1, 3)
    strong = pixels[np.ptp(pixels, axis=1) > 40]
    found, filled = np.unique(strong, axis=0, return_counts=True)
    return {tuple(colour.tolist()) for colour in found[filled >= least]}
