"""What the [options] of a study may say where it is no comparison: a dataclass for each kind."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from raan.lab.study.faults import Source, Where, check_keys


@dataclass(frozen=True)
class ComparisonOptions:
    """A comparison has none: everything about it has a table of its own."""


@dataclass(frozen=True)
class ToyOptions:
    """Figure 1: how many points, and how closely shape and colour go together in the biased draw."""

    rows: int = 800
    bias: float = 0.88


@dataclass(frozen=True)
class RepresentationOptions:
    """Figure 2: how many test rows are drawn; how separable the attribute is, is measured on all."""

    drawn: int = 1_000


@dataclass(frozen=True)
class ConvergenceOptions:
    """The theorem: the sizes n, the numbers of steps T, and what its schedule leaves open."""

    rows: tuple[int, ...] = (100, 200, 400)
    steps: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096)
    constant: tuple[float, ...] = (1.0, 10.0)  # of the learning rate; the theorem's is 1
    batch_size: int = 25
    width: int = 8
    temperature: float = 0.5
    looks: int = 128  # at the gradient along a path, at most
    reach: int = 13_107_200  # n T at most: larger n take fewer steps


Options = ComparisonOptions | ToyOptions | RepresentationOptions | ConvergenceOptions

OPTIONS: dict[str, type[Options]] = {
    "comparison": ComparisonOptions,
    "toy": ToyOptions,
    "representation": RepresentationOptions,
    "convergence": ConvergenceOptions,
}
"""By the study's kind."""


def read_options(source: Source, kind: str, content: Mapping[str, Any]) -> Options:
    """The options of a study of that kind; an unknown name or a value of the wrong type is a fault of the file."""
    known = {field.name: field.default for field in fields(OPTIONS[kind])}
    check_keys(source, ("options",), content, tuple(known))
    return OPTIONS[kind](**{key: _like(source, key, value, known[key]) for key, value in content.items()})


def _like(source: Source, key: str, value: Any, default: Any) -> Any:
    """The value, if it is of the default's kind: one number above 0, or a list of them."""
    several = isinstance(default, tuple)
    listed = value if several and isinstance(value, list | tuple) else [value]
    model = default[0] if several else default
    allowed = int if isinstance(model, int) else (int, float)
    if not listed or not all(
        isinstance(each, allowed) and not isinstance(each, bool) and each > 0 for each in listed
    ):
        number = "a whole number" if allowed is int else "a number"
        wanted = f"{number} above 0{', or a list of them' if several else ''}, such as {model}"
        raise source.fault(Where(("options",), key), f"{value!r}; expected {wanted}")
    return tuple(map(type(model), listed)) if several else type(model)(value)
