"""The loss, unchanged, in the loops that people have."""

import copy
import os
import shutil
import subprocess
import sys
from pathlib import Path

import lightning
import pytest
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from nn.people import Model, dataset, people
from nn.resumed_training import train
from raan.nn import GroupBatchSampler, IndexedDataset, RAANLoss
from raan.optim import SCRAAN

HERE = Path(__file__).parent


@pytest.fixture
def half_precision(monkeypatch):
    """Without oneDNN: its products in bfloat16 crash on virtual machines that announce AMX but have none."""
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)


def criterion_of(**options):
    _, label, attribute = people()
    return RAANLoss(label, attribute, scope="model", averaging_rate=0.3, **options)


def batches(size=32):
    """The rows of one epoch, in order."""
    return torch.arange(len(dataset())).split(size)


def loss_of(model, criterion, rows):
    x, label, attribute = (part[rows] for part in people())
    logit, embedding = model(x)
    return criterion(logit, embedding, label, attribute, rows)


def trained(model, criterion, epochs=2, half=False):
    """The plain loop that the others are compared with, under autocast if `half`."""
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    values = []
    for _ in range(epochs):
        for rows in batches():
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
                loss = loss_of(model, criterion, rows)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            values.append(loss.item())
    return values


def assert_same(model, criterion, other, other_criterion, **tolerance):
    torch.testing.assert_close(dict(model.state_dict()), dict(other.state_dict()), **tolerance)
    torch.testing.assert_close(dict(criterion.state_dict()), dict(other_criterion.state_dict()), **tolerance)


def test_a_plain_loop_lowers_the_objective_and_visits_every_row():
    model, criterion = Model(), criterion_of()
    x, label, attribute = people()

    def objective():
        with torch.no_grad():
            logit, embedding = model(x)
            return criterion.eval()(logit, embedding, label, attribute).item()

    before = objective()
    trained(model, criterion.train(), epochs=15)
    assert objective() < 0.75 * before
    assert (criterion.visits == 15).float().mean() > 0.95  # a few rows miss their neighbours now and then


@pytest.mark.usefixtures("half_precision")
def test_autocast_leaves_the_state_and_the_affinities_in_float32():
    model, plain = Model(), criterion_of()
    criterion = copy.deepcopy(plain)
    rows = batches(64)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logit, embedding = model(people()[0][rows])
        assert logit.dtype == torch.bfloat16
        inside = criterion(logit, embedding, people()[1][rows], people()[2][rows], rows)
    # The same numbers, widened, outside: not one bit may differ.
    outside = plain(logit.float(), embedding.float(), people()[1][rows], people()[2][rows], rows)
    assert inside.dtype == torch.float32
    assert torch.equal(inside, outside)
    assert all(torch.equal(a, b) for a, b in zip(criterion.buffers(), plain.buffers(), strict=True))
    assert criterion.log_denominator.dtype == torch.float32
    inside.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.usefixtures("half_precision")
def test_training_under_autocast_goes_the_same_way():
    plain = trained(Model(), criterion_of())
    values = trained(Model(), criterion_of(), half=True)
    assert values != plain
    assert values[-1] == pytest.approx(plain[-1], rel=0.05)
    assert values[-1] < 0.8 * values[0]


def test_accumulated_gradients_are_the_sum_of_the_batches():
    model, criterion = Model(), criterion_of()
    rows = batches(32)[:4]
    expected = [torch.zeros_like(parameter) for parameter in model.parameters()]
    reference = copy.deepcopy(criterion)
    for some in rows:
        parts = torch.autograd.grad(loss_of(model, reference, some) / 4, list(model.parameters()))
        expected = [total + part for total, part in zip(expected, parts, strict=True)]
    for some in rows:
        (loss_of(model, criterion, some) / 4).backward()
    torch.testing.assert_close([parameter.grad for parameter in model.parameters()], expected)
    # One backward through several batches that share rows: writing the state spoils no earlier graph.
    total = sum(loss_of(model, criterion, some) for some in (rows[0], rows[1], rows[0]))
    total.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


COMPILED = """
import sys
import torch
from nn.people import Model, people
from raan.nn import RAANLoss

x, label, attribute = people()

def run(compiled_step, compiled_loss):
    model, criterion = Model(), RAANLoss(label, attribute, scope="model", averaging_rate=0.3)
    loss_of = compiled_loss(criterion)
    def step(x, label, attribute, index):
        logit, embedding = model(x)
        return loss_of(logit, embedding, label, attribute, index)
    step = compiled_step(step)
    values = []
    for rows in torch.arange(240).split(60)[:3]:
        values.append(step(x[rows], label[rows], attribute[rows], rows))
        values[-1].backward()
    try:
        step(x[:60], label[:60], attribute[:60], torch.arange(200, 260))
    except ValueError as error:
        assert "index holds 240 at position 40" in str(error), error
    else:
        raise AssertionError("a wrong index passed")
    gradients = [parameter.grad for parameter in model.parameters()]
    return values, gradients, dict(criterion.state_dict()), tuple(criterion.diagnostics)

plainly = lambda part: part
plain = run(plainly, plainly)
eagerly = lambda part: torch.compile(part, backend="aot_eager")
ways = {"step": (eagerly, plainly), "loss": (plainly, torch.compile)}
torch.testing.assert_close(run(*ways[sys.argv[1]]), plain, rtol=1e-5, atol=1e-6)
assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0
print("same")
"""


def in_a_new_process(*arguments):
    """Run Python as users do, without the shape checks of the tests."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("part", ["step", pytest.param("loss", marks=pytest.mark.exhaustive)])
def test_a_compiled_step_or_loss_gives_the_same_numbers(part):
    if not any(map(shutil.which, ("g++", "clang++", "cl"))):
        pytest.skip("torch.compile needs a C++ compiler, and there is none here")
    assert "same" in in_a_new_process("-c", COMPILED, part)


class Lit(lightning.LightningModule):
    """A model with the loss as a part of it."""

    def __init__(self):
        super().__init__()
        self.model, self.criterion = Model(), criterion_of()

    def training_step(self, batch, _):
        x, label, attribute, index = batch
        logit, embedding = self.model(x)
        return self.criterion(logit, embedding, label, attribute, index)

    def validation_step(self, batch, _):
        x, label, attribute, _ = batch
        logit, embedding = self.model(x)
        self.log("objective", self.criterion(logit, embedding, label, attribute))

    def configure_optimizers(self):
        return SCRAAN(self.model.parameters(), lr=0.01)


def fit(model, epochs, checkpoint=None, **options):
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    _, label, attribute = people()
    rows = IndexedDataset(dataset())
    train = DataLoader(rows, batch_sampler=GroupBatchSampler(label, attribute, 32, seed=1))
    trainer.fit(model, train, DataLoader(rows, batch_size=60), ckpt_path=checkpoint)
    return trainer


quiet_lightning = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:The number of training batches"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def marked(test):
    for mark in quiet_lightning:
        test = mark(test)
    return test


@marked
def test_lightning_trains_validates_and_resumes_bit_for_bit(tmp_path):
    straight, first, second = Lit(), Lit(), Lit()
    fit(straight, 4)
    fit(first, 2).save_checkpoint(tmp_path / "half.ckpt")
    fit(second, 4, tmp_path / "half.ckpt")
    assert straight.criterion.visits.min() >= 3  # validation, without an index, is no visit
    for (name, ours), theirs in zip(second.state_dict().items(), straight.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), name
    assert not torch.equal(first.model.head.weight, straight.model.head.weight)


@marked
@pytest.mark.usefixtures("half_precision")
def test_lightning_in_half_precision_keeps_the_state_in_float32():
    model = Lit()
    fit(model, 1, precision="bf16-true", limit_train_batches=3)
    assert model.criterion.visits.sum() > 0
    assert model.criterion.neighbourhood_loss.dtype == torch.float32


def test_accelerate_trains_as_a_plain_loop_does():
    model, criterion = Model(), criterion_of()
    _, label, attribute = people()
    sampler = GroupBatchSampler(label, attribute, 32, seed=1, num_replicas=1, rank=0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    prepared, optimiser, loader = accelerator.prepare(
        model, SCRAAN(model.parameters(), lr=0.01), DataLoader(IndexedDataset(dataset()), batch_sampler=sampler)
    )
    criterion = criterion.to(accelerator.device)
    for _ in range(2):
        for x, y, a, index in loader:
            with accelerator.accumulate(prepared):
                logit, embedding = prepared(x)
                accelerator.backward(criterion(logit, embedding, y, a, index))
                optimiser.step()
                optimiser.zero_grad()

    plain, plain_criterion = Model(), criterion_of()
    plain_optimiser = SCRAAN(plain.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        rows = list(sampler)
        for step, some in enumerate(rows):
            (loss_of(plain, plain_criterion, torch.tensor(some)) / 2).backward()
            if step % 2 or step == len(rows) - 1:
                plain_optimiser.step()
                plain_optimiser.zero_grad()
    assert_same(accelerator.unwrap_model(prepared), criterion, plain, plain_criterion)


def test_four_epochs_are_two_and_two_in_a_new_process_bit_for_bit(tmp_path):
    train(0, 4, None, tmp_path / "straight.pt")
    train(0, 2, None, tmp_path / "half.pt")
    in_a_new_process("resumed_training.py", 2, 4, tmp_path / "half.pt", tmp_path / "resumed.pt")
    straight, half, resumed = (
        torch.load(tmp_path / f"{name}.pt", weights_only=True) for name in ("straight", "half", "resumed")
    )
    assert not torch.equal(half["model"]["head.weight"], straight["model"]["head.weight"])
    for part in ("model", "criterion"):
        for name, value in straight[part].items():
            assert torch.equal(resumed[part][name], value), name
    for key, moments in straight["optimiser"]["state"].items():
        for name, value in moments.items():
            assert torch.equal(resumed["optimiser"]["state"][key][name], value)
