from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from raan.data import Split, split, stack
from raan.fairness.rule import Rule
from raan.lab.methods.dfr import HELD_OUT, REFITS, draw_balanced, l1_logistic
from raan.methods import DFR, METHODS, Refit
from raan.methods import stack as pack
from raan.models.model import linear, mlp
from raan.training.stages import second_stage
from raan.training.train import Schedule
from training_tables import small_table

REFITTING = {name: method for name, method in METHODS.items() if isinstance(method, Refit)}
each_refit = pytest.mark.parametrize("name", REFITTING)
each_shape = pytest.mark.parametrize(("classes", "attributes"), [(2, 2), (3, 4)])


def setting(classes=2, attributes=2, runs=3, architecture=mlp):
    table, seeds = small_table(rows=400, classes=classes, attributes=attributes), list(range(runs))
    rows = stack([split(table.rows, (300, 50, 50), seed) for seed in seeds])
    return architecture(table).start(table, rows.train, seeds), table, rows, seeds


def one_run(model, rows, seeds, run):
    alone = replace(
        model,
        parameters=model.parameters[run : run + 1],
        scaling=type(model.scaling)(*(part[run : run + 1] for part in model.scaling)),
    )
    return alone, Split(*(part[run : run + 1] for part in rows)), seeds[run : run + 1]


# What every refitting method promises


@each_refit
@each_shape
def test_the_encoder_is_left_bit_for_bit_and_the_head_is_finite(name, classes, attributes):
    model, table, rows, seeds = setting(classes, attributes)
    before = model.parameters.clone()
    after = REFITTING[name].refit(model, table, rows, seeds)
    encoder = sum(model.encoder.sizes)
    assert torch.equal(model.parameters, before)
    assert torch.equal(after.parameters[:, :encoder], before[:, :encoder])
    assert after.parameters.isfinite().all()
    stays = name in ("Plain + threshold", "FairFrontier")  # which decide, and train nothing
    assert torch.equal(after.parameters[:, encoder:], before[:, encoder:]) == stays


@each_refit
def test_a_run_alone_is_refitted_as_in_the_pack(name):
    model, table, rows, seeds = setting()
    together = REFITTING[name].refit(model, table, rows, seeds)
    for run in range(3):
        alone, its_rows, its_seeds = one_run(model, rows, seeds, run)
        torch.testing.assert_close(
            REFITTING[name].refit(alone, table, its_rows, its_seeds).parameters[0], together.parameters[run]
        )


@each_refit
def test_refitting_twice_gives_the_same_and_draws_from_no_global_generator(name):
    states = torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002
    first, second = (REFITTING[name].refit(*setting()).parameters for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert str(np.random.get_state()) == states[1]  # noqa: NPY002


@each_refit
def test_packs_of_hyperparameters_refit_too(name):
    model, table, rows, seeds = setting()
    once = REFITTING[name].refit(model, table, rows, seeds)
    packed = pack([REFITTING[name]] * 3).refit(model, table, rows, seeds)
    torch.testing.assert_close(packed.parameters, once.parameters)


@each_refit
def test_the_second_stage_records_the_start_and_the_refit(name):
    model, table, rows, seeds = setting()
    seen = []
    rule = Rule("worst_group", accuracy_drop=1.0)
    trained = second_stage(
        REFITTING[name],
        model,
        table,
        rows,
        seeds,
        Schedule(watch_test=True),
        rule,
        progress=lambda done, total: seen.append((done, total)),
    )
    path = trained.path
    assert [point.step for point in path.points] == [0, 1]
    assert path.points[1].test is not None
    assert seen == [(1, 1)]
    for run in range(3):
        start, end = (point.validation.worst_group_accuracy[run] for point in path.points)
        chosen = trained.last if end > start else model
        assert torch.equal(trained.model.parameters[run], chosen.parameters[run])


# DFR


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("inverse_penalty", [0.05, 1.0])
def test_the_l1_logistic_regression_is_scikit_learns(classes, inverse_penalty):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(120, 6))
    label = (features[:, 0] + 0.7 * features[:, 1] + rng.normal(size=120) > np.arange(120) % 3 - 1).astype(int)
    if classes == 3:
        label += features[:, 2] > 0.8
    weight, bias = l1_logistic(torch.tensor(features)[None], torch.tensor(label)[None], classes, inverse_penalty)
    theirs = LogisticRegression(C=inverse_penalty, l1_ratio=1.0, solver="saga", tol=1e-8, max_iter=20_000).fit(
        features, label
    )
    ours = torch.softmax(torch.tensor(features) @ weight[0] + bias[0], -1).numpy()
    np.testing.assert_allclose(ours, theirs.predict_proba(features), atol=5e-4)
    assert (weight[0].abs().sum(1) == 0).sum() == (abs(theirs.coef_).sum(0) == 0).sum()  # as sparse


@each_shape
def test_every_refit_draws_as_many_rows_of_each_cell_and_none_twice(classes, attributes):
    table = small_table(rows=400, classes=classes, attributes=attributes)
    table = replace(table, attribute=torch.where(torch.arange(400) % 7 == 0, -1, table.attribute))
    rows = torch.randperm(400, generator=torch.Generator().manual_seed(0))[:200]
    draws = draw_balanced(table, rows, seed=3)
    smallest = min(
        int(((table.label[rows] == k) & (table.attribute[rows] == a)).sum())
        for k in range(classes)
        for a in range(attributes)
    )
    assert draws.shape == (REFITS, smallest * classes * attributes)
    for draw in draws:
        assert len(draw.unique()) == len(draw)
        for k in range(classes):
            for a in range(attributes):
                chosen = (table.label[rows[draw]] == k) & (table.attribute[rows[draw]] == a)
                assert int(chosen.sum()) == smallest
    assert not torch.equal(draws[0].sort().values, draws[1].sort().values)


@pytest.mark.parametrize("architecture", [mlp, linear])
def test_the_last_layer_is_the_mean_of_the_refits_on_the_standardised_held_out_rows(architecture):
    model, table, rows, seeds = setting(architecture=architecture)
    after = DFR(inverse_penalty=0.4).refit(model, table, rows, seeds)
    held = rows.train[:, -round(HELD_OUT * 300) :]
    for run, seed in enumerate(seeds):
        alone, _, _ = one_run(model, rows, seeds, run)
        inputs = _penultimate(alone, table.features[held[run]])
        standard = (inputs - inputs.mean(0)) / inputs.std(0, correction=0).clamp(min=1e-12)
        label = table.label[held[run]]
        draws = draw_balanced(table, held[run], seed)
        fits = [l1_logistic(standard[draw][None], label[draw][None], 2, 0.4) for draw in draws]
        weight, bias = (torch.cat(parts).mean(0) for parts in zip(*fits, strict=True))
        expected = standard @ weight + bias
        refitted, _, _ = one_run(after, rows, seeds, run)
        torch.testing.assert_close(refitted(table.features[held[run]][None]).logit[0], expected)


def _penultimate(model, features):
    """What the last layer sees, layer by layer."""
    signal = model(features[None]).embedding[0]
    parts = torch.split(model.parameters[0], model.encoder.sizes + model.head.sizes)[len(model.encoder.sizes) :]
    for layer in range(len(parts) // 2 - 1):
        weight, bias = parts[2 * layer].view(model.head.widths[layer], -1), parts[2 * layer + 1]
        signal = (signal @ weight + bias).relu()
    return signal.detach()


def test_a_first_stage_on_its_split_never_sees_the_held_out_rows():
    _, _, rows, _ = setting()
    first = DFR().first_split(rows)
    assert first.train.shape == (3, 240)
    assert torch.equal(torch.cat([first.train, rows.train[:, 240:]], dim=1), rows.train)
    assert torch.equal(first.test, rows.test)


@pytest.mark.usefixtures("as_users_call")
def test_dfr_without_attributes_says_so():
    model, table, rows, seeds = setting()
    blind = replace(table, attribute=torch.full_like(table.attribute, -1))
    with pytest.raises(ValueError, match="DFR needs rows of known attribute from two classes"):
        DFR().refit(model, blind, rows, seeds)
