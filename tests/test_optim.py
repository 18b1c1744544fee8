import copy
import math

import numpy as np
import pytest
import torch

from raan.optim import SCRAAN

STYLES = ["sgd", "adam", "amsgrad"]


def literal(style, w, gradients, lr, betas, eps, weight_decay):
    """Alg. 3 as printed, number by number, with an L2 penalty in the gradient."""
    w = list(w)
    h, v_hat = [0.0] * len(w), [0.0] * len(w)
    for step, gradient in enumerate(gradients):
        for k in range(len(w)):
            g = gradient[k] + weight_decay * w[k]
            if style == "sgd":
                w[k] = w[k] - lr(step) * g
                continue
            h[k] = betas[0] * h[k] + (1 - betas[0]) * g
            v = betas[1] * v_hat[k] + (1 - betas[1]) * g**2
            v_hat[k] = max(v_hat[k], v) if style == "amsgrad" else v
            w[k] = w[k] - lr(step) * h[k] / math.sqrt(eps + v_hat[k])
    return w


def gradients(steps, size, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(steps, size)) * rng.choice([0.1, 1, 10], size=(steps, 1))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("foreach", [True, False, None])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_fifty_steps_agree_with_algorithm_3_as_printed(style, foreach, weight_decay):
    start, slopes = np.random.default_rng(1).normal(size=6), gradients(50, 6)
    matrix = torch.tensor(start[:4].reshape(2, 2), requires_grad=True)
    vector = torch.tensor(start[4:], requires_grad=True)
    optimiser = SCRAAN([matrix, vector], 0.03, style, (0.8, 0.9), 1e-3, weight_decay, foreach=foreach)
    for slope in torch.tensor(slopes):
        matrix.grad, vector.grad = slope[:4].view(2, 2), slope[4:]
        optimiser.step()
    expected = literal(style, start, slopes, lambda step: 0.03, (0.8, 0.9), 1e-3, weight_decay)
    found = torch.cat([matrix.detach().flatten(), vector.detach()])
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("style", STYLES)
def test_groups_have_settings_of_their_own_and_schedulers_turn_the_rate(style):
    start, slopes = np.array([1.0, -2.0]), gradients(20, 2)
    first, second = (torch.tensor([value], requires_grad=True, dtype=torch.float64) for value in start)
    optimiser = SCRAAN([{"params": [first], "lr": 0.2, "eps": 1e-2}], lr=0.05, style=style, betas=(0.5, 0.8))
    optimiser.add_param_group({"params": [second], "weight_decay": 0.3})
    scheduler = torch.optim.lr_scheduler.StepLR(optimiser, step_size=5, gamma=0.5)
    for slope in torch.tensor(slopes):
        first.grad, second.grad = slope[:1], slope[1:]
        optimiser.step()
        scheduler.step()
    halved = lambda lr: lambda step: lr * 0.5 ** (step // 5)  # noqa: E731
    expected = literal(style, start[:1], slopes[:, :1], halved(0.2), (0.5, 0.8), 1e-2, 0.0)
    expected += literal(style, start[1:], slopes[:, 1:], halved(0.05), (0.5, 0.8), 1e-8, 0.3)
    np.testing.assert_allclose([first.item(), second.item()], expected, rtol=1e-10)


def test_a_scheduler_that_turns_momentum_finds_betas():
    weight = torch.ones(2, requires_grad=True)
    optimiser = SCRAAN([weight], lr=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=0.1, total_steps=10)
    before = optimiser.param_groups[0]["betas"]
    for _ in range(3):
        weight.grad = torch.ones(2)
        optimiser.step()
        scheduler.step()
    assert optimiser.param_groups[0]["betas"] != before


@pytest.mark.parametrize("style", STYLES)
def test_a_closure_is_evaluated_with_gradients_and_its_loss_returned(style):
    weight = torch.tensor([2.0], requires_grad=True)
    optimiser = SCRAAN([weight], lr=0.1, style=style)

    def closure():
        optimiser.zero_grad()
        loss = weight.square().sum()
        loss.backward()
        return loss

    assert optimiser.step(closure).item() == 4.0
    assert optimiser.step(closure).item() < 4.0
    assert optimiser.step() is None


@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("style", STYLES)
def test_resuming_from_a_state_dict_is_bit_for_bit(style, foreach, tmp_path):
    def steps(weight, optimiser, slopes):
        for slope in slopes:
            weight.grad = slope
            optimiser.step()

    slopes = torch.tensor(gradients(20, 8), dtype=torch.float32)
    straight = torch.ones(8, requires_grad=True)
    steps(straight, SCRAAN([straight], 0.01, style, foreach=foreach), slopes)
    first = torch.ones(8, requires_grad=True)
    optimiser = SCRAAN([first], 0.01, style, foreach=foreach)
    steps(first, optimiser, slopes[:10])
    torch.save((first, optimiser.state_dict()), tmp_path / "state.pt")
    second, state = torch.load(tmp_path / "state.pt", weights_only=True)
    resumed = SCRAAN([second], 0.5)  # every setting is in the state
    resumed.load_state_dict(state)
    steps(second, resumed, slopes[10:])
    assert torch.equal(second, straight)
    assert not torch.equal(first, straight)


def test_copies_go_on_alone():
    weight = torch.ones(2, requires_grad=True)
    optimiser = SCRAAN([weight])
    weight.grad = torch.ones(2)
    optimiser.step()
    twin = copy.deepcopy(optimiser)
    before = weight.detach().clone()
    twin.param_groups[0]["params"][0].grad = torch.ones(2)
    twin.step()
    assert torch.equal(weight.detach(), before)
    assert not torch.equal(twin.param_groups[0]["params"][0].detach(), before)


@pytest.mark.parametrize("style", STYLES)
def test_parameters_without_a_gradient_stay_and_have_no_state(style):
    used, unused = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    optimiser = SCRAAN([used, unused], lr=0.1, style=style)
    used.grad = torch.ones(2)
    optimiser.step()
    assert torch.equal(unused, torch.ones(2))
    assert (used < 1).all()
    assert unused not in optimiser.state


@pytest.mark.parametrize("foreach", [True, False])
def test_half_precision_parameters_keep_their_precision_and_the_rate_all_its_digits(foreach):
    weight = torch.ones(3, dtype=torch.bfloat16, requires_grad=True)
    optimiser = SCRAAN([weight], lr=0.1, style="sgd", foreach=foreach)
    weight.grad = torch.full((3,), 0.5, dtype=torch.bfloat16)
    optimiser.step()
    assert weight.dtype == torch.bfloat16
    assert weight[0] == torch.tensor(0.95, dtype=torch.bfloat16)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(lr=-1.0), "lr is -1.0; expected 0 or more"),
        (dict(eps=-1e-8), "eps is -1e-08; expected 0 or more"),
        (dict(weight_decay=-0.1), "weight_decay is -0.1; expected 0 or more"),
        (dict(betas=(0.9, 1.0)), r"betas is \(0.9, 1.0\); expected two numbers from 0 up, below 1"),
        (dict(betas=(0.9,)), r"betas is \(0.9,\); expected two numbers"),
        (dict(style="adamw"), 'style is \'adamw\'; expected "sgd", "adam" or "amsgrad"'),
    ],
)
def test_settings_that_mean_nothing_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        SCRAAN([torch.ones(1, requires_grad=True)], **options)
    optimiser = SCRAAN([torch.ones(1, requires_grad=True)])
    with pytest.raises(ValueError, match=message):
        optimiser.add_param_group({"params": [torch.ones(1, requires_grad=True)], **options})


def test_sparse_gradients_are_refused():
    layer = torch.nn.Embedding(4, 2, sparse=True)
    layer(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="SCRAAN takes no sparse gradients; make the embedding layers"):
        SCRAAN(layer.parameters()).step()
