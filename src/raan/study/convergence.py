"""The paper's theorem on data small enough for exact gradients: how fast SCRAAN's gradient vanishes.

The theorem's schedule is learning rate alpha = n^(-2/5) T^(-3/5) and averaging rate gamma = n^(2/5) T^(-2/5), for
SGD-style and AMSGrad updates and T > n. Then the mean over the T steps of the squared norm of R(w)'s gradient,
Eq. (5), is at most O(n^(2/5) / T^(2/5)). That is an upper bound up to a constant: in the logarithms no slope above
-2/5 lasts, and a steeper one is no contradiction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from math import log
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.sets.catalogue import DATA
from raan.data.split import Split
from raan.data.table import Table
from raan.methods.method import Scope, cross_entropy
from raan.methods.raan import RAAN
from raan.models.model import Architecture, Model
from raan.models.stack import Stack
from raan.neighbourhood.objective import sample_objective
from raan.results.statistics import summarise
from raan.study.faults import StudyError
from raan.study.options import ConvergenceOptions
from raan.study.study import Study
from raan.training.train import Schedule, walk
from raan.training.update import Update


def convergence_content(options: ConvergenceOptions, study: Study) -> dict[str, Any]:
    """For each data set, style, size and constant: mean squared norms against T, and their slope in logarithms."""
    curves = [
        {"data": data.title, "style": style, **curve}
        for data, style in product(study.data, study.styles)
        for curve in _curves(options, DATA[data.name].load(data.options, study.seeds[:1]), style, study.seeds)
    ]
    return {"curves": curves, "exponent": -0.4}


def _curves(
    options: ConvergenceOptions, problem: Any, style: Any, seeds: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """A curve for each size and constant. All seeds see the same rows; their starts and batches differ."""
    table = replace(problem.table, features=problem.table.features.double())
    for size in options.rows:
        steps = _steps(options, size, problem.split.train.shape[1])
        rows = problem.split.train[0, :size]
        for constant in options.constant:
            norms = torch.stack([_mean_norm(options, table, rows, each, constant, style, seeds) for each in steps])
            yield {
                "rows": size,
                "constant": constant,
                "steps": steps,
                "squared_norm": [summarise(values, 8) for values in norms.tolist()],
                "slope": slope(steps, norms),
            }


def _steps(options: ConvergenceOptions, size: int, available: int) -> list[int]:
    """The numbers of steps that the theorem speaks of, T > n, in whole epochs."""
    if size > available:
        raise StudyError(f"options.rows has {size:,}, and there are {available:,} training rows")
    if size % options.batch_size:
        raise StudyError(f"options.rows has {size}; expected multiples of batch_size, {options.batch_size}")
    steps = [each for each in options.steps if each > size]
    if len(steps) < 2 or any(each % (size // options.batch_size) for each in steps):
        raise StudyError(
            f"options.steps has {steps} above {size} rows; expected two or more there, each in whole epochs of "
            f"{size // options.batch_size} batches"
        )
    return steps


def schedule_of_theorem(size: int, steps: int, constant: float = 1.0) -> tuple[float, float]:
    """Learning rate alpha = constant / (n^(2/5) T^(3/5)) and averaging rate gamma = n^(2/5) / T^(2/5)."""
    return constant / (size**0.4 * steps**0.6), (size / steps) ** 0.4


def _mean_norm(
    options: ConvergenceOptions,
    table: Table,
    rows: Int[Tensor, "row"],
    steps: int,
    constant: float,
    style: Any,
    seeds: Sequence[int],
) -> Float[Tensor, "run"]:
    """The mean squared norm of the exact gradient along each seed's path, looked at where an epoch begins."""
    learning_rate, averaging_rate = schedule_of_theorem(len(rows), steps, constant)
    method = RAAN(options.temperature, averaging_rate, balance="sample", scope=Scope.MODEL)
    epochs = steps * options.batch_size // len(rows)
    schedule = Schedule(epochs, options.batch_size, learning_rate, Update(style), points_per_epoch=1)
    model = _start(options, table, rows, seeds)
    everywhere = rows.expand(len(seeds), -1)
    split = Split(everywhere, everywhere[:, :1], everywhere[:, :1])  # nothing is selected: one row does
    norms = [
        squared_norm(model.at(state.parameters), table, rows, options.temperature)
        for state in islice(walk(method, model, table, split, seeds, schedule), epochs)  # but the end
    ]
    return torch.stack(norms).mean(0)


def _start(options: ConvergenceOptions, table: Table, rows: Int[Tensor, "row"], seeds: Sequence[int]) -> Model:
    """A linear encoder and a linear head, both trained: the affinities move with the parameters."""
    encoder = Stack((table.features.shape[-1], options.width))
    return Architecture(encoder, Stack((options.width, table.classes))).start(
        table, rows.expand(len(seeds), -1), seeds
    )


def squared_norm(model: Model, table: Table, rows: Int[Tensor, "row"], temperature: float) -> Float[Tensor, "run"]:
    """The squared norm of the exact gradient of R(w), Eq. (5), over the rows, for each run."""
    leaf = model.parameters.detach().requires_grad_()
    features, label = table.features[rows].expand(len(leaf), -1, -1), table.label[rows]
    output = model.at(leaf)(features)
    sample_loss = cross_entropy(output.logit, label.expand(len(leaf), -1))
    objective = sample_objective(output.embedding, label, table.attribute[rows], sample_loss, temperature)
    (gradient,) = torch.autograd.grad(objective.sum(), leaf)
    return gradient.square().sum(-1)


def slope(steps: Sequence[int], norms: Float[Tensor, "step run"]) -> dict[str, Any]:
    """The slope of log norm against log T, fitted to each seed's points; its standard error is over the seeds."""
    across = np.array([log(each) for each in steps])
    each = np.polyfit(across, norms.log().numpy(), 1)[0]
    fitted = summarise(each.tolist(), 4)
    error = None if fitted["sd"] is None else round(fitted["sd"] / len(each) ** 0.5, 4)
    return {**fitted, "standard_error": error}
