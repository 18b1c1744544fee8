import copy
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from problems import problem
from raan.neighbourhood.objective import group_objective, sample_objective
from raan.nn import GroupBatchSampler, RAANLoss
from raan.nn.together import Samples
from reference import neighbourhood as loops

EXACT = {"group": group_objective, "sample": sample_objective}


class Small:
    """A model in float64: a linear encoder with a bend, and a linear head."""

    def __init__(self, classes, dim=5, width=4, seed=3):
        rng = np.random.default_rng(seed)
        self.encoder = torch.tensor(rng.normal(size=(dim, width)), requires_grad=True)
        self.head = torch.tensor(rng.normal(size=(width, classes)), requires_grad=True)

    def __call__(self, x):
        embedding = (x @ self.encoder).tanh()
        return embedding @ self.head, embedding

    @property
    def parameters(self):
        return [self.encoder, self.head]


def anchor_weight(label, attribute, i, balance):
    """How much an anchor counts, by counting."""
    if not loops.neighbourhood(label, attribute, i):
        return 0.0
    known = [(c, a) for c, a in zip(label.tolist(), attribute.tolist(), strict=True) if a >= 0]
    return 1.0 if balance == "sample" else len(known) / len(set(known)) / known.count((label[i], attribute[i]))


def literal_step(u, rows, data, model, balance, scope, temperature, gamma):
    """The value and gradient of one batch, anchor by anchor, with Eqs. (6)-(8) written out, and u after Alg. 2."""
    logit, embedding = model(data.embedding[rows])
    label, attribute = data.label[rows].numpy(), data.attribute[rows].numpy()
    losses = [-logit[i].log_softmax(0)[int(label[i])] for i in range(len(rows))]
    z = [e / e.norm() for e in (embedding if scope == "model" else embedding.detach())]
    arrays = embedding.detach().numpy(), label, attribute, np.array([float(one.detach()) for one in losses])
    u = loops.update_inner(u, rows, *arrays, temperature, gamma, 0.0)
    value, gradient = 0.0, [torch.zeros_like(p) for p in model.parameters]
    for i, row in enumerate(rows):
        members = loops.neighbourhood(label, attribute, i)
        weight = anchor_weight(data.label.numpy(), data.attribute.numpy(), row, balance)
        if weight == 0:
            value, slope = value + float(losses[i].detach()), losses[i]
        elif not members:
            value += weight * (u[row][0] / u[row][1] if row in u else float(losses[i].detach()))
            continue
        else:
            u1, u2 = u[row]
            affinity = {j: torch.exp((z[i] @ z[j] - 1) / temperature) for j in members}
            g1 = sum(affinity[j] * losses[j] for j in members) / len(members)
            g2 = sum(affinity.values()) / len(members)
            value, slope = value + weight * u1 / u2, weight * (g1 / u2 - u1 / u2**2 * g2)
        parts = torch.autograd.grad(slope, model.parameters, retain_graph=True, allow_unused=True)
        gradient = [g if p is None else g + p for g, p in zip(gradient, parts, strict=True)]
    return value / len(rows), [g / len(rows) for g in gradient], u


@pytest.mark.filterwarnings("ignore:.*count with their own loss")
@pytest.mark.parametrize("scope", ["head", "model"])
@pytest.mark.parametrize("balance", ["group", "sample"])
@pytest.mark.parametrize(("classes", "attributes", "unknown"), [(2, 2, 0), (3, 4, 5)])
def test_many_batches_agree_with_the_literal_loops(scope, balance, classes, attributes, unknown):
    data = problem(rows=60, classes=classes, attributes=attributes, unknown=unknown)
    model, u, rng = Small(classes), {}, np.random.default_rng(0)
    attribute = np.where(data.attribute.numpy() < 0, np.nan, data.attribute.numpy())
    criterion = RAANLoss(data.label, attribute, temperature=0.4, averaging_rate=0.3, balance=balance, scope=scope)
    for _ in range(8):
        rows = rng.integers(0, 60, 14)  # copies of a row in a batch, and cells that are missing, are likely
        expected, slopes, u = literal_step(u, rows, data, model, balance, scope, 0.4, 0.3)
        logit, embedding = model(data.embedding[rows])
        value = criterion(logit, embedding, data.label[rows], attribute[rows], rows)
        assert value.item() == pytest.approx(expected, rel=1e-5)
        gradient = torch.autograd.grad(value, model.parameters)
        torch.testing.assert_close(list(gradient), slopes, rtol=1e-4, atol=1e-6)
        with torch.no_grad():
            model.head -= 0.3 * slopes[1]
    assert {row for row, seen in enumerate(criterion.visits) if seen} == set(u)
    for row, (u1, u2) in u.items():
        assert criterion.log_denominator[row].item() == pytest.approx(math.log(u2), abs=1e-5)
        assert criterion.neighbourhood_loss[row].item() == pytest.approx(u1 / u2, rel=1e-5)


@pytest.mark.parametrize("scope", ["head", "model"])
@pytest.mark.parametrize("balance", ["group", "sample"])
def test_without_an_index_the_whole_set_as_one_batch_is_the_exact_objective(scope, balance):
    data, model = problem(rows=40, classes=3, attributes=4), Small(3)
    criterion = RAANLoss(data.label, data.attribute, temperature=0.3, balance=balance, scope=scope)
    logit, embedding = model(data.embedding)
    loss = torch.nn.functional.cross_entropy(logit, data.label, reduction="none")
    z = embedding if scope == "model" else embedding.detach()
    value = criterion(logit, embedding, data.label, data.attribute)
    expected = EXACT[balance](z, data.label, data.attribute, loss, 0.3)
    # The weights are kept in float32.
    torch.testing.assert_close(value, expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(
        torch.autograd.grad(value, model.parameters, retain_graph=True),
        torch.autograd.grad(expected, model.parameters),
        rtol=1e-5,
        atol=1e-7,
    )


def test_strength_mixes_plain_training_and_raan():
    data, model = problem(rows=30), Small(3)
    logit, embedding = model(data.embedding)
    plain = torch.nn.functional.cross_entropy(logit, data.label)
    value = {
        s: RAANLoss(data.label, data.attribute, strength=s)(logit, embedding, data.label, data.attribute)
        for s in (0.0, 0.25, 1.0)
    }
    torch.testing.assert_close(value[0.0], plain)
    torch.testing.assert_close(value[0.25], 0.75 * plain + 0.25 * value[1.0])
    assert abs(value[1.0] - plain) > 1e-3


def test_one_logit_or_one_column_is_two_columns():
    data = problem(rows=20, classes=2)
    score = data.embedding[:, 0]
    two = torch.stack([torch.zeros_like(score), score], 1)
    values = [
        RAANLoss(data.label, data.attribute)(logit, data.embedding, data.label, data.attribute)
        for logit in (two, score, score[:, None])
    ]
    torch.testing.assert_close(values[1], values[0])
    torch.testing.assert_close(values[2], values[0])


def test_classes_with_gaps_have_the_columns_of_their_values_where_there_are_more_columns():
    data = problem(rows=20, classes=2)
    wide = torch.randn(20, 6, generator=torch.Generator().manual_seed(0))
    with_gaps = torch.tensor([2, 4])[data.label]
    value = RAANLoss(with_gaps, data.attribute, strength=0.0)(wide, data.embedding, with_gaps, data.attribute)
    torch.testing.assert_close(value, torch.nn.functional.cross_entropy(wide, with_gaps).double())
    narrow = RAANLoss(with_gaps, data.attribute, strength=0.0)(
        wide[:, :2], data.embedding, with_gaps, data.attribute
    )
    torch.testing.assert_close(narrow, torch.nn.functional.cross_entropy(wide[:, :2], data.label).double())


def test_any_loss_of_each_sample_can_take_the_cross_entropys_place():
    data = problem(rows=40, classes=3, attributes=4)
    criterion = RAANLoss(data.label, data.attribute, temperature=0.3)
    value = criterion(None, data.embedding, data.label, data.attribute, sample_loss=data.loss)
    expected = group_objective(data.embedding, data.label, data.attribute, data.loss, 0.3)
    torch.testing.assert_close(value, expected, rtol=1e-6, atol=0)


# What a batch's values are


def batch_value(label, sensitive_features, batch_label, batch_sensitive, index=None):
    """The loss of the first ten of forty samples, on one fixed embedding."""
    points = problem(rows=40, classes=2, attributes=3).embedding[:10]
    return RAANLoss(label, sensitive_features)(points[:, :2], points, batch_label, batch_sensitive, index).item()


NAMES = {"label": np.array(["no", "yes"]), "race": np.array(["Black", "Other", "White"])}
KINDS = {
    "strings": lambda y, a: (NAMES["label"][y], NAMES["race"][a]),
    "lists": lambda y, a: (NAMES["label"][y].tolist(), NAMES["race"][a].tolist()),
    "bools": lambda y, a: (y.astype(bool), a),
    "floats": lambda y, a: (y.astype(float), a.astype(np.float32) + 0.5),
    "tensors": lambda y, a: (torch.tensor(y), torch.tensor(a)),
    "float tensors": lambda y, a: (torch.tensor(y).float(), torch.tensor(a).double()),
    "other numbers": lambda y, a: (3 * y + 4, 10 - 5 * (2 - a)),
    "pandas": lambda y, a: (pd.Series(NAMES["label"][y]), pd.Series(NAMES["race"][a], dtype="category")),
    "polars": lambda y, a: (pl.Series(NAMES["label"][y].tolist()), pl.Series(NAMES["race"][a].tolist())),
    "two columns": lambda y, a: (y, np.stack([a // 2, a % 2], 1)),
    "a frame": lambda y, a: (y, pd.DataFrame({"race": NAMES["race"][a], "constant": "x"})),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_any_kind_are_looked_up_in_the_training_sets(kind):
    data = problem(rows=40, classes=2, attributes=3)
    y, a = data.label.numpy(), data.attribute.numpy()
    plain = batch_value(y, a, y[:10], a[:10])
    training, batch = KINDS[kind](y, a), KINDS[kind](y[:10], a[:10])
    assert batch_value(*training, *batch) == plain
    assert batch_value(*training, *batch, index=np.arange(10)) == plain
    assert batch_value(*training, None, None, index=torch.arange(10)) == plain


@pytest.mark.parametrize("kind", ["strings", "bools", "two columns", "a frame"])
def test_integers_are_codes_where_the_training_sets_values_are_not_integers(kind):
    data = problem(rows=40, classes=2, attributes=3)
    y, a = data.label.numpy(), data.attribute.numpy()
    codes = torch.tensor(y[:10]), torch.tensor(a[:10])
    assert batch_value(*KINDS[kind](y, a), *codes) == batch_value(y, a, y[:10], a[:10])


@pytest.mark.filterwarnings("ignore:.*count with their own loss")
@pytest.mark.parametrize(
    "batch",
    [
        [None] * 10,
        np.full(10, np.nan),
        torch.full((10,), -1),
        ["never seen"] * 10,
        pd.Series([pd.NA] * 10),
    ],
)
def test_a_batch_of_unknown_attributes_is_plain_training(batch):
    data = problem(rows=40, classes=2, attributes=3)
    points = data.embedding[:10]
    value = RAANLoss(data.label, NAMES["race"][data.attribute])(points[:, :2], points, data.label[:10], batch)
    torch.testing.assert_close(value, torch.nn.functional.cross_entropy(points[:, :2], data.label[:10]))


def test_samples_that_can_have_no_neighbour_are_counted_once_in_a_warning():
    label, attribute = [0, 0, 0, 1, 1], ["a", "b", None, "a", "a"]
    with pytest.warns(UserWarning, match="3 of 5 training samples .*: 1 of unknown attribute, 2 of a class"):
        RAANLoss(label, attribute)


# The state


def stepped(criterion, data, rows, scale=1.0):
    return criterion(None, data.embedding[rows], None, None, rows, sample_loss=scale * data.loss[rows])


def test_the_state_is_all_in_the_state_dict():
    data = problem(rows=40)
    first, second = RAANLoss(data.label, data.attribute), RAANLoss(data.label, data.attribute)
    stepped(first, data, torch.arange(25))
    assert set(first.state_dict()) == {
        "anchor_weight",
        "importance",
        "log_denominator",
        "neighbourhood_loss",
        "visits",
    }
    second.load_state_dict(first.state_dict())
    rows = torch.arange(10, 40)
    assert stepped(second, data, rows, 2.0) == stepped(first, data, rows, 2.0)
    assert stepped(second, data, rows) != stepped(RAANLoss(data.label, data.attribute), data, rows)


def test_a_state_of_another_training_set_is_refused():
    data = problem(rows=40)
    state = RAANLoss(data.label, data.attribute).state_dict()
    with pytest.raises(RuntimeError, match="size mismatch for log_denominator"):
        RAANLoss(data.label[:30], data.attribute[:30]).load_state_dict(state)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies_go_on_from_where_the_original_stands(copied):
    data = problem(rows=40)
    criterion = RAANLoss(data.label, data.attribute)
    stepped(criterion, data, torch.arange(30))
    twin = copied(criterion)
    assert stepped(twin, data, torch.arange(20), 3.0) == stepped(criterion, data, torch.arange(20), 3.0)
    assert torch.equal(twin.visits, criterion.visits)
    stepped(twin, data, torch.arange(20))
    assert twin.visits.sum() > criterion.visits.sum()


def test_eval_changes_no_state_and_gives_the_value_that_training_would():
    data = problem(rows=40)
    criterion = RAANLoss(data.label, data.attribute)
    stepped(criterion, data, torch.arange(40))
    before = copy.deepcopy(criterion.state_dict())
    criterion.eval()
    watched = stepped(criterion, data, torch.arange(20), 5.0)
    assert all(torch.equal(before[name], buffer) for name, buffer in criterion.state_dict().items())
    criterion.train()
    assert stepped(criterion, data, torch.arange(20), 5.0) == watched
    assert not torch.equal(before["neighbourhood_loss"], criterion.neighbourhood_loss)


def test_without_an_index_nothing_is_written():
    data = problem(rows=40)
    criterion = RAANLoss(data.label, data.attribute)
    criterion(None, data.embedding, data.label, data.attribute, sample_loss=data.loss)
    assert not criterion.visits.any()
    assert (criterion.log_denominator == -torch.inf).all()


@pytest.mark.parametrize("change", [torch.nn.Module.half, torch.nn.Module.double, torch.nn.Module.bfloat16])
def test_the_state_stays_in_float32_to_the_last_bit_whatever_the_models_precision(change):
    data = problem(rows=40)
    model = torch.nn.ModuleList([torch.nn.Linear(2, 2), RAANLoss(data.label, data.attribute)])
    stepped(model[1], data, torch.arange(40))
    before = copy.deepcopy(model[1].state_dict())
    change(model)
    assert model[0].weight.dtype != torch.float32
    for name, buffer in model[1].state_dict().items():
        assert buffer.dtype == before[name].dtype
        assert torch.equal(buffer, before[name])


@pytest.mark.parametrize("indexed", [True, False])
def test_everything_moves_with_the_module(indexed):
    """The meta device stands for a graphics card: it holds no numbers, but minds what is on another device."""
    data = problem(rows=40, classes=2, dtype=torch.float32)
    criterion = RAANLoss(data.label, data.attribute, scope="model").to("meta")
    assert all(buffer.device.type == "meta" for buffer in criterion.buffers())
    codes = criterion.training_set.attribute(data.attribute)
    points = data.embedding.to("meta").requires_grad_()
    loss = criterion._cross_entropy(points[:, 0], codes)  # noqa: SLF001
    # The part of the call that looks at no numbers and is not for autocast, which has no meta device.
    value = criterion._objective(Samples(points, loss, codes, codes, codes if indexed else None))  # noqa: SLF001
    value.backward()
    assert {part.device.type for part in (value, points.grad, *criterion.diagnostics)} == {"meta"}


def test_an_overflowing_batch_leaves_no_trace():
    data = problem(rows=40)
    criterion = RAANLoss(data.label, data.attribute)
    stepped(criterion, data, torch.arange(40))
    before = copy.deepcopy(criterion.state_dict())
    for broken in (torch.inf, torch.nan):
        value = stepped(criterion, data, torch.arange(40), broken)
        assert not value.isfinite()
    assert all(torch.equal(before[name], buffer) for name, buffer in criterion.state_dict().items())


def test_copies_of_a_row_are_one_visit_and_one_average():
    data = problem(rows=12, classes=2, attributes=2)
    rows = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 0, 0])
    criterion = RAANLoss(data.label, data.attribute)
    noisy = data.embedding[rows] + torch.randn(10, 5, generator=torch.Generator().manual_seed(0)).double()
    criterion(None, noisy, None, None, rows, sample_loss=data.loss[rows])
    assert criterion.visits[0] == 1
    u = loops.update_inner(
        {},
        rows.tolist(),
        noisy.numpy(),
        data.label[rows].numpy(),
        data.attribute[rows].numpy(),
        data.loss[rows].numpy(),
        0.5,
        0.5,
        0.0,
    )
    assert criterion.neighbourhood_loss[0].item() == pytest.approx(u[0][0] / u[0][1], rel=1e-5)


# Batches that lack groups, and what is told of them


@pytest.mark.filterwarnings("ignore:.*count with their own loss")
@pytest.mark.parametrize(("unknown", "strength"), [(0, 1.0), (4, 0.3)])
def test_diagnostics_are_those_of_the_weights_in_the_gradient(unknown, strength):
    data = problem(rows=40, classes=3, attributes=4, unknown=unknown)
    attribute = np.where(data.attribute.numpy() < 0, np.nan, data.attribute.numpy())
    criterion = RAANLoss(data.label, attribute, temperature=0.2, strength=strength)
    assert criterion.diagnostics is None
    stepped(criterion, data, torch.arange(40), 2.0)
    rows = torch.arange(15)
    loss = data.loss[rows].requires_grad_()
    value = criterion(None, data.embedding[rows], None, None, rows, sample_loss=loss)
    (weight,) = torch.autograd.grad(15 * value, loss)
    found = criterion.diagnostics
    assert found.largest_weight.item() == pytest.approx(weight.max().item(), rel=1e-5)
    assert found.effective_sample_size.item() == pytest.approx((weight.sum() ** 2 / (weight**2).sum()).item())
    label, known = data.label[:15].numpy(), data.attribute[:15].numpy()
    alone = [i for i in range(15) if known[i] >= 0 and not loops.neighbourhood(label, known, i)]
    assert found.skipped == len(alone)
    assert found.anchors + found.skipped == (known >= 0).sum()
    assert not any(part.requires_grad for part in found)


@pytest.mark.parametrize("case", ["one group", "one sample", "one class and group"])
def test_a_batch_that_lacks_groups_is_accepted_and_keeps_what_was_known(case):
    data = problem(rows=40, classes=2, attributes=2)
    criterion = RAANLoss(data.label, data.attribute, scope="model")
    stepped(criterion, data, torch.arange(40))
    before = copy.deepcopy(criterion.state_dict())
    mask = {
        "one group": data.attribute == 0,
        "one sample": torch.arange(40) == 7,
        "one class and group": (data.attribute == 1) & (data.label == 1),
    }[case]
    rows = mask.nonzero().flatten()
    points = data.embedding[rows].requires_grad_()
    value = criterion(points[:, :2], points, data.label[rows], data.attribute[rows], rows)
    value.backward()
    expected = criterion.anchor_weight[data.label[rows], data.attribute[rows]] * before["neighbourhood_loss"][rows]
    assert value.item() == pytest.approx(expected.mean().item())
    assert not points.grad.any()
    assert criterion.diagnostics.skipped == len(rows)
    assert criterion.diagnostics.anchors == 0
    assert all(torch.equal(before[name], buffer) for name, buffer in criterion.state_dict().items())


@pytest.mark.usefixtures("as_users_call")
def test_a_sampler_that_draws_small_cells_more_often_is_made_up_for():
    rng = np.random.default_rng(0)
    label, attribute = rng.integers(0, 2, 400), (rng.random(400) < 0.03).astype(int)
    points = torch.tensor(rng.normal(size=(400, 4)))
    loss = points[:, 0].exp()
    sampler = GroupBatchSampler(label, attribute, 16)
    assert sampler.rate.max() > 3 * sampler.rate.min()
    exact = group_objective(points, torch.tensor(label), torch.tensor(attribute), loss, torch.inf).item()

    def mean_of_batches(criterion):
        values = []
        for _ in range(20):
            values += [criterion(None, points[b], None, None, b, sample_loss=loss[b]).item() for b in sampler]
        return np.mean(values)

    options = dict(temperature=math.inf, averaging_rate=1.0)
    told = mean_of_batches(RAANLoss(label, attribute, sampler=sampler, **options))
    not_told = mean_of_batches(RAANLoss(label, attribute, **options))
    assert told == pytest.approx(exact, rel=0.03)
    assert not_told > 1.3 * exact


# Errors


BAD_INDEXES = {
    "out of range": ([0, 1, 40], ValueError, "index holds 40 at position 2; expected 0 to 39"),
    "negative": ([0, -1, 2], ValueError, "index holds -1 at position 1; expected 0 to 39"),
    "floats": ([0.0, 1.0, 2.0], TypeError, "index holds torch.float.. values; expected integers"),
    "bools": ([True, False, True], TypeError, "index holds torch.bool values; expected integers"),
    "too short": ([0, 1], ValueError, r"index has shape \(2,\); expected \(3,\)"),
    "a column": ([[0], [1], [2]], ValueError, r"index has shape \(3, 1\); expected \(3,\)"),
}


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("case", BAD_INDEXES)
@pytest.mark.parametrize("looked_up", [True, False])
@pytest.mark.parametrize("kind", [torch.tensor, np.array, list])
def test_a_wrong_index_changes_nothing(case, looked_up, kind):
    data = problem(rows=40)
    criterion = RAANLoss(data.label, data.attribute)
    stepped(criterion, data, torch.arange(40))
    before = copy.deepcopy(criterion.state_dict())
    index, error, message = BAD_INDEXES[case]
    columns = (None, None) if looked_up else (data.label[:3], data.attribute[:3])
    with pytest.raises(error, match=message):
        criterion(None, data.embedding[:3], *columns, kind(index), sample_loss=data.loss[:3])
    assert all(torch.equal(before[name], buffer) for name, buffer in criterion.state_dict().items())


@pytest.mark.usefixtures("as_users_call")
def test_an_index_that_counts_other_rows_is_found_out():
    label, race = ["no", "yes"] * 4, ["Black", "Black", "White", "White"] * 2
    points = torch.ones(2, 3)
    criterion = RAANLoss(label, race)
    message = "label at position 0 is 'no', but index names row 1 of the training set, where it is 'yes'"
    with pytest.raises(ValueError, match=message):
        criterion(points[:, 0], points, ["no", "yes"], ["Black", "White"], [1, 3])
    message = "sensitive_features at position 1 is unknown, but index names row 3 .* where it is 'White'"
    with pytest.raises(ValueError, match=message):
        criterion(points[:, 0], points, ["yes", "yes"], ["Black", "white"], [1, 3])
    assert not criterion.visits.any()


POINTS = torch.ones(4, 3)
LABEL, RACE = [0, 1, 0, 1], ["a", "a", "b", "b"]
BAD_CALLS = {
    "label never seen": (dict(label=[0, 1, 0, 2]), "label at position 3 is not a class .*; expected one of 0, 1"),
    "label missing": (dict(label=[0, 1, None, 1]), "label is missing in 1 of 4 rows"),
    "label short": (dict(label=[0, 1]), "label has 2 rows, embedding has 4"),
    "label a matrix": (dict(label=torch.zeros(4, 2)), r"label has shape \(4, 2\); expected one dimension"),
    "no label": (dict(label=None), "label is None; only with an index"),
    "no attribute": (dict(sensitive_features=None), "sensitive_features is None; only with an index"),
    "attribute long": (dict(sensitive_features=["a"] * 5), "sensitive_features has 5 rows, embedding has 4"),
    "no logit": (dict(logit=None), "logit is None; expected logits, or the loss of each sample as sample_loss"),
    "three columns": (
        dict(logit=torch.zeros(4, 3, 1)),
        r"logit is float32 \[4, 3, 1\]; expected floats \[4, 2\] or",
    ),
    "few logits": (dict(logit=torch.zeros(3)), r"logit is float32 \[3\]; expected floats \[4, 2\] or \[4\] or"),
    "whole logits": (dict(logit=torch.zeros(4).long()), r"logit is int64 \[4\]; expected floats"),
    "flat embedding": (dict(embedding=torch.ones(4)), r"embedding is float32 \[4\]; expected floats \[batch, dim"),
    "empty": (dict(embedding=torch.ones(0, 3)), r"embedding is float32 \[0, 3\]; .* not empty"),
    "elsewhere": (dict(embedding=POINTS.to("meta")), "embedding is on meta, the loss on cpu; move the loss"),
    "mean loss": (dict(sample_loss=torch.tensor(1.0)), r"sample_loss is float32 \[\]; expected floats \[4\]"),
}


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("case", BAD_CALLS)
def test_a_call_that_does_not_fit_says_so(case):
    change, message = BAD_CALLS[case]
    call = dict(logit=POINTS[:, 0], embedding=POINTS, label=LABEL, sensitive_features=RACE) | change
    with pytest.raises(ValueError, match=message):
        RAANLoss(LABEL, RACE)(**call)


@pytest.mark.usefixtures("as_users_call")
def test_logits_of_more_than_two_classes_have_a_column_each():
    with pytest.raises(
        ValueError, match=r"logit is float32 \[3\]; expected floats \[3, 3\], for 3 classes and 3 rows"
    ):
        RAANLoss([0, 1, 2] * 2, list("aaabbb"))(torch.ones(3), torch.ones(3, 2), [0, 1, 2], list("aba"))


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(temperature=-1.0), "The 'temperature' parameter of RAANLoss"),
        (dict(temperature=math.nan), "The 'temperature' parameter of RAANLoss"),
        (dict(temperature="warm"), "The 'temperature' parameter of RAANLoss"),
        (dict(averaging_rate=1.5), "The 'averaging_rate' parameter of RAANLoss"),
        (dict(strength=-0.1), "The 'strength' parameter of RAANLoss"),
        (dict(balance="equal"), "The 'balance' parameter of RAANLoss"),
        (dict(scope="encoder"), "The 'scope' parameter of RAANLoss"),
        (dict(sampler=GroupBatchSampler(LABEL * 2, RACE * 2, 8)), "sampler has 8 rows, label 4"),
    ],
)
def test_settings_that_mean_nothing_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        RAANLoss(LABEL, RACE, **options)


def test_training_columns_of_different_lengths_are_an_error():
    with pytest.raises(ValueError, match="label has 4, sensitive_features has 8"):
        RAANLoss(LABEL, RACE * 2)


# Whatever comes: an error that names the argument, or a number


def odd_arrays():
    """Tensors and arrays of any number kind, of few or no rows, with up to three axes."""
    kinds = st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
    shapes = st.lists(st.integers(0, 5), max_size=3)
    tensors = st.builds(lambda shape, kind: torch.ones(shape).to(kind), shapes, kinds)
    return st.one_of(tensors, tensors.map(lambda tensor: tensor.float().numpy()))


def odd_things():
    scalars = st.one_of(
        st.none(), st.booleans(), st.integers(-3, 5), st.floats(), st.text(max_size=2), st.just(pd.NA)
    )
    columns = st.lists(st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=5)
    series = st.lists(scalars, max_size=5).map(lambda values: pd.Series(values, dtype=object))
    return st.one_of(scalars, columns, series, odd_arrays(), st.just({"a": 1}), st.just(object()))


def named_error_or_number(call, argument):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result, message = call(), argument
        except (ValueError, TypeError) as error:
            result, message = None, str(error)
    assert argument in message
    assert result is None or result.shape == ()


@pytest.mark.usefixtures("as_users_call")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(odd=odd_things(), argument=st.sampled_from(["label", "sensitive_features"]))
def test_any_training_column_gives_a_loss_or_an_error_that_names_it(odd, argument):
    columns = dict(label=LABEL, sensitive_features=RACE) | {argument: odd}
    named_error_or_number(lambda: RAANLoss(**columns) and None, argument)


@pytest.mark.usefixtures("as_users_call")
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    odd=odd_things(),
    argument=st.sampled_from(["logit", "embedding", "label", "sensitive_features", "index", "sample_loss"]),
)
def test_any_part_of_a_call_gives_a_number_or_an_error_that_names_it(odd, argument):
    call = dict(logit=POINTS[:, 0], embedding=POINTS, label=LABEL, sensitive_features=RACE, index=[0, 1, 2, 3])
    criterion = RAANLoss(LABEL, RACE)
    named_error_or_number(lambda: criterion(**call | {argument: odd}), argument)


@pytest.mark.parametrize(("dtype", "most"), [(torch.float32, 30), (torch.float64, 300)])
@pytest.mark.parametrize("scope", ["head", "model"])
def test_only_directions_count_at_every_finite_scale(dtype, most, scope):
    data = problem(rows=40, classes=2)
    points, logit = (
        data.embedding.to(dtype),
        torch.randn(40, 2, generator=torch.Generator().manual_seed(0)).to(dtype),
    )

    def value(scale):
        criterion = RAANLoss(data.label, data.attribute, scope=scope)
        return float(criterion(logit, points * scale, data.label, data.attribute, torch.arange(40)))

    for exponent in (-most, -12, 12, 19, most):
        assert value(10.0**exponent) == pytest.approx(value(1.0), rel=1e-5)


def accumulated(data, model, rows, size, **options):
    """The gradient of several micro-batches at the same parameters, after one round that fills what is kept."""
    criterion = RAANLoss(data.label, data.attribute, averaging_rate=1.0, temperature=0.5, **options)
    parts = rows.split(size)
    for _ in range(2):
        total = [torch.zeros_like(p) for p in model.parameters]
        for some in parts:
            logit, embedding = model(data.embedding[some])
            loss = criterion(logit, embedding, data.label[some], data.attribute[some], some) / len(parts)
            gradients = torch.autograd.grad(loss, model.parameters)
            total = [sum_ + gradient for sum_, gradient in zip(total, gradients, strict=True)]
    return torch.cat([gradient.flatten() for gradient in total])


def test_kept_micro_batches_give_the_gradient_of_the_whole_batch():
    data, model = problem(rows=64, classes=2, attributes=2), Small(2)
    rows = torch.arange(64)
    whole = accumulated(data, model, rows, 64)
    kept = accumulated(data, model, rows, 16, keep_batches=3)
    alone = accumulated(data, model, rows, 16)
    torch.testing.assert_close(kept, whole, rtol=1e-9, atol=1e-12)
    assert (alone - whole).norm() > 0.05 * whole.norm()


def test_what_is_kept_is_not_learnt_from_twice_nor_in_evaluation():
    data, model = problem(rows=40, classes=2, attributes=2), Small(2)
    criterion = RAANLoss(data.label, data.attribute, keep_batches=2)
    for rows in torch.arange(40).split(10):
        logit, embedding = model(data.embedding[rows])
        criterion(logit, embedding, data.label[rows], data.attribute[rows], rows)
    assert criterion.visits.max() == 1
    logit, embedding = model(data.embedding)
    plain = RAANLoss(data.label, data.attribute).eval()(logit, embedding, data.label, data.attribute)
    assert torch.equal(criterion.eval()(logit, embedding, data.label, data.attribute), plain)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("many", [-1, 1.5, None])
def test_a_number_of_kept_batches_that_means_nothing_is_refused(many):
    with pytest.raises(ValueError, match="The 'keep_batches' parameter"):
        RAANLoss([0, 1], [0, 1], keep_batches=many)


def test_the_state_of_a_row_takes_sixteen_bytes():
    data = problem(rows=1000)
    criterion = RAANLoss(data.label, data.attribute)
    held = sum(buffer.nbytes for buffer in criterion.buffers() if len(buffer) == 1000)
    assert held <= 16 * 1000
