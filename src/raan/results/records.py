"""Results as a file: one JSON line for each finished run, whatever kills the process that writes them."""

import gzip
import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from raan.fairness.metrics import Metrics, metrics


@dataclass(frozen=True)
class Record:
    """One finished run: what defines it, and its path as counts.

    What a rule makes of the path is not kept: another rule is another reading of the same counts. `validation` and
    `test` hold, for each point of the path, the flattened counts [label, attribute, prediction] of
    `raan.fairness.counts`; the first point is the end of plain training, where all methods start.
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

    def counts(self, part: str = "test") -> Float[np.ndarray, "point label attribute prediction"]:
        """The counts along the path on the test or the validation rows."""
        flat = np.array(getattr(self, part), dtype=np.float64)
        return flat.reshape(len(flat), len(self.classes), len(self.attributes) + 1, len(self.classes))

    def metrics(self, part: str = "test") -> Metrics:
        """The metrics along the path."""
        return metrics(self.counts(part))


NAMES = tuple(field.name for field in fields(Record))
CONTAINERS = {
    **dict.fromkeys(("hyperparameters", "configuration", "versions"), dict),
    **dict.fromkeys(("classes", "attributes", "step", "validation", "test"), list),
}


def flatten(counts: Float[np.ndarray, "point label attribute prediction"]) -> list[list[int]]:
    """The counts as a record keeps them: whole numbers, a list for each point."""
    flat: list[list[int]] = counts.reshape(len(counts), -1).astype(np.int64).tolist()
    return flat


def hash_of(definition: Mapping[str, Any]) -> str:
    """A short name for what is defined."""
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:16]


@lru_cache
def versions(*more: str) -> dict[str, str]:
    """The versions of what the numbers may depend on, as far as it is installed."""
    found = {name: _version(name) for name in ("raan", "torch", "numpy", *more)}
    return {**{name: number for name, number in found.items() if number}, "python": platform.python_version()}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


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
    """A line's record; keys that another version wrote are not looked at."""
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
