"""RAAN's loss in skorch, as the guide shows it: the index is one of the inputs."""

from functools import partial

import numpy as np
import pytest
import torch
from skorch import NeuralNetClassifier

import raan
from nn.people import Model, people


class Network(Model):
    """The model of the tests; the index passes by it."""

    def forward(self, x, index=None):
        return super().forward(x)


class FairNet(NeuralNetClassifier):
    def get_loss(self, y_pred, y_true, X=None, training=False):
        logit, embedding = y_pred
        return self.criterion_(logit, embedding, index=X["index"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_skorch_trains_validates_and_predicts_with_the_loss():
    x, label, attribute = people()
    net = FairNet(
        Network,
        criterion=raan.RAANLoss,
        criterion__label=label,
        criterion__sensitive_features=attribute,
        criterion__strength=0.5,
        optimizer=raan.optim.SCRAAN,
        lr=0.01,
        max_epochs=8,
        batch_size=60,
        predict_nonlinearity=partial(torch.softmax, dim=-1),
        verbose=0,
    )
    rows = np.arange(len(x))
    net.fit({"x": x.numpy(), "index": rows}, label.numpy())
    assert net.history[-1, "valid_loss"] < net.history[0, "valid_loss"]
    visited = net.criterion_.visits
    assert visited.max() == 8
    assert (visited == 0).sum() >= len(x) // 5  # a fifth validated, and validating is no visit
    assert net.predict({"x": x.numpy()}).shape == (len(x),)
    torch.testing.assert_close(torch.tensor(net.predict_proba({"x": x.numpy()}).sum(1)), torch.ones(len(x)))
