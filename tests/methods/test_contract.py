"""What every method promises; a new one in METHODS is tested here without a word."""

from dataclasses import replace

import pytest
import torch

from raan.data import split, stack
from raan.data.batches import Batch, batches, flat_index
from raan.methods import ERM, METHODS, Adversarial, GapPenalty, Method, Sampling, Scope, grid
from raan.models.model import mlp
from raan.training.evaluate import embed_table
from raan.training.train import Schedule, train
from training_tables import small_table

each_method = pytest.mark.parametrize("name", [name for name in METHODS if isinstance(METHODS[name], Method)])
each_shape = pytest.mark.parametrize(("classes", "attributes"), [(2, 2), (3, 4)])


def table_with_environments(**shape):
    """A small table; its environments matter to those methods that know them."""
    table = small_table(**shape)
    return replace(table, environment=torch.arange(table.rows) // 3 % 2)


def changed(batch, change):
    """The batch with every tensor changed alike."""
    return Batch(**{name: None if part is None else change(part) for name, part in vars(batch).items()})


def setting(name, classes=2, attributes=2, runs=3, dropout=0.2):
    """The method, its model and memory after some training, and a fresh batch with the memory's rows for it."""
    method, seeds = METHODS[name], list(range(runs))
    table = table_with_environments(classes=classes, attributes=attributes)
    rows = stack([split(table.rows, (160, 40, 40), seed) for seed in seeds])
    model = mlp(table, width=20, dropout=dropout).start(table, rows.train, seeds)
    if method.scope is Scope.HEAD:
        table, model = embed_table(model, table), model.without_encoder()
    state = train(method, model, table, rows, seeds, Schedule(epochs=1, batch_size=32, learning_rate=1e-2)).state
    drawn = batches(table, rows.train, seeds, batch_size=24, epoch=9, units=model.units, dropout=model.dropout)
    return method, model.at(state.parameters), next(iter(drawn)), state.memory


def rows_of(memory, batch):
    rows = memory.rows.shape[1]
    return memory._replace(rows=memory.rows.flatten(0, 1)[flat_index(batch.row, rows)]) if rows else memory


def every_tensor(model, batch, memory):
    return [model.parameters, *(part for part in vars(batch).values() if part is not None), *memory]


@each_method
@each_shape
def test_the_loss_is_finite_for_each_run_and_reaches_every_layer_of_its_scope(name, classes, attributes):
    method, model, batch, memory = setting(name, classes, attributes)
    leaf = model.parameters.detach().requires_grad_()
    loss, _ = method.loss(model.at(leaf), batch, rows_of(memory, batch))
    gradient = torch.autograd.grad(loss.sum(), leaf)[0]
    assert loss.shape == (3,)
    assert loss.isfinite().all()
    assert gradient.isfinite().all()
    for layer in torch.split(gradient, model.encoder.sizes + model.head.sizes, dim=1):
        assert (layer != 0).any(-1).all()


@each_method
def test_arguments_are_left_untouched(name):
    method, model, batch, memory = setting(name)
    before = [part.clone() for part in every_tensor(model, batch, memory)]
    method.loss(model, batch, rows_of(memory, batch))
    for part, copy in zip(every_tensor(model, batch, memory), before, strict=True):
        torch.testing.assert_close(part, copy, rtol=0, atol=0)


@each_method
@each_shape
def test_the_order_of_a_batch_does_not_matter(name, classes, attributes):
    method, model, batch, memory = setting(name, classes, attributes)
    order = torch.randperm(24, generator=torch.Generator().manual_seed(0))
    shuffled = changed(batch, lambda part: part[:, order])
    loss, after = method.loss(model, batch, rows_of(memory, batch))
    again, after_again = method.loss(model, shuffled, rows_of(memory, shuffled))
    torch.testing.assert_close(again, loss)
    torch.testing.assert_close(after_again.whole, after.whole)
    if after.rows.shape[1]:
        torch.testing.assert_close(after_again.rows, after.rows[:, order])


@each_method
def test_a_run_alone_has_the_loss_and_gradient_it_has_in_the_pack(name):
    method, model, batch, memory = setting(name)
    for run in range(3):
        one = slice(run, run + 1)
        scaling = model.scaling and type(model.scaling)(*(part[one] for part in model.scaling))
        alone = replace(model, parameters=model.parameters[one], scaling=scaling)
        part = changed(batch, lambda part, one=one: part[one])
        here = rows_of(memory, batch)
        here = type(here)(*(value[one] for value in here))
        torch.testing.assert_close(
            method.loss(alone, part, here)[0], method.loss(model, batch, rows_of(memory, batch))[0][one]
        )


@each_method
@pytest.mark.parametrize("case", ["one class", "one attribute", "one sample", "nobody known"])
def test_degenerate_batches_give_finite_losses_and_gradients(name, case):
    method, model, batch, memory = setting(name)
    if case == "one class":
        batch = replace(batch, label=torch.zeros_like(batch.label))
    if case == "one attribute":
        batch = replace(batch, attribute=torch.ones_like(batch.attribute))
    if case == "nobody known":
        batch = replace(batch, attribute=-torch.ones_like(batch.attribute))
    if case == "one sample":
        batch = changed(batch, lambda part: part[:, :1])
    leaf = model.parameters.detach().requires_grad_()
    loss, after = method.loss(model.at(leaf), batch, rows_of(memory, batch))
    gradient = torch.autograd.grad(loss.sum(), leaf)[0]
    assert loss.isfinite().all()
    assert gradient.isfinite().all()
    assert not any(part.isnan().any() for part in after)


@each_method
def test_no_random_number_is_drawn_from_a_global_generator(name):
    before = torch.get_rng_state()
    method, model, batch, memory = setting(name)
    method.loss(model, batch, rows_of(memory, batch))
    assert torch.equal(torch.get_rng_state(), before)


@each_method
def test_hyperparameters_of_a_pack_may_be_tensors_with_one_value_for_each_run(name):
    from raan.methods import stack as pack

    method, model, batch, memory = setting(name)
    loss, _ = method.loss(model, batch, rows_of(memory, batch))
    stacked, _ = pack([method] * 3).loss(model, batch, rows_of(memory, batch))
    torch.testing.assert_close(stacked, loss)


@each_method
def test_memory_survives_a_checkpoint(name, tmp_path):
    from raan.training.checkpoint import Checkpoint

    method, seeds, table = METHODS[name], [0, 1], table_with_environments()
    rows = stack([split(table.rows, (160, 40, 40), seed) for seed in seeds])
    model = mlp(table, width=7).start(table, rows.train, seeds)
    run = lambda epochs, **options: train(  # noqa: E731
        method, model, table, rows, seeds, Schedule(epochs=epochs, batch_size=32), **options
    )
    run(1, keep=Checkpoint(tmp_path / "state.pt", "").keep("second"))
    resumed, whole = run(2, resume=Checkpoint(tmp_path / "state.pt", "").stages["second"]).state, run(2).state
    assert torch.equal(resumed.parameters, whole.parameters)
    for part, other in zip(resumed.memory, whole.memory, strict=True):
        torch.testing.assert_close(part, other, rtol=0, atol=0, equal_nan=True)


def test_runs_of_a_pack_that_differ_in_more_than_numbers_are_refused():
    from raan.methods import RAAN
    from raan.methods import stack as pack

    with pytest.raises(ValueError, match="runs of one pack differ in balance: \\['group', 'sample'\\]"):
        pack([RAAN(), RAAN(balance="sample")])


@pytest.mark.parametrize("name", METHODS)
def test_every_value_of_its_grid_is_a_legal_method(name):
    for dial, values in grid(METHODS[name]).items():
        for value in values:
            assert getattr(replace(METHODS[name], **{dial: value}), dial) == value


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_what_it_debiases_and_what_it_knows_of_groups(name):
    method = METHODS[name]
    assert set(method.debiases) <= {"encoder", "head"}
    assert method.group_use.prediction == "", "methods predict without knowing the group"
    if method.scope is Scope.HEAD:
        assert "encoder" not in method.debiases


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (
            Adversarial,
            dict(notion="fair"),
            'notion is \'fair\'; expected "DP", demographic parity, or "EO", equalized',
        ),
        (GapPenalty, dict(weight=-1.0), r"weight is -1\.0; expected 0 to inf"),
        (GapPenalty, dict(weight=torch.tensor([1.0, -2.0])), r"weight is \[1\.0, -2\.0\]; expected 0 to inf"),
        (type(METHODS["RNF"]), dict(temperature=0.5), r"temperature is 0\.5; expected 1 to inf"),
        (type(METHODS["DFR"]), dict(inverse_penalty=float("nan")), "inverse_penalty is nan; expected 0 to inf"),
    ],
)
def test_hyperparameters_out_of_range_are_errors(method, options, message):
    with pytest.raises(ValueError, match=message):
        method(**options)


@pytest.mark.parametrize("sampling", Sampling)
def test_training_draws_batches_as_the_method_says(sampling):
    seen = []

    class Watching(ERM):
        def loss(self, model, batch, memory):
            seen.append(batch.label * 2 + batch.attribute)
            return super().loss(model, batch, memory)

    table = small_table()
    table = replace(table, attribute=torch.where(torch.arange(240) % 5 == 0, table.attribute, 0))
    rows = stack([split(table.rows, (160, 40, 40), 0)])
    model = mlp(table, width=7).start(table, rows.train, [0])
    train(Watching(sampling=sampling), model, table, rows, [0], Schedule(epochs=1, batch_size=32))
    even = all((batch.flatten().bincount(minlength=4) == 8).all() for batch in seen)
    assert even == (sampling is Sampling.BALANCED)
