"""Where packs are trained: here, in worker processes, or on Ray. Packs go in; numbers and records come out."""

from collections.abc import Callable, Generator, Sequence
from typing import Protocol, runtime_checkable

from raan.files.scratch import scratch
from raan.results.records import Record
from raan.study.plan import Pack
from raan.study.training import train_pack

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
