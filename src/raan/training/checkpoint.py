"""A training state as a file: written whole or not at all, and loaded without running anything from it."""

import os
from pathlib import Path as File
from typing import Any

import torch

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
        "points": [(point.step, point.validation_counts, point.test_counts) for point in path.points],
        "choice": (path.wish, path.chosen, path.chosen_step),
    }
    part = File(f"{file}.part")
    torch.save(content, part)
    os.replace(part, file)


def load(file: str | File) -> State:
    """The state that `save` wrote; only tensors and plain values are read."""
    content: dict[str, Any] = torch.load(file, weights_only=True)
    points = tuple(Point(*point) for point in content["points"])
    return State(
        content["epoch"],
        content["step"],
        content["parameters"],
        Moments(*content["moments"]),
        Memory(*content["memory"]),
        content["failed"],
        Path(points, *content["choice"]),
    )
