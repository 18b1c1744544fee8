import math

import numpy as np
import pytest
import torch

from raan.training.update import Update


def literal(style, w, gradients, alpha, eta1, eta2, epsilon):
    """Alg. 3 as printed, number by number."""
    h, v_hat = np.zeros_like(w), np.zeros_like(w)
    for g in gradients:
        for k in range(len(w)):
            if style == "sgd":
                w[k] = w[k] - alpha[k] * g[k]
                continue
            h[k] = eta1 * h[k] + (1 - eta1) * g[k]
            v = eta2 * v_hat[k] + (1 - eta2) * g[k] ** 2
            v_hat[k] = max(v_hat[k], v) if style == "amsgrad" else v
            w[k] = w[k] - alpha[k] * h[k] / math.sqrt(epsilon + v_hat[k])
    return w


@pytest.mark.parametrize("style", ["sgd", "adam", "amsgrad"])
def test_fifty_steps_agree_with_algorithm_3_as_printed(style):
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=6), rng.normal(size=(50, 6)) * rng.choice([0.1, 1, 10], size=(50, 1))
    rate = np.repeat([0.1, 0.01], 3)  # two runs of three parameters, a learning rate each
    update = Update(style, first_decay=0.8, second_decay=0.9, epsilon=1e-3)
    parameters = torch.tensor(start).view(2, 3)
    moments = update.start(parameters)
    for gradient in gradients:
        parameters, moments = update(
            parameters,
            torch.tensor(gradient).view(2, 3),
            moments,
            torch.tensor([[0.1], [0.01]], dtype=torch.float64),
        )
    expected = literal(style, start.copy(), gradients, rate, 0.8, 0.9, 1e-3)
    np.testing.assert_allclose(parameters.flatten().numpy(), expected, rtol=1e-12)


def test_the_adam_style_is_not_torchs_adam():
    parameters, gradient = torch.ones(1, 1, dtype=torch.float64), torch.full((1, 1), 0.5, dtype=torch.float64)
    update = Update("adam")
    ours, _ = update(parameters, gradient, update.start(parameters), torch.tensor([[0.1]]))
    theirs = torch.ones(1, dtype=torch.float64, requires_grad=True)
    theirs.grad = gradient[0]
    torch.optim.Adam([theirs], lr=0.1).step()
    assert (1 - ours.item()) / (1 - theirs.item()) == pytest.approx(0.1 / math.sqrt(0.001), rel=1e-3)


def test_the_style_torch_adam_is_torchs_adam():
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=(2, 3)), rng.normal(size=(40, 2, 3))
    update, parameters = Update("torch-adam"), torch.tensor(start)
    moments = update.start(parameters)
    theirs = torch.tensor(start, requires_grad=True)
    optimiser = torch.optim.Adam([theirs], lr=0.1)
    for gradient in gradients:
        rate = torch.full((2, 1), 0.1, dtype=torch.float64)
        parameters, moments = update(parameters, torch.tensor(gradient), moments, rate)
        theirs.grad = torch.tensor(gradient)
        optimiser.step()
    torch.testing.assert_close(parameters, theirs.detach())


@pytest.mark.usefixtures("as_users_call")
def test_an_unknown_style_is_an_error():
    with pytest.raises(ValueError, match='style is \'adamw\'; expected "sgd", "adam", "amsgrad" or "torch-adam"'):
        Update("adamw")
