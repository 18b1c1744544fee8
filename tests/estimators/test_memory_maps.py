"""A head over a pretrained module, fitted to samples in a memory map that is larger than the memory allowed."""

import sys

import numpy as np
import pytest

from memory import grown_by


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_the_head_is_fitted_to_a_memory_map_of_four_times_the_memory(tmp_path):
    mapped = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "float32", (4800, 16_384))
    some = np.random.default_rng(0).normal(size=(400, 16_384))
    for start in range(0, 4800, 400):
        mapped[start : start + 400] = some
    mapped.flush()
    script = """
import sys
import numpy as np
import torch
from raan import RAANClassifier
X = np.load(sys.argv[1], mmap_mode="r")
rng = np.random.default_rng(0)
y, a = rng.integers(0, 2, (2, len(X)))
def fit(rows):
    torch.manual_seed(0)
    model = RAANClassifier(encoder=torch.nn.Linear(X.shape[1], 4), scope="head", epochs=1, random_state=0)
    return model.fit(X[:rows], y[:rows], sensitive_features=a[:rows])
fit(200)
with Peak():
    fit(len(X)).predict(X)
"""
    size = (tmp_path / "x.npy").stat().st_size / 2**20
    grown = grown_by(script, tmp_path / "x.npy")
    assert grown < size / 4, (grown, size)
