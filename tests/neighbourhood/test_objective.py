import pytest
import torch

from problems import problem
from raan import aan_weights
from raan.neighbourhood.objective import group_objective, sample_objective
from reference import neighbourhood as loops

SHAPES = [(2, 2), (3, 4), (4, 3)]


@pytest.mark.parametrize(("classes", "attributes"), SHAPES)
@pytest.mark.parametrize(
    ("fast", "loop"), [(group_objective, loops.group_objective), (sample_objective, loops.sample_objective)]
)
def test_the_objectives_agree_with_their_equations_as_printed(classes, attributes, fast, loop):
    p = problem(classes=classes, attributes=attributes)
    assert fast(*p, 0.4).item() == pytest.approx(loop(*p.arrays(), 0.4))


@pytest.mark.parametrize(("balance", "objective"), [("group", group_objective), ("sample", sample_objective)])
@pytest.mark.parametrize("unknown", [0, 6])
@pytest.mark.filterwarnings("ignore:.*keep weight 1")
def test_the_objective_is_the_mean_of_exact_weight_times_loss(balance, objective, unknown):
    p = problem(rows=30, unknown=unknown)
    weight = aan_weights(
        p.embedding, p.label, p.attribute.double().masked_fill(p.attribute < 0, torch.nan), balance=balance
    )
    torch.testing.assert_close(objective(*p, 0.5), (weight * p.loss).mean())


@pytest.mark.parametrize("objective", [group_objective, sample_objective])
def test_the_objectives_gradient_agrees_with_finite_differences(objective):
    p = problem(rows=14)
    embedding, loss = p.embedding.requires_grad_(), p.loss.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda z, loss: objective(z, p.label, p.attribute, loss, 0.5), (embedding, loss)
    )


def test_the_two_objectives_differ_unless_all_cells_have_the_same_size():
    p = problem(rows=30)
    assert not torch.isclose(group_objective(*p, 0.5), sample_objective(*p, 0.5))
    even = problem(rows=9, classes=3, attributes=3)
    torch.testing.assert_close(group_objective(*even, 0.5), sample_objective(*even, 0.5))


def test_leading_axes_give_each_run_its_own_objective():
    p, q = problem(1), problem(2)
    both = group_objective(
        torch.stack([p.embedding, q.embedding]), p.label, p.attribute, torch.stack([p.loss, q.loss]), 0.5
    )
    torch.testing.assert_close(both[1], group_objective(q.embedding, p.label, p.attribute, q.loss, 0.5))
