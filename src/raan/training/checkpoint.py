"""A training state as a file: written whole or not at all, and loaded without running anything from it."""

import os
from pathlib import Path as File
from typing import Any

import numpy as np
import torch
from torch import Tensor

from raan.methods.method import Memory
from raan.training.path import Path, Point
from raan.training.train import State
from raan.training.update import Moments


def save(state: State, file: str | File) -> None:
    """Write the state; a crash in the middle leaves what was there before."""
    path = state.path
    content = {
        "epoch": state.epoch,
        "step": state.step,
        "parameters": state.parameters,
        "moments": tuple(state.moments),
        "memory": tuple(state.memory),
        "failed": state.failed,
        "points": [(it.step, _tensor(it.validation_counts), _tensor(it.test_counts)) for it in path.points],
        "choice": (_tensor(path.wish), path.chosen, path.chosen_step),
    }
    part = File(f"{file}.part")
    torch.save(content, part)
    os.replace(part, file)


def load(file: str | File) -> State:
    """The state that `save` wrote; only tensors and plain values are read."""
    content: dict[str, Any] = torch.load(file, weights_only=True)
    points = tuple(Point(step, *map(_array, counts)) for step, *counts in content["points"])
    wish, *choice = content["choice"]
    return State(
        content["epoch"],
        content["step"],
        content["parameters"],
        Moments(*content["moments"]),
        Memory(*content["memory"]),
        content["failed"],
        Path(points, _array(wish), *choice),
    )


def _tensor(array: np.ndarray | None) -> Tensor | None:
    return None if array is None else torch.from_numpy(array)


def _array(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.numpy()
