"""A device that no machine has: its tensors hold real numbers, and refuse to meet those of the CPU.

On a GPU a tensor made on the CPU by mistake fails at the first step. Here it does too, without a GPU: every
operation with tensors of both devices is an error, as it is there (single numbers may meet anything). What is
computed is computed on the CPU, so that results can be compared bit for bit, which fake tensors do not allow.
"""

# ruff: noqa: PLC2701, SLF001

from contextlib import contextmanager
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map, tree_map_only

DEVICE = torch.device("lazy:0")
"""Of a type that torch knows and nothing uses; gradients of it are taken in the same thread."""

AUTOCAST = torch.autocast
MOVES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}
READS = {torch.ops.aten._local_scalar_dense.default, torch.ops.aten.equal.default}


class Elsewhere(Tensor):
    """A tensor of the device."""

    @staticmethod
    def __new__(cls, held):
        return Tensor._make_wrapper_subclass(
            cls, held.shape, strides=held.stride(), dtype=held.dtype, device=DEVICE, layout=held.layout
        )

    def __init__(self, held):
        self.held = held

    def numpy(self, *, force=False):
        """As of a GPU's tensor: by force only."""
        if not force:
            raise TypeError("can't convert a tensor of another device to numpy")
        return self.held.detach().clone().numpy()

    def tolist(self):
        return self.held.tolist()

    def __repr__(self, **options):
        return f"elsewhere: {self.held!r}"

    @classmethod
    def __torch_dispatch__(cls, operation, types, arguments=(), options=None):
        return run(operation, arguments, options or {})


class Kept(TorchDispatchMode):
    """While it is on, tensors can be made on the device."""

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        return run(operation, arguments, options or {})


@contextmanager
def pretended():
    """The device, for as long as the context lasts."""
    with Kept(), patch.object(torch, "autocast", _autocast):
        yield DEVICE


def _autocast(device, *arguments, **options):
    """Autocast has a list of device types, on which this one is not."""
    return AUTOCAST("cpu" if device == DEVICE.type else device, *arguments, **options)


def run(operation, arguments, options):
    """The operation on what the tensors hold; its results are where its arguments are, or where it is told to."""
    tensors = _tensors((arguments, options))
    there = any(isinstance(each, Elsewhere) for each in tensors)
    asked = options.get("device")
    if there and operation not in MOVES:
        strangers = [each for each in tensors if not isinstance(each, Elsewhere) and each.ndim]
        if strangers:
            raise RuntimeError(f"{operation} meets tensors of two devices: {[each.shape for each in strangers]}")
    inner, named = tree_map_only(Elsewhere, lambda each: each.held, (arguments, options))
    if asked is not None:
        named["device"] = "cpu"
    result = operation(*inner, **named)
    if operation.__name__.split(".")[0].endswith("_"):  # in place, of one tensor or of a list
        return arguments[0] if operation._schema.returns else None
    on_device = there if asked is None else torch.device(asked) == DEVICE
    if operation in READS or not on_device:
        return result
    return tree_map(lambda each: Elsewhere(each) if isinstance(each, Tensor) else each, result)


def _tensors(nested):
    found = []
    tree_map_only(Tensor, found.append, nested)
    return found
