"""A results file under way: finished runs on disk at once, in the order of the plan in the end."""

import gzip
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from raan.files.lock import Locked, lock
from raan.files.write import write_bytes
from raan.results.records import Record, journal_of, line_of, read


class StudyRunning(OSError):
    """Another process writes to the same results."""


@dataclass(frozen=True)
class Results:
    """A results file that this process alone may write.

    Finished runs go to a journal beside it, whole packs at a time. `settle` writes the file itself, in the order
    of the plan: an interrupted study that was continued ends with the bytes of one that was not.
    """

    path: Path
    journal: Path
    done: dict[str, Record]

    def append(self, records: Iterable[Record]) -> None:
        """Write the finished runs, on disk before this returns; a run that is there already is not repeated."""
        fresh = [record for record in records if record.run not in self.done]
        # Known first, written second: an interruption in between settles them all the same.
        self.done.update((record.run, record) for record in fresh)
        with self.journal.open("ab", buffering=0) as file:
            file.write("".join(map(line_of, fresh)).encode())
            os.fsync(file.fileno())

    def settle(self, order: Sequence[str]) -> None:
        """Write the results in the order given, runs that are not in it last, and let the journal go."""
        place = {run: number for number, run in enumerate(order)}
        records = sorted(self.done.values(), key=lambda record: place.get(record.run, len(place)))
        if not records:
            return
        content = "".join(map(line_of, records)).encode()
        # No time of writing in the header: the same runs give the same bytes.
        write_bytes(self.path, gzip.compress(content, mtime=0) if self.path.suffix == ".gz" else content)
        self.journal.unlink(missing_ok=True)


@contextmanager
def open_results(path: str | Path) -> Iterator[Results]:
    """The results at the path, with what earlier processes finished; refused while another process has them."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    journal = journal_of(path)
    with _lock(path):
        _mend(journal)
        earlier = [*(read(path) if path.exists() else []), *(read(journal) if journal.exists() else [])]
        yield Results(path, journal, {record.run: record for record in earlier})


def _mend(journal: Path) -> None:
    """Cut off a torn last line, so that the next one does not go on in it."""
    if journal.exists():
        content = journal.read_bytes()
        os.truncate(journal, content.rfind(b"\n") + 1)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the lock on the results for as long as this process lives; its death, however sudden, releases it."""
    with ExitStack() as held:
        try:
            held.enter_context(lock(path.with_name(path.name + ".lock")))
        except Locked:
            raise StudyRunning(
                f"another process is writing to {path}: wait for it, or name other results"
            ) from None
        yield
