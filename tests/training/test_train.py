from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
import torch

from raan.data import Split, split, stack
from raan.fairness.rule import LAST, Rule
from raan.methods import ERM, RAAN, Scope
from raan.methods import stack as pack
from raan.models.model import linear, mlp
from raan.training.checkpoint import Checkpoint
from raan.training.stages import first_stage, second_stage
from raan.training.train import Schedule, train, walk
from raan.training.update import Update
from training_tables import small_table

METHODS = [ERM(), RAAN(scope=Scope.MODEL), RAAN(scope=Scope.MODEL, balance="sample", temperature=0.1)]
SHORT = Schedule(epochs=3, batch_size=32, learning_rate=1e-2, points_per_epoch=2)


def splits(table, seeds):
    return stack([split(table.rows, (160, 40, 40), seed) for seed in seeds])


def trained(method, table, seeds, schedule=SHORT, **options):
    rows = splits(table, seeds)
    return train(method, mlp(table).start(table, rows.train, seeds), table, rows, seeds, schedule, **options)


def tensors(thing):
    """Every tensor in a nest of dataclasses and tuples."""
    if isinstance(thing, torch.Tensor):
        yield thing
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from tensors(getattr(thing, field.name))
    elif isinstance(thing, tuple):
        for part in thing:
            yield from tensors(part)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_a_run_alone_equals_the_same_run_in_a_pack(method):
    table = small_table()
    together = trained(method, table, [3, 1, 4, 1, 5])
    for run, seed in enumerate([3, 1, 4]):
        alone = trained(method, table, [seed])
        torch.testing.assert_close(together.state.parameters[run], alone.state.parameters[0], rtol=1e-9, atol=1e-9)
        assert together.path.points[-1].validation.accuracy[run] == alone.path.points[-1].validation.accuracy[0]
    assert torch.equal(together.state.parameters[1], together.state.parameters[3])  # the same seed twice
    assert not torch.allclose(together.state.parameters[0], together.state.parameters[1])


def test_a_pack_of_hyperparameters_equals_each_alone():
    table = small_table()
    grid = [
        RAAN(temperature=t, averaging_rate=g, strength=s, scope=Scope.MODEL)
        for t, g, s in [(0.1, 0.5, 1.0), (float("inf"), 0.9, 0.5), (0.0, 1.0, 0.25)]
    ]
    rates = torch.tensor([1e-2, 1e-3, 3e-3], dtype=torch.float64)
    penalties = torch.tensor([0.0, 0.1, 1e-3], dtype=torch.float64)
    together = trained(pack(grid), table, [7, 7, 7], replace(SHORT, learning_rate=rates, l2=penalties))
    for run, method in enumerate(grid):
        schedule = replace(SHORT, learning_rate=float(rates[run]), l2=float(penalties[run]))
        alone = trained(method, table, [7], schedule)
        torch.testing.assert_close(together.state.parameters[run], alone.state.parameters[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_two_executions_with_one_seed_are_identical_and_touch_no_global_generator(method):
    table = small_table()
    torch.manual_seed(99)
    states = torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002
    first = trained(method, table, [0, 1])
    torch.randn(3)
    second = trained(method, table, [0, 1])
    torch.manual_seed(99)
    for a, b in zip(tensors(first), tensors(second), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
    trained(method, table, [0, 1])
    assert torch.equal(torch.get_rng_state(), states[0])
    assert str(np.random.get_state()) == states[1]  # noqa: NPY002


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_four_epochs_equal_two_then_saved_then_two_more_bit_for_bit(method):
    table = small_table()
    whole = trained(method, table, [0, 1], replace(SHORT, epochs=4))
    half = trained(method, table, [0, 1], replace(SHORT, epochs=2))
    kept = [part.clone() for part in tensors(half)]
    resumed = trained(method, table, [0, 1], replace(SHORT, epochs=4), resume=half)
    assert all(torch.equal(a, b) for a, b in zip(tensors(whole), tensors(resumed), strict=True))
    assert all(torch.equal(a, b) for a, b in zip(kept, tensors(half), strict=True))  # the saved state is untouched


def test_training_separates_the_classes_and_the_path_says_so():
    finish = trained(ERM(), small_table(), [0, 1], replace(SHORT, epochs=10, watch_test=True))
    first, last = finish.path.points[0], finish.path.points[-1]
    assert (last.validation.accuracy > first.validation.accuracy + 0.1).all()
    assert (last.test.accuracy > 0.65).all()
    assert [point.step for point in finish.path.points] == list(range(0, 51, 2))[:1] + [
        5 * epoch + extra for epoch in range(10) for extra in (2, 5)
    ]


def test_without_watching_no_test_metric_is_computed():
    assert trained(ERM(), small_table(), [0]).path.points[-1].test is None


@pytest.mark.parametrize("case", ["one class", "one attribute", "batches of one", "nobody known"])
@pytest.mark.parametrize("method", METHODS[1:], ids=lambda m: str(m.balance))
def test_degenerate_training_rows_train_on_without_nan(case, method):
    table = small_table()
    if case == "one attribute":
        table = replace(table, attribute=torch.zeros_like(table.attribute))
    if case == "nobody known":
        table = replace(table, attribute=-torch.ones_like(table.attribute))
    train_rows = torch.arange(160)
    if case == "one class":
        train_rows = (table.label == 1).nonzero().squeeze(1)[:60]
    rows = Split(*(part.unsqueeze(0) for part in (train_rows, torch.arange(160, 200), torch.arange(200, 240))))
    schedule = replace(SHORT, epochs=2, batch_size=1 if case == "batches of one" else 32)
    finish = train(method, mlp(table).start(table, rows.train, [0]), table, rows, [0], schedule)
    assert finish.state.parameters.isfinite().all()
    assert (finish.state.failed == -1).all()


def test_a_diverging_run_is_named_and_its_pack_mates_go_on():
    table = small_table()
    rates = torch.tensor([1e-2, 1e300, 1e-2], dtype=torch.float64)
    with pytest.warns(UserWarning, match=r"not finite in run 1 \(seed 8\) at step 2;.*smaller learning rate"):
        finish = trained(ERM(), table, [7, 8, 9], replace(SHORT, learning_rate=rates))
    assert finish.state.failed.tolist() == [-1, 2, -1]
    assert finish.state.parameters.isfinite().all()
    alone = trained(ERM(), table, [9], replace(SHORT, learning_rate=1e-2))
    torch.testing.assert_close(finish.state.parameters[2], alone.state.parameters[0])


def test_the_penalty_is_half_of_it_times_the_squared_norm():
    table = small_table()
    rows, seeds = splits(table, [7]), [7]
    model = linear(table).start(table, rows.train, seeds)
    schedule = Schedule(3, rows.train.shape[1], 1e-1, Update(style="sgd"), points_per_epoch=1, l2=0.3)
    finish = train(ERM(), model, table, rows, seeds, schedule)
    features, label = table.features[rows.train[0]], table.label[rows.train[0]]
    expected = model.parameters.clone()
    for _ in range(3):
        leaf = expected.clone().requires_grad_()
        logit = model.at(leaf)(features.unsqueeze(0)).logit[0]
        loss = torch.nn.functional.cross_entropy(logit, label) + 0.15 * leaf.square().sum()
        loss.backward()
        expected = expected - 1e-1 * leaf.grad
    torch.testing.assert_close(finish.state.parameters, expected)


def test_progress_ends_at_the_number_of_steps():
    seen = []
    trained(ERM(), small_table(), [0], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 15), (5, 15), (7, 15), (10, 15), (12, 15), (15, 15)]


def test_head_only_training_leaves_the_encoder_bit_for_bit_and_moves_the_head():
    table, seeds = small_table(), [0, 1]
    rows = splits(table, seeds)
    one = first_stage(mlp(table), table, rows, seeds, SHORT)
    two = second_stage(RAAN(), one.model, table, rows, seeds, SHORT)
    encoder = sum(one.model.encoder.sizes)
    assert torch.equal(one.model.parameters[:, :encoder], two.model.parameters[:, :encoder])
    assert not torch.allclose(one.model.parameters[:, encoder:], two.model.parameters[:, encoder:])
    model = second_stage(RAAN(scope=Scope.MODEL), one.model, table, rows, seeds, SHORT).model
    assert not torch.allclose(one.model.parameters[:, :encoder], model.parameters[:, :encoder])


def test_head_only_training_over_the_embedded_table_is_training_with_the_encoder_held():
    """The literal alternative: the whole model, the encoder's gradient thrown away, no dropout in the encoder."""
    table, seeds = small_table(), [0]
    rows = splits(table, seeds)
    one = first_stage(mlp(table, dropout=0.0), table, rows, seeds, SHORT).model
    embedded = second_stage(RAAN(temperature=0.3), one, table, rows, seeds, SHORT).last

    class Held(RAAN):
        def loss(self, model, batch, memory):
            cut = sum(model.encoder.sizes)
            held = torch.cat([model.parameters[:, :cut].detach(), model.parameters[:, cut:]], dim=1)
            return super().loss(model.at(held), batch, memory)

    whole = train(Held(temperature=0.3, scope=Scope.MODEL), one, table, rows, seeds, SHORT)
    torch.testing.assert_close(embedded.parameters, whole.state.parameters)


def test_the_rule_chooses_among_points_on_validation_and_its_parameters_are_kept():
    table, seeds = small_table(), [0, 1, 2]
    rows = splits(table, seeds)
    rule = Rule("worst_group", accuracy_drop=0.05)
    one = first_stage(mlp(table), table, rows, seeds, SHORT)
    two = second_stage(RAAN(scope=Scope.MODEL), one.model, table, rows, seeds, replace(SHORT, epochs=6), rule)
    points = two.path.points
    for run in range(3):
        start = points[0].validation.accuracy[run]
        allowed = [p for p in points if p.validation.accuracy[run] >= start - 0.05 - 1e-9]
        best = max(allowed, key=lambda p: p.validation.worst_group_accuracy[run])
        assert two.path.chosen_step[run] == best.step
    from raan.training.evaluate import evaluate

    chosen = evaluate(two.model, table, rows.validation)
    for run, step in enumerate(two.path.chosen_step.tolist()):
        point = next(p for p in points if p.step == step)
        assert chosen.worst_group_accuracy[run] == point.validation.worst_group_accuracy[run]


def test_an_undefined_aim_is_never_chosen_over_the_start():
    table = replace(small_table(), attribute=torch.zeros(240, dtype=torch.long))
    finish = trained(ERM(), table, [0], rule=Rule("equalized_odds"))
    assert finish.path.chosen_step.tolist() == [0]


def test_the_last_rule_takes_the_last_point():
    finish = trained(ERM(), small_table(), [0, 1], rule=LAST)
    assert finish.path.chosen_step.tolist() == [15, 15]
    assert torch.equal(finish.path.chosen, finish.state.parameters)


@pytest.mark.usefixtures("as_users_call")
def test_an_unknown_aim_is_an_error():
    with pytest.raises(ValueError, match="aim is 'fairness'; expected one of 'worst_group'"):
        Rule("fairness")


def test_a_linear_model_trains_too():
    table, seeds = small_table(), [0, 1]
    rows = splits(table, seeds)
    one = first_stage(linear(table), table, rows, seeds, replace(SHORT, epochs=10))
    two = second_stage(RAAN(), one.model, table, rows, seeds, SHORT)
    assert (one.path.points[-1].validation.accuracy > 0.65).all()
    assert two.model.parameters.isfinite().all()


def test_a_training_survives_its_file(tmp_path):
    table, method, file = small_table(), RAAN(scope=Scope.MODEL), tmp_path / "state.pt"
    trained(method, table, [0, 1], replace(SHORT, epochs=2), keep=Checkpoint(file, "mine").keep("raan"))
    half = Checkpoint(file, "mine").stages["raan"]
    assert half.state.epoch == 2
    resumed = trained(method, table, [0, 1], replace(SHORT, epochs=4), resume=half)
    whole = trained(method, table, [0, 1], replace(SHORT, epochs=4))
    assert all(torch.equal(a, b) for a, b in zip(tensors(whole), tensors(resumed), strict=True))
    assert [point.step for point in resumed.path.points] == [point.step for point in whole.path.points]
    assert [file.name for file in tmp_path.iterdir()] == ["state.pt"]


def test_a_walk_is_a_state_before_the_first_step_and_after_each_part_of_an_epoch():
    table, seeds = small_table(), [0, 1]
    rows = splits(table, seeds)
    model = mlp(table).start(table, rows.train, seeds)
    states = list(walk(ERM(), model, table, rows, seeds, SHORT))
    assert [state.step for state in states] == [0, 2, 5, 7, 10, 12, 15]
    assert [state.epoch for state in states] == [0, 0, 1, 1, 2, 2, 3]
    assert torch.equal(states[0].parameters, model.parameters)
    assert torch.equal(states[-1].parameters, trained(ERM(), table, seeds).state.parameters)
    later = list(walk(ERM(), model, table, rows, seeds, SHORT, resume=states[4]))
    assert [state.step for state in later] == [12, 15]
    assert torch.equal(later[-1].parameters, states[-1].parameters)
