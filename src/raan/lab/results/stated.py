"""What stands beside a results file, as text: an explanation, and what the writer states of the results."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from raan.io.files import digest
from raan.lab.results.explanation import QUANTILES


def to_text(content: Mapping[str, Any]) -> str:
    """The explanation, and what else is stated beside results, as JSON that states its own checksum."""
    return _dumps({**content, "checksum": digest(_dumps(content).encode())})


def from_text(text: bytes) -> dict[str, Any]:
    """The explanation, or a ValueError that says what is wrong; one without a checksum, as of old, is believed."""
    found = json.loads(text.decode())
    check_explanation(found)
    content: dict[str, Any] = {key: value for key, value in found.items() if key != "checksum"}
    if "checksum" in found and found["checksum"] != digest(_dumps(content).encode()):
        raise ValueError("it is damaged: its content does not have the checksum that it states")
    return content


def _dumps(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def check_explanation(found: Any) -> None:
    """Raise a ValueError that says what is wrong, unless this has the shape that `explanation` gives."""
    if not isinstance(found, dict) or found.get("format") != 1:
        raise ValueError("its format is not 1, which is the one that is known")
    for key, shape in (("weights", _WEIGHTS), ("maps", _MAP)):
        for entry in _entries(found.get(key, []), key):
            _check_entry(entry, key, shape)
    for entry in found.get("weights", []):
        for key, shape in (("cells", _CELL), ("features", _FEATURE)):
            for part in _entries(entry[key], key):
                _check_entry(part, key, shape)
    for entry in found.get("maps", []):
        if len({len(entry[key]) for key in ("x", "y", "label", "attribute")}) > 1:
            raise ValueError("x, y, label and attribute in maps are not equally long")


def _entries(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ValueError(f"{key} is no list of entries")
    return value


def _check_entry(entry: Mapping[str, Any], where: str, shape: Mapping[str, Callable[[Any], bool]]) -> None:
    for key, holds in shape.items():
        if key not in entry:
            raise ValueError(f"{key} is missing in {where}")
        if not holds(entry[key]):
            raise ValueError(f"{key} in {where} is {str(entry[key])[:40]!r}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


def _are_codes(value: Any) -> bool:
    return _are_numbers(value) and all(isinstance(code, int) for code in value)


def _are_text(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_WEIGHTS = {
    **dict.fromkeys(("data", "method"), _is_text),
    "cells": lambda value: _is_list(value) and len(value) > 0,
    "features": _is_list,
}
_CELL = {
    **dict.fromkeys(("class", "attribute"), _is_text),
    **dict.fromkeys(("rows", "mean"), _is_number),
    "quantiles": lambda value: _are_numbers(value) and len(value) == len(QUANTILES),
}
_FEATURE = {"feature": _is_text, **dict.fromkeys(("all", "upweighted", "difference"), _is_number)}
_MAP = {
    **dict.fromkeys(("data", "name"), _is_text),
    **dict.fromkeys(("x", "y"), _are_numbers),
    **dict.fromkeys(("label", "attribute"), _are_codes),
    **dict.fromkeys(("classes", "attributes"), _are_text),
    "separability": lambda value: value is None or _is_number(value),
}
