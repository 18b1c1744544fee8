"""One thread: sums are added in one order, and the same study gives the same bytes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread here and in the processes started from here, and as it was before in the end."""
    before, names = torch.get_num_threads(), ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    kept = {name: os.environ.get(name) for name in names}
    torch.set_num_threads(1)
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        torch.set_num_threads(before)
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
