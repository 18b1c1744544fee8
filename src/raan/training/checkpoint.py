"""Save a training at the end of every epoch, so that an interrupted one resumes."""

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
from raan.training.evaluate import Path, Point
from raan.training.train import Finish, State
from raan.training.update import Moments


class Checkpoint:
    """The stages of a training so far, by name, in a file that is written whole or not at all.

    `key` identifies all that the training depends on: a file with another key is refused. Without a file nothing
    is saved. The stages are read to the device given, whatever device they were saved from.
    """

    def __init__(
        self, file: str | PathLike[str] | None, key: str, device: torch.device = torch.device("cpu")
    ) -> None:
        self.file, self.key = None if file is None else File(file), key
        self.stages: dict[str, Finish] = {}
        if self.file is not None and self.file.exists():
            content = None
            with suppress(zipfile.BadZipFile, RuntimeError, pickle.UnpicklingError, EOFError):
                check_archive(self.file)
                content = torch.load(self.file, weights_only=True)  # tensors and plain values, no code
            if not isinstance(content, dict) or not {"key", "stages"} <= content.keys():
                expected = "a file that an interrupted fit left, or a new name"
                raise InputError(Option("checkpoint"), f"is {self.file}, which contains no training", expected)
            if content["key"] != key:
                came = f"is {self.file}, written by a training with other parameters or data"
                raise InputError(Option("checkpoint"), came, "one of the same", "delete it to begin anew")
            self.stages = {name: _finish(stage, device) for name, stage in content["stages"].items()}

    def keep(self, stage: str) -> Callable[[Finish], None]:
        """Return a function that saves the state of a stage."""

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


def _plain(finish: Finish) -> dict[str, Any]:
    """Return the finish as tensors and plain values."""
    state, path = finish

    def tensor(array: np.ndarray | None) -> Tensor | None:
        return None if array is None else torch.from_numpy(array)

    return {
        "epoch": state.epoch,
        "step": state.step,
        "parameters": state.parameters.cpu(),
        "moments": tuple(part.cpu() for part in state.moments if part is not None),
        "memory": tuple(part.cpu() for part in state.memory),
        "failed": state.failed.cpu(),
        "points": [(it.step, tensor(it.validation_counts), tensor(it.test_counts)) for it in path.points],
        "choice": (tensor(path.objective), path.chosen.cpu(), path.chosen_step.cpu()),
    }


def _finish(content: dict[str, Any], device: torch.device) -> Finish:
    """Return the finish that `_plain` made the content from."""

    def array(tensor: Tensor | None) -> Any:
        return None if tensor is None else tensor.numpy()

    points = tuple(Point(step, *map(array, counts)) for step, *counts in content["points"])
    objective, *choice = content["choice"]
    state = State(
        content["epoch"],
        content["step"],
        content["parameters"].to(device),
        Moments(*(part.to(device) for part in content["moments"])),
        Memory(*(part.to(device) for part in content["memory"])),
        content["failed"].to(device),
        points[-1],
    )
    return Finish(state, Path(points, array(objective), *(part.to(device) for part in choice)))
