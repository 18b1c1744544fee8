"""The engines that carry out many jobs side by side: joblib's worker processes, or a cluster of Dask or Ray."""

import logging
import os
import socket
from collections.abc import Generator, Hashable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import LokyBackend, get_active_backend

from raan.errors import InputError, MissingExtra, Option

LOCAL = "local"
"""The address that stands for a cluster which is started here, and stopped in the end."""

TRIES = 3
"""How often jobs are given to new workers after one was killed."""

LOST = {"KilledWorker", "ActorDiedError", "ActorUnavailableError", "RayActorError", "WorkerCrashedError"}
"""The errors by which Dask and Ray report that a worker has died, by name: neither has to be installed."""

Key = TypeVar("Key", bound=Hashable)


def run_jobs(jobs: Mapping[Key, Any], workers: int | None, advice: str) -> Generator[tuple[Key, Any], None, None]:
    """Yield each job's key and result as it ends, in whatever order, on joblib's active backend.

    Workers that are killed are replaced; the jobs that they had in hand are run again.

    Args:
        jobs: what joblib's `delayed` returns, by key.
        workers: how many run side by side; None leaves it to the backend.
        advice: what to do if workers are killed again and again; it ends the error.

    Raises:
        OSError: Workers were killed `TRIES` times.
    """
    waiting = dict(jobs)
    for attempt in range(1, TRIES + 1):
        try:
            for key, result in _run(waiting, workers):
                del waiting[key]
                yield key, result
            return
        except Exception as error:
            if not (isinstance(error, TerminatedWorkerError) or type(error).__name__ in LOST):
                raise
            if attempt == TRIES:
                came = f"worker processes were killed {TRIES} times, perhaps for want of memory"
                raise OSError(f"{came}. {advice}") from error


def _run(waiting: Mapping[Key, Any], workers: int | None) -> Generator[tuple[Key, Any], None, None]:
    """Run the jobs; in rounds on a backend that returns nothing before all jobs have ended."""
    backend, _ = get_active_backend()
    jobs = [delayed(_run_one)(key, job) for key, job in waiting.items()]
    if getattr(backend, "supports_return_generator", False):
        parallel = Parallel(n_jobs=workers, batch_size=1, max_nbytes=None, return_as="generator_unordered")
        with closing(parallel(jobs)) as ended:
            yield from ended
        return
    with Parallel(n_jobs=workers, batch_size=1) as parallel:
        together = 2 * effective_n_jobs(workers)
        for start in range(0, len(jobs), together):
            yield from parallel(jobs[start : start + together])


def _run_one(key: Key, job: tuple[Any, tuple[Any, ...], dict[str, Any]]) -> tuple[Key, Any]:
    function, arguments, keywords = job
    return key, function(*arguments, **keywords)


def parent_of_workers() -> int | None:
    """Return this process if its own children will be the workers; None on a cluster."""
    backend, _ = get_active_backend()
    return os.getpid() if isinstance(backend, LokyBackend) else None


def end_orphan(parent: int | None) -> None:
    """End this worker if its parent was killed: nobody needs what it does."""
    if parent and parent not in (os.getpid(), os.getppid()):
        os._exit(1)


@contextmanager
def use_engine(engine: str, address: str | None = None, workers: int | None = None) -> Iterator[None]:
    """Make an engine joblib's backend within the block.

    Args:
        engine: "loky" for worker processes of this machine, "dask" or "ray".
        address: the address of a cluster that runs; None starts one on this machine for the time of the block.
        workers: how many workers a cluster that is started here has; one for each core by default.

    Raises:
        InputError: loky was given an address.
        ConnectionError: No cluster answers at the address.
        MissingExtra: The engine is not installed.
    """
    if engine == "loky":
        if address is not None:
            raise InputError(Option("address"), f"is {address!r}", "an engine with addresses", "dask or ray")
        with parallel_config(backend="loky"):
            yield
    elif engine == "dask":
        with use_dask(address or LOCAL, workers):
            yield
    else:
        with use_ray(address or LOCAL, workers):
            yield


@contextmanager
def use_dask(address: str = LOCAL, workers: int | None = None) -> Iterator[None]:
    """Run joblib's jobs on Dask within the block: on a cluster, or on one that is started here and stopped.

    Args:
        address: The address of a scheduler, such as tcp://host:8786, or "local" to start a cluster here.
        workers: The number of processes of a local cluster, each with one thread; one for each core by default.

    Raises:
        ConnectionError: No scheduler answers at the address.
        MissingExtra: Dask is not installed.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtra("the engine dask", "dask") from error
    count = workers or os.cpu_count() or 1
    settings: dict[str, Any] = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
    settings |= {"silence_logs": logging.CRITICAL}
    try:
        make: Any = Client  # which has no types
        client = make(**settings) if address == LOCAL else make(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {address}; expected the address of one that runs, such as "
            "tcp://host:8786, or none to start a cluster here"
        ) from error
    with client, parallel_config(backend="dask", n_jobs=-1):
        yield


@contextmanager
def use_ray(address: str = LOCAL, workers: int | None = None) -> Iterator[None]:
    """Run joblib's jobs on Ray within the block: on a cluster, or on one that is started here and stopped.

    Args:
        address: The address of a cluster that runs, "auto" to find it, or "local" to start one on this machine.
        workers: The number of processes of a local cluster; one for each core by default.

    Raises:
        ConnectionError: No cluster answers at the address.
        MissingExtra: Ray is not installed.
    """
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise MissingExtra("the engine ray", "ray") from error
    host, _, port = address.rpartition(":")
    try:
        if host and port.isdigit() and "//" not in address:  # Ray itself would try again for ever
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        settings: dict[str, Any] = {"include_dashboard": False, "num_cpus": workers} if address == LOCAL else {}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **settings)
    except (OSError, OverflowError) as error:
        raise ConnectionError(
            f"no Ray cluster answers at {address}; expected the address of one that runs (ray start --head prints "
            "it), auto, or local to start one here"
        ) from error
    try:
        register_ray()  # type: ignore[no-untyped-call]
        with parallel_config(backend="ray", n_jobs=-1):
            yield
    finally:
        ray.shutdown()
