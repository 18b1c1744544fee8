"""BSGD, SOX and MOAP, the optimisers that the paper leaves open, each stepped beside its literal loop."""

from itertools import islice
from typing import NamedTuple

import numpy as np
import pytest
import torch

from batches_of import first_step
from raan.data.batches import Batch, batches
from raan.methods import MOAP, RAAN, SOX, Memory, Scope
from raan.models.model import Model
from raan.neighbourhood.estimator import InnerEstimate, batch_pairs, surrogate
from raan.neighbourhood.pairs import log_affinity, neighbours
from reference import methods as loops
from reference import neighbourhood as paper

RUNS, TEMPERATURE = 2, 0.4


class Turn(NamedTuple):
    """One step of a method, the memory of all rows before and after it."""

    model: Model
    batch: Batch
    before: Memory
    loss: torch.Tensor
    gradient: torch.Tensor
    after: Memory


def of_batch(memory, batch):
    return memory._replace(rows=torch.stack([memory.rows[run, batch.row[run]] for run in range(RUNS)]))


def gradient_of(method, model, batch, memory):
    leaf = model.parameters.detach().requires_grad_()
    loss, after = method.loss(model.at(leaf), batch, of_batch(memory, batch))
    return loss.detach(), torch.autograd.grad(loss.sum(), leaf)[0], after


def turns(method, number, size=40):
    """The method's first steps; the last batch of an epoch is smaller, and the model moves along."""
    step = first_step(method, classes=2, attributes=3)
    memory, model = method.prepare(step.model, step.table, step.rows.train), step.model
    drawn = (
        batch
        for epoch in range(number)
        for batch in batches(step.table, step.rows.train, [0, 1], batch_size=size, epoch=epoch)
    )
    for batch in islice(drawn, number):
        loss, gradient, after = gradient_of(method, model, batch, memory)
        rows = memory.rows.clone()
        for run in range(RUNS):
            rows[run, batch.row[run]] = after.rows[run].detach()
        after = Memory(rows, after.whole.detach())
        yield Turn(model, batch, memory, loss, gradient, after)
        memory, model = after, model.at(model.parameters - 0.05 * gradient)


def arrays(model, batch, run):
    """One run's embedding, label, attribute and losses, for the loops."""
    output = model(batch.features)
    logits, label = output.logit[run].detach().numpy(), batch.label[run].numpy()
    losses = np.array([loops.cross_entropy(logit, y) for logit, y in zip(logits, label, strict=True)])
    return output.embedding[run].detach().numpy(), label, batch.attribute[run].numpy(), losses


def test_bsgd_forgets_what_was_known():
    step = first_step(RAAN(averaging_rate=1.0, temperature=TEMPERATURE, scope=Scope.MODEL), 2, 3)
    known = step.memory.rows.clone()
    known[..., 0], known[..., 1] = -0.7, 3.0
    _, gradient, after = step.loss()
    _, same_gradient, same_after = step._replace(memory=step.memory._replace(rows=known)).loss()
    torch.testing.assert_close(same_gradient, gradient)
    for run in range(RUNS):
        embedding, label, attribute, losses = arrays(step.model, step.batch, run)
        pair = paper.pair_weights(embedding, label, attribute, TEMPERATURE)
        for i in range(len(label)):
            if paper.neighbourhood(label, attribute, i):
                assert after.rows[run, i, 1].item() == pytest.approx(pair[i] @ losses)
                assert same_after.rows[run, i, 1].item() == pytest.approx(pair[i] @ losses)


@pytest.mark.parametrize("scope", [Scope.HEAD, Scope.MODEL])
def test_sox_follows_the_moving_average_of_scraans_gradient(scope):
    options = dict(temperature=TEMPERATURE, averaging_rate=0.3, scope=scope)
    average = 0.0
    for turn in turns(SOX(gradient_rate=0.25, **options), 8):
        loss, gradient, after = gradient_of(RAAN(**options), turn.model, turn.batch, turn.before)
        average = 0.75 * average + 0.25 * gradient
        torch.testing.assert_close(turn.gradient, average)
        torch.testing.assert_close(turn.loss, loss)
        torch.testing.assert_close(of_batch(turn.after, turn.batch).rows, after.rows)


@pytest.mark.parametrize("rate", [0.1, 0.9])
@pytest.mark.parametrize("size", [5, 40])  # small ones leave some anchors without neighbours
def test_moap_keeps_the_averages_of_all_rows_at_every_step(rate, size):
    rows = 180
    u = [{} for _ in range(RUNS)]
    for turn in turns(MOAP(temperature=TEMPERATURE, averaging_rate=rate), 60 if size == 5 else 12, size):
        drawn = turn.batch.row.shape[1]
        for run in range(RUNS):
            batch = turn.batch.row[run].tolist()
            problem = arrays(turn.model, turn.batch, run)
            u[run] = loops.moap_inner(u[run], batch, rows, *problem, TEMPERATURE, rate * drawn / rows)
            log_denominator, ratio, _, stamp = turn.after.rows[run].T
            # Rows that wait have not been shrunk yet: their stamp says by how much they will be.
            now = (log_denominator + turn.after.whole[run, 2] - stamp).exp()
            assert set((now > 0).nonzero().flatten().tolist()) == set(u[run])
            for row, (u1, u2) in u[run].items():
                assert now[row].item() == pytest.approx(u2)
                assert ratio[row].item() == pytest.approx(u1 / u2)


def test_moaps_gradient_is_the_moving_average_of_g_at_its_averages():
    average = 0.0
    for turn in turns(MOAP(temperature=TEMPERATURE, averaging_rate=0.5, gradient_rate=0.25, scope=Scope.MODEL), 8):
        leaf = turn.model.parameters.detach().requires_grad_()
        output = turn.model.at(leaf)(turn.batch.features)
        losses = torch.nn.functional.cross_entropy(output.logit.mT, turn.batch.label, reduction="none")
        neighbour = neighbours(turn.batch.label, turn.batch.attribute)
        affinity = log_affinity(output.embedding, TEMPERATURE)
        pairs = batch_pairs(affinity, neighbour)
        log_denominator, ratio, anchor, _ = of_batch(turn.after, turn.batch).rows.unbind(-1)
        own_loss = (anchor == 0) & ~neighbour.any(-1)
        term = surrogate(affinity, losses, pairs, InnerEstimate(log_denominator, ratio), torch.ones_like(anchor))
        value = torch.where(own_loss, losses, anchor * term).mean(-1)
        average = 0.75 * average + 0.25 * torch.autograd.grad(value.sum(), leaf)[0]
        torch.testing.assert_close(turn.gradient, average)


def test_an_average_that_would_lose_everything_stays_a_number():
    for turn in turns(MOAP(averaging_rate=1.0), 3, size=180):
        assert turn.loss.isfinite().all()
        assert not turn.after.rows.isnan().any()


@pytest.mark.usefixtures("as_users_call")
def test_a_gradient_rate_out_of_range_is_an_error():
    with pytest.raises(ValueError, match=r"gradient_rate is 1\.5; expected 0 to 1"):
        SOX(gradient_rate=1.5)
