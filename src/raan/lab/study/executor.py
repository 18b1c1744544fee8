"""Where the packs of a study are trained: here one after the other, or in worker processes."""

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from raan.io.files import scratch
from raan.lab.results.records import Record
from raan.lab.study.plan import Pack
from raan.lab.study.training import train_pack

TRIES = 3
"""How often a pack is given to a worker, if each of them is killed."""

At = Callable[[int, int], None]
"""Called with a pack's number and how many steps it has taken."""

Ended = tuple[int, list[Record]]
"""A pack's number and the records of its runs."""


@runtime_checkable
class Executor(Protocol):
    """Trains packs, in whatever order and place.

    A pack's records depend on the pack alone, so all executors end with the same results. Closed early, it leaves
    nothing running.
    """

    def __call__(self, left: Sequence[Pack], at: At) -> Generator[Ended, None, None]:
        """Each pack's number and records as they end."""
        ...


def in_turn(left: Sequence[Pack], at: At) -> Generator[Ended, None, None]:
    """The packs one after the other, trained here."""
    with scratch() as store:
        for number, pack in enumerate(left):
            yield number, train_pack(pack, store, lambda done, total, number=number: at(number, done))  # type: ignore[misc]


def describe(pack: Pack) -> str:
    """The pack in a few words, for an error."""
    methods = ", ".join(dict.fromkeys(candidate.entry.name for candidate in pack.candidates))
    return f"{methods} on {pack.data.title} ({pack.style}, {len(pack.runs)} runs)"


ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Workers:
    """Trains packs in processes of their own, so many side by side."""

    def __init__(self, processes: int) -> None:
        self.processes = processes

    def __call__(self, left: Sequence[Pack], at: At) -> Generator[Ended, None, None]:
        """Each pack's number and records as they end."""
        with scratch() as store:
            yield from train_in_workers(left, store, self.processes, at)


def train_in_workers(
    left: Sequence[Pack], store: Path, workers: int, at: At = lambda number, step: None
) -> Generator[Ended, None, None]:
    """Each pack's number and records as they come, from processes that were born anew, not forked."""
    waiting, killed = deque(range(len(left))), Counter[int]()
    crew: list[_Worker] = []
    try:
        while len(crew) < min(workers, len(left)):
            crew.append(_Worker(store))
            crew[-1].begin(waiting.popleft(), left)
        while busy := {worker.connection: worker for worker in crew if worker.number is not None}:
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]
                number, word, content = worker.answer()
                if word == "step":
                    with suppress(OSError):  # a display that fails ends no study
                        at(number, content)
                    continue
                if word == "records":
                    yield number, content
                elif word == "error":
                    raise content
                else:
                    killed[number] += 1
                    _check_tries(left[number], killed[number], worker)
                    waiting.appendleft(number)
                    crew[crew.index(worker)] = worker = _Worker(store)
                if waiting:
                    worker.begin(waiting.popleft(), left)
    finally:
        for worker in crew:
            worker.end()


def _check_tries(pack: Pack, times: int, worker: "_Worker") -> None:
    """Give up on a pack whose workers are killed again and again."""
    if times >= TRIES:
        worker.process.join()
        raise OSError(
            f"the worker process that trained {describe(pack)} was killed {times} times (exit code "
            f"{worker.process.exitcode}), perhaps for want of memory. "
            "What was finished is saved: start the study again to go on, with fewer --workers"
        )


class _Worker:
    """A process that trains one pack after the other; `number` is the pack that it has in hand."""

    def __init__(self, store: Path) -> None:
        context: SpawnContext = multiprocessing.get_context("spawn")
        self.connection, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there, store), daemon=True)
        self.number: int | None = None
        try:
            with _deaf():
                self.process.start()
        except BaseException:  # a signal that came meanwhile: nobody else knows of the process yet
            self.end()
            raise
        there.close()  # so that the worker's death closes the connection

    def begin(self, number: int, packs: Sequence[Pack]) -> None:
        """Have the worker train a pack."""
        self.number = number
        with suppress(OSError):  # it is dead already: its answer will say so
            self.connection.send((number, packs[number]))

    def answer(self) -> tuple[int, str, Any]:
        """The pack's number and what came of it: "step", "records" or "error" with what it is, or "death"."""
        number = self.number
        assert number is not None
        try:
            word, content = self.connection.recv()
        except (EOFError, OSError):
            word, content = "death", None
        if word != "step":
            self.number = None
        return number, word, content

    def end(self) -> None:
        """End the process at once: what it has in hand is not finished, and will be trained again."""
        if self.process.pid is not None:
            self.process.kill()
            self.process.join()
        self.connection.close()


@contextmanager
def _deaf() -> Iterator[None]:
    """Signals wait until the end of the block: a process half started would be nobody's.

    Those started within do not hear Ctrl-C, which a terminal sends to all: their parent ends them.
    """
    waiting: list[int] = []
    here = threading.current_thread() is threading.main_thread()  # Python handles signals nowhere else
    heeded = [number for number in (signal.SIGINT, *ENDING) if here and callable(signal.getsignal(number))]
    kept = {number: signal.signal(number, lambda came, frame: waiting.append(came)) for number in heeded}
    masked = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if masked else set()
    try:
        yield
    finally:
        if masked:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in kept.items():
            signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)


# What runs in a worker.


def _serve(connection: Connection, store: Path) -> None:
    """Train the packs that come, on one thread, until the parent is gone."""
    _end_with_parent()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with suppress(EOFError, OSError):
        while True:
            _, pack = connection.recv()
            connection.send(_train(pack, store, lambda done, total: connection.send(("step", done))))


def _train(pack: Pack, store: Path, report: Callable[[int, int], None]) -> tuple[str, Any]:
    """The pack's records, or the error that kept it from them."""
    try:
        return "records", train_pack(pack, store, report)
    except Exception as error:
        error.add_note(traceback.format_exc())  # for --debug: where it arose stays behind
        return "error", _sendable(error)


def _sendable(error: Exception) -> Exception:
    """The error, or if it does not survive the way to the parent its words."""
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return OSError(f"{type(error).__name__}: {error}")


def _end_with_parent() -> None:
    """End this process when its parent is gone, however sudden that was."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform == "linux":  # the system sees to it, even where no thread here gets to run
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(parent: int) -> None:
    wait([parent])
    os._exit(1)
