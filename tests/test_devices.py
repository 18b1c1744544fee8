"""Everything is computed on the device of the table: nothing of the CPU meets it, and the bits are the CPU's."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from torch import nn

import raan
from pretend_device import pretended
from raan.data.split import split, stack
from raan.fairness.rule import Rule
from raan.methods import METHODS, Refit, Scope
from raan.methods import stack as stack_methods
from raan.models.model import Model, Stack, mlp
from raan.models.modules import ModuleEncoder
from raan.neighbourhood.objective import group_objective
from raan.nn import GroupBatchSampler
from raan.training.stages import first_stage, second_stage
from raan.training.train import Schedule
from training_tables import small_table

pytestmark = pytest.mark.usefixtures("as_users_call")
SEEDS = [0, 1]


def scopes():
    """Every method, in both scopes where it has a choice."""
    for name, method in METHODS.items():
        chosen = "scope" in {field.name for field in fields(method)}
        for scope in Scope if chosen else [method.scope]:
            yield pytest.param(name, scope, id=f"{name}, {scope.value}")


def trained(name, scope, device):
    """Both stages of a pack of two runs that differ in their learning rates, on a device."""
    method = METHODS[name]
    if "scope" in {field.name for field in fields(method)}:
        method = replace(method, scope=scope)
    table = replace(small_table(90, dtype=torch.float32), environment=torch.arange(90) % 3).to(device)
    rows = stack([split(table.rows, (60, 20, 10), seed) for seed in SEEDS]).to(device)
    rates = torch.tensor([1e-2, 1e-3])
    schedule = Schedule(1, 24, rates, points_per_epoch=2, l2=torch.tensor([0.0, 0.1]), watch_test=True)
    plain = first_stage(mlp(table, width=8), table, rows, SEEDS, schedule)
    method = method if isinstance(method, Refit) else stack_methods([method, method])
    return second_stage(method, plain.last, table, rows, SEEDS, schedule, Rule("worst_group", 1))


@pytest.mark.parametrize(("name", "scope"), list(scopes()))
def test_a_method_trains_on_the_device_of_its_table(name, scope):
    expected = trained(name, scope, "cpu")
    with pretended() as device:
        found = trained(name, scope, device)
        for tensor in (found.model.parameters, found.state.parameters, *found.state.memory, found.state.failed):
            assert tensor.device == device
    for ours, theirs in (
        (found.model.parameters, expected.model.parameters),
        (found.last.parameters, expected.last.parameters),
        (found.state.memory.rows, expected.state.memory.rows),
        (found.path.chosen_step, expected.path.chosen_step),
    ):
        np.testing.assert_array_equal(ours.numpy(force=True), theirs.numpy(force=True))
    for ours, theirs in zip(found.path.points, expected.path.points, strict=True):
        np.testing.assert_array_equal(ours.validation_counts, theirs.validation_counts)
        np.testing.assert_array_equal(ours.test_counts, theirs.test_counts)


def test_the_pretended_device_refuses_tensors_of_the_cpu_as_a_gpu_does():
    with pretended() as device:
        there = torch.ones(3, device=device)
        assert (there + 1).tolist() == [2, 2, 2]
        assert (there * torch.tensor(2.0)).tolist() == [2, 2, 2]  # single numbers may meet anything
        for refused in (
            lambda: there + torch.ones(3),
            lambda: there + torch.ones(1),
            lambda: torch.ones(3)[there > 0],
        ):
            with pytest.raises(RuntimeError, match="two devices"):
                refused()
        with pytest.raises(TypeError, match="numpy"):
            there.numpy()


def test_a_module_is_trained_on_the_device_in_its_precision():
    def run(device, precision):
        torch.manual_seed(0)
        table = small_table(60, dtype=torch.float32).to(device)
        rows = stack([split(60, (40, 10, 10), 0)]).to(device)
        module = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU()).eval().to(device)
        encoder, head = ModuleEncoder(module, (6,)), Stack((5, 2))
        start = np.concatenate([encoder.draw(np.random.default_rng(0)), head.draw(np.random.default_rng(0))])
        model = Model(encoder, head, torch.from_numpy(start).float().to(device).unsqueeze(0), precision=precision)
        done = second_stage(METHODS["RL-RAAN"], model, table, rows, [0], Schedule(1, 20, 1e-2))
        return done.last.parameters.numpy(force=True)

    with pretended() as device:
        found = run(device, None)
    np.testing.assert_array_equal(found, run("cpu", None))
    assert not np.array_equal(found, run("cpu", torch.bfloat16))


@pytest.mark.parametrize("style", ["sgd", "adam", "amsgrad"])
@pytest.mark.parametrize("scope", ["head", "model"])
def test_a_loop_of_ones_own_runs_on_the_device(style, scope):
    def run(device):
        table = small_table(60, dtype=torch.float32)
        sampler = GroupBatchSampler(table.label, table.attribute, 16, seed=0)
        torch.manual_seed(0)
        encoder, head = nn.Linear(6, 4), nn.Linear(4, 2)
        encoder, head, table = encoder.to(device), head.to(device), table.to(device)
        criterion = raan.RAANLoss(table.label, table.attribute, scope=scope, sampler=sampler).to(device)
        descent = raan.optim.SCRAAN([*encoder.parameters(), *head.parameters()], lr=0.01, style=style)
        losses = []
        for index in sampler:
            rows = torch.as_tensor(index).to(device)
            embedding = encoder(table.features[rows])
            loss = criterion(head(embedding), embedding, table.label[rows], table.attribute[rows], index)
            descent.zero_grad()
            loss.backward()
            descent.step()
            losses.append(loss.item())
        told = criterion.diagnostics
        criterion.eval()(head(embedding), embedding, table.label[rows], table.attribute[rows])
        return losses, float(told.largest_weight), head.weight.numpy(force=True)

    with pretended() as device:
        found = run(device)
    expected = run("cpu")
    # SCRAAN moves all parameters at once on an accelerator and one by one on a CPU, which rounds otherwise.
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("temperature", [0.0, 0.3, np.inf])
def test_exact_weights_and_the_objective_are_computed_where_the_embedding_is(temperature):
    table = small_table(60)
    with pretended() as device:
        there = table.to(device)
        weights = raan.aan_weights(there.features, there.label, there.attribute, temperature=temperature)
        assert weights.device == device
        loss = there.features[:, 0].square()
        value = group_objective(there.features, there.label, there.attribute, loss, temperature).item()
    expected = raan.aan_weights(table.features, table.label, table.attribute, temperature=temperature)
    np.testing.assert_array_equal(weights.numpy(force=True), expected.numpy())
    loss = table.features[:, 0].square()
    assert value == group_objective(table.features, table.label, table.attribute, loss, temperature).item()
