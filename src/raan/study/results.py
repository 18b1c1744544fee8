"""Results as a file: one JSON line for each finished run, whatever kills the process that writes them."""

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from raan.fairness.metrics import Metrics, metrics
from raan.files.lock import Locked, lock
from raan.files.write import write_bytes


class StudyRunning(OSError):
    """Another process writes to the same results."""


@dataclass(frozen=True)
class Record:
    """One finished run: what defines it, its path as counts, and the point that the declared rule chose.

    `validation` and `test` hold, for each point of the path, the flattened counts [label, attribute, prediction]
    of `raan.fairness.metrics.count`; the first point is the end of plain training, where all methods start.
    """

    run: str  # the hash of what defines the run
    study: str
    data: str
    method: str
    style: str
    seed: int
    hyperparameters: Mapping[str, Any]
    configuration: Mapping[str, Any]
    data_hash: str
    versions: Mapping[str, str]
    classes: Sequence[str]
    attributes: Sequence[str]
    diverged: int | None  # the step at which the loss was not finite
    step: Sequence[int]
    validation: Sequence[Sequence[int]]
    test: Sequence[Sequence[int]]
    chosen: Mapping[str, Any]

    def counts(self, part: str = "test") -> Float[np.ndarray, "point label attribute prediction"]:
        """The counts along the path on the test or the validation rows."""
        flat = np.array(getattr(self, part), dtype=np.float64)
        return flat.reshape(len(flat), len(self.classes), len(self.attributes) + 1, len(self.classes))

    def metrics(self, part: str = "test") -> Metrics:
        """The metrics along the path."""
        return metrics(self.counts(part))


NAMES = tuple(field.name for field in fields(Record))
CONTAINERS = {
    **dict.fromkeys(("hyperparameters", "configuration", "versions", "chosen"), dict),
    **dict.fromkeys(("classes", "attributes", "step", "validation", "test"), list),
}


def line_of(record: Record) -> str:
    """The record as one line of JSON."""
    return json.dumps(asdict(record), separators=(",", ":"), ensure_ascii=False) + "\n"


def read(path: str | Path) -> list[Record]:
    """The records of a results file, plain or gzipped. A torn last line, which a kill may leave, is left out."""
    return [_record(line, number, Path(path)) for number, line in enumerate(_whole_lines(Path(path)), 1)]


def _whole_lines(path: Path) -> list[str]:
    """The lines that were written to their end."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return content.decode().split("\n")[:-1]
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile) as error:
        expected = "expected lines of JSON, gzipped if its name ends in .gz"
        raise ValueError(f"{path} holds no results: {error}; {expected}") from error


def _record(line: str, number: int, path: Path) -> Record:
    """A line's record; keys that a newer version may have added are not looked at."""
    try:
        content = json.loads(line)
        values = {name: content[name] for name in NAMES}
        for name, kind in CONTAINERS.items():
            if not isinstance(values[name], kind):
                raise TypeError(f"{name} is {values[name]!r}; expected a {kind.__name__}")
        return Record(**values)
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path}, line {number}, is not a run of a study: {what}") from error


def journal_of(path: Path) -> Path:
    """Where the finished runs of a study that goes on wait until they are settled."""
    return path.with_name(path.name.removesuffix(".gz") + ".journal")


def explanation_of(path: Path) -> Path:
    """Where the explanation of a results file stands: NAME.explain.json beside NAME.jsonl or NAME.jsonl.gz."""
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".jsonl") + ".explain.json")


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
def opened(path: str | Path) -> Iterator[Results]:
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
