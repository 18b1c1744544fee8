"""Several real processes train one model: the same numbers as one process with the whole batch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from nn.people import people
from nn.ranks import criterion_of, double_model, global_batches, train

HERE = Path(__file__).parent

EXACT = {"rtol": 1e-9, "atol": 1e-12}


def start(ranks, folder, story):
    """The processes, started."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")]),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    return [
        subprocess.Popen(
            [sys.executable, HERE / "ranks.py", str(rank), str(ranks), folder, story],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]


def told(ranks, folder, story="stories"):
    """What each process saved."""
    processes = start(ranks, folder, story)
    for process in processes:
        _, words = process.communicate(timeout=300)
        assert process.returncode == 0, words
    return [torch.load(folder / f"{story}-{ranks}-{rank}.pt", weights_only=False) for rank in range(ranks)]


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.exhaustive)])
def processes(request, tmp_path_factory):
    """What two or four processes tell, started from a state that one process left half-way."""
    folder = tmp_path_factory.mktemp(f"ranks-{request.param}")
    model, criterion = double_model(), criterion_of("model")
    train(model, criterion, global_batches()[:2])
    torch.save({"model": model.state_dict(), "criterion": dict(criterion.state_dict())}, folder / "half.pt")
    return told(request.param, folder)


def alone(scope, batches=None, start=None):
    """What one process finds with the whole batches, from a saved state if there is one."""
    model, criterion = double_model(), criterion_of(scope)
    if start is not None:
        model.load_state_dict(start["model"])
        criterion.load_state_dict(start["criterion"])
    return (*train(model, criterion, batches or global_batches()), dict(criterion.state_dict()))


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("scope", ["head", "model"])
def test_gradients_values_and_averages_are_those_of_one_process(processes, scope, uneven):
    expected = alone(scope)
    for each in processes:
        torch.testing.assert_close(each[scope, uneven], expected, **EXACT)


def test_sharded_parameters_get_the_same_gradients(processes):
    expected = alone("model")
    for each in processes:
        torch.testing.assert_close(each["fsdp"], expected, **EXACT)


def test_every_process_knows_the_averages_of_all_rows(processes):
    visits = [each["model", False][2]["visits"] for each in processes]
    assert all(torch.equal(visits[0], other) for other in visits)
    visited = torch.cat(global_batches()).unique()
    assert (visits[0][visited] > 0).float().mean() > 0.95


def test_by_itself_each_process_knows_its_own_rows_only(processes):
    known = [int((each["alone"]["visits"] > 0).sum()) for each in processes]
    assert max(known) < 0.8 * int((processes[0]["model", False][2]["visits"] > 0).sum())


def test_evaluation_waits_for_nobody(processes):
    x, label, attribute = people()
    logit, embedding = double_model()(x.double())
    expected = criterion_of("model").eval()(logit, embedding, label, attribute).item()
    assert processes[0]["eval"] == pytest.approx(expected)


def test_training_goes_on_with_another_number_of_processes(processes):
    expected = alone("model")
    for each in processes:
        gradients, values, state = each["resumed"]
        torch.testing.assert_close(
            (gradients, values, state), (expected[0][2:], expected[1][2:], expected[2]), **EXACT
        )
    back = alone("model", global_batches()[2:], processes[0]["half"])
    torch.testing.assert_close(back[2], expected[2], **EXACT)


def test_processes_that_disagree_about_the_index_all_say_so(tmp_path):
    words = told(2, tmp_path, "disagree")
    assert words == ["index differs between the processes ([0, 1]); expected it in all or in none"] * 2


def test_a_killed_process_ends_the_others_with_words(tmp_path):
    survivor, killed = start(2, tmp_path, "killed")
    killed.communicate(timeout=120)
    _, words = survivor.communicate(timeout=120)
    assert (killed.returncode, survivor.returncode) == (-9, 1)
    assert "could not exchange its batch with the other processes: one of them has ended" in words


LIGHTNING = """
import sys
import lightning, torch
from torch.utils.data import DataLoader
from nn.people import Model, dataset, people
from raan.nn import IndexedDataset, RAANLoss

class Lit(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        _, label, attribute = people()
        self.model, self.criterion = Model(), RAANLoss(label, attribute, scope="model")

    def training_step(self, batch, _):
        x, label, attribute, index = batch
        logit, embedding = self.model(x)
        return self.criterion(logit, embedding, label, attribute, index)

    def on_train_end(self):
        torch.save(dict(self.state_dict()), f"{sys.argv[1]}/lightning-{self.global_rank}.pt")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

lightning.Trainer(
    max_epochs=1, accelerator="cpu", devices=int(sys.argv[2]), strategy="ddp" if sys.argv[2] != "1" else "auto",
    logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    use_distributed_sampler=True,
).fit(Lit(), DataLoader(IndexedDataset(dataset()), batch_size=60 // int(sys.argv[2])))
"""

ACCELERATE = """
import sys
import torch
from accelerate import Accelerator, debug_launcher
from torch.utils.data import DataLoader
from nn.people import Model, dataset, people
from raan.nn import IndexedDataset, RAANLoss

def main():
    accelerator = Accelerator(cpu=True)
    _, label, attribute = people()
    criterion = RAANLoss(label, attribute, scope="model")
    model = Model()
    loader = DataLoader(IndexedDataset(dataset()), batch_size=60 // accelerator.num_processes)
    model, optimiser, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), loader)
    for x, label, attribute, index in loader:
        logit, embedding = model(x)
        accelerator.backward(criterion(logit, embedding, label, attribute, index))
        optimiser.step()
        optimiser.zero_grad()
    torch.save(dict(criterion.state_dict()), f"{sys.argv[1]}/accelerate-{accelerator.process_index}.pt")

if __name__ == "__main__":
    debug_launcher(main, num_processes=int(sys.argv[2]))
"""


def run(command, folder):
    """Run it as users do; what it says if it fails."""
    paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def saved(folder, name, ranks):
    return [torch.load(folder / f"{name}-{rank}.pt", weights_only=True) for rank in range(ranks)]


@pytest.mark.parametrize("program", [LIGHTNING, pytest.param(ACCELERATE, marks=pytest.mark.exhaustive)])
def test_launchers_need_nothing_more(program, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(program)
    run([script, tmp_path, 2], tmp_path)
    name = "lightning" if program is LIGHTNING else "accelerate"
    first, second = saved(tmp_path, name, 2)
    torch.testing.assert_close(first, second)
    visits = next(value for key, value in first.items() if key.endswith("visits"))
    assert (visits > 0).float().mean() > 0.95  # each process saw half of the rows itself
