"""The toy shows what Figure 1 shows, with weights written out from the paper by loops."""

import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from raan.data import Table, toy
from raan.lab.datasets.toy import COLOUR_DIRECTION, SHAPE_DIRECTION

TEMPERATURE = 0.5


def reference_weights(table: Table, temperature: float) -> list[float]:
    """Eq. (4)'s weight of each row's loss, by loops; each (label, attribute) cell counts alike."""
    features = table.features.double()
    z = torch.nn.functional.normalize((features - features.mean(0)) / features.std(0)).tolist()
    y, a = table.label.tolist(), table.attribute.tolist()
    size = table.cells().tolist()
    weights = [0.0] * table.rows
    for i in range(table.rows):
        neighbours = [j for j in range(table.rows) if y[j] == y[i] and a[j] != a[i]]
        affinity = [math.exp((z[i][0] * z[j][0] + z[i][1] * z[j][1]) / temperature) for j in neighbours]
        for j, value in zip(neighbours, affinity, strict=True):
            weights[j] += table.rows / 4 / size[y[i]][a[i]] * value / sum(affinity)
    return weights


def degrees_from_the_shapes(table: Table, weights: list[float] | None = None) -> float:
    """The angle between the normal of a linear classifier's boundary and that of the shapes'."""
    normal = LogisticRegression().fit(table.features, table.label, sample_weight=weights).coef_[0]
    return math.degrees(math.acos(normal @ SHAPE_DIRECTION / np.linalg.norm(normal)))


@pytest.mark.parametrize("seed", range(3))
def test_cross_entropy_follows_the_shapes_where_the_cells_are_equal(seed: int) -> None:
    assert degrees_from_the_shapes(toy(seed=seed, bias=0.0)) < 15


@pytest.mark.parametrize("seed", range(3))
def test_cross_entropy_follows_the_colours_in_the_biased_draw(seed: int) -> None:
    assert degrees_from_the_shapes(toy(seed=seed)) > 45


@pytest.mark.parametrize("temperature", [TEMPERATURE, math.inf])
@pytest.mark.parametrize("seed", range(3))
def test_neighbourhood_weights_and_mere_balancing_follow_the_shapes(seed: int, temperature: float) -> None:
    table = toy(seed=seed)
    assert degrees_from_the_shapes(table, reference_weights(table, temperature)) < 20


def test_the_bias_is_the_correlation_of_shape_and_colour_and_sets_the_cells() -> None:
    table = toy()
    red = 1 - table.attribute
    assert np.corrcoef(table.label, red)[0, 1] == pytest.approx(0.88)
    assert table.cells().tolist() == [[24, 376], [376, 24]]
    assert toy(bias=0.0).cells().tolist() == [[200, 200], [200, 200]]
    assert toy(bias=-0.88).cells().tolist() == [[376, 24], [24, 376]]


@pytest.mark.parametrize("rows", [797, 798, 799, 801])
def test_any_number_of_rows_can_be_drawn(rows: int) -> None:
    cells = toy(rows).cells()
    assert cells.sum() == rows
    assert (cells - rows * torch.tensor([[0.03, 0.47], [0.47, 0.03]])).abs().max() < 1


def test_each_cell_lies_around_its_own_centre() -> None:
    table = toy(40_000, bias=0.0)
    for label, attribute in ((0, 0), (0, 1), (1, 0), (1, 1)):
        cell = table.features[(table.label == label) & (table.attribute == attribute)]
        centre = torch.tensor([2.0 * attribute - 1, 0.8 * (2 * label - 1)])
        torch.testing.assert_close(cell.mean(0), centre, atol=0.05, rtol=0)
        torch.testing.assert_close(cell.std(0), torch.tensor([0.2, 1.0]), atol=0.05, rtol=0)


def test_the_shape_and_the_colour_have_directions_at_right_angles() -> None:
    assert np.dot(SHAPE_DIRECTION, COLOUR_DIRECTION) == 0
    table = toy(bias=0.0)
    difference = table.features[table.label == 1].mean(0) - table.features[table.label == 0].mean(0)
    assert difference.numpy() @ SHAPE_DIRECTION > 1


def test_the_rows_are_shuffled() -> None:
    assert toy().label[:50].unique().tolist() == [0, 1]


def test_the_seed_decides_the_draw_and_the_global_generators_do_not() -> None:
    ours, theirs = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = toy(seed=1), toy(seed=1), toy(seed=2)
    assert torch.equal(first.features, again.features)
    assert not torch.equal(first.features, other.features)
    assert torch.equal(torch.get_rng_state(), ours)
    assert np.array_equal(np.random.get_state()[1], theirs)  # noqa: NPY002


@pytest.mark.parametrize("bias", [1.0, -1.0, float("nan")])
def test_a_bias_that_is_no_correlation_is_refused(bias: float) -> None:
    with pytest.raises(ValueError, match=f"bias is {bias}; expected a correlation between -1 and 1"):
        toy(bias=bias)


def test_too_few_rows_for_every_cell_are_refused() -> None:
    with pytest.raises(ValueError, match=r"10 rows at bias 0.88 leave a .* cell empty; draw more rows"):
        toy(rows=10)
