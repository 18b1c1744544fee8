"""RL-RAAN without the affinities' gradient, beside the literal Eq. (8) and beside RL-RAAN itself."""

import math

import numpy as np
import torch

from batches_of import first_step
from raan.methods import RAAN, FixedAffinities, Memory, Scope
from raan.methods.method import cross_entropy
from reference import neighbourhood as paper

TEMPERATURE, RATE = 0.4, 0.3


def ready(method):
    """The method before its second visit of the same batch, from averages that are known."""
    step = first_step(method, classes=2, attributes=3, unknown=0)
    _, _, after = step.loss()
    rows = after.rows.detach().clone()
    rows[..., 0] -= 0.3  # another model's averages, so that u is not this batch's estimate
    rows[..., 1] += 0.2
    return step._replace(memory=Memory(rows, after.whole.detach()))


def loss_slopes(step, run):
    """The gradient of each sample's cross-entropy in all parameters of one run."""
    leaf = step.model.parameters.detach().requires_grad_()
    losses = cross_entropy(step.model.at(leaf)(step.batch.features).logit, step.batch.label)[run]
    slopes = [torch.autograd.grad(each, leaf, retain_graph=True)[0][run].numpy() for each in losses]
    return losses.detach().numpy(), slopes


def test_the_gradient_is_equation_8_with_affinities_held_constant():
    step = ready(FixedAffinities(temperature=TEMPERATURE, averaging_rate=RATE, balance="sample"))
    _, gradient, _ = step.loss()
    for run in range(2):
        losses, slopes = loss_slopes(step, run)
        embedding = step.model(step.batch.features).embedding[run].detach().numpy()
        label, attribute = step.batch.label[run].numpy(), step.batch.attribute[run].numpy()
        batch = step.batch.row[run].tolist()
        known = step.memory.rows[run].numpy()
        u = {row: (np.exp(k[0]) * k[1], np.exp(k[0])) for row, k in zip(batch, known, strict=True)}
        u = paper.update_inner(u, batch, embedding, label, attribute, losses, TEMPERATURE, RATE, 0.0)
        constant = [np.zeros((embedding.shape[1], len(slopes[0])))] * len(batch)
        expected = paper.gradient_estimate(
            u, batch, embedding, label, attribute, losses, slopes, constant, TEMPERATURE
        )
        np.testing.assert_allclose(gradient[run].numpy(), expected, rtol=1e-4, atol=1e-6)


def test_value_and_averages_are_rl_raans_and_the_encoders_gradient_is_not():
    dials = {"temperature": TEMPERATURE, "averaging_rate": RATE}
    fixed, attached = ready(FixedAffinities(**dials)), ready(RAAN(scope=Scope.MODEL, **dials))
    (loss, gradient, after), (same_loss, other_gradient, same_after) = fixed.loss(), attached.loss()
    torch.testing.assert_close(loss, same_loss)
    torch.testing.assert_close(after.rows, same_after.rows)
    assert (gradient - other_gradient).abs().amax(-1).min() > 1e-3
    head = slice(gradient.shape[1] - sum(fixed.model.head.sizes), None)
    torch.testing.assert_close(gradient[:, head], other_gradient[:, head])


def test_at_temperature_inf_it_is_rl_raan():
    """Even affinities have no gradient to leave out."""
    even = [
        ready(method).loss()[1]
        for method in (FixedAffinities(temperature=math.inf), RAAN(temperature=math.inf, scope=Scope.MODEL))
    ]
    torch.testing.assert_close(*even)
