import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import problem
from raan.neighbourhood.pairs import (
    log_affinity,
    neighbourhood_loss,
    neighbours,
    pair_weights,
    robust_value,
    unit,
)
from reference import neighbourhood as loops

shapes = st.tuples(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 4))


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("attributes", [2, 3, 4])
def test_neighbours_are_the_same_class_with_another_known_attribute(classes, attributes):
    p = problem(classes=classes, attributes=attributes, unknown=5)
    mask = neighbours(p.label, p.attribute)
    for i in range(len(p.label)):
        expected = loops.neighbourhood(p.label.tolist(), p.attribute.tolist(), i)
        assert mask[i].nonzero().flatten().tolist() == expected


@pytest.mark.parametrize("temperature", [0.0, 1e-3, 0.1, 0.5, 1.9, float("inf")])
@pytest.mark.parametrize(("classes", "attributes"), [(2, 2), (3, 4), (4, 3)])
def test_pair_weights_agree_with_the_loop_at_every_temperature(temperature, classes, attributes):
    p = problem(classes=classes, attributes=attributes, unknown=3)
    weights = pair_weights(log_affinity(p.embedding, temperature), neighbours(p.label, p.attribute))
    expected = loops.pair_weights(*p.arrays()[:3], temperature)
    np.testing.assert_allclose(weights.numpy(), expected, atol=1e-10)


def test_nearest_neighbours_that_tie_share_the_weight_at_temperature_zero():
    embedding = torch.tensor([[1.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    label, attribute = torch.tensor([0, 0, 0, 0]), torch.tensor([0, 1, 1, 1])
    weights = pair_weights(log_affinity(embedding, 0.0), neighbours(label, attribute))
    assert weights[0].tolist() == [0, 0.5, 0.5, 0]


@settings(deadline=None, max_examples=60)
@given(shapes, st.floats(0.05, 5), st.integers(0, 10**6))
def test_equation_3_maximises_equation_2(shape, temperature, seed):
    p = problem(shape[0], classes=shape[1], attributes=shape[2])
    neighbour = neighbours(p.label, p.attribute)
    similarity = unit(p.embedding) @ unit(p.embedding).T
    best = pair_weights(log_affinity(p.embedding, temperature), neighbour)
    noise = torch.tensor(np.random.default_rng(seed).exponential(size=best.shape)) * neighbour
    rival = noise / noise.sum(-1, keepdim=True).clamp(min=1e-300)
    near = 0.99 * best + 0.01 * rival
    value = robust_value(best, similarity, neighbour, temperature)
    for other in (rival, near):
        assert (value >= robust_value(other, similarity, neighbour, temperature) - 1e-12).all()


@settings(deadline=None, max_examples=60)
@given(shapes, st.floats(0, 100))
def test_pair_weights_of_an_anchor_with_neighbours_sum_to_one(shape, temperature):
    p = problem(shape[0], classes=shape[1], attributes=shape[2], unknown=4)
    neighbour = neighbours(p.label, p.attribute)
    total = pair_weights(log_affinity(p.embedding, temperature), neighbour).sum(-1)
    torch.testing.assert_close(total, neighbour.any(-1).double())


def test_robust_value_agrees_with_equation_2_written_out():
    p = problem()
    neighbour = neighbours(p.label, p.attribute)
    z = loops.unit(p.embedding.numpy())
    weights = loops.pair_weights(*p.arrays()[:3], 0.7)
    value = robust_value(torch.tensor(weights), torch.tensor(z @ z.T), neighbour, 0.7)
    for i in range(len(p.label)):
        members = loops.neighbourhood(p.label.tolist(), p.attribute.tolist(), i)
        kl = sum(weights[i, j] * np.log(weights[i, j] * len(members)) for j in members)
        assert value[i].item() == pytest.approx(sum(weights[i, j] * (z[i] @ z[j]) for j in members) - 0.7 * kl)


def test_the_neighbourhood_loss_is_the_weighted_mean_of_the_neighbours_losses():
    p = problem()
    weights = loops.pair_weights(*p.arrays()[:3], 0.5)
    losses = neighbourhood_loss(torch.tensor(weights), p.loss)
    for i in range(len(p.label)):
        assert losses[i].item() == pytest.approx(
            sum(weights[i, j] * p.loss[j].item() for j in range(len(p.label)))
        )


def test_leading_axes_with_a_temperature_each_agree_with_one_at_a_time():
    several = [problem(seed) for seed in range(3)]
    temperature = torch.tensor([0.0, 0.3, float("inf")], dtype=torch.float64)
    together = pair_weights(
        log_affinity(torch.stack([p.embedding for p in several]), temperature),
        neighbours(torch.stack([p.label for p in several]), torch.stack([p.attribute for p in several])),
    )
    for run, p in enumerate(several):
        alone = pair_weights(log_affinity(p.embedding, float(temperature[run])), neighbours(p.label, p.attribute))
        torch.testing.assert_close(together[run], alone)


@pytest.mark.parametrize("temperature", [0.0, 1e-3, 0.5, float("inf")])
def test_gradients_are_finite_where_anchors_have_no_neighbours(temperature):
    embedding = problem(rows=9, classes=3, attributes=3).embedding.requires_grad_()
    label, attribute = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2]), torch.tensor([0, 1, 2, 0, 0, 0, -1, -1, 0])
    weights = pair_weights(log_affinity(embedding, temperature), neighbours(label, attribute))
    (weights * torch.arange(81.0).view(9, 9)).sum().backward()
    assert embedding.grad.isfinite().all()
