import pytest
import torch

from raan.data import split, stack
from raan.data.batches import batches
from raan.methods import ERM, RAAN, Scope
from raan.models.model import mlp
from raan.neighbourhood.objective import group_objective, sample_objective
from training_tables import small_table


def full_batch(method):
    """The method's loss and gradient on one batch that holds every training row, without dropout."""
    table, seeds = small_table(classes=3, attributes=3), [0, 1]
    rows = stack([split(table.rows, (180, 30, 30), seed) for seed in seeds])
    model = mlp(table, dropout=0.0).start(table, rows.train, seeds)
    batch = next(iter(batches(table, rows.train, seeds, batch_size=180, epoch=0)))
    memory = method.prepare(model, table, rows.train)
    here = memory
    if memory.rows.shape[1]:
        here = memory._replace(rows=torch.stack([memory.rows[run, batch.row[run]] for run in range(2)]))
    leaf = model.parameters.detach().requires_grad_()
    loss, _ = method.loss(model.at(leaf), batch, here)
    return loss, torch.autograd.grad(loss.sum(), leaf, retain_graph=True)[0], model.at(leaf), batch


@pytest.mark.parametrize(("balance", "exact"), [("group", group_objective), ("sample", sample_objective)])
def test_a_full_batch_gives_the_exact_objective_and_gradient_of_the_whole_model(balance, exact):
    loss, gradient, model, batch = full_batch(RAAN(balance=balance, scope=Scope.MODEL, averaging_rate=1.0))
    for run in range(2):
        output = model(batch.features, None)
        sample_loss = torch.nn.functional.cross_entropy(output.logit[run], batch.label[run], reduction="none")
        value = exact(output.embedding[run], batch.label[run], batch.attribute[run], sample_loss, 0.5)
        torch.testing.assert_close(loss[run], value)
        torch.testing.assert_close(gradient[run], torch.autograd.grad(value, model.parameters)[0][run])


def test_strength_zero_is_erm_and_half_is_half_way():
    plain, robust, half = (
        full_batch(method) for method in (ERM(), RAAN(scope=Scope.MODEL), RAAN(scope=Scope.MODEL, strength=0.5))
    )
    torch.testing.assert_close(full_batch(RAAN(scope=Scope.MODEL, strength=0.0))[:2], plain[:2])
    torch.testing.assert_close(half[1], (plain[1] + robust[1]) / 2)


def test_only_training_rows_count_in_the_anchors_weights():
    table, seeds = small_table(), [0]
    rows = stack([split(table.rows, (100, 40, 40), 0)])
    memory = RAAN().prepare(mlp(table).start(table, rows.train, seeds), table, rows.train)
    anchor = memory.rows[0, :, 2]
    assert anchor.sum().item() == pytest.approx(100)
    others = torch.ones(table.rows, dtype=torch.bool)
    others[rows.train[0]] = False
    assert (anchor[others] == 0).all()


def test_skipped_anchors_are_counted():
    table, seeds = small_table(), [0]
    rows = stack([split(table.rows, (160, 40, 40), 0)])
    from raan.training.train import Schedule, train

    model = mlp(table).start(table, rows.train, seeds)
    small = train(
        RAAN(scope=Scope.MODEL), model, table, rows, seeds, Schedule(epochs=2, batch_size=4)
    ).state.memory.whole
    large = train(
        RAAN(scope=Scope.MODEL), model, table, rows, seeds, Schedule(epochs=2, batch_size=80)
    ).state.memory.whole
    assert small[0, 0] == large[0, 0] == 320
    assert small[0, 1] > 50
    assert large[0, 1] == 0


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(temperature=-0.5), r"temperature is -0.5; expected 0 to inf"),
        (dict(temperature=torch.tensor([0.1, -1.0])), r"temperature is \[0.1.*, -1.0\]; expected 0 to inf"),
        (dict(averaging_rate=1.5), "averaging_rate is 1.5; expected 0 to 1"),
        (dict(strength=2.0), "strength is 2.0; expected 0 to 1"),
        (dict(balance="equal"), 'balance is \'equal\'; expected "group", Eq. \\(4\\), or "sample"'),
    ],
)
def test_dials_out_of_range_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        RAAN(**options)
