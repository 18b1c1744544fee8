"""The paper's theorem on data small enough for exact gradients: how fast SCRAAN's gradient vanishes.

The theorem's schedule is learning rate alpha = n^(-2/5) T^(-3/5) and averaging rate gamma = n^(2/5) T^(-2/5), for
SGD-style and AMSGrad updates and T > n. Then the mean over the T steps of the squared norm of R(w)'s gradient,
Eq. (5), is at most O(n^(2/5) / T^(2/5)). That is an upper bound up to a constant: in the logarithms no slope above
-2/5 lasts, and a steeper one is no contradiction. So what is told is the slope between every two numbers of steps
that follow each other: where the bound holds they come down to -2/5 or below.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from math import log
from typing import Any, NamedTuple, get_args

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.table import Table
from raan.lab.datasets.catalogue import DATA
from raan.lab.results.statistics import estimate
from raan.lab.study.study import Study, StudyError
from raan.models.model import Architecture, Stack
from raan.neighbourhood.pairs import neighbours
from raan.training.update import Printed
from reproduce.figures.linear_scraan import Problem, exact_gradient, walk
from reproduce.figures.options import ConvergenceOptions
from reproduce.figures.representation import summarise


def convergence_content(options: ConvergenceOptions, study: Study) -> dict[str, Any]:
    """Mean squared norms against T for each data set, style, size and constant; their slopes in T and in n."""
    curves: list[dict[str, Any]] = []
    sizes: list[dict[str, Any]] = []
    for style in study.styles:
        if style not in get_args(Printed):
            raise StudyError(f"styles has {style}, and the theorem is about {', '.join(get_args(Printed))}")
    for data, style in product(study.data, study.styles):
        problem = DATA[data.name].load(data.options, study.seeds[:1])
        measured = list(_measured(options, problem, style, study.seeds))
        named = {"data": data.title, "style": style}
        curves += [{**named, **_curve(each)} for each in measured]
        sizes += [
            {**named, "constant": constant, **each}
            for constant in options.constant
            for each in slopes_in_size([curve for curve in measured if curve.constant == constant])
        ]
    return {"curves": curves, "sizes": sizes, "exponent": -0.4}


class Measured(NamedTuple):
    """The mean squared norms of one size and constant, for every number of steps and seed."""

    rows: int
    constant: float
    steps: list[int]
    norms: Float[np.ndarray, "step run"]


def _measured(options: ConvergenceOptions, problem: Any, style: Any, seeds: Sequence[int]) -> Iterator[Measured]:
    """What each size and constant gives. All seeds see the same rows; their starts and batches differ."""
    table = replace(problem.table, features=problem.table.features.double())
    for size in options.rows:
        steps = _steps(options, size, problem.split.train.shape[1])
        rows = problem.split.train[0, :size]
        norms = np.stack([_mean_norms(options, table, rows, each, style, seeds) for each in steps], axis=1)
        yield from (
            Measured(size, constant, steps, each) for constant, each in zip(options.constant, norms, strict=True)
        )


def _curve(measured: Measured) -> dict[str, Any]:
    """A curve, its slope, and the slope between every two numbers of steps that follow each other."""
    steps, norms = measured.steps, measured.norms
    return {
        "rows": measured.rows,
        "constant": measured.constant,
        "steps": steps,
        "squared_norm": [summarise(values, 8) for values in norms.tolist()],
        "slope": slope(steps, norms),
        "local_slopes": [slope(steps[k : k + 2], norms[k : k + 2]) for k in range(len(steps) - 1)],
    }


def slopes_in_size(curves: Sequence[Measured]) -> list[dict[str, Any]]:
    """The exponent of n at every number of steps that all sizes have; the theorem's bound has 2/5."""
    sizes = [curve.rows for curve in curves]
    common = [each for each in curves[0].steps if all(each in curve.steps for curve in curves)]
    at = {each: np.stack([curve.norms[curve.steps.index(each)] for curve in curves]) for each in common}
    return [{"steps": each, "slope": slope(sizes, at[each])} for each in common] if len(sizes) > 1 else []


def _steps(options: ConvergenceOptions, size: int, available: int) -> list[int]:
    """The numbers of steps that the theorem speaks of, T > n, in whole epochs, as far as the study goes."""
    if size > available:
        raise StudyError(f"options.rows has {size:,}, and there are {available:,} training rows")
    if size % options.batch_size:
        raise StudyError(f"options.rows has {size}; expected multiples of batch_size, {options.batch_size}")
    steps = [each for each in options.steps if size < each <= options.reach // size]
    if len(steps) < 2 or any(each % (size // options.batch_size) for each in steps):
        raise StudyError(
            f"options.steps has {steps} above {size} rows and up to {options.reach // size:,}; expected two or "
            f"more there, each in whole epochs of "
            f"{size // options.batch_size} batches"
        )
    return steps


def schedule_of_theorem(size: int, steps: int, constant: float = 1.0) -> tuple[float, float]:
    """Learning rate alpha = constant / (n^(2/5) T^(3/5)) and averaging rate gamma = n^(2/5) / T^(2/5)."""
    return constant / (size**0.4 * steps**0.6), (size / steps) ** 0.4


def _mean_norms(
    options: ConvergenceOptions,
    table: Table,
    rows: Int[Tensor, "row"],
    steps: int,
    style: Any,
    seeds: Sequence[int],
) -> Float[np.ndarray, "constant run"]:
    """The mean squared norm of the exact gradient along the path of each constant and seed, all in one pack.

    It is looked at where an epoch begins; of many epochs, in the middle of so many equal stretches.
    """
    runs = list(seeds) * len(options.constant)
    rates = [schedule_of_theorem(len(rows), steps, each)[0] for each in options.constant for _ in seeds]
    averaging_rate = schedule_of_theorem(len(rows), steps)[1]
    epochs = steps * options.batch_size // len(rows)
    problem, start = problem_of(options, table, rows, runs)
    path = walk(problem, start, runs, options.batch_size, epochs, np.array(rates), averaging_rate, style)
    stride = -(-epochs // options.looks)
    norms = [np.square(exact_gradient(problem, here)).sum(-1) for here in islice(path, stride // 2, None, stride)]
    mean: Float[np.ndarray, "constant run"] = np.mean(norms, axis=0).reshape(len(options.constant), len(seeds))
    return mean


def problem_of(
    options: ConvergenceOptions, table: Table, rows: Int[Tensor, "row"], seeds: Sequence[int]
) -> tuple[Problem, Float[np.ndarray, "run parameter"]]:
    """The rows with their neighbours, and where each seed starts.

    A linear encoder and a linear head are both trained: the affinities move with the parameters.
    """
    encoder = Stack((table.features.shape[-1], options.width))
    model = Architecture(encoder, Stack((options.width, table.classes))).start(
        table, rows.expand(len(seeds), -1), seeds
    )
    assert model.scaling is not None  # all runs have the same rows, and so the same
    features = (table.features[rows] - model.scaling.centre[0]) / model.scaling.spread[0]
    label = table.label[rows]
    neighbour = neighbours(label, table.attribute[rows]).numpy()
    if not neighbour.any(1).all():
        raise StudyError(f"of the first {len(rows)} rows some have no neighbour: take more of them")
    problem = Problem(
        features.numpy(), label.numpy(), neighbour, options.width, table.classes, options.temperature
    )
    return problem, model.parameters.numpy()


def slope(across: Sequence[int], norms: Float[np.ndarray, "step run"]) -> dict[str, Any]:
    """The slope of log norm against log T (or log n), fitted to each seed's points.

    Its standard error and its 95 % t-interval are over the seeds.
    """
    each = np.polyfit([log(value) for value in across], np.log(norms), 1)[0]
    told = estimate(each)
    known = len(each) > 1
    return {
        **summarise(each.tolist(), 4),
        "standard_error": round(told.deviation / len(each) ** 0.5, 4) if known else None,
        "interval": [round(told.low, 4), round(told.high, 4)] if known else None,
    }
