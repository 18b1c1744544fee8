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


RANGES = [(torch.float32, 30), (torch.float64, 300)]


@pytest.mark.parametrize(("dtype", "most"), RANGES, ids=["float32", "float64"])
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_directions_do_not_depend_on_the_scale(dtype, most, data):
    exponents = data.draw(st.lists(st.integers(-most, most), min_size=8, max_size=8))
    rows = torch.randn(8, 5, dtype=dtype, generator=torch.Generator().manual_seed(data.draw(st.integers(0, 99))))
    scale = torch.tensor([10.0**exponent for exponent in exponents], dtype=torch.float64)[:, None]
    scaled = (rows.double() * scale).to(dtype)
    expected = rows.double() / rows.double().norm(dim=1, keepdim=True)
    # Numbers so small that they have few digits themselves cannot be exact.
    torch.testing.assert_close(
        unit(scaled).double(), expected, atol=1e-5 if dtype == torch.float32 else 1e-13, rtol=0
    )


@pytest.mark.parametrize(("dtype", "most"), [(torch.float32, 126), (torch.float64, 1020)])
def test_directions_are_the_same_bits_at_every_power_of_two_and_those_of_plain_division(dtype, most):
    rows = 1 + torch.rand(6, 4, dtype=dtype, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(unit(rows), torch.nn.functional.normalize(rows, dim=-1), atol=0, rtol=0)
    for exponent in (-most, -40, 40, most):
        assert torch.equal(unit(rows * 2.0**exponent), unit(rows))


def test_a_direction_has_the_slope_of_a_plain_one_whatever_the_scale():
    rows = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for scale in (1.0, 1e-12, 1e20, 1e155, 1e-155):
        at = (rows * scale).requires_grad_()
        (unit(at) * torch.arange(4.0)).sum().backward()
        plain = rows.clone().requires_grad_()
        (plain / plain.norm(dim=1, keepdim=True) * torch.arange(4.0)).sum().backward()
        torch.testing.assert_close(at.grad * scale, plain.grad)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3)])
def test_no_rows_no_dimensions_and_zero_rows_stay_what_they_are(shape):
    assert torch.equal(unit(torch.zeros(shape)), torch.zeros(shape))
