"""Finished runs as records of counts, and the files that hold them and their explanation.

A results file has one line of JSON for each run. While a study is going on, each finished pack is a shard, a small
file of the same kind in the folder `NAME.jsonl.parts` beside it, so that an interrupted study resumes.
"""

import gzip
import hashlib
import json
import shutil
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.metrics import Metrics, metrics
from raan.io.files import Locked, check_space, digest, lock, write_bytes

SPACE = 2**16
"""Bytes that the disk must have free before anything is trained."""

PARTS = ("validation", "test")

OPTIONAL = ("threshold", "switched")
"""What a record has only where the threshold is chosen too."""


@dataclass(frozen=True)
class Record:
    """One finished run: what defines it, and its path as counts.

    What a rule selects is not kept: another rule is another reading of the same counts. `validation` and `test`
    hold, for each point of the path, the flattened counts [label, attribute, prediction] of `fairness.counts`; the
    first point is the end of plain training, where all methods start.

    Where the threshold is chosen too, a point is a step and a threshold, and only points that a rule may select
    are kept (`summary.worth_keeping`). `switched` holds for each point how many validation rows of each [label,
    attribute] are right there and wrong at the first point, or the reverse.
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
    threshold: Sequence[float | None] = ()  # empty: the likeliest class; None: decided by no threshold
    switched: Sequence[Sequence[int]] = ()  # empty: not known

    def switches(self) -> Float[np.ndarray, "point label attribute"] | None:
        """Return `switched` as an array; None if it is not known."""
        if not self.switched:
            return None
        return np.array(self.switched, dtype=np.float64).reshape(-1, len(self.classes), len(self.attributes) + 1)

    def counts(self, part: str = "test") -> Float[np.ndarray, "point label attribute prediction"]:
        """Return the counts along the path on the test or the validation rows."""
        flat = np.array(getattr(self, part), dtype=np.float64)
        return flat.reshape(len(flat), len(self.classes), len(self.attributes) + 1, len(self.classes))

    def metrics(self, part: str = "test") -> Metrics:
        """Compute the metrics along the path."""
        return metrics(self.counts(part))


NAMES = tuple(field.name for field in fields(Record))


def flatten(counts: Float[np.ndarray, "point *cell"]) -> list[list[int]]:
    """Turn counts into what a record keeps: a list of whole numbers for each point."""
    flat: list[list[int]] = counts.reshape(len(counts), -1).astype(np.int64).tolist()
    return flat


def hash_of(definition: Mapping[str, Any]) -> str:
    """Return a short hash of a definition."""
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:16]


# Lines of JSON.


def format_line(record: Record) -> str:
    """Format a record as one line of JSON."""
    values = {name: getattr(record, name) for name in NAMES}
    content = {name: value for name, value in values.items() if name not in OPTIONAL or value}
    return json.dumps(pack_counts(content), separators=(",", ":"), ensure_ascii=False) + "\n"


def parse_line(line: bytes | str, where: str) -> Record:
    """Parse a line of a results file; keys that other versions wrote are ignored.

    Raises:
        ValueError: The line is no record. The message begins with `where`.
    """
    try:
        content = unpack_counts(json.loads(line))
        content = {"threshold": [], "switched": [], **content}
        record = Record(**{name: content[name] for name in NAMES})
        _check_kinds(record)
        _check_path(record)
        return record
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{where} is not a run of a study: {what}") from error


def pack_counts(content: Mapping[str, Any]) -> dict[str, Any]:
    """Write the counts of a record with thresholds and two classes in fewer numbers.

    All points of a run have the same rows, so that the size of each cell is stated once, as `cells`, and a point
    has the number of rows that are predicted as the second class, for the cells that have rows.
    """
    if not content.get("switched") or len(content["classes"]) != 2:
        return dict(content)
    packed = {**content, "cells": {}}
    for part in PARTS:
        counts = np.array(content[part]).reshape(len(content[part]), -1, 2)
        size = counts[0].sum(-1)
        packed["cells"][part], packed[part] = size.tolist(), counts[:, size > 0, 1].tolist()
    filled = np.array(packed["cells"]["validation"]) > 0
    return {**packed, "switched": np.array(content["switched"])[:, filled].tolist()}


def unpack_counts(content: Mapping[str, Any]) -> dict[str, Any]:
    """Restore what `pack_counts` was given; content that is not packed stays as it is."""
    if "cells" not in content:
        return dict(content)
    unpacked = {name: value for name, value in content.items() if name != "cells"}
    for name, part in (("validation", "validation"), ("test", "test"), ("switched", "validation")):
        size, given = np.array(content["cells"][part], dtype=np.int64), _as_array(content[name], 2)
        filled = size > 0
        if given is None or given.shape[1] != filled.sum():
            raise ValueError(
                f"{name} is not {filled.sum()} whole numbers for each point, one for each cell with rows"
            )
        numbers = np.zeros((len(given), len(size)), dtype=np.int64)
        numbers[:, filled] = given
        if name != "switched":
            numbers = np.stack([size - numbers, numbers], axis=-1).reshape(len(numbers), -1)
        unpacked[name] = numbers.tolist()
    return unpacked


def _check_path(record: Record) -> None:
    """Raise a ValueError if the parts of a record do not fit together."""
    points = len(record.step)
    if not points:
        raise ValueError("step is empty; expected at least one point")
    for name in OPTIONAL:
        if len(getattr(record, name)) not in (0, points):
            raise ValueError(f"{len(getattr(record, name))} {name} for {points} steps; expected as many, or none")
    cells = len(record.classes) * (len(record.attributes) + 1)
    shapes = {"step": (points,), **{part: (points, cells * len(record.classes)) for part in PARTS}}
    if record.switched:
        shapes["switched"] = (points, cells)
    for name, shape in shapes.items():
        numbers = _as_array(getattr(record, name), len(shape))
        if numbers is None or numbers.shape != shape or numbers.min() < 0:
            names = f"{len(record.classes)} classes and {len(record.attributes)} attribute values"
            expected = f"{shape[-1]} whole numbers" + (
                f" for each of {points} points, for {names}" * (len(shape) > 1)
            )
            raise ValueError(f"{name} is {str(getattr(record, name))[:60]}; expected {expected}")


KINDS = {
    **dict.fromkeys(("run", "study", "data", "method", "style", "data_hash"), (str, "text")),
    **dict.fromkeys(("hyperparameters", "configuration", "versions"), (dict, "a dict")),
    **dict.fromkeys(("classes", "attributes", "threshold"), (list, "a list")),
    **dict.fromkeys(("step", *PARTS, "switched"), (list, "a list")),  # of whole numbers: see `_check_path`
    "seed": (int, "a whole number"),
    "diverged": (int | None, "a whole number"),
}
"""The type of each part of a record, and how messages call it."""


def _check_kinds(record: Record) -> None:
    """Raise a ValueError if a part of a record has another type."""
    for name, (kind, called) in KINDS.items():
        value = getattr(record, name)
        if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and value >= 2**63):
            raise ValueError(f"{name} is {str(value)[:60]}; expected {called}")
    names, thresholds = (
        [*record.classes, *record.attributes],
        [each for each in record.threshold if each is not None],
    )
    for several, kind, called in ((names, str, "text"), (thresholds, int | float, "numbers")):
        if not all(isinstance(each, kind) for each in several):
            raise ValueError(f"classes, attributes or threshold are {str(several)[:60]}; expected {called}")


def _as_array(value: Any, dimensions: int) -> Int[np.ndarray, "..."] | None:
    """Convert lists of whole numbers, equally long, to an array; return None if the value is something else."""
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.dtype.kind == "i" and array.ndim == dimensions else None


# Files.


def read(path: str | Path) -> list[Record]:
    """Read the records of a results file.

    Args:
        path: The file, gzipped if its name ends in `.gz`.

    Raises:
        ValueError: The file is damaged, or holds something else; the message names the line.
    """
    path = Path(path)
    content = path.read_bytes()
    try:
        lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().split("\n")
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error) as error:
        expected = "expected lines of JSON, gzipped if its name ends in .gz"
        raise ValueError(f"{path} holds no results: {error}; {expected}") from error
    return [parse_line(line, f"{path}, line {number},") for number, line in enumerate(lines, 1) if line]


class StudyRunning(OSError):
    """Another process writes to the same results."""


@dataclass(frozen=True)
class Results:
    """A results file that this process alone may write, and the runs that are finished."""

    path: Path
    done: dict[str, Record]

    def save(self, records: Sequence[Record]) -> None:
        """Write the finished runs of a pack as one shard, whole or not at all."""
        fresh = [record for record in records if record.run not in self.done]
        if fresh:
            self.done.update((record.run, record) for record in fresh)
            write_bytes(shards_of(self.path) / f"{fresh[0].run}.jsonl", "".join(map(format_line, fresh)).encode())

    def finish(self, order: Sequence[str]) -> None:
        """Write the results file in the order given, other runs last, and remove the shards.

        An interrupted study that was resumed ends with the bytes of one that was not.
        """
        place = {run: number for number, run in enumerate(order)}
        records = sorted(self.done.values(), key=lambda record: place.get(record.run, len(place)))
        if records:
            content = "".join(map(format_line, records)).encode()
            write_bytes(self.path, gzip.compress(content, mtime=0) if self.path.suffix == ".gz" else content)
            shutil.rmtree(shards_of(self.path), ignore_errors=True)


@contextmanager
def open_results(path: str | Path) -> Iterator[Results]:
    """Open a results file for writing, with what earlier processes finished.

    A damaged shard is removed with a warning: its runs are trained again.

    Raises:
        StudyRunning: Another process has opened it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    check_space(path, SPACE)
    with ExitStack() as held:
        try:
            held.enter_context(lock(path.with_name(path.name + ".lock")))
        except Locked:
            raise StudyRunning(
                f"another process is writing to {path}: wait for it, or name other results"
            ) from None
        earlier = read(path) if path.exists() else []
        for shard in sorted(shards_of(path).glob("*.jsonl")):
            try:
                earlier += read(shard)
            except ValueError as error:
                warnings.warn(f"{error}. Its runs are trained again", stacklevel=3)
                shard.unlink()
        yield Results(path, {record.run: record for record in earlier})


def shards_of(path: Path) -> Path:
    """Return the folder in which the packs of an unfinished study are kept."""
    return path.with_name(path.name.removesuffix(".gz") + ".parts")


# The explanation, a file beside a results file.


def explanation_of(path: Path) -> Path:
    """Return the explanation of a results file: NAME.explain.json beside NAME.jsonl or NAME.jsonl.gz."""
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".jsonl") + ".explain.json")


def format_explanation(content: Mapping[str, Any]) -> str:
    """Format an explanation as JSON that states its format and its own checksum."""
    whole = {"format": 1, **content}
    return _dump({**whole, "checksum": digest(_dump(whole).encode())})


def parse_explanation(text: bytes) -> dict[str, Any]:
    """Parse an explanation, which states its own checksum.

    Raises:
        ValueError: The text is no explanation, or is damaged.
    """
    found = json.loads(text.decode())
    if not isinstance(found, dict) or found.get("format") != 1:
        raise ValueError("its format is unknown; expected 1")
    content: dict[str, Any] = {key: value for key, value in found.items() if key != "checksum"}
    if found.get("checksum") != digest(_dump(content).encode()):
        raise ValueError("it is damaged: its content does not have the checksum that it states")
    return content


def _dump(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)
