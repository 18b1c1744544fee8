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

MAX_REPLICAS = 1_000_000
"""The largest number of processes that share an epoch, each of which needs a batch."""


class IndexedDataset(Dataset[Any]):
    """Map-style dataset whose items also contain their index, as `RAANLoss` needs it.

    The index is added under "index" to a dict, as one more element to a tuple or list, and as one more field to a
    named tuple; anything else becomes the pair (item, index). The index counts the rows of the dataset that is
    wrapped. Around a Subset it is the position in the subset, and the loss is built with the subset's labels. A
    Subset of an IndexedDataset keeps the rows of the whole dataset, and the loss is built with those.

    Args:
        dataset: A dataset with a length and numbered rows.

    Raises:
        TypeError: The dataset is a stream.

    Examples:
        >>> from raan import IndexedDataset
        >>> IndexedDataset([("a", 0), ("b", 1)])[1]
        ('b', 1, 1)
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
        """Return a whole batch at once, as a DataLoader asks for it, where the dataset can do that."""
        together = getattr(self.dataset, "__getitems__", None)
        items = together(indices) if together else [self.dataset[index] for index in indices]
        return [_with_index(item, int(index)) for item, index in zip(items, indices, strict=True)]


def _with_index(item: Any, index: int) -> Any:
    """Return the item with its index, in a container of the same kind."""
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
    """Return the named tuple with one more field, `index`."""
    make: Any = namedtuple
    indexed = make(kind.__name__, (*kind._fields, "index"))
    # Worker processes pickle their batches, and a class that was made here cannot be found by its name.
    indexed.__reduce__ = lambda self: (_rebuild, (kind, tuple(self)))
    return indexed


def _rebuild(kind: Any, values: tuple[Any, ...]) -> Any:
    """Return what pickling a named tuple with an index writes down."""
    return _indexed_kind(kind)(*values)


class GroupBatchSampler(Sampler[list[int]]):
    """Batch sampler whose batches have at least two samples of every (class, attribute) cell.

    Pass it to `DataLoader(batch_sampler=...)`. An epoch visits every row at least once. A cell with two rows or
    more for each batch is distributed evenly, each row once; only rows of smaller cells are drawn more often.
    `rate` states how often, and `RAANLoss(sampler=...)` corrects for it. Rows of unknown attribute are distributed
    evenly too. Batches have `batch_size` samples or slightly fewer, never more, and their sizes differ by at most
    one.

    The order depends on the seed and the epoch alone. Each iteration is the next epoch; `set_epoch` selects any.
    In distributed training each rank has its own batches, as many as the others.

    Args:
        label: The class of each row.
        sensitive_features: The attribute of each row; several columns are crossed; None and NaN are unknown.
        batch_size: The largest size of a batch: at least two for each cell.
        seed: The seed of the random order.
        num_replicas: The number of processes that share an epoch; by default torch.distributed's. Accelerate
            distributes batches itself and needs `num_replicas=1, rank=0`.
        rank: The number of this process, from 0; by default torch.distributed's.

    Raises:
        ValueError: A batch is too small for two samples of each cell, or a number is out of its range.

    Examples:
        >>> from raan import GroupBatchSampler
        >>> sampler = GroupBatchSampler([0, 1] * 20, ["f", "f", "m", "m"] * 10, batch_size=8)
        >>> len(sampler), {len(batch) for batch in sampler}
        (5, {8})
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
        """The sampler itself: Lightning calls `set_epoch` on the sampler of a batch sampler."""
        return self

    @property
    def rate(self) -> Float[np.ndarray, "row"]:
        """How often each row is drawn, over how often a plain shuffle would draw it."""
        draws = np.ones(sum(map(len, self._cells)) + len(self._others))
        for rows in self._cells:
            draws[rows] = max(len(rows), 2 * self._batches) / len(rows)
        rate: Float[np.ndarray, "row"] = draws / draws.mean()
        return rate

    def set_epoch(self, epoch: int) -> None:
        """Select the order of this epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self._batches // self.num_replicas

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        self.epoch += 1
        # The rows of each cell are shuffled, and adjacent: every batch then gets its share of them.
        cells = [rng.permutation(rows)[_places(len(rows), self._batches)] for rows in self._cells]
        order = np.concatenate([*cells, rng.permutation(self._others)])
        for batch in range(self.rank, self._batches, self.num_replicas):
            yield rng.permutation(order[batch :: self._batches]).tolist()

    def _shortest_epoch(self) -> int:
        """The least number of batches that hold every row, and two samples of each cell; the same on all ranks."""

        def fits(share: int) -> bool:
            batches = share * self.num_replicas
            drawn = sum(max(len(rows), 2 * batches) for rows in self._cells)
            return drawn + len(self._others) <= batches * self.batch_size

        rows = sum(map(len, self._cells)) + len(self._others)
        return self.num_replicas * (1 + bisect_left(range(1, rows + 1), True, key=fits))


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
    """Return the rows of each (class, attribute) cell that occurs, and those of unknown attribute."""
    classes, groups = encode_label(label), encode_attribute(sensitive_features)
    check_lengths(label=classes.codes, sensitive_features=groups.codes)
    known = groups.codes != UNKNOWN
    cell = np.where(known, classes.codes * len(groups.names) + groups.codes, UNKNOWN)
    return [np.flatnonzero(cell == one) for one in np.unique(cell[known])], np.flatnonzero(~known)


def _replica(num_replicas: int | None, rank: int | None) -> tuple[int, int]:
    """Return how many processes share an epoch, and which this is: as given, or as torch.distributed says."""
    running = torch.distributed.is_available() and torch.distributed.is_initialized()
    if num_replicas is None:
        num_replicas = torch.distributed.get_world_size() if running else 1
    if rank is None:
        rank = torch.distributed.get_rank() if running else 0
    if not is_whole(num_replicas) or not 1 <= num_replicas <= MAX_REPLICAS:
        raise ValueError(f"num_replicas is {num_replicas!r}; expected a whole number from 1 to {MAX_REPLICAS:,}")
    if not is_whole(rank) or not 0 <= rank < num_replicas:
        last = num_replicas - 1
        raise ValueError(f"rank is {rank!r}; expected 0 to {last}, since num_replicas is {num_replicas}")
    return num_replicas, rank
