"""sample_weight multiplies each sample's loss."""

import numpy as np
import pytest
import torch

from crowd import crowd
from raan.data import Split, Table
from raan.data.batches import batches
from raan.estimators import RAANClassifier
from raan.estimators.network import TrainingRows, WeightedERM, WeightedRAAN, weighted_scaling
from raan.methods import ERM, RAAN
from raan.methods.method import cross_entropy
from raan.models.model import linear
from raan.neighbourhood.balance import anchor_weights
from raan.neighbourhood.estimator import InnerEstimate, stochastic_objective

PLAIN = pytest.mark.filterwarnings("ignore:sensitive_features is None")


def quick(**settings):
    defaults = dict(hidden_layer_sizes=(8,), head_layer_sizes=(), epochs=2, random_state=0)
    return RAANClassifier(**defaults | settings)


def scene():
    """A model, one batch of everyone, and weights of mean one."""
    X, y, a = crowd(40)
    table = Table.of(X, y, a, dtype=torch.float64)
    everyone = torch.arange(40).unsqueeze(0)
    weight = torch.linspace(0.1, 3, 40, dtype=torch.float64)
    model = linear(table).start(table, everyone, [0])
    (batch,) = batches(table, everyone, [0], batch_size=40, epoch=0)
    return table, everyone, weight, model, batch


def loss_of(method, table, everyone, model, batch):
    memory = method.prepare(model, table, everyone)
    rows = memory.rows[:, batch.row[0]] if memory.rows.shape[1] else memory.rows
    return method.loss(model, batch, memory._replace(rows=rows))[0]


def test_plain_training_weighs_each_loss():
    table, everyone, weight, model, batch = scene()
    loss = cross_entropy(model(batch.features).logit, batch.label)[0]
    share = weight[batch.row[0]] / weight.mean()
    expected = sum(float(w) * float(each) for w, each in zip(share, loss, strict=True)) / 40
    assert loss_of(WeightedERM(weight), table, everyone, model, batch).item() == pytest.approx(expected)
    plain = loss_of(ERM(), table, everyone, model, batch)
    torch.testing.assert_close(
        loss_of(WeightedERM(torch.full_like(weight, 7)), table, everyone, model, batch), plain
    )


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
def test_raan_weighs_each_loss_wherever_it_stands(strength):
    table, everyone, weight, model, batch = scene()
    row = batch.row[0]
    output = model(batch.features)
    weighted = (weight[row] / weight.mean()) * cross_entropy(output.logit, batch.label)
    terms = stochastic_objective(
        output.embedding,
        batch.label,
        batch.attribute,
        weighted,
        InnerEstimate.unknown(1, 40, dtype=torch.float64),
        anchor_weights(table.label, table.attribute, "group")[row].unsqueeze(0),
        0.5,
        0.5,
    ).term
    expected = (1 - strength) * weighted.mean() + strength * terms.mean()
    method = WeightedRAAN(strength=strength, sample_weight=weight)
    assert loss_of(method, table, everyone, model, batch).item() == pytest.approx(expected.item())
    unweighted = loss_of(RAAN(strength=strength), table, everyone, model, batch)
    assert torch.equal(loss_of(WeightedRAAN(strength=strength), table, everyone, model, batch), unweighted)


def test_scaling_counts_a_row_of_weight_two_as_two():
    X, y, _ = crowd(30)
    X[:, 3], X[:, 4] = 2.5, X[:, 4] > 0  # constant, and of 0 and 1: both stay
    times = np.random.default_rng(0).integers(1, 4, size=30)
    once, repeated = np.arange(30), np.repeat(np.arange(30), times)

    def scaling(rows, weight):
        table = Table.of(X[rows], y[rows], dtype=torch.float64)
        everyone = torch.arange(len(rows)).unsqueeze(0)
        return weighted_scaling(TrainingRows(table, Split(everyone, everyone, everyone), weight))

    weighted = scaling(once, torch.from_numpy(times.astype(float)))
    for part, expected in zip(weighted, scaling(repeated, None), strict=True):
        torch.testing.assert_close(part, expected)
    np.testing.assert_allclose(weighted.centre[0, 0, :3], X[repeated].mean(0)[:3])
    np.testing.assert_allclose(weighted.spread[0, 0, :3], X[repeated].std(0)[:3])
    assert weighted.centre[0, 0, 3:].tolist() == [0, 0]
    assert weighted.spread[0, 0, 3:].tolist() == [1, 1]


@PLAIN
@pytest.mark.parametrize("known", [True, False])
def test_equal_weights_are_no_weights(known):
    X, y, a = crowd(80)
    attribute = a if known else None
    plain = quick().fit(X, y, sensitive_features=attribute)
    for weight in (np.full(80, 3.0), 0.5):
        weighted = quick().fit(X, y, sensitive_features=attribute, sample_weight=weight)
        np.testing.assert_allclose(weighted.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


@PLAIN
@pytest.mark.parametrize("known", [True, False])
def test_a_sample_of_weight_zero_is_left_out(known):
    X, y, a = crowd(120)
    X[::3] += 100  # what is left out may be as odd as it likes
    kept = np.arange(120) % 3 > 0

    def fitted(rows, weight=None):
        model = quick(aim=None, batch_size=200, validation_fraction=0.0)
        return model.fit(X[rows], y[rows], sensitive_features=a[rows] if known else None, sample_weight=weight)

    np.testing.assert_allclose(
        fitted(np.arange(120), kept.astype(float)).predict_proba(X), fitted(kept).predict_proba(X), rtol=1e-7
    )


@PLAIN
@pytest.mark.parametrize("known", [True, False])
def test_a_class_that_weighs_more_is_predicted_more(known):
    X, y, a = crowd(400)
    heavy = np.where(y == 1, 20.0, 1.0)

    def share(weight):
        model = quick(epochs=20, lr=1e-2, aim=None)
        return model.fit(X, y, sensitive_features=a if known else None, sample_weight=weight).predict(X).mean()

    assert share(heavy) > share(None) + 0.1
