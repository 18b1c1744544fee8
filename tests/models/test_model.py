from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from raan.data import split, stack
from raan.data.batches import keep_masks
from raan.data.streams import stream
from raan.models.model import Stack, linear, mlp
from training_tables import small_table


def started(architecture=mlp, seeds=(0, 1), **options):
    table = small_table()
    rows = stack([split(table.rows, (160, 40, 40), seed) for seed in seeds])
    return table, rows, architecture(table, **options).start(table, rows.train, list(seeds))


def as_module(model, run):
    """The same network as an ordinary torch module."""
    parts = torch.split(model.parameters[run], model.encoder.sizes + model.head.sizes)
    layers, widths = [], [*pairwise(model.encoder.widths), *pairwise(model.head.widths)]
    for k, (inputs, outputs) in enumerate(widths):
        layer = nn.Linear(inputs, outputs, dtype=torch.float64)
        layer.weight.data, layer.bias.data = parts[2 * k].view(inputs, outputs).T, parts[2 * k + 1]
        layers.append(layer)
    encoder = len(model.encoder.widths) - 1

    def forward(x):
        for k, layer in enumerate(layers):
            if k not in (0, encoder):
                x = x.relu()
            x = layer(x)
            if k == encoder - 1:
                embedding = x
        return embedding, x

    return forward


def test_each_run_computes_what_an_ordinary_module_with_its_weights_does():
    table, rows, model = started()
    x = table.features[rows.test]
    output = model(x)
    for run in range(2):
        centre, spread = (part[run] for part in model.scaling)
        embedding, logit = as_module(model, run)((x[run] - centre) / spread)
        torch.testing.assert_close(output.embedding[run], embedding)
        torch.testing.assert_close(output.logit[run], logit)


def test_the_papers_network_has_three_layers_of_fifty_and_a_head_of_two():
    _, _, model = started()
    assert model.encoder.widths == (6, 50, 50, 50)
    assert model.head.widths == (50, 50, 2)
    assert model.units == 150
    assert model.dropout == 0.2


def test_starting_values_are_torchs_and_depend_on_the_seed_alone():
    _, _, model = started(seeds=(5, 6, 5))
    assert torch.equal(model.parameters[0], model.parameters[2])
    assert not torch.allclose(model.parameters[0], model.parameters[1])
    first = model.parameters[:, : 6 * 50]
    assert first.abs().max() < 6**-0.5
    assert first.abs().max() > 0.95 * 6**-0.5
    assert first.std().item() == pytest.approx(nn.Linear(6, 5000).weight.std().item(), rel=0.1)


def test_a_linear_model_embeds_a_row_as_its_scaled_features():
    table, rows, model = started(linear)
    x = table.features[rows.test]
    torch.testing.assert_close(model(x).embedding, (x - model.scaling.centre) / model.scaling.spread)
    assert model.head.widths == (6, 2)


def test_features_are_scaled_by_training_rows_only_and_columns_of_zero_and_one_stay():
    table = small_table()
    table.features[:, 3] = (table.features[:, 3] > 0).double()
    table.features[:, 4] = 7.0
    rows = stack([split(table.rows, (160, 40, 40), 0)])
    scaling = mlp(table).start(table, rows.train, [0]).scaling
    known = table.features[rows.train[0]]
    torch.testing.assert_close(scaling.centre[0, 0, :3], known[:, :3].mean(0))
    torch.testing.assert_close(scaling.spread[0, 0, :3], known[:, :3].std(0))
    assert scaling.centre[0, 0, 3:5].tolist() == [0, 0]
    assert scaling.spread[0, 0, 3:5].tolist() == [1, 1]
    table.features[rows.test[0]] += 100
    assert torch.equal(mlp(table).start(table, rows.train, [0]).scaling.centre, scaling.centre)


def test_the_head_alone_over_embeddings_says_what_the_model_says():
    table, rows, model = started()
    output = model(table.features[rows.test])
    head = model.without_encoder()
    torch.testing.assert_close(head(output.embedding).logit, output.logit)
    assert torch.equal(model.with_head(head.parameters).parameters, model.parameters)


def test_dropout_masks_keep_the_promised_share_at_the_promised_scale():
    keep = keep_masks({0: stream(0, "a"), 1: stream(1, "a")}, [0, 1], 500, 401, 0.2, torch.float64)
    assert keep.unique().tolist() == pytest.approx([0, 1.25])
    assert (keep > 0).double().mean((1, 2)).tolist() == pytest.approx([0.8, 0.8], abs=0.003)
    assert keep.mean().item() == pytest.approx(1, abs=0.01)
    assert not torch.equal(keep[0], keep[1])


def test_masked_units_pass_nothing_on():
    net = Stack((3, 4, 2))
    parameters = torch.split(
        torch.randn(1, sum(net.sizes), generator=torch.Generator().manual_seed(0)), net.sizes, dim=1
    )
    x = torch.randn(1, 5, 3, generator=torch.Generator().manual_seed(1))
    nothing = net(parameters, x, torch.zeros(1, 5, 4))
    torch.testing.assert_close(nothing, parameters[3].unsqueeze(1).expand(1, 5, 2))
    torch.testing.assert_close(net(parameters, x, torch.ones(1, 5, 4)), net(parameters, x))


def test_streams_depend_on_seed_purpose_and_counter_alone():
    draw = lambda *key: stream(*key).integers(0, 2**60, 4).tolist()  # noqa: E731
    assert draw(1, "shuffle", 3) == draw(1, "shuffle", 3)
    assert (
        len(
            {
                str(draw(*key))
                for key in [(1, "shuffle", 3), (2, "shuffle", 3), (1, "dropout", 3), (1, "shuffle", 4)]
            }
        )
        == 4
    )
    assert isinstance(stream(0, "x"), np.random.Generator)
