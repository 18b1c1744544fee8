"""SCRAAN written out for a linear model, beside the engine: the same steps, the same exact gradient."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

from raan.data import Split, toy
from raan.methods.method import Scope, cross_entropy
from raan.methods.raan import RAAN
from raan.models.model import Architecture, Stack
from raan.neighbourhood.objective import sample_objective
from raan.training import train
from raan.training.update import Update
from reproduce.figures import linear_scraan
from reproduce.figures.convergence import problem_of
from reproduce.figures.options import ConvergenceOptions

OPTIONS = ConvergenceOptions(batch_size=10, width=3)
SEEDS = [0, 3]


def small():
    drawn = toy(rows=120, bias=0.4)
    table = replace(drawn, features=drawn.features.double())
    return table, torch.arange(0, 120, 3)


def engine(table, rows):
    architecture = Architecture(Stack((2, OPTIONS.width)), Stack((OPTIONS.width, 2)))
    return architecture.start(table, rows.expand(2, -1), SEEDS)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("style", ["sgd", "adam", "amsgrad"])
def test_its_path_is_the_engines(style):
    table, rows = small()
    rate = torch.tensor([0.05, 0.005], dtype=torch.float64)
    everywhere = rows.expand(2, -1)
    schedule = train.Schedule(13, OPTIONS.batch_size, rate, Update(style), points_per_epoch=1)
    method = RAAN(OPTIONS.temperature, 0.3, balance="sample", scope=Scope.MODEL)
    split = Split(everywhere, everywhere[:, :1], everywhere[:, :1])
    slow = [
        state.parameters.numpy()
        for state in train.walk(method, engine(table, rows), table, split, SEEDS, schedule)
    ]
    problem, start = problem_of(OPTIONS, table, rows, SEEDS)
    quick = linear_scraan.walk(problem, start, SEEDS, OPTIONS.batch_size, 13, rate.numpy(), 0.3, style)
    for epoch, parameters in enumerate(islice(quick, 13)):
        np.testing.assert_allclose(parameters, slow[epoch], rtol=1e-7, atol=1e-9)
    assert np.abs(slow[12] - slow[0]).max() > 0.01


def test_a_batch_of_all_rows_gives_the_gradient_of_equation_5():
    table, rows = small()
    problem, start = problem_of(OPTIONS, table, rows, SEEDS)
    model = engine(table, rows)
    leaf = model.parameters.detach().requires_grad_()
    output = model.at(leaf)(table.features[rows].expand(2, -1, -1))
    loss = cross_entropy(output.logit, table.label[rows].expand(2, -1))
    objective = sample_objective(
        output.embedding, table.label[rows], table.attribute[rows], loss, OPTIONS.temperature
    )
    (expected,) = torch.autograd.grad(objective.sum(), leaf)
    np.testing.assert_allclose(
        linear_scraan.exact_gradient(problem, start), expected.numpy(), rtol=1e-9, atol=1e-12
    )


def test_the_gradient_has_no_bound_where_an_embedding_has_no_length():
    """What the theorem assumes away: affinities are of directions, and z / |z| has no slope at zero."""
    table, rows = small()
    problem, start = problem_of(OPTIONS, table, rows, SEEDS)
    features, width = problem.features.shape[1], problem.width
    norms = []
    for length in (1e-2, 1e-3, 1e-4, 1e-5):
        here = start.copy()
        encoder = here[:, : features * width].reshape(-1, features, width)
        shift = length * np.eye(width)[0] - problem.features[0] @ encoder  # the first row's embedding is that long
        here[:, features * width : features * width + width] = shift
        norms.append(np.square(linear_scraan.exact_gradient(problem, here)).sum(-1))
    assert (np.diff(norms, axis=0) > 0).all()
    assert (norms[3] > 50 * norms[2]).all()
