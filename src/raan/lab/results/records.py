"""Results as a file: one JSON line for each finished run, whatever kills the process that writes them."""

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from raan.fairness.metrics import Metrics, metrics
from raan.io.files import digest

PARTS = ("validation", "test")


def pack(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a record in few numbers, where its threshold is a dial and it has two classes."""
    if not content.get("switched") or len(content["classes"]) != 2:
        return dict(content)
    cells = {part: [sum(pair) for pair in _pairs(content[part][0])] for part in PARTS}
    packed = {
        part: [_some([pair[1] for pair in _pairs(row)], cells[part]) for row in content[part]] for part in PARTS
    }
    switched = [_some(row, cells["validation"]) for row in content["switched"]]
    return {**content, "cells": cells, **packed, "switched": switched}


def unpack(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content as it was before; what was not packed is as it is."""
    if "cells" not in content:
        return dict(content)
    cells = {part: [int(size) for size in content["cells"][part]] for part in PARTS}
    unpacked: dict[str, Any] = {}
    for part, sizes in cells.items():
        rows = (_whole(row, sizes) for row in content[part])
        unpacked[part] = [
            [number for size, second in zip(sizes, row, strict=True) for number in (size - second, second)]
            for row in rows
        ]
    switched = [_whole(row, cells["validation"]) for row in content["switched"]]
    return {name: value for name, value in content.items() if name != "cells"} | unpacked | {"switched": switched}


def _pairs(row: list[int]) -> list[tuple[int, int]]:
    """The counts of one point, [label, attribute, prediction] in a row, by cell."""
    return list(zip(row[::2], row[1::2], strict=True))


def _some(row: list[int], sizes: list[int]) -> list[int]:
    """What belongs to cells that have rows."""
    return [number for number, size in zip(row, sizes, strict=True) if size]


def _whole(row: list[int], sizes: list[int]) -> list[int]:
    """What belongs to all cells: 0 for those without rows."""
    if len(row) != sum(size > 0 for size in sizes):
        raise ValueError(f"{len(row)} numbers for {sum(size > 0 for size in sizes)} cells that have rows")
    numbers = iter(row)
    return [next(numbers) if size else 0 for size in sizes]


@dataclass(frozen=True)
class Record:
    """One finished run: what defines it, and its path as counts.

    What a rule makes of the path is not kept: another rule is another reading of the same counts. `validation` and
    `test` hold, for each point of the path, the flattened counts [label, attribute, prediction] of
    `raan.fairness.counts`; the first point is the end of plain training, where all methods start.

    Where the threshold is a dial, a point is a step and a threshold, and those are kept that are worth choosing
    (results/thin.py). `switched` holds for each point how many validation rows of each [label, attribute] are
    right there and wrong at the first point, or the reverse.
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
        """How many validation rows of each cell are right at a point or at the first, not both; None: unknown."""
        if not self.switched:
            return None
        return np.array(self.switched, dtype=np.float64).reshape(-1, len(self.classes), len(self.attributes) + 1)

    def counts(self, part: str = "test") -> Float[np.ndarray, "point label attribute prediction"]:
        """The counts along the path on the test or the validation rows."""
        flat = np.array(getattr(self, part), dtype=np.float64)
        return flat.reshape(len(flat), len(self.classes), len(self.attributes) + 1, len(self.classes))

    def metrics(self, part: str = "test") -> Metrics:
        """The metrics along the path."""
        return metrics(self.counts(part))


NAMES = tuple(field.name for field in fields(Record))

CHECKSUM = 16
"""Hexadecimal digits of a line's checksum."""

STATED = re.compile(rb',"checksum":"([0-9a-f]{%d})"\}$' % CHECKSUM)
"""How a line ends that states its checksum."""

OPTIONAL = ("threshold", "switched")
"""What a record has where the threshold is a dial."""

SMALL, MOST_PACKED = 2**26, 200
"""A packed file may hold so many bytes, or so many times its own; results hold about ten times."""


def flatten(counts: Float[np.ndarray, "point *cell"]) -> list[list[int]]:
    """The counts as a record keeps them: whole numbers, a list for each point."""
    flat: list[list[int]] = counts.reshape(len(counts), -1).astype(np.int64).tolist()
    return flat


def hash_of(definition: Mapping[str, Any]) -> str:
    """A short name for what is defined."""
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:16]


def line_of(record: Record) -> str:
    """The record as one line of JSON."""
    content = {name: value for name, value in asdict(record).items() if name not in OPTIONAL or value}
    return json.dumps(pack(content), separators=(",", ":"), ensure_ascii=False) + "\n"


def lines_of(records: Sequence[Record]) -> str:
    """The records as the lines of a plain file, each with a checksum, since such a file has none of its own."""
    lines = list(map(line_of, records))
    return "".join(
        f'{line[:-2]},"checksum":"{_checksum(line.encode(), number, len(lines))}"}}\n'
        for number, line in enumerate(lines, 1)
    )


def _checksum(line: bytes, number: int, lines: int) -> str:
    """The checksum of a line at its place among so many: a line that is gone, or comes twice, spoils it too."""
    return digest(b"%d of %d: %s" % (number, lines, line))[:CHECKSUM]


def read(path: str | Path) -> list[Record]:
    """The records of a results file, plain or gzipped. A torn last line, which a kill may leave, is left out."""
    lines = _whole_lines(Path(path))
    _check_lines(path, lines)
    return [parse(line, f"{path}, line {number},") for number, line in enumerate(lines, 1)]


def _check_lines(path: str | Path, lines: Sequence[bytes]) -> None:
    """Raise a ValueError if a line is not as it was written; lines without checksums, as of old, are believed."""
    stated = [STATED.search(line) for line in lines]
    for number, (line, found) in enumerate(zip(lines, stated, strict=True), 1):
        if found is None and any(stated):
            raise ValueError(f"{path}, line {number}, is damaged: it has no checksum, and others have one")
        if found and found[1].decode() != _checksum(line[: found.start()] + b"}\n", number, len(lines)):
            raise ValueError(
                f"{path}, line {number}, is damaged: it does not have the checksum that it states, as line "
                f"{number} of {len(lines)}"
            )


def _whole_lines(path: Path) -> list[bytes]:
    """The lines that were written to their end."""
    try:
        content = _unpack(path) if path.suffix == ".gz" else path.read_bytes()
        content.decode()
        return content.split(b"\n")[:-1]
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error) as error:
        expected = "expected lines of JSON, gzipped if its name ends in .gz"
        raise ValueError(f"{path} holds no results: {error}; {expected}") from error


def _unpack(path: Path) -> bytes:
    """The bytes that a gzipped file holds, if they are not absurdly many."""
    most = max(SMALL, MOST_PACKED * path.stat().st_size)
    with gzip.open(path) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise zlib.error(f"it unpacks to more than {most:,} bytes")
    return content


def parse(line: bytes | str, where: str) -> Record:
    """A line's record; keys that another version wrote are not looked at. Errors begin with where it stands."""
    try:
        content = unpack(json.loads(line))
        values = {name: content[name] if name not in OPTIONAL else content.get(name, []) for name in NAMES}
        for name, (holds, expected) in KINDS.items():
            if not holds(values[name]):
                raise TypeError(f"{name} is {str(values[name])[:60]}; expected {expected}")
        return Record(**values)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{where} is not a run of a study: {what}") from error


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_map(value: object) -> bool:
    return isinstance(value, dict)


def _are_text(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_whole(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_whole, value))


def _are_rows(value: object) -> bool:
    return isinstance(value, list) and all(map(_are_whole, value))


def _are_shares(value: object) -> bool:
    return isinstance(value, list) and all(
        each is None or (isinstance(each, int | float) and 0 <= each <= 1) for each in value
    )


KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(("run", "study", "data", "method", "style", "data_hash"), (_is_text, "text")),
    **dict.fromkeys(("hyperparameters", "configuration", "versions"), (_is_map, "a dict")),
    **dict.fromkeys(("classes", "attributes"), (_are_text, "a list of text")),
    **dict.fromkeys(("validation", "test", "switched"), (_are_rows, "a list of lists of whole numbers")),
    "threshold": (_are_shares, "a list of numbers from 0 to 1 or null"),
    "step": (_are_whole, "a list of whole numbers"),
    "seed": (_is_whole, "a whole number"),
    "diverged": (lambda value: value is None or _is_whole(value), "a whole number or null"),
}
"""What the parts of a record may be."""


def journal_of(path: Path) -> Path:
    """Where the finished runs of a study that goes on wait until they are settled."""
    return path.with_name(path.name.removesuffix(".gz") + ".journal")


def explanation_of(path: Path) -> Path:
    """Where the explanation of a results file stands: NAME.explain.json beside NAME.jsonl or NAME.jsonl.gz."""
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".jsonl") + ".explain.json")
