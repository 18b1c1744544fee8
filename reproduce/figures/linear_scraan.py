"""SCRAAN on a linear encoder under a linear head, its gradient written out: Eq. (8) without autograd, on numpy.

At this size the engine's time goes to bookkeeping, and a study of a hundred thousand steps would take an hour;
this takes minutes. A test steps both side by side.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from raan.data.streams import stream
from raan.training.update import Printed, Update

Parameters = Float[np.ndarray, "run parameter"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The training rows, scaled, and what the objective says of them."""

    features: Float[np.ndarray, "row feature"]
    label: Int[np.ndarray, "row"]
    neighbour: Bool[np.ndarray, "row row"]
    width: int
    classes: int
    temperature: float


@dataclass(frozen=True, eq=False)
class Inner:
    """The moving averages u1 and u2 of every run and row; nan before the first visit."""

    first: Float[np.ndarray, "run row"]
    second: Float[np.ndarray, "run row"]


def walk(
    problem: Problem,
    start: Parameters,
    seeds: Sequence[int],
    batch_size: int,
    epochs: int,
    learning_rate: Float[np.ndarray, "run"],
    averaging_rate: float,
    style: Printed,
) -> Iterator[Parameters]:
    """The parameters where each epoch begins: the same rows in the same order as the engine's."""
    runs, rows = len(start), len(problem.label)
    u = Inner(np.full((runs, rows), np.nan), np.full((runs, rows), np.nan))
    parameters, update, rate = start.copy(), Update(style), learning_rate[:, None]
    first, second = np.zeros_like(start), np.zeros_like(start)
    for epoch in range(epochs):
        yield parameters.copy()
        order = {seed: stream(seed, "shuffle", epoch).permutation(rows) for seed in dict.fromkeys(seeds)}
        drawn = np.stack([order[seed] for seed in seeds])
        for place in range(0, rows, batch_size):
            g = gradient(problem, parameters, drawn[:, place : place + batch_size], u, averaging_rate)
            if style == "sgd":
                parameters = parameters - rate * g
                continue
            first += (1 - update.first_decay) * (g - first)
            average = second + (1 - update.second_decay) * (g * g - second)
            second = np.maximum(second, average) if style == "amsgrad" else average
            parameters = parameters - rate * first / np.sqrt(update.epsilon + second)


def gradient(
    problem: Problem, parameters: Parameters, row: Int[np.ndarray, "run batch"], u: Inner, averaging_rate: float
) -> Parameters:
    """G(w), Eq. (8), of each run's batch, and Alg. 2: `u` is brought up to date on the way."""
    features, width = problem.features.shape[1], problem.width
    cuts = np.cumsum([features * width, width, width * problem.classes])
    encoder, shift, head, offset = np.split(parameters, cuts, axis=1)
    encoder, head = encoder.reshape(-1, features, width), head.reshape(-1, width, problem.classes)
    x, chosen = problem.features[row], np.eye(problem.classes)[problem.label[row]]
    z = x @ encoder + shift[:, None]
    logit = z @ head + offset[:, None]
    chance = np.exp(logit - logit.max(-1, keepdims=True))
    chance /= chance.sum(-1, keepdims=True)
    loss = -np.log((chance * chosen).sum(-1))
    length = np.sqrt((z * z).sum(-1, keepdims=True))
    direction = z / length
    near = problem.neighbour[row[:, :, None], row[:, None, :]]
    affinity = np.exp((direction @ direction.mT - 1) / problem.temperature) * near
    count = near.sum(-1)
    u1, u2 = _averaged(u, row, affinity, loss, count, averaging_rate)
    # Each pair's part of g-hat over u2; an anchor without neighbours in the batch has none.
    share = affinity / (np.maximum(count, 1) * u2)[..., None] / row.shape[1]
    moved = share * (loss[:, None, :] - (u1 / u2)[..., None]) / problem.temperature
    to_logit = share.sum(-2)[..., None] * (chance - chosen)
    to_direction = (moved + moved.mT) @ direction
    to_z = to_logit @ head.mT
    to_z += (to_direction - direction * (direction * to_direction).sum(-1, keepdims=True)) / length
    parts = (x.mT @ to_z, to_z.sum(1), z.mT @ to_logit, to_logit.sum(1))
    return np.concatenate([part.reshape(len(parameters), -1) for part in parts], axis=1)


def _averaged(
    u: Inner,
    row: Int[np.ndarray, "run batch"],
    affinity: Float[np.ndarray, "run batch batch"],
    loss: Float[np.ndarray, "run batch"],
    count: Int[np.ndarray, "run batch"],
    rate: float,
) -> tuple[Float[np.ndarray, "run batch"], Float[np.ndarray, "run batch"]]:
    """Alg. 2 for the rows of the batch: a first visit takes the estimate, no neighbours leave u as it is."""
    run = np.arange(len(row))[:, None]
    met = count > 0
    after = []
    for average, total in ((u.first, (affinity * loss[:, None, :]).sum(-1)), (u.second, affinity.sum(-1))):
        before, estimate = average[run, row], total / np.maximum(count, 1)
        known = np.where(np.isnan(before), estimate, before)
        new = np.where(met, known + rate * (estimate - known), before)
        average[run, row] = new
        after.append(np.where(np.isnan(new), 1.0, new))  # never met: nothing of it is used
    return after[0], after[1]


def exact_gradient(problem: Problem, parameters: Parameters) -> Parameters:
    """The gradient of R(w), Eq. (5): G(w) of one batch of all rows that remembers nothing."""
    runs, rows = len(parameters), len(problem.label)
    forgetful = Inner(np.full((runs, rows), np.nan), np.full((runs, rows), np.nan))
    return gradient(problem, parameters, np.tile(np.arange(rows), (runs, 1)), forgetful, 1.0)
