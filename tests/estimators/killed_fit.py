"""A fit with a checkpoint, long enough to be killed: writes the bits of what it comes to."""

import sys

import numpy as np

from raan import RAANClassifier


def people(rows=3000):
    """Features, classes and groups."""
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(rows, 6)), rng.integers(0, 2, rows)
    return X, (X[:, 0] + 0.5 * group + rng.normal(size=rows) > 0).astype(int), group


def classifier(**parameters):
    """The classifier that is fitted."""
    settled = {"hidden_layer_sizes": (16,), "head_layer_sizes": (8,), "epochs": (6, 60), "random_state": 0}
    return RAANClassifier(**{**settled, **parameters})


if __name__ == "__main__":
    X, y, group = people()
    model = classifier(checkpoint=sys.argv[1] if sys.argv[1:] else None).fit(X, y, sensitive_features=group)
    sys.stdout.write(model.model_.parameters.numpy().tobytes().hex() + "\n")
    sys.stdout.write(model.frontier_.counts.tobytes().hex() + "\n")
