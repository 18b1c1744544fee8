"""What a data set's own file declares: what must be known of it, which files it needs, how a study loads it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raan.data.download.find import cache_folder, look
from raan.data.download.remote import RemoteFile
from raan.data.split import Split, split, stack
from raan.data.table import Table


@dataclass(frozen=True)
class Need:
    """A file or folder that a data set is read from: the names it may go by, and what is known of it."""

    folder: str  # below $RAAN_DATA or the cache
    names: tuple[str, ...]
    file: RemoteFile | None = None
    instead: tuple[str, ...] = ()  # names of what will do as well, but has other bytes
    advice: str = ""  # how to get it, where it cannot be fetched

    @classmethod
    def of(cls, file: RemoteFile) -> "Need":
        """A file under its own name."""
        return cls(file.dataset, (file.name,), file)

    @property
    def here(self) -> Path | None:
        """Where it is, if it is on this machine."""
        return look(self.folder, (*self.names, *self.instead))

    @property
    def put(self) -> Path:
        """Where to put it."""
        return cache_folder() / self.folder / self.names[0]

    @property
    def can_be_fetched(self) -> bool:
        """Whether anybody offers it."""
        return self.file is not None and bool(self.file.sources)


def with_packed(*names: str) -> tuple[str, ...]:
    """The names of files as they are, and gzipped."""
    return tuple(name + ending for name in names for ending in ("", ".gz"))


@dataclass(frozen=True)
class About:
    """A published data set's name, task, terms and files, and what has gone wrong for others who used it."""

    name: str  # as `raan data` and study files call it
    title: str
    task: str  # what the label states of whom
    attribute: str  # what the attribute is, who assigned it, and which values it takes
    licence: str
    citation: str
    cautions: tuple[str, ...]
    needs: tuple[Need, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, and each seed's rows that train, select and judge."""

    table: Table
    split: Split  # with a run axis: one for each seed
    seeds: tuple[int, ...]

    @property
    def hash(self) -> str:
        """The hash of all that the table holds."""
        return hash_of_table(self.table)


def hash_of_table(table: Table) -> str:
    """A short name for all that is learnt from."""
    digest = hashlib.sha256()
    for part in (table.features, table.label, table.attribute):
        digest.update(part.contiguous().numpy(force=True).tobytes())
    return digest.hexdigest()[:16]


Options = Mapping[str, Any]
LoadProblem = Callable[[Options, Sequence[int]], Problem]


@dataclass(frozen=True)
class DataSet:
    """A data set that a study may name: how it is loaded, and which options its loader takes.

    Where each seed has a table of its own, such as environments drawn anew, seeds cannot share a pack.
    """

    name: str
    load: LoadProblem
    options: tuple[str, ...]
    own_tables: bool = False
    required: tuple[str, ...] = ()  # of the options
    about: About | None = None  # of a published one


def split_at_random(load: Callable[..., Table], sizes: Sequence[float]) -> LoadProblem:
    """A loader of one table with a random split for each seed; the option "sizes" takes the place of the sizes."""

    def load_problem(options: Options, seeds: Sequence[int]) -> Problem:
        table = load(**leave_out(options, "sizes"))
        first, second, third = options.get("sizes", sizes)
        parts = [split(table.rows, (first, second, third), seed) for seed in seeds]
        return Problem(table, stack(parts), tuple(seeds))

    return load_problem


def leave_out(options: Options, *names: str) -> dict[str, Any]:
    """The options but those named."""
    return {key: value for key, value in options.items() if key not in names}
