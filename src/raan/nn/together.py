"""The samples among which neighbours are found: a batch, those of other processes, and earlier ones."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, distributed

PRECISIONS = (torch.float32, torch.float64)


class Samples(NamedTuple):
    """Samples as the objective takes them."""

    embedding: Float[Tensor, "sample dim"]
    loss: Float[Tensor, "sample"]
    label: Int[Tensor, "sample"]
    attribute: Int[Tensor, "sample"]  # -1: unknown
    row: Int[Tensor, "sample"] | None  # in the training set

    def constant(self) -> "Samples":
        """Return the same numbers without gradient."""
        return self._replace(embedding=self.embedding.detach(), loss=self.loss.detach())


def concatenate(parts: Sequence[Samples]) -> Samples:
    """Return the parts one after the other; rows only where all parts have them."""
    embedding, loss, label, attribute = (torch.cat(column) for column in list(zip(*parts, strict=True))[:4])
    rows = [part.row for part in parts if part.row is not None]
    return Samples(embedding, loss, label, attribute, torch.cat(rows) if len(rows) == len(parts) else None)


def group_of(group: "distributed.ProcessGroup | Literal[False] | None") -> "distributed.ProcessGroup | None":
    """Return the processes that share a batch; None where there is only this one."""
    if group is False or not distributed.is_available() or not distributed.is_initialized():
        return None
    group = distributed.group.WORLD if group is None else group
    return group if distributed.get_world_size(group) > 1 else None


def gather(own: Samples, group: "distributed.ProcessGroup") -> Samples:
    """Return the batch of all processes, in their order; only this process's part of it carries gradients.

    The backward pass then needs no communication: each process has the gradient of the whole objective by its own
    samples, and the sum over processes is the gradient by all.
    """
    sizes = _sizes(own, group)
    numbers = torch.cat([own.embedding, own.loss.unsqueeze(-1)], dim=-1).detach()
    row = torch.full_like(own.label, -1) if own.row is None else own.row
    codes = torch.stack([own.label, own.attribute, row], dim=-1)
    with _explained():
        parts = list(zip(_exchange(numbers, sizes, group), _exchange(codes, sizes, group), strict=True))
    others = [_read(*part, with_rows=own.row is not None) for part in parts]
    others[distributed.get_rank(group)] = own
    return concatenate(others)


def _read(numbers: Float[Tensor, "sample width"], codes: Int[Tensor, "sample 3"], with_rows: bool) -> Samples:
    """Return the samples that another process sent."""
    label, attribute, row = codes.unbind(-1)
    return Samples(numbers[:, :-1], numbers[:, -1], label, attribute, row if with_rows else None)


def _sizes(own: Samples, group: "distributed.ProcessGroup") -> list[int]:
    """Return how many samples each process has, once it is sure that they can be put together."""
    width, precision = own.embedding.shape[1], PRECISIONS.index(own.loss.dtype)
    mine = [len(own.label), width, precision, int(own.row is not None)]
    header = torch.tensor(mine, device=own.label.device)
    with _explained():
        headers = torch.stack(_all_gather(header, group)).tolist()
    # All processes see the same headers, so all of them raise, and none waits for another.
    for place, (name, expected) in enumerate(
        (("embedding", "as many dimensions"), ("embedding", "one precision"), ("index", "it in all or in none")), 1
    ):
        given = [header[place] for header in headers]
        if len({*given}) > 1:
            raise ValueError(f"{name} differs between the processes ({given}); expected {expected}")
    return [header[0] for header in headers]


def _exchange(table: Tensor, sizes: Sequence[int], group: "distributed.ProcessGroup") -> list[Tensor]:
    """The tables of all processes; they travel at the size of the largest, as collectives want them alike."""
    padded = table.new_zeros(max(sizes), table.shape[1])
    padded[: len(table)] = table
    received = _all_gather(padded, group)
    return [each[:size] for each, size in zip(received, sizes, strict=True)]


def _all_gather(tensor: Tensor, group: "distributed.ProcessGroup") -> list[Tensor]:
    """Return the tensors of all processes, which have one shape."""
    received = [torch.empty_like(tensor) for _ in range(distributed.get_world_size(group))]
    distributed.all_gather(received, tensor, group=group)
    return received


@contextmanager
def _explained() -> Iterator[None]:
    """A failed exchange in words: most often another process has ended."""
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(
            "RAANLoss could not exchange its batch with the other processes: one of them has ended, or takes "
            "fewer steps than this one; its own messages say why. process_group=False seeks neighbours in each "
            f"process's own batch instead. ({error})"
        ) from error
