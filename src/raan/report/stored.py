"""What a page about a saved model is made from, as plain JSON, and read from a file that nobody need trust."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from raan.errors import InputError
from raan.fairness.aims import AIMS
from raan.fairness.bootstrap import Estimate
from raan.fairness.metrics import NAMES
from raan.fairness.rule import Rule
from raan.report.saved import Choice, Importance, Saved, Scores

FORMAT = 1
"""Of the JSON; a later one is refused."""


def to_dict(saved: Saved) -> dict[str, Any]:
    """The saved model's page as plain JSON: lists, numbers, text; null where a number is undefined."""
    found = {field.name: getattr(saved, field.name) for field in fields(Saved)}
    found |= {"rule": asdict(saved.rule), "choices": list(map(asdict, saved.choices))}
    found |= {"scores": {which: list(map(asdict, each)) for which, each in saved.scores.items()}}
    found |= {"importance": list(map(asdict, saved.importance)), "accuracy_loss": asdict(saved.accuracy_loss)}
    found |= {"promise": {name: list(map(asdict, pair)) for name, pair in saved.promise.items()}}
    plain: dict[str, Any] = _plain({"format": FORMAT, **found})
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value


def from_dict(found: Any) -> Saved:
    """What `to_dict` wrote; an error that names the part which cannot be used."""
    parts = _dictionary(found, "the page")
    if parts.get("format") != FORMAT:
        raise InputError(
            "format", f"is {parts.get('format')!r}", f"{FORMAT}", "make the page anew with this version"
        )
    known = {field.name for field in fields(Saved)}
    if missing := sorted(known - {*parts}):
        raise InputError("the page", f"lacks {', '.join(missing)}", "all that `to_dict` writes")
    saved = Saved(**{name: _read(name, parts[name]) for name in known})
    check_saved(saved)
    return saved


def _read(name: str, value: Any) -> Any:
    """A part of the page, of the type it must have."""
    if name in _READERS:
        return _READERS[name](value, name)
    if name in ("title", "method", "choose_command", "command", "label", "attribute"):
        return _text(value, name)
    return tuple(_text(item, name) for item in _list(value, name))  # verdict, regime, classes, groups, notes


def check_saved(saved: Saved) -> None:
    """Raise an error for parts that do not fit together."""
    classes, groups = len(saved.classes), len(saved.groups)
    if classes < 2 or not groups or not saved.verdict:
        raise InputError(
            "the page", f"has {classes} classes and {groups} groups", "two, one and a verdict at least"
        )
    points = len(saved.held_out)
    shape = (points, classes, groups + 1, classes)
    for name, expected in (("held_out", shape), ("test", shape), ("test_switched", shape[:-1])):
        array = getattr(saved, name)
        if array is not None and (array.shape != expected or not points or not (array >= 0).all()):
            raise InputError(name, f"has shape {array.shape}", f"counts of shape {expected}")
    if not saved.test.sum((1, 2, 3)).all():
        raise InputError("test", "holds a point without rows", "test rows for every point")
    places = {"plain": saved.plain, "chosen": saved.chosen}
    places |= {f"choices[{number}]": choice.point for number, choice in enumerate(saved.choices)}
    for name, place in places.items():
        if not 0 <= place < points:
            raise InputError(name, f"is point {place}", f"one of {points}")
    for choice in saved.choices:
        Rule(choice.aim, choice.accuracy_drop, choice.worst_group_drop)
        if choice.aim not in AIMS:
            raise InputError("choices", f"hold the aim {choice.aim!r}", f"one of {', '.join(AIMS)}")
    for each in saved.importance:
        if len(each.by_group) != groups:
            raise InputError("importance", f"has {len(each.by_group)} groups for {each.column}", f"{groups}")
    if unknown := {*saved.promise} - {*NAMES}:
        raise InputError("promise", f"is of {', '.join(sorted(unknown))}", f"some of {', '.join(NAMES)}")


def _dictionary(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(name, f"is a {type(value).__name__}", "a dictionary")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(name, f"is a {type(value).__name__}", "a list")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise InputError(name, f"is {value!r}", "text")
    return value


def _number(value: Any, name: str) -> float:
    """A number; null is nan."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(name, f"is {value!r}", "a number")
    return float(value)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(name, f"is {value!r}", "a whole number")
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(name, f"is {value!r}", "true or false")
    return value


def _array(value: Any, name: str) -> np.ndarray:
    try:
        array = np.array(_list(value, name), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(name, f"is no array ({error})", "numbers in lists of one length") from error
    if not np.isfinite(array).all():
        raise InputError(name, "holds undefined numbers", "numbers alone")
    return array


def _several(value: Any, name: str) -> np.ndarray | None:
    return None if value is None else _array(value, name)


def _curve(value: Any, name: str) -> np.ndarray:
    array = _array(value, name).reshape(-1, 2) if value == [] else _array(value, name)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(name, f"has shape {array.shape}", "pairs of numbers")
    return array


def _pick(value: Any, name: str, readers: Mapping[str, Callable[[Any, str], Any]]) -> dict[str, Any]:
    """The named parts of a dictionary, each read by its own reader."""
    parts = _dictionary(value, name)
    if {*parts} != {*readers}:
        raise InputError(name, f"has {', '.join(map(str, parts)) or 'nothing'}", ", ".join(readers))
    return {key: reader(parts[key], f"{name}.{key}") for key, reader in readers.items()}


def _numbers(value: Any, name: str) -> tuple[float, ...]:
    return tuple(_number(item, name) for item in _list(value, name))


def _pair(value: Any, name: str) -> tuple[float, float]:
    pair = _numbers(value, name)
    if len(pair) != 2:
        raise InputError(name, f"holds {len(pair)} numbers", "two")
    return pair[0], pair[1]


def _estimate(value: Any, name: str) -> Estimate:
    return Estimate(**_pick(value, name, dict.fromkeys(("value", "low", "high"), _number)))


def _estimates(value: Any, name: str) -> tuple[Estimate, ...]:
    pair = tuple(_estimate(item, name) for item in _list(value, name))
    if len(pair) != 2:
        raise InputError(name, f"holds {len(pair)} estimates", "two: the plain model's and the saved one's")
    return pair


def _limit(value: Any, name: str) -> float | None:
    return None if value is None else _number(value, name)


def _choice(value: Any, name: str) -> Choice:
    readers = {"aim": _text, "accuracy_drop": _number, "worst_group_drop": _limit, "point": _whole}
    return Choice(**_pick(value, name, readers))


def _scores(value: Any, name: str) -> Scores:
    readers: dict[str, Any] = {"group": _text, "roc": _curve, "calibration": _curve, "operating": _pair}
    return Scores(**_pick(value, name, readers))


def _importance(value: Any, name: str) -> Importance:
    return Importance(**_pick(value, name, {"column": _text, "overall": _number, "by_group": _numbers}))


def _rule(value: Any, name: str) -> Rule:
    parts = _dictionary(value, name)
    try:
        limits = tuple((str(aim), float(most)) for aim, most in parts.get("limits", ()))
        return Rule(**{**parts, "limits": limits})
    except (TypeError, ValueError) as error:
        raise InputError(name, f"is no rule ({error})", "what `to_dict` writes") from error


def _each(reader: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Read a list or a dictionary of such parts."""

    def read(value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {str(key): reader(item, f"{name}[{key!r}]") for key, item in value.items()}
        return tuple(reader(item, f"{name}[{place}]") for place, item in enumerate(_list(value, name)))

    return read


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "rule": _rule,
    "fairer": _flag,
    "plain": _whole,
    "chosen": _whole,
    "held_out": _array,
    "test": _array,
    "test_switched": _several,
    "choices": _each(_choice),
    "promise": lambda value, name: _each(_estimates)(_dictionary(value, name), name),
    "accuracy_loss": _estimate,
    "scores": lambda value, name: _each(_each(_scores))(_dictionary(value, name), name),
    "importance": _each(_importance),
}
