"""The theorem's numbers: its schedule, the exact gradient against loops, and a slope that is known."""

import numpy as np
import pytest
import torch

from raan.data import toy
from raan.models.model import Architecture
from raan.models.stack import Stack
from raan.study.convergence import convergence_content, schedule_of_theorem, slope, squared_norm
from raan.study.faults import StudyError
from raan.study.options import ConvergenceOptions
from raan.study.study import Data, Study
from reference import neighbourhood as loops

SMALL = ConvergenceOptions(rows=(20,), steps=(32, 128, 512), constant=(10.0,), batch_size=10, width=2)


def study(**changed: object) -> Study:
    given = {"styles": ("sgd",), "seeds": (0, 1), "data": (Data("toy", "toy", {"rows": 100, "bias": 0.2}),)}
    return Study("theorem", "theorem", "convergence", **(given | changed))  # type: ignore[arg-type]


def test_the_schedule_is_the_theorems():
    learning_rate, averaging_rate = schedule_of_theorem(size=32, steps=1024)
    assert learning_rate == pytest.approx(2**-2 * 2**-6)
    assert averaging_rate == pytest.approx(2**2 * 2**-4)
    assert schedule_of_theorem(32, 1024, constant=3)[0] == pytest.approx(3 * learning_rate)


def test_the_squared_norm_is_that_of_equation_5s_slopes_by_finite_differences():
    drawn = toy(rows=60, bias=0.2)
    table = type(drawn).of(drawn.features, drawn.label, drawn.attribute, dtype=torch.float64)
    rows = torch.arange(0, 60, 3)
    model = Architecture(Stack((2, 3)), Stack((3, 2))).start(table, rows.expand(2, -1), [0, 1])

    def objective(parameters: torch.Tensor, run: int) -> float:
        moved = model.parameters.clone()
        moved[run] = parameters
        output = model.at(moved)(table.features[rows].expand(2, -1, -1))
        chance = output.logit.log_softmax(-1)[run].numpy()
        loss = -chance[np.arange(len(rows)), table.label[rows].numpy()]
        known = table.label[rows].numpy(), table.attribute[rows].numpy()
        return loops.sample_objective(output.embedding[run].numpy(), *known, loss, 0.5)

    step = 1e-5
    for run in (0, 1):
        here = model.parameters[run]
        shifts = step * torch.eye(len(here), dtype=torch.float64)
        slopes = [(objective(here + e, run) - objective(here - e, run)) / (2 * step) for e in shifts]
        expected = sum(each**2 for each in slopes)
        assert squared_norm(model, table, rows, 0.5)[run].item() == pytest.approx(expected, rel=1e-5)


def test_a_power_law_has_its_exponent_as_slope_and_the_error_is_over_the_seeds():
    steps = [64, 128, 512]
    exponents = torch.tensor([-0.4, -0.6], dtype=torch.float64)
    norms = torch.stack([each**exponents for each in map(float, steps)])
    found = slope(steps, norms)
    assert found["mean"] == pytest.approx(-0.5)
    assert found["standard_error"] == pytest.approx(0.1)


@pytest.mark.usefixtures("as_users_call")
def test_with_more_steps_the_gradient_falls():
    (curve,) = convergence_content(SMALL, study())["curves"]
    means = [each["mean"] for each in curve["squared_norm"]]
    assert means == sorted(means, reverse=True)
    assert curve["steps"] == [32, 128, 512]
    assert curve["slope"]["mean"] < -0.2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (ConvergenceOptions(rows=(500,)), "options.rows has 500, and there are 60 training rows"),
        (ConvergenceOptions(rows=(24,), batch_size=10), "expected multiples of batch_size, 10"),
        (ConvergenceOptions(rows=(50,), steps=(32, 64)), "two or more there, each in whole epochs of 2 batches"),
    ],
)
def test_what_the_theorem_does_not_speak_of_is_refused(options: ConvergenceOptions, said: str):
    with pytest.raises(StudyError, match=said):
        convergence_content(options, study())
