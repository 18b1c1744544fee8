import numpy as np
import pytest
import torch

from raan import RAANClassifier, load
from raan.data.table import Table
from raan.models.model import mlp


@pytest.fixture
def pack():
    """Three untrained networks of one table."""
    rng = np.random.default_rng(0)
    features = torch.from_numpy(rng.normal(size=(60, 4))).float()
    table = Table(features, torch.arange(60) % 3, torch.arange(60) % 2, ("a", "b", "c"), ("f", "m"))
    rows = torch.arange(60).expand(3, -1)
    return mlp(table).start(table, rows, (0, 1, 2)), features


def test_a_network_trained_elsewhere_predicts_as_its_run_does_and_can_be_saved(pack, tmp_path):
    model, features = pack
    logit = model(features.expand(3, -1, -1)).logit
    for run in range(3):
        fitted = RAANClassifier.from_network(model, run, strength=0.5, epochs=(2, 2))
        assert np.array_equal(fitted.predict(features.numpy()), logit[run].argmax(-1).numpy())
        assert fitted.get_params()["strength"] == 0.5
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(features.numpy()), fitted.predict_proba(features.numpy()))
    assert again.get_params() == fitted.get_params()
