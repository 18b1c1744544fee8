"""One of several processes that train one model: a program, run by tests.

python ranks.py RANK RANKS FOLDER STORY
"""

import os
import signal
import sys
from pathlib import Path

import torch
from torch import distributed, nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from nn.people import Model, people
from raan.nn import RAANLoss

GLOBAL_BATCH, STEPS = 48, 4


def double_model(seed: int = 0) -> Model:
    return Model(seed).double()


def criterion_of(scope: str, **options) -> RAANLoss:
    _, label, attribute = people()
    return RAANLoss(label, attribute, scope=scope, temperature=0.2, averaging_rate=0.3, **options)


def global_batches(steps: int = STEPS) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    # Rows repeat between steps, so that the averages matter.
    return [torch.randperm(240, generator=generator)[:GLOBAL_BATCH] for _ in range(steps)]


def share(rows: torch.Tensor, rank: int, ranks: int, uneven: bool) -> torch.Tensor:
    """The rank's part of the batch: equal parts, or ever larger ones."""
    if not uneven:
        return rows.chunk(ranks)[rank]
    edges = [len(rows) * k * (k + 1) // (ranks * (ranks + 1)) for k in range(ranks + 1)]
    return rows[edges[rank] : edges[rank + 1]]


def train(model, criterion, batches, rank=0, ranks=1, uneven=False):
    """Gradients and values of each step of plain gradient descent."""
    x, label, attribute = people()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    gradients, values = [], []
    for rows in batches:
        own = share(rows, rank, ranks, uneven)
        logit, embedding = model(x[own].double())
        loss = criterion(logit, embedding, label[own], attribute[own], own)
        optimiser.zero_grad()
        loss.backward()
        gradients.append([whole(parameter.grad).clone() for parameter in model.parameters()])
        values.append(loss.item())
        optimiser.step()
    return gradients, values


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself, or what the processes hold of it together."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def stories(rank: int, ranks: int, folder: Path) -> dict:
    """All that one start of the processes can show."""
    told = {}
    for scope in ("head", "model"):
        for uneven in (False, True):
            model, criterion = double_model(), criterion_of(scope)
            wrapped = DistributedDataParallel(model, broadcast_buffers=False)
            found = train(wrapped, criterion, global_batches(), rank, ranks, uneven)
            told[scope, uneven] = (*found, dict(criterion.state_dict()))
    model, criterion = double_model(), criterion_of("model")
    for part in (model.encoder, model.head):
        fully_shard(part)
    fully_shard(model)
    told["fsdp"] = (*train(model, criterion, global_batches(), rank, ranks), dict(criterion.state_dict()))
    model, criterion = double_model(), criterion_of("model", process_group=False)
    train(DistributedDataParallel(model), criterion, global_batches(), rank, ranks)
    told["alone"] = dict(criterion.state_dict())
    # Without an agreement of the others: a collective would wait for ever here.
    if rank == 0:
        x, label, attribute = people()
        logit, embedding = double_model()(x.double())
        told["eval"] = criterion_of("model").eval()(logit, embedding, label, attribute).item()
    half = folder / "half.pt"
    if half.exists():
        model, criterion = double_model(), criterion_of("model")
        state = torch.load(half, weights_only=True)
        model.load_state_dict(state["model"])
        criterion.load_state_dict(state["criterion"])
        wrapped = DistributedDataParallel(model)
        found = train(wrapped, criterion, global_batches()[2:], rank, ranks)
        told["resumed"] = (*found, dict(criterion.state_dict()))
    model, criterion = double_model(), criterion_of("model")
    train(DistributedDataParallel(model), criterion, global_batches()[:2], rank, ranks)
    told["half"] = {"model": model.state_dict(), "criterion": dict(criterion.state_dict())}
    return told


def disagree(rank: int) -> str:
    """What is said where only one process names the rows."""
    x, label, attribute = people()
    rows = torch.arange(20)
    logit, embedding = Model()(x[rows])
    try:
        criterion_of("head")(logit, embedding, label[rows], attribute[rows], rows if rank else None)
    except ValueError as error:
        return str(error)
    return "nothing"


def main() -> None:
    rank, ranks, folder, story = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder / story}.store", rank=rank, world_size=ranks
    )
    if story == "killed":
        model, criterion = nn.Identity(), criterion_of("head")
        x, label, attribute = people()
        rows = torch.arange(30)
        for step in range(50):
            if rank == 1 and step == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            criterion(None, model(x[rows]), label[rows], attribute[rows], rows, sample_loss=x[rows, 0] ** 2)
    told = disagree(rank) if story == "disagree" else stories(rank, ranks, folder)
    torch.save(told, folder / f"{story}-{ranks}-{rank}.pt")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
