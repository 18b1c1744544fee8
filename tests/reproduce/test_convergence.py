"""The theorem's numbers: its schedule, the exact gradient against loops, and a slope that is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from raan.data import toy
from raan.lab.study.study import Data, Study, StudyError
from raan.models.model import Architecture, Stack
from reference import neighbourhood as loops
from reproduce.figures.convergence import (
    Measured,
    convergence_content,
    problem_of,
    schedule_of_theorem,
    slope,
    slopes_in_size,
)
from reproduce.figures.linear_scraan import exact_gradient
from reproduce.figures.options import ConvergenceOptions

SMALL = ConvergenceOptions(rows=(20,), steps=(32, 128, 512), constant=(10.0,), batch_size=10, width=2)


def study(**changed: object) -> Study:
    given = {"styles": ("sgd",), "seeds": (0, 1), "data": (Data("toy", "toy", {"rows": 100, "bias": 0.2}),)}
    return Study("theorem", "theorem", "convergence", **(given | changed))  # type: ignore[arg-type]


def test_the_schedule_is_the_theorems():
    learning_rate, averaging_rate = schedule_of_theorem(size=32, steps=1024)
    assert learning_rate == pytest.approx(2**-2 * 2**-6)
    assert averaging_rate == pytest.approx(2**2 * 2**-4)
    assert schedule_of_theorem(32, 1024, constant=3)[0] == pytest.approx(3 * learning_rate)


def test_the_exact_gradient_is_that_of_equation_5_by_finite_differences():
    drawn = toy(rows=60, bias=0.2)
    table = type(drawn).of(drawn.features, drawn.label, drawn.attribute, dtype=torch.float64)
    rows = torch.arange(0, 60, 3)
    problem, start = problem_of(ConvergenceOptions(width=3), table, rows, [0, 1])
    model = Architecture(Stack((2, 3)), Stack((3, 2))).start(table, rows.expand(2, -1), [0, 1])

    def objective(parameters: np.ndarray, run: int) -> float:
        moved = model.parameters.clone()
        moved[run] = torch.from_numpy(parameters)
        output = model.at(moved)(table.features[rows].expand(2, -1, -1))
        chance = output.logit.log_softmax(-1)[run].numpy()
        loss = -chance[np.arange(len(rows)), table.label[rows].numpy()]
        known = table.label[rows].numpy(), table.attribute[rows].numpy()
        return loops.sample_objective(output.embedding[run].numpy(), *known, loss, 0.5)

    step, found = 1e-5, exact_gradient(problem, start)
    for run in (0, 1):
        shifts = step * np.eye(start.shape[1])
        slopes = [(objective(start[run] + e, run) - objective(start[run] - e, run)) / (2 * step) for e in shifts]
        np.testing.assert_allclose(found[run], slopes, rtol=1e-5, atol=1e-8)


def test_a_power_law_has_its_exponent_as_slope_and_the_error_is_over_the_seeds():
    steps = [64, 128, 512]
    norms = np.stack([each ** np.array([-0.4, -0.6]) for each in map(float, steps)])
    found = slope(steps, norms)
    assert found["mean"] == pytest.approx(-0.5)
    assert found["standard_error"] == pytest.approx(0.1)
    assert found["interval"] == pytest.approx([-0.5 - 12.7062 * 0.1, -0.5 + 12.7062 * 0.1], abs=1e-4)


def test_the_exponent_of_n_is_told_where_all_sizes_have_the_same_number_of_steps():
    def curve(rows: int, steps: list[int]) -> Measured:
        return Measured(rows, 1.0, steps, np.array([[rows**0.7 * t**-0.4, rows**0.5 * t**-0.4] for t in steps]))

    found = slopes_in_size([curve(10, [16, 64]), curve(20, [64, 256]), curve(40, [64])])
    assert [each["steps"] for each in found] == [64]
    assert found[0]["slope"]["values"] == pytest.approx([0.7, 0.5])
    assert slopes_in_size([curve(10, [16, 64])]) == []


@pytest.mark.usefixtures("as_users_call")
def test_with_more_steps_the_gradient_falls():
    (curve,) = convergence_content(SMALL, study())["curves"]
    means = [each["mean"] for each in curve["squared_norm"]]
    assert means == sorted(means, reverse=True)
    assert curve["steps"] == [32, 128, 512]
    assert curve["slope"]["mean"] < -0.2
    (first, second), told = curve["local_slopes"], curve["squared_norm"]
    for local, (before, after) in ((first, told[:2]), (second, told[1:])):
        by_hand = [math.log(b / a) / math.log(4) for a, b in zip(before["values"], after["values"], strict=True)]
        assert local["values"] == pytest.approx(by_hand, abs=1e-3)


def test_looks_in_the_middle_of_equal_stretches_and_no_further_than_the_study_reaches():
    few = replace(SMALL, looks=4, reach=20 * 128)
    (curve,) = convergence_content(few, study())["curves"]
    (whole,) = convergence_content(replace(SMALL, reach=20 * 128), study())["curves"]
    assert curve["steps"] == whole["steps"] == [32, 128]
    assert curve["squared_norm"][0]["mean"] == pytest.approx(whole["squared_norm"][0]["mean"], rel=0.2)
    assert curve["squared_norm"] != whole["squared_norm"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (ConvergenceOptions(rows=(500,)), "options.rows has 500, and there are 60 training rows"),
        (ConvergenceOptions(rows=(24,), batch_size=10), "expected multiples of batch_size, 10"),
        (
            ConvergenceOptions(rows=(50,), steps=(32, 64)),
            "expected two or more there, each in whole epochs of 2 batches",
        ),
    ],
)
def test_what_the_theorem_does_not_speak_of_is_refused(options: ConvergenceOptions, said: str):
    with pytest.raises(StudyError, match=said):
        convergence_content(options, study())
