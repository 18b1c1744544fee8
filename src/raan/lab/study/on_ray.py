"""Packs trained by Ray: on the cores of this machine, or on a cluster that is there already."""

import logging
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

import torch

from raan.io.files import scratch
from raan.lab.datasets.dataset import Problem
from raan.lab.results.records import Record
from raan.lab.study.executor import TRIES, At, Ended, describe
from raan.lab.study.plan import Pack
from raan.lab.study.training import first_stage_name, problem_of, start_of, train_pack

LOCAL = "local"
"""The address that starts Ray here, for the time of the study."""

PATIENCE = 10
"""Seconds in which a cluster must answer."""

NOBODY = (
    "no Ray cluster answers at {}; expected the address of one that runs (ray start --head prints it), auto, or "
    "local to start one here"
)

LOOK = 0.5
"""Seconds between two looks at how far packs are."""


class OnRay:
    """Trains packs as Ray's tasks, one core each.

    The data of a pack, and the first stage that many packs begin with, are placed in Ray's store once and fetched
    once by each machine. A task whose worker dies is given out again by Ray, up to three times in all.
    """

    def __init__(self, address: str = LOCAL) -> None:
        self.address = address

    def __call__(self, left: Sequence[Pack], at: At) -> Generator[Ended, None, None]:
        """Each pack's number and records as they end."""
        if not left:
            return
        with _connected(self.address) as ray:
            steps = ray.remote(num_cpus=0)(_Steps).remote()
            tasks = _submit(ray, left, steps)
            try:
                while tasks:
                    ended, _ = ray.wait(list(tasks), timeout=LOOK)
                    for number, step in ray.get(steps.take.remote()).items():
                        at(number, step)
                    for task in ended:
                        number = tasks.pop(task)
                        yield number, _result(ray, task, left[number])
            finally:
                for task in tasks:
                    with suppress(Exception):  # it may have ended meanwhile
                        ray.cancel(task, force=True)


@contextmanager
def _connected(address: str) -> Iterator[ModuleType]:
    """Ray, started here or joined; what was started is stopped in the end."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError('--ray needs Ray: pip install "raan[ray]"', name="ray") from error
    if ray.is_initialized():
        yield ray
        return
    _check_address(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **_settings(address))
    except ConnectionError as error:
        raise ConnectionError(NOBODY.format(address)) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """An error where nobody listens: Ray itself would try again for ever."""
    host, _, port = address.rpartition(":")
    if not (host and port.isdigit()) or "//" in address:
        return  # local, auto, or an address of Ray's own kind
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(NOBODY.format(address)) from error


def _settings(address: str) -> dict[str, Any]:
    """What only a cluster of one's own can be told."""
    return {"include_dashboard": False} if address == LOCAL else {}


def _submit(ray: ModuleType, left: Sequence[Pack], steps: Any) -> dict[Any, int]:
    """A task for each pack, by which its number is found again."""
    options = {"num_cpus": 1, "max_retries": TRIES - 1}
    begin, train = (ray.remote(**options)(function) for function in (_begin, _train))
    problems: dict[str, Any] = {}
    starts: dict[str, Any] = {}
    tasks = {}
    for number, pack in enumerate(left):
        problem = problem_of(pack)
        data, stage = problem.hash, first_stage_name(pack, problem)
        if data not in problems:
            problems[data] = ray.put(problem)
        if stage not in starts:
            starts[stage] = begin.remote(pack, problems[data])
        tasks[train.remote(number, pack, problems[data], starts[stage], steps)] = number
    return tasks


def _result(ray: ModuleType, task: Any, pack: Pack) -> list[Record]:
    """The records of a task that has ended, or what kept it from them."""
    try:
        records: list[Record] = ray.get(task)
        return records
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
        raise OSError(
            f"Ray's worker that trained {describe(pack)} died {TRIES} times, perhaps for want of memory. What was "
            "finished is saved: start the study again to go on"
        ) from error


# What runs in Ray's workers.


class _Steps:
    """How far each pack is; told by the tasks, asked for by the study."""

    def __init__(self) -> None:
        self.steps: dict[int, int] = {}

    def at(self, number: int, step: int) -> None:
        self.steps[number] = step

    def take(self) -> dict[int, int]:
        news, self.steps = self.steps, {}
        return news


def _begin(pack: Pack, problem: Problem) -> dict[str, bytes]:
    """The first stage that the pack begins with: the files of a store."""
    torch.set_num_threads(1)
    with scratch() as store:
        start_of(pack, problem, store)
        return {file.name: file.read_bytes() for file in store.glob("*.pt")}


def _train(number: int, pack: Pack, problem: Problem, start: dict[str, bytes], steps: Any) -> list[Record]:
    """The pack's records, from the first stage that was trained before."""
    torch.set_num_threads(1)
    with scratch() as store:
        for name, content in start.items():
            (store / name).write_bytes(content)
        return train_pack(pack, store, lambda done, total: steps.at.remote(number, done), problem)
