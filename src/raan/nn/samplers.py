"""What a batch must carry for the loss: which rows it holds, and enough of every group to compare."""

from bisect import bisect_left
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence, Sized
from functools import cache
from typing import Any, cast

import numpy as np
import torch.distributed
from jaxtyping import Float, Int
from torch.utils.data import Dataset, Sampler

from raan.errors import is_whole
from raan.fairness.groups import UNKNOWN, check_lengths, encode_attribute, encode_label

MOST_REPLICAS = 1_000_000
"""Processes that may share an epoch: more are a mistake, and each would need a batch."""


class IndexedDataset(Dataset[Any]):
    """Any map-style dataset whose items also carry their index, as `RAANLoss` wants it.

    A dict has it under "index", a tuple or list as one more element, a named tuple as one more field, and
    anything else becomes the pair (item, index). The index counts the rows of the dataset that is wrapped: around
    a Subset it is the place in the subset, and the loss is built with the subset's labels; a Subset of an
    IndexedDataset keeps the rows of the whole, and the loss is built with those.
    """

    def __init__(self, dataset: Dataset[Any]) -> None:
        numbered = isinstance(dataset, Sized) and hasattr(dataset, "__getitem__")
        if not numbered or getattr(dataset, "ndim", 1) == 0:
            raise TypeError(
                f"dataset is a {type(dataset).__name__}; expected one with a length and numbered rows, "
                "which a stream (IterableDataset) has not"
            )
        self.dataset = dataset

    def __len__(self) -> int:
        return len(cast(Sized, self.dataset))

    def __getitem__(self, index: int) -> Any:
        row = index + len(self) if index < 0 else index
        return _with_index(self.dataset[row], int(row))

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """A whole batch at once, as a DataLoader asks for it, where the dataset can do that."""
        together = getattr(self.dataset, "__getitems__", None)
        items = together(indices) if together else [self.dataset[index] for index in indices]
        return [_with_index(item, int(index)) for item, index in zip(items, indices, strict=True)]


def _with_index(item: Any, index: int) -> Any:
    """The item with its index, in a container of the same kind."""
    if isinstance(item, Mapping):
        if "index" in item:
            raise ValueError(f'the items of the dataset have an "index" already: {", ".join(map(str, item))}')
        return {**item, "index": index}
    if isinstance(item, tuple) and hasattr(item, "_fields"):
        return _indexed_kind(type(item))(*item, index)
    if isinstance(item, tuple | list):
        return type(item)([*item, index])
    return item, index


@cache
def _indexed_kind(kind: Any) -> Any:
    """The named tuple with one more field, `index`."""
    make: Any = namedtuple
    indexed = make(kind.__name__, (*kind._fields, "index"))
    # Worker processes pickle their batches, and a class that was made here cannot be found by its name.
    indexed.__reduce__ = lambda self: (_rebuild, (kind, tuple(self)))
    return indexed


def _rebuild(kind: Any, values: tuple[Any, ...]) -> Any:
    """What pickling a named tuple with an index writes down."""
    return _indexed_kind(kind)(*values)


class GroupBatchSampler(Sampler[list[int]]):
    """Batches with at least two samples of every (class, attribute) cell, for `DataLoader(batch_sampler=...)`.

    An epoch visits every row at least once. A cell with two rows or more for each batch is dealt out evenly, each
    row once; only the rows of smaller cells are drawn more often (`rate` says how often; give the sampler to
    `RAANLoss(sampler=...)`, which then makes up for it). Rows of unknown attribute are dealt out evenly too.
    Batches hold `batch_size` samples or slightly fewer, never more, and differ by at most one.

    The order depends on the seed and the epoch alone. Each iteration is one epoch further; `set_epoch` goes to
    any. In distributed training each rank has batches of its own, as many as the others; Accelerate, which deals
    out batches itself, wants `num_replicas=1, rank=0`.
    """

    def __init__(
        self,
        label: object,
        sensitive_features: object,
        batch_size: int,
        seed: int = 0,
        *,
        num_replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        if not isinstance(batch_size, int | np.integer):
            raise TypeError(f"batch_size is {batch_size!r}; expected a whole number")
        if not is_whole(seed) or seed < 0:
            raise ValueError(f"seed is {seed!r}; expected a whole number from 0")
        self._cells, self._others = _cells(label, sensitive_features)
        self.batch_size, self.seed, self.epoch = batch_size, seed, 0
        self.num_replicas, self.rank = _replica(num_replicas, rank)
        needed = 2 * len(self._cells) + (len(self._others) > 0)
        if batch_size < needed:
            raise ValueError(
                f"batch_size is {batch_size}; expected at least {needed}: two samples of each of the "
                f"{len(self._cells)} cells of label and sensitive_features"
                + (", and room for the rows of unknown attribute" if len(self._others) else "")
            )
        self._batches = self._shortest_epoch()

    @property
    def sampler(self) -> "GroupBatchSampler":
        """Itself: Lightning calls `set_epoch` on the sampler inside a batch sampler."""
        return self

    @property
    def rate(self) -> Float[np.ndarray, "row"]:
        """How often each row is drawn, over how often a plain shuffle would draw it."""
        draws = np.ones(sum(map(len, self._cells)) + len(self._others))
        for rows in self._cells:
            draws[rows] = self._drawn(len(rows), self._batches) / len(rows)
        rate: Float[np.ndarray, "row"] = draws / draws.mean()
        return rate

    def set_epoch(self, epoch: int) -> None:
        """Go to the order of this epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self._batches // self.num_replicas

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        self.epoch += 1
        order = self._order(rng)
        for batch in range(self.rank, self._batches, self.num_replicas):
            # A cell's rows stand side by side: every batch that is dealt like cards has its share of them.
            yield rng.permutation(order[batch :: self._batches]).tolist()

    def _order(self, rng: np.random.Generator) -> Int[np.ndarray, "drawn"]:
        """The rows of an epoch, shuffled within each cell, one cell after the other."""
        cells = [rng.permutation(rows)[_places(len(rows), self._batches)] for rows in self._cells]
        return np.concatenate([*cells, rng.permutation(self._others)])

    def _shortest_epoch(self) -> int:
        """The least number of batches that hold every row, and two samples of each cell; the same on all ranks."""

        def fits(share: int) -> bool:
            batches = share * self.num_replicas
            drawn = sum(self._drawn(len(rows), batches) for rows in self._cells)
            return drawn + len(self._others) <= batches * self.batch_size

        rows = sum(map(len, self._cells)) + len(self._others)
        return self.num_replicas * (1 + bisect_left(range(1, rows + 1), True, key=fits))

    @staticmethod
    def _drawn(rows: int, batches: int) -> int:
        """How many samples an epoch draws from a cell."""
        return max(rows, 2 * batches)


def _places(rows: int, batches: int) -> Int[np.ndarray, "drawn"]:
    """Which of a cell's shuffled rows an epoch takes: each once, or in turn until there are two for each batch.

    Batch b takes the draws b and b + batches, which are different rows unless the cell has only one.
    """
    if rows >= 2 * batches:
        return np.arange(rows)
    draw = np.arange(2 * batches)
    meets_itself = batches % rows == 0
    return (draw + meets_itself * (draw >= batches)) % rows


def _cells(
    label: object, sensitive_features: object
) -> tuple[list[Int[np.ndarray, "rows"]], Int[np.ndarray, "others"]]:
    """The rows of each (class, attribute) cell that occurs, and those of unknown attribute."""
    classes, groups = encode_label(label), encode_attribute(sensitive_features)
    check_lengths(label=classes.codes, sensitive_features=groups.codes)
    known = groups.codes != UNKNOWN
    cell = np.where(known, classes.codes * len(groups.names) + groups.codes, UNKNOWN)
    return [np.flatnonzero(cell == one) for one in np.unique(cell[known])], np.flatnonzero(~known)


def _replica(num_replicas: int | None, rank: int | None) -> tuple[int, int]:
    """How many processes share an epoch, and which this is: as given, or as torch.distributed says."""
    running = torch.distributed.is_available() and torch.distributed.is_initialized()
    if num_replicas is None:
        num_replicas = torch.distributed.get_world_size() if running else 1
    if rank is None:
        rank = torch.distributed.get_rank() if running else 0
    if not is_whole(num_replicas) or not 1 <= num_replicas <= MOST_REPLICAS:
        raise ValueError(f"num_replicas is {num_replicas!r}; expected a whole number from 1 to {MOST_REPLICAS:,}")
    if not is_whole(rank) or not 0 <= rank < num_replicas:
        last = num_replicas - 1
        raise ValueError(f"rank is {rank!r}; expected 0 to {last}, since num_replicas is {num_replicas}")
    return num_replicas, rank
