"""Plain values as JSON that nobody need trust, with a checksum, and archives whose sizes are bounded."""

import hashlib
import json
import math
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def seal(manifest: dict[str, Any]) -> bytes:
    """The manifest as it is written, with the checksum of the rest of it: one content, one sequence of bytes."""
    return _encode(manifest | {"checksum": digest(_encode(manifest))})


def is_sealed(written: bytes, manifest: dict[str, Any]) -> bool:
    """Whether these bytes are the manifest, which was parsed from them, with the checksum that it should state."""
    return written == seal({key: value for key, value in manifest.items() if key != "checksum"})


def digest(data: bytes) -> str:
    """The SHA-256 of the data in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def _encode(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, allow_nan=False, sort_keys=True, indent=1).encode()


def check_archive(file: Path) -> None:
    """Raise zipfile.BadZipFile if a member of the archive does not have the checksum that is stated of it."""
    with file.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                damaged = archive.testzip()
        except Exception as error:  # damage can become anything to the reader
            raise zipfile.BadZipFile(f"{type(error).__name__}: {error}") from error
    if damaged is not None:
        raise zipfile.BadZipFile(f"{damaged} in it is damaged")


_DTYPE = re.compile(r"[<>|]?([biuf][1248]|U\d{1,4}|O)")
"""Numbers, text of up to 9,999 letters, and objects: which are plain values again."""


def to_json(value: Any, where: str) -> Any:
    """The value in JSON's types; a TypeError that names the place, for a value of no known type."""
    match value:
        case None | bool() | str():
            return value
        case np.generic() if not isinstance(value, np.void):
            return to_json(value.item(), where)
        case int():
            return value
        case float():
            return value if math.isfinite(value) else {"float": str(value)}
        case tuple():
            return {"tuple": [to_json(part, where) for part in value]}
        case list():
            return [to_json(part, where) for part in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {"map": {key: to_json(part, f"{where}.{key}") for key, part in value.items()}}
        case np.ndarray() if _DTYPE.fullmatch(value.dtype.str):
            return {"array": {"dtype": value.dtype.str, "values": to_json(value.tolist(), where)}}
    raise TypeError(
        f"{where} is a {type(value).__name__}, which cannot be saved; expected numbers, text, bools, None, or "
        "tuples, lists and arrays of these"
    )


class Room:
    """How many bytes arrays may still take: text of a stated width is so wide in memory, however short it is."""

    def __init__(self, bytes_left: float = math.inf) -> None:
        self.bytes_left = bytes_left

    def take(self, wanted: int) -> None:
        """Take so many bytes, or raise a ValueError."""
        self.bytes_left -= wanted
        if self.bytes_left < 0:
            raise ValueError(f"its arrays would take {-self.bytes_left:,.0f} bytes more than it gives reason for")


def from_json(value: Any, room: Room) -> Any:
    """The value that was saved; a ValueError for anything `to_json` never writes."""
    if isinstance(value, list):
        return [from_json(part, room) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1 or not value.keys() <= _TAGS.keys():
        raise ValueError(f"an object with the keys {sorted(value)[:5]} stands where a tagged value should")
    ((tag, content),) = value.items()
    return _TAGS[tag](content, room)


def _float(content: Any, room: Room) -> float:
    if content not in ("inf", "-inf", "nan"):
        raise ValueError(f"{content!r} stands where inf or nan should")
    return float(content)


def _sequence(content: Any, room: Room) -> list[Any]:
    if not isinstance(content, list):
        raise ValueError(f"a {type(content).__name__} stands where a list should")
    return [from_json(part, room) for part in content]


def _tuple(content: Any, room: Room) -> tuple[Any, ...]:
    return tuple(_sequence(content, room))


def _map(content: Any, room: Room) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise ValueError(f"a {type(content).__name__} stands where a mapping should")
    return {key: from_json(part, room) for key, part in content.items()}


def _array(content: Any, room: Room) -> np.ndarray:
    """The array; numpy checks that the values are of the type."""
    dtype, values = content["dtype"], _sequence(content["values"], room)
    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
        raise ValueError(f"an array of type {dtype!r} cannot be read")
    room.take(np.dtype(dtype).itemsize * _count(values))
    array = np.empty(len(values), dtype) if "O" in dtype else np.array(values, dtype)
    if "O" in dtype:
        array[:] = values
    return array


def _count(values: Any) -> int:
    """How many values there are, however they are nested."""
    return sum(map(_count, values)) if isinstance(values, list) else 1


_TAGS: dict[str, Callable[[Any, Room], Any]] = {"float": _float, "tuple": _tuple, "map": _map, "array": _array}
