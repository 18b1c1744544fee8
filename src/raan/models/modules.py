"""Any `nn.Module` as an encoder: fixed and streamed in batches, or trained through one row of parameters.

A module always runs in eval mode, in training too. Its dropout is off, and BatchNorm keeps the running statistics
that it came with: a loss then depends on its arguments alone, a sample's embedding never on its batch-mates, and
nothing draws from torch's global generator. Buffers, and parameters with `requires_grad` off, stay as they are.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.func import functional_call

LARGEST_TOKEN = 2**24
"""Tables hold floats, and float32 counts exactly no further than this."""

SLICE = 64
"""Samples that a module sees at a time: eval mode takes each by itself, and images in hundreds fill a memory."""


def fixed(module: nn.Module) -> nn.Module:
    """Return a copy in eval mode: what its owner does with the original no longer matters."""
    return deepcopy(module).eval()


def embed(
    module: nn.Module, samples: Shaped[np.ndarray, "row ..."], precision: torch.dtype | None = None
) -> Float[Tensor, "row dim"]:
    """What a fixed module makes of samples of any shape, without gradients; on its device, then on the CPU."""
    given = as_input(module, samples)
    with torch.no_grad(), autocast(given.device, precision):
        output = run(module, given, {})
    if not output.isfinite().all():
        raise ValueError(f"the encoder, {_name(module)}, gives nan or inf for some sample in X")
    dtype = torch.float64 if output.dtype == torch.float64 else torch.float32
    return output.to("cpu", dtype, copy=True)  # a part of the samples would hold on to the whole of them


def autocast(device: torch.device, precision: torch.dtype | None) -> AbstractContextManager[object]:
    """Autocast where a precision is asked for."""
    return nullcontext() if precision is None else torch.autocast(device.type, precision)


def as_input(module: nn.Module, samples: Shaped[np.ndarray, "row ..."]) -> Shaped[Tensor, "row ..."]:
    """Return the samples as a module takes them: whole numbers as int64, others in the module's own precision."""
    first = next(chain(module.parameters(), module.buffers()), torch.empty(0))
    dtype = _precision(module) if samples.dtype.kind == "f" else torch.int64
    return torch.from_numpy(_plain(samples)).to(first.device, dtype)


def flatten(samples: Shaped[np.ndarray, "row ..."], module: nn.Module) -> Float[Tensor, "row feature"]:
    """Return the samples as a table holds them for a module to be trained: in memory, flat, as floats."""
    if samples.dtype.kind != "f" and np.abs(samples).max() > LARGEST_TOKEN:
        raise ValueError(f"X holds whole numbers above {LARGEST_TOKEN:,}, which a float32 cannot tell apart")
    dtype = torch.float64 if _precision(module) == torch.float64 else torch.float32
    flat = torch.from_numpy(_plain(samples).reshape(len(samples), -1)).to(dtype)
    if not flat.isfinite().all():
        raise ValueError(f"X holds numbers that are too large for {dtype}")
    return flat


def run(
    module: nn.Module, samples: Shaped[Tensor, "row ..."], weights: dict[str, Tensor]
) -> Float[Tensor, "row dim"]:
    """Return the module's output at the weights, one vector a sample; further axes are flattened."""
    try:
        output = functional_call(module, weights, (samples,))
    except Exception as error:  # other people's code: whatever it raises, the samples did not fit it
        given = f"{list(samples.shape)} of {samples.dtype}"
        raise ValueError(f"the encoder, {_name(module)}, cannot take samples {given}: {error}") from error
    if not isinstance(output, Tensor):
        raise ValueError(
            f"the encoder, {_name(module)}, gives a {type(output).__name__}; expected a tensor with one vector a "
            "sample: wrap it in a module that picks the right part"
        )
    if not output.is_floating_point() or output.ndim < 2 or len(output) != len(samples) or 0 in output.shape:
        raise ValueError(
            f"the encoder, {_name(module)}, gives {output.dtype} {list(output.shape)} for {len(samples)} samples; "
            "expected floats, one vector a sample"
        )
    return output.flatten(1)


@dataclass(frozen=True, eq=False)
class ModuleEncoder:
    """A module as a model's encoder: its trainable parameters are the first columns of each run's row.

    Runs do not stack, they take turns: such models are for packs of one.
    """

    module: nn.Module
    shape: tuple[int, ...]  # of one sample; a table holds it flat
    whole: bool = False  # samples are whole numbers, such as tokens

    @property
    def sizes(self) -> list[int]:
        """How many numbers each trainable parameter has."""
        return [parameter.numel() for parameter in self._trainable().values()]

    @property
    def units(self) -> int:
        """None: a module's own dropout is off."""
        return 0

    def draw(self, rng: np.random.Generator) -> Float[np.ndarray, "parameter"]:
        """Return the values that the module came with: it draws nothing."""
        flat = [parameter.detach().double().flatten().cpu() for parameter in self._trainable().values()]
        return torch.cat([torch.zeros(0, dtype=torch.float64), *flat]).numpy()

    def __call__(
        self,
        parameters: Sequence[Tensor],
        inputs: Float[Tensor, "run batch input"],
        keep: Float[Tensor, "run batch unit"] | None = None,
    ) -> Float[Tensor, "run batch output"]:
        """Return each run's embedding, from its own parameters."""
        return torch.stack([self._embed(parameters, number, samples) for number, samples in enumerate(inputs)])

    def take_over(self, parameters: Float[Tensor, "parameter"]) -> None:
        """Write a run's trained parameters into the module, in place."""
        trainable = list(self._trainable().values())
        numbers = torch.split(parameters[: sum(self.sizes)], self.sizes)
        with torch.no_grad():
            for parameter, trained in zip(trainable, numbers, strict=True):
                parameter.copy_(trained.view_as(parameter))

    def _embed(
        self, parameters: Sequence[Tensor], number: int, inputs: Float[Tensor, "batch input"]
    ) -> Float[Tensor, "batch output"]:
        """Return one run's embedding."""
        trainable = self._trainable().items()
        weights = {
            name: numbers[number].view(original.shape).to(original.dtype)
            for (name, original), numbers in zip(trainable, parameters, strict=True)
        }
        samples = inputs.view(len(inputs), *self.shape)
        samples = samples.long() if self.whole else samples.to(_precision(self.module))
        parts = [run(self.module, part, weights) for part in torch.split(samples, SLICE)]
        return torch.cat(parts).to(inputs.dtype)

    def _trainable(self) -> dict[str, nn.Parameter]:
        named = self.module.named_parameters()  # parameters that are shared come once
        return {name: parameter for name, parameter in named if parameter.requires_grad}


def _plain(samples: Shaped[np.ndarray, "row ..."]) -> Shaped[np.ndarray, "row ..."]:
    """A copy that torch can read: from front to back, in this machine's order of bytes, no wider than a double."""
    if samples.dtype.kind != "f":
        return samples.astype(np.int64, order="C")
    return samples.astype(np.float32 if samples.dtype.itemsize < 8 else np.float64, order="C")


def _precision(module: nn.Module) -> torch.dtype:
    """Return the floating type that the module computes in; torch's usual one for a module without numbers."""
    for tensor in chain(module.parameters(), module.buffers()):
        if tensor.is_floating_point():
            return tensor.dtype
    return torch.float32


def _name(module: nn.Module) -> str:
    return type(module).__qualname__
