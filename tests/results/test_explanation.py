from dataclasses import replace

import numpy as np
import pytest

from raan.data.table import Table
from raan.lab.study.explain import describe_weights, map_embedding, measure_separability
from raan.reweighting.weights import aan_weights


@pytest.fixture
def table():
    """Two features, the second tells the group; three quarters of the hired are of group m."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 400)
    attribute = (rng.random(400) < np.where(label, 0.75, 0.25)).astype(int)
    features = np.stack([rng.normal(size=400), attribute.astype(float)], axis=1).astype(np.float32)
    return Table.of(
        features, label, attribute, class_names=("no", "yes"), attribute_names=("f", "m"),
        feature_names=("hours", "sex=m"), name="people",
    )  # fmt: skip


def test_the_weights_by_cell_are_those_of_aan_weights(table):
    rows = np.arange(400)[::-1].copy()
    embedding = table.features.numpy()[rows]
    found = describe_weights(table, embedding, rows)
    label, attribute = table.label.numpy()[rows], table.attribute.numpy()[rows]
    weight = aan_weights(embedding, label, attribute, temperature=0.5, balance="group")
    for cell in found["cells"]:
        here = weight[
            (label == ("no", "yes").index(cell["class"])) & (attribute == ("f", "m").index(cell["attribute"]))
        ]
        assert cell["rows"] == len(here)
        assert cell["mean"] == pytest.approx(here.mean(), abs=1e-4)
        assert cell["quantiles"] == pytest.approx(np.quantile(here, [0.05, 0.25, 0.5, 0.75, 0.95]), abs=1e-4)


def test_features_of_the_heaviest_rows_are_compared_with_those_of_all(table):
    rows = np.arange(400)
    found = describe_weights(table, table.features.numpy(), rows, "sample")
    weight = aan_weights(table.features.numpy(), table.label.numpy(), table.attribute.numpy(), balance="sample")
    heaviest = np.argsort(-weight, kind="stable")[:40]
    hours = table.features[:, 0].double().numpy()
    told = {each["feature"]: each for each in found["features"]}
    assert told["hours"]["all"] == pytest.approx(hours.mean(), abs=1e-3)
    assert told["hours"]["upweighted"] == pytest.approx(hours[heaviest].mean(), abs=1e-3)
    difference = (hours[heaviest].mean() - hours.mean()) / hours.std()
    assert told["hours"]["difference"] == pytest.approx(difference, abs=1e-3)


def test_features_without_names_tell_nobody_anything(table):
    assert describe_weights(table, table.features.numpy(), np.arange(400))["features"]
    nameless = replace(table, feature_names=())
    assert describe_weights(nameless, table.features.numpy(), np.arange(400))["features"] == []


def test_rows_of_unknown_attribute_are_left_out_of_the_weights(table):
    table.attribute[:100] = -1
    found = describe_weights(table, table.features.numpy(), np.arange(400))
    assert found["rows"] == sum(cell["rows"] for cell in found["cells"]) == 300


def test_separability_is_one_where_the_attribute_is_in_the_embedding_and_a_half_where_it_is_not(table):
    group = table.attribute.numpy()
    assert measure_separability(table.features.numpy().astype(float), group) == pytest.approx(1)
    noise = np.random.default_rng(1).normal(size=(400, 3))
    assert measure_separability(noise, group) == pytest.approx(0.5, abs=0.1)
    assert measure_separability(noise, np.zeros(400, dtype=int)) is None


def test_a_map_has_a_place_a_class_and_a_group_for_every_row_drawn(table):
    rows = np.arange(100, 300)
    found = map_embedding("plain training", table, table.features.numpy()[rows], rows)
    assert found["label"] == table.label[100:300].tolist()
    assert found["attribute"] == table.attribute[100:300].tolist()
    assert np.std(found["x"]) > 0
    assert np.std(found["y"]) > 0


def test_an_embedding_of_one_point_can_be_drawn(table):
    found = map_embedding("flat", table, np.zeros((400, 3), dtype=np.float32), np.arange(400))
    assert len(found["x"]) == len(found["y"]) == 400
    assert np.isfinite(found["x"]).all()
