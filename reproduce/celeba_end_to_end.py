"""CelebA trained through, and over frozen features: `python -m reproduce.celeba_end_to_end`, resumable.

A ResNet-18 on the first 10,000 images (wavy hair, gender), on the splits of the study `celeba`. The methods of a
seed share its first stage: cross-entropy from scratch, BatchNorm in training mode. In the second stage BatchNorm
keeps the statistics of the first. Beside it stands an MLP over the features of a frozen EfficientNet, by the same
methods, with as many rates and points. A line in results/celeba-end-to-end.jsonl holds, for each point of one run,
how many validation and test rows of each (class, attribute) cell have their probability of wavy hair in each of 50
equal bins: every threshold, point and rule is a reading of that (`reproduce.celeba_page`).
"""

import argparse
import json
import time
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from raan.data.download import cache_folder
from raan.data.split import Split, split, stack
from raan.data.streams import stream
from raan.data.table import Table
from raan.io.files import write_whole
from raan.lab.datasets.celeba import celeba
from raan.methods import ERM, RAAN, GroupDRO, Method, Scope
from raan.models.model import Model, Stack, mlp, outputs
from raan.models.modules import ModuleEncoder
from raan.training.evaluate import embed_table
from raan.training.stages import first_stage
from raan.training.train import Schedule, walk
from raan.training.update import Style, Update
from reproduce.resnet import WIDTHS, ResNet18, resnet18

RESULTS = Path(__file__).parents[1] / "results" / "celeba-end-to-end.jsonl"

IMAGES = 10_000
SIZES = (6000, 1000, 3000)  # train, validation, test, drawn by seed: the splits of the study `celeba`
SEEDS = (0, 1, 2)
SIZE = (32, 28)  # height and width of an image; it comes with 109 x 89
BATCH = 190  # the paper's
FIRST_EPOCHS, FIRST_RATE, WEIGHT_DECAY, SHIFT = 10, 1e-3, 0.05, 3
SECOND_EPOCHS, POINTS = 1, 3
# Of the whole ResNet. Settled on validation rows: at 3e-4, Adam-style, Vanilla lost eight points of them at once.
RATES: dict[Style, tuple[float, ...]] = {"adam": (3e-5, 1e-5), "sgd": (1e-2, 1e-3)}
SMALL_RATES: dict[Style, tuple[float, ...]] = {"adam": (1e-3, 1e-4), "sgd": (1e-1, 1e-2)}  # of heads and MLPs
BINS = 50

Features = Literal["end to end", "frozen"]
FEATURES: tuple[Features, ...] = ("end to end", "frozen")


METHODS: dict[str, Method] = {
    "Vanilla": ERM(),
    "RAAN": RAAN(scope=Scope.HEAD),
    "RL-RAAN": RAAN(scope=Scope.MODEL),
    "GroupDRO": GroupDRO(),
}


class Run(NamedTuple):
    """What a line of the results is about."""

    features: Features
    seed: int
    style: Style
    method: str
    rate: float


def all_runs() -> Iterator[Run]:
    """The runs in their order: what is cheap first, and a style with all its seeds before the next."""
    for style, features, seed, method in product(RATES, reversed(FEATURES), SEEDS, METHODS):
        whole = features == "end to end" and METHODS[method].scope is Scope.MODEL
        yield from (Run(features, seed, style, method, rate) for rate in (RATES if whole else SMALL_RATES)[style])


class Start(NamedTuple):
    """Where the second stage starts: a model, the rows that it sees, and their split."""

    model: Model
    table: Table
    split: Split


# The first stage.


@cache
def images() -> Table:
    """Every image as a row of numbers from -2 to 2."""
    faces = celeba()
    pixels = faces.pixels(range(IMAGES), SIZE).flatten(1).float().div_(63.75).sub_(2)
    return Table(pixels, faces.label, faces.attribute, faces.class_names, faces.attribute_names)


@cache
def start(features: Features, seed: int) -> Start:
    """Plain training's end, whatever stands on it."""
    parts = stack([split(IMAGES, SIZES, seed)])
    if features == "frozen":
        faces = celeba()
        table = faces.table(faces.embed())
        plain = first_stage(mlp(table), table, parts, [seed], Schedule(epochs=5, batch_size=BATCH))
        return Start(plain.last, table, parts)
    table = images()
    return Start(as_model(kept(table, parts.train[0], seed)), table, parts)


def kept(table: Table, train: Int[Tensor, "train"], seed: int) -> ResNet18:
    """The seed's network after the first stage, from the cache where it is there."""
    file = cache_folder() / "celeba-end-to-end" / f"{SIZE[0]}x{SIZE[1]}-{FIRST_EPOCHS}-{seed}.pt"
    if file.exists():
        net = resnet18(2, seed)
        net.load_state_dict(torch.load(file, weights_only=True))
        return net.eval()
    net = train_plainly(table.features.view(-1, 3, *SIZE), table.label, train, seed)
    file.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(file) as part:
        torch.save(net.state_dict(), part)
    return net


def train_plainly(
    image: Float[Tensor, "row 3 height width"], label: Int[Tensor, "row"], train: Int[Tensor, "train"], seed: int
) -> ResNet18:
    """A ResNet-18 by cross-entropy on mirrored and shifted images, BatchNorm in training mode."""
    net = resnet18(2, seed)
    net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a fifth quicker on processors
    steps = FIRST_EPOCHS * -(-len(train) // BATCH)
    descent = torch.optim.AdamW(net.parameters(), FIRST_RATE, weight_decay=WEIGHT_DECAY)
    rates = torch.optim.lr_scheduler.OneCycleLR(descent, FIRST_RATE, total_steps=steps, pct_start=0.25)
    for epoch in range(FIRST_EPOCHS):
        rng = stream(seed, "images", epoch)
        for rows in torch.split(train[torch.from_numpy(rng.permutation(len(train)))], BATCH):
            logit = net(augment(image[rows], rng).contiguous(memory_format=torch.channels_last))
            descent.zero_grad()
            torch.autograd.backward(nn.functional.cross_entropy(logit, label[rows]))
            descent.step()
            rates.step()
    net.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    return net.eval()


def augment(image: Float[Tensor, "row 3 height width"], rng: np.random.Generator) -> Tensor:
    """Half of the images mirrored, tenths of the batch shifted alike by up to SHIFT pixels."""
    mirrored = torch.from_numpy(rng.random(len(image)) < 0.5)[:, None, None, None]
    padded = nn.functional.pad(torch.where(mirrored, image.flip(-1), image), [SHIFT] * 4, mode="replicate")
    height, width = image.shape[-2:]
    corners = rng.integers(0, 2 * SHIFT + 1, (10, 2))
    parts = [
        part[..., top : top + height, left : left + width]
        for part, (top, left) in zip(padded.tensor_split(10), corners, strict=True)
    ]
    return torch.cat(parts)


def as_model(net: ResNet18) -> Model:
    """The network as the engine takes it: an encoder of eval mode, its last layer as the head."""
    assert isinstance(net.fc, nn.Linear)
    last = [net.fc.weight.detach().T.flatten(), net.fc.bias.detach()]
    net.fc = nn.Identity()
    encoder = ModuleEncoder(net, (3, *SIZE))
    parameters = torch.cat([torch.from_numpy(encoder.draw(np.random.default_rng())).float(), *last])
    return Model(encoder, Stack((WIDTHS[-1], 2)), parameters.unsqueeze(0))


# The second stage.


def train(run: Run) -> dict[str, Any]:
    """The line of a run."""
    model, table, parts = start(run.features, run.seed)
    clock = time.process_time()
    method = METHODS[run.method]
    if method.scope is Scope.HEAD:
        model, table = embedded(run.features, run.seed)
    schedule = Schedule(SECOND_EPOCHS, BATCH, run.rate, Update(run.style), POINTS)
    if run.features == "frozen":
        schedule = Schedule(2 * SECOND_EPOCHS, BATCH, run.rate, Update(run.style), -(-POINTS // 2))
    looked = parts._replace(validation=parts.train[:, :1])  # what is judged is judged below
    steps, validation, test = [], [], []
    for state in walk(method, model, table, looked, [run.seed], schedule):
        here = model.at(state.parameters)
        steps.append(state.step)
        validation.append(histogram(here, table, parts.validation))
        test.append(histogram(here, table, parts.test))
    diverged = int(state.failed[0])
    return {
        **run._asdict(),
        "step": steps,
        "diverged": None if diverged < 0 else diverged,
        "seconds": round(time.process_time() - clock),
        "validation": validation,
        "test": test,
    }


@cache
def embedded(features: Features, seed: int) -> tuple[Model, Table]:
    """The head alone, and the rows as the first stage's encoder sees them."""
    model, table, _ = start(features, seed)
    return model.without_encoder(), embed_table(model, table)


def histogram(model: Model, table: Table, rows: Int[Tensor, "1 row"]) -> list[list[int]]:
    """How many of the rows of each (class, attribute) cell have their probability of class 1 in each bin."""
    probability = outputs(model, table, rows).logit[0].double().softmax(-1)[:, 1].numpy()
    cell = (2 * table.label[rows[0]] + table.attribute[rows[0]]).numpy()
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    counted: list[list[int]] = np.bincount(cell * BINS + place, minlength=4 * BINS).reshape(4, BINS).tolist()
    return counted


def read() -> list[dict[str, Any]]:
    """The lines written so far."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def drop_cut_line() -> None:
    """Take off a last line that was being written when the process was killed."""
    if RESULTS.exists() and not (text := RESULTS.read_text()).endswith("\n"):
        RESULTS.write_text(text[: text.rfind("\n") + 1])


def main() -> None:
    """Train what is not there yet, and append it run by run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    drop_cut_line()
    done = {Run(**{name: line[name] for name in Run._fields}) for line in read()}
    for run in all_runs():
        if run not in done:
            line = json.dumps(train(run), separators=(",", ":"))
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
            print(*run, flush=True)


if __name__ == "__main__":
    main()
