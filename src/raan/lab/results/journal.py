"""A results file under way: finished runs on disk at once, in the order of the plan in the end.

A line of the journal is a run as JSON with its checksum before it, so that damage is told from what was written.
"""

import gzip
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from raan.io.files import Locked, check_space, digest, lock, write_bytes
from raan.lab.results.records import CHECKSUM, Record, journal_of, line_of, lines_of, parse, read

ROOM = 2**16
"""Bytes that the disk must have left before anything is trained."""

FRAMED = re.compile(rb"[0-9a-f]{%d} \{" % CHECKSUM)


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
            before = file.tell()
            try:
                rest = memoryview(b"".join(map(frame, fresh)))
                while rest:  # a disk that is nearly full takes a part, and fails at the next
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except BaseException:
                file.truncate(before)  # what is half there would be in the way of the next
                raise

    def settle(self, order: Sequence[str]) -> None:
        """Write the results in the order given, runs that are not in it last, and let the journal go."""
        place = {run: number for number, run in enumerate(order)}
        records = sorted(self.done.values(), key=lambda record: place.get(record.run, len(place)))
        if not records:
            return
        if (
            self.path.suffix == ".gz"
        ):  # which has a checksum, and no time of writing: the same runs, the same bytes
            content = gzip.compress("".join(map(line_of, records)).encode(), mtime=0)
        else:
            content = lines_of(records).encode()
        write_bytes(self.path, content)
        self.journal.unlink(missing_ok=True)


@contextmanager
def open_results(path: str | Path) -> Iterator[Results]:
    """The results at the path, with what earlier processes finished; refused while another process has them."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    journal = journal_of(path)
    check_space(path, ROOM)
    with _lock(path):
        earlier = [*(read(path) if path.exists() else []), *_recover(journal)]
        yield Results(path, journal, {record.run: record for record in earlier})


def frame(record: Record) -> bytes:
    """The record as a line of a journal."""
    line = line_of(record).encode()
    return digest(line)[:CHECKSUM].encode() + b" " + line


def read_journal(path: Path) -> tuple[list[Record], list[str]]:
    """The runs of a journal that are as they were written, and what is wrong with the others, by line."""
    records, wrong = [], []
    *lines, tail = path.read_bytes().split(b"\n")
    framed = _is_framed(lines)
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number},"
        try:
            records.append(parse(_unframe(line, where) if framed else line, where))
        except ValueError as error:
            wrong.append(str(error))
    if tail:
        wrong.append(f"{path}, line {len(lines) + 1}, is torn, as a writer leaves it that is killed")
    return records, wrong


def _is_framed(lines: Sequence[bytes]) -> bool:
    """Whether the lines have checksums: earlier versions wrote none."""
    return any(FRAMED.match(line) for line in lines)


def _unframe(line: bytes, where: str) -> bytes:
    """The JSON of a line, if its checksum is right."""
    stated, _, content = line.partition(b" ")
    if digest(content + b"\n")[:CHECKSUM].encode() != stated:
        raise ValueError(f"{where} is damaged: it does not have the checksum that it states")
    return content


def _recover(journal: Path) -> list[Record]:
    """The sound runs of the journal, which from then on holds nothing else; a warning names what was wrong."""
    if not journal.exists():
        return []
    records, wrong = read_journal(journal)
    sound = b"".join(map(frame, records))
    if sound != journal.read_bytes():
        write_bytes(journal, sound)
    if wrong:
        kept = f"{len(records)} sound runs are kept, the others trained again"
        warnings.warn(f"{'; '.join(wrong)}: {kept}", stacklevel=4)
    return records


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
