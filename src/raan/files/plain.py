"""Plain values as JSON and back, exactly: a closed list of types, so that reading can never run code.

What JSON has no word for is an object with one key, its tag: {"tuple": [1, 2]}, {"float": "inf"}.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

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


def from_json(value: Any) -> Any:
    """The value that was saved; a ValueError for anything `to_json` never writes."""
    if isinstance(value, list):
        return [from_json(part) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1 or not value.keys() <= _TAGS.keys():
        raise ValueError(f"an object with the keys {sorted(value)[:5]} stands where a tagged value should")
    ((tag, content),) = value.items()
    return _TAGS[tag](content)


def _float(content: Any) -> float:
    if content not in ("inf", "-inf", "nan"):
        raise ValueError(f"{content!r} stands where inf or nan should")
    return float(content)


def _sequence(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise ValueError(f"a {type(content).__name__} stands where a list should")
    return [from_json(part) for part in content]


def _map(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise ValueError(f"a {type(content).__name__} stands where a mapping should")
    return {key: from_json(part) for key, part in content.items()}


def _array(content: Any) -> np.ndarray:
    """The array; numpy checks that the values are of the type."""
    dtype, values = content["dtype"], _sequence(content["values"])
    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
        raise ValueError(f"an array of type {dtype!r} cannot be read")
    array = np.empty(len(values), dtype) if "O" in dtype else np.array(values, dtype)
    if "O" in dtype:
        array[:] = values
    return array


_TAGS: dict[str, Callable[[Any], Any]] = {
    "float": _float,
    "tuple": lambda content: tuple(_sequence(content)),
    "map": _map,
    "array": _array,
}
