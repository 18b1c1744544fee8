"""FairFrontier over a network decides as its own door does on the same posterior."""

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raan import FairFrontier
from raan.fairness.measures import AIMS
from raan.fairness.rule import BUDGETS
from raan.lab.datasets.catalogue import DATA
from raan.methods import METHODS
from raan.models.model import mlp, outputs, predictions
from raan.training.stages import first_stage, second_stage
from raan.training.train import Schedule

SEEDS = [0]

USUAL = BUDGETS[:-1]
"""The budgets up to the three points that it looks for unless another limit is set."""


@pytest.fixture(scope="module")
def trained():
    problem = DATA["toy"].load({"rows": 500, "bias": 0.5}, tuple(SEEDS))
    schedule = Schedule(epochs=2, watch_test=True)
    return problem, first_stage(mlp(problem.table), problem.table, problem.split, SEEDS, schedule).last, schedule


def literal_posterior(model, table, train, rows, run):
    """P(y|x) P(a|x, y) of one run's rows, class by class."""
    seen, asked = (outputs(model, table, part) for part in (train, rows))
    label, attribute = table.label[train[run]].numpy(), table.attribute[train[run]].numpy()
    share = asked.logit[run].double().softmax(-1).numpy()
    q = np.zeros((rows.shape[1], 2, 2))
    for y in range(2):
        model_of_a = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model_of_a.fit(seen.embedding[run].double().numpy()[label == y], attribute[label == y])
        q[:, y] = share[:, [y]] * model_of_a.predict_proba(asked.embedding[run].double().numpy())
    return q


def test_its_decisions_are_those_of_the_door_on_the_same_posterior(trained):
    problem, model, _ = trained
    table, split = problem.table, problem.split
    decided = METHODS["FairFrontier"].decide(model, table, split)
    judging, judged = (
        literal_posterior(model, table, split.train, rows, 0) for rows in (split.validation, split.test)
    )
    label, group = (column[split.validation[0]].numpy() for column in (table.label, table.attribute))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of choices that do not hold
        door = FairFrontier.from_posterior(judging, label, group, accuracy_drop=USUAL[-1], worst_group_drop=None)
        for rule, (aim, drop) in enumerate(product(AIMS, USUAL)):
            if drop in (0.005, 0.02):
                chosen = door.choose(aim=aim, accuracy_drop=drop)
                for part, q in ((decided.validation, judging), (decided.test, judged)):
                    np.testing.assert_array_equal(part[0, rule], chosen.predict_posterior(q))


def test_it_decides_for_every_budget_up_to_the_largest(trained):
    problem, model, _ = trained
    rows, aims = problem.split.validation, len(AIMS)
    label = problem.table.label[rows[0]].numpy()
    plain = (predictions(model, problem.table, rows)[0].numpy() == label).mean()
    usual, free = (
        replace(METHODS["FairFrontier"], most_lost=most).decide(model, problem.table, problem.split).validation[0]
        for most in (0.005, 1.0)
    )
    assert (len(usual), len(free)) == (3 * aims, (len(BUDGETS) + 1) * aims)
    assert plain - (usual == label).mean(-1).min() <= 0.005


def test_its_points_are_its_decisions_counted_and_the_model_stays(trained):
    problem, model, schedule = trained
    method = METHODS["FairFrontier"]
    ended = second_stage(method, model, problem.table, problem.split, SEEDS, schedule)
    assert ended.last.parameters.equal(model.parameters)
    start, end = ended.path.points
    assert start.decided is None
    assert end.decided.validation.shape == (1, len(AIMS) * len(USUAL), 2, 3, 2)
    decided = method.decide(model, problem.table, problem.split)
    rows = problem.split.test[0]
    right = (decided.test[0, 5] == problem.table.label[rows].numpy()).sum()
    counts = end.decided.test[0, 5]
    assert counts[0, :, 0].sum() + counts[1, :, 1].sum() == right
