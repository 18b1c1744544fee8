from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from batches_of import first_step
from raan.lab.methods.adversarial import adversary_loss, without_projection
from raan.methods import Adversarial
from raan.methods.method import with_gradient
from reference import methods as loops

each_shape = pytest.mark.parametrize(("classes", "attributes"), [(2, 2), (3, 4)])
each_notion = pytest.mark.parametrize("notion", ["DP", "EO"])


def some_steps(method, classes, attributes, steps=5):
    """The method after some steps, so that its adversary knows something."""
    step = first_step(method, classes, attributes)
    for _ in range(steps):
        step = step._replace(memory=step.loss()[2])
    return step


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e6]))
def test_what_is_left_of_a_gradient_is_orthogonal_to_the_direction_in_every_weight(seed, scale):
    """Over all entries of a weight at once: fairlearn's torch adversary had it otherwise (its issue 1234)."""
    generator = torch.Generator().manual_seed(seed)
    sizes = [6, 2, 4, 1]
    gradient, direction = torch.randn(2, 3, 13, generator=generator, dtype=torch.float64)
    left = without_projection(gradient, scale * direction, sizes)
    for part, along, before in zip(
        *(torch.split(each, sizes, dim=1) for each in (left, direction, gradient)), strict=True
    ):
        assert (part * along).sum(1).abs().max() < 1e-9
        removed = before - part  # is a multiple of the direction
        scaled = (removed * along).sum(1, keepdim=True) / along.square().sum(1, keepdim=True) * along
        torch.testing.assert_close(removed, scaled)
    again = without_projection(left, scale * direction, sizes)
    torch.testing.assert_close(again, left)


@pytest.mark.parametrize(
    ("direction", "sizes", "left"),
    [
        ([1.0, 1.0, 0.0, 0.0], [2, 2], [0.0, 0.0, 1.0, 1.0]),
        ([1.0, 0.0, 0.0, 1.0], [4], [0.0, 1.0, 1.0, 0.0]),
        ([1.0, 0.0, 0.0, 2.0], [4], [0.4, 1.0, 1.0, -0.2]),  # one weight: a length shared
        ([1.0, 0.0, 0.0, 2.0], [2, 2], [0.0, 1.0, 1.0, 0.0]),  # two weights: each has its own
    ],
)
def test_the_projection_of_each_weight_is_its_own(direction, sizes, left):
    gradient = torch.ones(1, 4, dtype=torch.float64)
    found = without_projection(gradient, torch.tensor([direction], dtype=torch.float64), sizes)
    torch.testing.assert_close(found, torch.tensor([left], dtype=torch.float64))


def test_a_direction_of_zeros_takes_nothing_away():
    gradient = torch.randn(2, 5)
    torch.testing.assert_close(without_projection(gradient, torch.zeros(2, 5), [3, 2]), gradient)


@each_shape
@each_notion
def test_the_adversarys_loss(notion, classes, attributes):
    step = some_steps(Adversarial(notion), classes, attributes)
    adversary = step.memory.whole.chunk(3, dim=1)[0]
    found = adversary_loss(adversary, torch.tensor(step.logits()), step.batch, notion)
    for run, logits in enumerate(step.logits()):
        numbers = adversary[run].numpy()
        bias, weight = numbers[1 : 1 + attributes], numbers[1 + attributes :].reshape(-1, attributes)
        label, attribute = step.batch.label[run].numpy(), step.batch.attribute[run].numpy()
        expected = loops.adversary_loss(numbers[0], weight, bias, logits, label, attribute, notion == "EO")
        assert found[run].item() == pytest.approx(expected)
        assert abs(weight).max() > 0.01  # it has learned something


@each_shape
@each_notion
def test_the_predictors_gradient_weight_by_weight(notion, classes, attributes):
    step = some_steps(Adversarial(notion, weight=0.3), classes, attributes)
    loss, gradient, _ = step.loss()
    adversary = step.memory.whole.chunk(3, dim=1)[0]
    leaf = step.model.parameters.detach().requires_grad_()
    logit = step.model.at(leaf)(step.batch.features).logit
    plain = torch.nn.functional.cross_entropy(logit.mT, step.batch.label, reduction="none").mean(-1)
    torch.testing.assert_close(loss, plain.detach())
    (predictor,) = torch.autograd.grad(plain.sum(), leaf, retain_graph=True)
    (hurt,) = torch.autograd.grad(adversary_loss(adversary, logit, step.batch, notion).sum(), leaf)
    sizes = step.model.encoder.sizes + step.model.head.sizes
    parts = [torch.split(each, sizes, dim=1) for each in (gradient, predictor, hurt)]
    for found, towards, away in zip(*parts, strict=True):
        for run in range(2):
            matrices = (each[run].reshape(1, -1).numpy() for each in (towards, away))
            expected = loops.adversarial_gradient(*matrices, 0.3)
            np.testing.assert_allclose(found[run].numpy(), expected.flatten(), atol=1e-12)


def test_the_adversary_follows_its_own_gradient_at_its_own_rate():
    step = some_steps(Adversarial("EO", adversary_rate=torch.tensor([0.1, 0.0])), 2, 2)
    weights, first, second = step.memory.whole.chunk(3, dim=1)
    after, _, _ = step.loss()[2].whole.chunk(3, dim=1)
    own = weights.detach().requires_grad_()
    loss = adversary_loss(own, torch.tensor(step.logits()), step.batch, "EO")
    (gradient,) = torch.autograd.grad(loss.sum(), own)
    first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
    torch.testing.assert_close(after[0], (weights - 0.1 * first / (second + 1e-8).sqrt())[0])
    torch.testing.assert_close(after[1], weights[1])


def test_the_adversary_learns_to_tell_a_predictor_that_stands_still():
    step = some_steps(Adversarial("EO"), 2, 2, steps=1)
    before = adversary_loss(step.memory.whole.chunk(3, dim=1)[0], torch.tensor(step.logits()), step.batch, "EO")
    step = some_steps(Adversarial("EO"), 2, 2, steps=100)
    after = adversary_loss(step.memory.whole.chunk(3, dim=1)[0], torch.tensor(step.logits()), step.batch, "EO")
    assert (after < before - 0.02).all()


def test_a_loss_can_be_given_a_gradient():
    parameters = torch.randn(2, 3, requires_grad=True)
    gradient = torch.randn(2, 3)
    loss = with_gradient(torch.tensor([4.0, 5.0]), parameters, gradient)
    assert loss.tolist() == [4.0, 5.0]
    torch.testing.assert_close(torch.autograd.grad(loss.sum(), parameters)[0], gradient)


@pytest.mark.usefixtures("as_users_call")
def test_without_any_attribute_it_says_so():
    step = first_step(Adversarial())
    blind = replace(step.table, attribute=torch.full_like(step.table.attribute, -1))
    with pytest.raises(
        ValueError, match="Adversarial needs the attribute, and it is unknown in every row of 'table'"
    ):
        Adversarial().prepare(step.model, blind, step.rows.train)
