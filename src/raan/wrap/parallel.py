"""Fits side by side, by whatever backend of joblib the user has chosen: loky, threads, dask, ray."""

from collections.abc import Iterable, Iterator
from typing import Any

from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel


def in_parallel(jobs: Iterable[Any], n_jobs: int | None) -> Iterator[Any]:
    """What the delayed jobs return, in their order; as they end where the backend can, so that progress shows."""
    backend, _ = get_active_backend()
    as_they_end = getattr(backend, "supports_return_generator", False)
    yield from Parallel(n_jobs=n_jobs, return_as="generator" if as_they_end else "list")(jobs)
