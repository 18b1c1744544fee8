import numpy as np
import pytest
import torch

from problems import problem
from raan.neighbourhood.balance import anchor_weights
from raan.neighbourhood.estimator import (
    InnerEstimate,
    batch_pairs,
    inner_estimate,
    moving_average,
    shared_by_copies,
    stochastic_objective,
    surrogate,
)
from raan.neighbourhood.objective import group_objective, sample_objective
from raan.neighbourhood.pairs import log_affinity, neighbours
from reference import neighbourhood as loops

SHAPES = [(2, 2), (3, 4), (4, 3)]


def estimate_of(p, temperature, loss=None):
    pairs = batch_pairs(log_affinity(p.embedding, temperature), neighbours(p.label, p.attribute))
    return pairs, inner_estimate(pairs, p.loss if loss is None else loss)


def as_u(average, rows):
    """The memory in the paper's terms: {row: (u1, u2)} of the rows that were visited."""
    u2 = average.log_denominator.exp()
    u1 = average.neighbourhood_loss * u2
    return {row: (float(u1[k]), float(u2[k])) for k, row in enumerate(rows) if u2[k] > 0}


@pytest.mark.parametrize(("classes", "attributes"), SHAPES)
@pytest.mark.parametrize(("gamma", "floor"), [(0.1, 0.0), (0.5, 0.3), (0.9, 0.0), (1.0, 0.0)])
def test_algorithm_2_agrees_with_the_loop_over_many_batches(classes, attributes, gamma, floor):
    data = problem(rows=40, classes=classes, attributes=attributes, unknown=3)
    rng = np.random.default_rng(1)
    u, average = {}, InnerEstimate.unknown(40, dtype=torch.float64)
    for _ in range(12):
        rows = rng.permutation(40)[:7]
        p = type(data)(*(part[rows] for part in data))
        loss = p.loss * float(rng.uniform(0.5, 2))
        u = loops.update_inner(u, rows, *p.arrays()[:3], loss.numpy(), 0.4, gamma, floor)
        _, estimate = estimate_of(p, 0.4, loss)
        before = InnerEstimate(*(part[rows] for part in average))
        after = moving_average(before, estimate, gamma, floor)
        average = InnerEstimate(
            *(part.index_copy(0, torch.tensor(rows), new) for part, new in zip(average, after, strict=True))
        )
        assert as_u(average, range(40)).keys() == u.keys()
        for row, (u1, u2) in as_u(average, range(40)).items():
            assert (u1, u2) == pytest.approx(u[row])


def test_copies_of_a_row_in_a_batch_share_the_mean_of_their_estimates():
    p = problem(rows=16)
    rows = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 3, 3]
    p = type(p)(p.embedding, p.label[rows], p.attribute[rows], p.loss)  # embeddings differ, as under dropout
    u = loops.update_inner({}, rows, *p.arrays(), 0.4, 0.5, 0.0)
    _, estimate = estimate_of(p, 0.4)
    shared = shared_by_copies(estimate, torch.tensor(rows))
    assert shared.log_denominator[3] == shared.log_denominator[15]
    for k, (u1, u2) in zip(range(14), as_u(shared, range(14)).values(), strict=True):
        assert (u1, u2) == pytest.approx(u[k])


class Tiny:
    """A two-part model in float64: embedding = x W_f, loss from a logistic head; its Jacobians by autograd."""

    def __init__(self, dim=4, width=3, seed=5):
        rng = np.random.default_rng(seed)
        self.encoder = torch.tensor(rng.normal(size=(dim, width)), requires_grad=True)
        self.head = torch.tensor(rng.normal(size=width), requires_grad=True)

    def __call__(self, x, label):
        embedding = (x @ self.encoder).tanh()
        sign = 1.0 - 2.0 * (label % 2)
        return embedding, torch.nn.functional.softplus(sign * (embedding @ self.head))

    def slopes(self, x, label, scope):
        """Per sample: the gradient of its loss, the Jacobian of its embedding, in all parameters of the scope."""
        embedding, loss = self(x, label)
        parts = [self.encoder, self.head] if scope == "model" else [self.head]
        flat = lambda value: np.concatenate(  # noqa: E731
            [
                (g if g is not None else torch.zeros_like(w)).flatten().numpy()
                for g, w in zip(
                    torch.autograd.grad(value, parts, retain_graph=True, allow_unused=True),
                    parts,
                    strict=True,
                )
            ]
        )
        loss_slope = [flat(one) for one in loss]
        embedding_slope = [np.stack([flat(one) for one in row]) for row in embedding]
        if scope == "head":
            embedding_slope = [np.zeros_like(one) for one in embedding_slope]
        return embedding.detach().numpy(), loss.detach().numpy(), loss_slope, embedding_slope


@pytest.mark.parametrize("scope", ["head", "model"])
@pytest.mark.parametrize(("classes", "attributes"), [(2, 2), (3, 3)])
def test_the_gradient_is_equation_8_and_the_value_is_the_estimate(scope, classes, attributes):
    data = problem(rows=12, dim=4, classes=classes, attributes=attributes, unknown=1)
    tiny, rows = Tiny(), list(range(12))
    u = {row: (0.3 + 0.01 * row, 0.6 + 0.02 * row) for row in rows[:8]}  # stale averages; four rows unvisited
    embedding, loss = tiny(data.embedding, data.label)
    numbers = tiny.slopes(data.embedding, data.label, scope)
    label, attribute = data.label.numpy(), data.attribute.numpy()
    u_after = loops.update_inner(u, rows, numbers[0], label, attribute, numbers[1], 0.4, 0.5, 0.0)
    expected = loops.gradient_estimate(u_after, rows, numbers[0], label, attribute, *numbers[1:], 0.4)

    before = InnerEstimate.unknown(12, dtype=torch.float64)
    for row, (u1, u2) in u.items():
        before.log_denominator[row], before.neighbourhood_loss[row] = np.log(u2), u1 / u2
    affinity = log_affinity(embedding if scope == "model" else embedding.detach(), 0.4)
    pairs = batch_pairs(affinity, neighbours(data.label, data.attribute))
    average = moving_average(before, inner_estimate(pairs, loss), 0.5)
    value = surrogate(affinity, loss, pairs, average, torch.ones_like(loss))
    parts = [tiny.encoder, tiny.head] if scope == "model" else [tiny.head]
    gradient = torch.autograd.grad(value.mean(), parts)
    np.testing.assert_allclose(torch.cat([g.flatten() for g in gradient]).numpy(), expected, atol=1e-12)
    believed = [u_after[row][0] / u_after[row][1] if row in u_after else numbers[1][row] for row in rows]
    np.testing.assert_allclose(value.detach().numpy(), believed, atol=1e-12)


@pytest.mark.parametrize("scope", ["head", "model"])
@pytest.mark.parametrize(("balance", "exact"), [("group", group_objective), ("sample", sample_objective)])
@pytest.mark.parametrize("unknown", [0, 4])
def test_a_full_batch_without_memory_gives_the_exact_value_and_gradient(scope, balance, exact, unknown):
    data = problem(rows=20, dim=4, unknown=unknown)
    tiny = Tiny()
    stale = InnerEstimate(torch.zeros(20, dtype=torch.float64), torch.ones(20, dtype=torch.float64))
    parts = [tiny.encoder, tiny.head] if scope == "model" else [tiny.head]

    def value_and_gradient(objective):
        embedding, loss = tiny(data.embedding, data.label)
        value = objective(embedding if scope == "model" else embedding.detach(), loss)
        return value.detach(), torch.autograd.grad(value, parts)

    def stochastic(embedding, loss):
        weight = anchor_weights(data.label, data.attribute, balance)
        return stochastic_objective(
            embedding, data.label, data.attribute, loss, stale, weight, 0.3, 1.0
        ).term.mean()

    ours = value_and_gradient(stochastic)
    expected = value_and_gradient(lambda z, loss: exact(z, data.label, data.attribute, loss, 0.3))
    torch.testing.assert_close(ours, expected)


def test_the_heads_gradient_is_the_same_whether_or_not_the_encoder_learns():
    data, tiny = problem(rows=20, dim=4), Tiny()
    unknown = InnerEstimate.unknown(20, dtype=torch.float64)
    weight = anchor_weights(data.label, data.attribute, "group")
    gradients = []
    for hold in (True, False):
        embedding, loss = tiny(data.embedding, data.label)
        z = embedding.detach() if hold else embedding
        term = stochastic_objective(z, data.label, data.attribute, loss, unknown, weight, 0.3, 0.5).term
        gradients.append(torch.autograd.grad(term.mean(), tiny.head)[0])
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("temperature", [0.0, 1e-3, 0.02, 1.0, float("inf")])
def test_float32_moving_averages_survive_every_temperature(temperature):
    p64 = problem(rows=30)
    p32 = problem(rows=30, dtype=torch.float32)
    averages = []
    for p in (p64, p32):
        average = InnerEstimate.unknown(30, dtype=p.loss.dtype)
        for step in range(20):
            _, estimate = estimate_of(p._replace(embedding=p.embedding.roll(step % 2, 1)), temperature)
            average = moving_average(average, estimate, 0.5)
        averages.append(average)
    assert all(part.isfinite().all() for part in averages[1])
    torch.testing.assert_close(
        averages[1].neighbourhood_loss.double(), averages[0].neighbourhood_loss, rtol=2e-3, atol=2e-3
    )


@pytest.mark.parametrize("temperature", [0.0, 0.5, float("inf")])
@pytest.mark.parametrize("case", ["one class", "one attribute", "one sample", "nobody known"])
def test_degenerate_batches_have_finite_values_and_gradients(case, temperature):
    rows = 1 if case == "one sample" else 6
    label = torch.zeros(rows, dtype=torch.long) if case == "one class" else torch.arange(rows) % 3
    attribute = {"one attribute": torch.zeros(rows), "nobody known": -torch.ones(rows)}.get(
        case, torch.arange(rows) % 2
    )
    embedding = torch.randn(rows, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    loss = embedding.square().sum(-1)
    result = stochastic_objective(
        embedding,
        label,
        attribute.long(),
        loss,
        InnerEstimate.unknown(rows),
        torch.ones(rows),
        temperature,
        0.5,
    )
    result.term.mean().backward()
    assert result.term.isfinite().all()
    assert embedding.grad.isfinite().all()
    if case != "one class":
        assert result.skipped.all() or case == "one sample"


def test_skipped_anchors_keep_their_average_and_are_counted():
    p = problem(rows=9)
    before = InnerEstimate(torch.full((9,), -0.7, dtype=torch.float64), torch.full((9,), 1.3, dtype=torch.float64))
    weight = torch.tensor([1.0] * 8 + [0.0], dtype=torch.float64)
    same = torch.zeros(9, dtype=torch.long)
    result = stochastic_objective(p.embedding, p.label, same, p.loss, before, weight, 0.5, 0.5)
    assert result.skipped.tolist() == [True] * 8 + [False]
    torch.testing.assert_close(result.average, before)
    torch.testing.assert_close(result.term[:8], before.neighbourhood_loss[:8])
    torch.testing.assert_close(result.term[8], p.loss[8])
