"""Training that survives the death of its process: what there is at the end of every epoch, in a file."""

import pickle
import zipfile
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path as File
from typing import Any

import numpy as np
import torch
from torch import Tensor

from raan.errors import InputError, Option
from raan.io.files import check_archive, write_whole
from raan.methods.method import Memory
from raan.training.decided import Path, Point
from raan.training.train import Finish, State
from raan.training.update import Moments


class Checkpoint:
    """The stages of a training so far, by name, in a file that is written whole or not at all.

    `key` stands for all that the training depends on: a file of another key is refused. Without a file nothing is
    kept. Whatever device it was written from, the stages are on the one given.
    """

    def __init__(
        self, file: str | PathLike[str] | None, key: str, device: torch.device = torch.device("cpu")
    ) -> None:
        self.file, self.key = None if file is None else File(file), key
        self.stages: dict[str, Finish] = {}
        if self.file is not None and self.file.exists():
            content = _read(self.file)
            if content["key"] != key:
                came = f"is {self.file}, written by a training with other parameters or data"
                raise InputError(Option("checkpoint"), came, "one of the same", "delete it to begin anew")
            self.stages = {name: _finish(stage, device) for name, stage in content["stages"].items()}

    def keep(self, stage: str) -> Callable[[Finish], None]:
        """What writes the file, to be called with what the stage has come to."""

        def write(finish: Finish) -> None:
            self.stages[stage] = finish
            if self.file is not None:
                stages = {name: _plain(each) for name, each in self.stages.items()}
                with write_whole(self.file) as part:
                    torch.save({"key": self.key, "stages": stages}, part)

        return write

    def delete(self) -> None:
        """Remove the file: the training is done."""
        if self.file is not None:
            self.file.unlink(missing_ok=True)


def _read(file: File) -> dict[str, Any]:
    """The file's content; only tensors and plain values are read."""
    with suppress(zipfile.BadZipFile, RuntimeError, pickle.UnpicklingError, EOFError):
        check_archive(file)
        content = torch.load(file, weights_only=True)
        if isinstance(content, dict) and {"key", "stages"} <= content.keys():
            return content
    came = f"is {file}, which holds no training"
    raise InputError(Option("checkpoint"), came, "a file that an interrupted fit left, or a new name") from None


def _plain(finish: Finish) -> dict[str, Any]:
    """The finish as tensors and plain values."""
    state, path = finish
    return {
        "epoch": state.epoch,
        "step": state.step,
        "parameters": state.parameters.cpu(),
        "moments": tuple(part.cpu() for part in state.moments if part is not None),
        "memory": tuple(part.cpu() for part in state.memory),
        "failed": state.failed.cpu(),
        "points": [(it.step, _tensor(it.validation_counts), _tensor(it.test_counts)) for it in path.points],
        "choice": (_tensor(path.wish), path.chosen.cpu(), path.chosen_step.cpu()),
    }


def _finish(content: dict[str, Any], device: torch.device) -> Finish:
    """The finish of which `_plain` made the content."""
    points = tuple(Point(step, *map(_array, counts)) for step, *counts in content["points"])
    wish, *choice = content["choice"]
    state = State(
        content["epoch"],
        content["step"],
        content["parameters"].to(device),
        Moments(*(part.to(device) for part in content["moments"])),
        Memory(*(part.to(device) for part in content["memory"])),
        content["failed"].to(device),
        points[-1],
    )
    return Finish(state, Path(points, _array(wish), *(part.to(device) for part in choice)))


def _tensor(array: np.ndarray | None) -> Tensor | None:
    return None if array is None else torch.from_numpy(array)


def _array(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.numpy()
