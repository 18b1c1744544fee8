"""What the [options] of a study may say where it is no comparison: a dataclass for each kind."""

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from raan.lab.study.study import Study, Whole, as_tuple, validate

Number = Annotated[float, Field(strict=True, gt=0)]
Wholes = Annotated[tuple[Whole, ...], BeforeValidator(as_tuple), Field(min_length=1)]
Numbers = Annotated[tuple[Number, ...], BeforeValidator(as_tuple), Field(min_length=1)]


@dataclass(frozen=True)
class ComparisonOptions:
    """A comparison has none: everything about it has a table of its own."""


@dataclass(frozen=True)
class ToyOptions:
    """Figure 1: how many points, and how closely shape and colour go together in the biased draw."""

    rows: Whole = 800
    bias: Number = 0.88


@dataclass(frozen=True)
class RepresentationOptions:
    """Figure 2: how many test rows are drawn; how separable the attribute is, is measured on all."""

    drawn: Whole = 1_000


@dataclass(frozen=True)
class ConvergenceOptions:
    """The theorem: the sizes n, the numbers of steps T, and what its schedule leaves open."""

    rows: Wholes = (100, 200, 400)
    steps: Wholes = (128, 256, 512, 1024, 2048, 4096)
    constant: Numbers = (1.0, 10.0)  # of the learning rate; the theorem's is 1
    batch_size: Whole = 25
    width: Whole = 8
    temperature: Number = 0.5
    looks: Whole = 128  # at the gradient along a path, at most
    reach: Whole = 13_107_200  # n T at most: larger n take fewer steps


Options = ComparisonOptions | ToyOptions | RepresentationOptions | ConvergenceOptions

OPTIONS: dict[str, type[Options]] = {
    "comparison": ComparisonOptions,
    "toy": ToyOptions,
    "representation": RepresentationOptions,
    "convergence": ConvergenceOptions,
}
"""By the study's kind."""


def read_options(study: Study) -> Options:
    """Read the options of a study of its kind; an unknown name or a wrong value is a `StudyError`."""
    return validate(OPTIONS[study.kind], study.options, Path(f"{study.name}.toml"), table="options")
