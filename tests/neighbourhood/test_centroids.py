"""Weights over centroids: exact where every row is one, as near as the certificate says where they are not."""

import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import raan.neighbourhood.centroids as centroids
from memory import grown_by
from problems import problem
from raan import aan_weights
from raan.neighbourhood.balance import anchor_weights
from raan.neighbourhood.centroids import over_centroids, products
from raan.neighbourhood.certificate import Certificate
from raan.neighbourhood.stream import WARM, by_cell, directions_of, neighbour_cells
from reference import neighbourhood as loops

CAN_WARN = pytest.mark.filterwarnings("ignore:.*keep weight 1")


def crowd(rows=16_000, dim=12, seed=0, attributes=2):
    """Clustered directions, as embeddings are."""
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(20, dim))
    z = middle[rng.integers(0, 20, rows)] + 0.7 * rng.normal(size=(rows, dim))
    return z.astype(np.float32), rng.integers(0, 2, rows), rng.integers(0, attributes, rows)


def whole(p, temperature, size, balance="group"):
    """The weights over so many centroids a cell, in the order of the rows."""
    anchor, order = anchor_weights(p.label, p.attribute, balance), by_cell(p.label, p.attribute)
    classes = list(neighbour_cells(p.label[order], p.attribute[order]))
    weight, errors = over_centroids(directions_of(p.embedding, order, temperature), classes, anchor[order], size)
    return torch.zeros_like(weight).index_copy(0, order, weight), errors


@pytest.mark.parametrize("balance", ["group", "sample"])
@pytest.mark.parametrize("temperature", [WARM, 0.1, 1.9])
@pytest.mark.parametrize(("classes", "attributes"), [(2, 2), (3, 3), (2, 4)])
def test_with_a_centroid_for_each_row_the_weights_are_the_definition_written_out(
    balance, temperature, classes, attributes
):
    p = problem(rows=40, classes=classes, attributes=attributes)
    weight, errors = whole(p, temperature, 40, balance)
    np.testing.assert_allclose(weight, loops.sample_weights(*p.arrays()[:3], temperature, balance), rtol=1e-9)
    assert max(float(error.max()) for error in errors) < 1e-9


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.floats(WARM, 10), st.integers(1, 12))
def test_over_any_number_of_centroids_each_class_keeps_its_total_and_no_weight_is_negative(
    seed, temperature, size
):
    p = problem(seed, rows=60, classes=2, attributes=3)
    weight, _ = whole(p, temperature, size)
    assert weight.mean() == pytest.approx(1)
    assert (weight >= 0).all()
    for label in (0, 1):
        cells = anchor_weights(p.label, p.attribute, "group")[p.label == label].sum()
        assert weight[p.label == label].sum() == pytest.approx(float(cells))


@pytest.mark.parametrize("attributes", [2, 3])
@pytest.mark.parametrize("temperature", [0.1, 0.3])
def test_the_certificate_tells_the_true_error(temperature, attributes):
    z, y, a = crowd(attributes=attributes)
    exact = aan_weights(z, y, a, temperature=temperature)
    weight, certificate = aan_weights(z, y, a, temperature=temperature, tolerance=0.2, return_certificate=True)
    error = np.abs(weight / exact - 1)
    true = max(np.median(error[(y == label) & (a == group)]) for label in (0, 1) for group in range(attributes))
    assert not certificate.exact
    assert true / 1.5 < certificate.median < 1.5 * true
    assert certificate.median <= 0.2
    assert certificate.median < certificate.tail
    assert certificate.rows == 2 * attributes * 256


def test_centroids_are_doubled_until_the_tolerance_is_met():
    z, y, a = crowd(60_000)
    loose = aan_weights(z, y, a, temperature=0.2, tolerance=0.2, return_certificate=True)[1]
    tolerance = 0.95 * loose.median
    tight = aan_weights(z, y, a, temperature=0.2, tolerance=tolerance, return_certificate=True)[1]
    assert loose.centroids == 128
    assert tight.centroids in (256, 512)
    assert tight.median <= tolerance < loose.median


@pytest.mark.parametrize(
    ("dials", "why"),
    [
        (dict(temperature=0.01, tolerance=0.5), "below temperature 0.025"),
        (dict(temperature=0.1, tolerance=1e-9), "would cost about as much"),
        (dict(temperature=float("inf"), tolerance=0.1), "a closed form"),
        (dict(temperature=0.5), "no tolerance"),
    ],
)
def test_where_centroids_do_not_serve_the_weights_are_exact_and_it_is_said(dials, why):
    z, y, a = crowd(3000)
    weight, certificate = aan_weights(z, y, a, **dials, return_certificate=True)
    assert certificate.exact
    assert certificate.median == certificate.tail == 0
    assert why in certificate.note
    np.testing.assert_array_equal(weight, aan_weights(z, y, a, temperature=dials["temperature"]))


def test_the_seed_decides_and_the_plain_return_is_an_array():
    z, y, a = crowd()
    first, again, other = (
        aan_weights(z, y, a, temperature=0.2, tolerance=0.1, random_state=seed) for seed in (0, 0, 1)
    )
    assert isinstance(first, np.ndarray)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    tensor, certificate = aan_weights(
        torch.from_numpy(z), y, a, temperature=0.2, tolerance=0.1, return_certificate=True
    )
    assert isinstance(certificate, Certificate)
    np.testing.assert_allclose(tensor.numpy(), first, rtol=1e-5)


@CAN_WARN
def test_cells_of_one_row_copies_and_unknown_attributes_are_as_in_exact_weights():
    z, y, a = crowd()
    a = a.astype(object)
    z[100:2000] = z[:100].repeat(19, axis=0)
    y[:1], a[:1] = 0, 2  # the only row of its cell
    a[1:40] = None
    y[40:43], a[40:43] = 7, 0  # a class with one attribute value
    exact = aan_weights(z, y, a, temperature=0.3)
    weight, certificate = aan_weights(z, y, a, temperature=0.3, tolerance=0.1, return_certificate=True)
    assert not certificate.exact
    assert (weight[1:43] == 1).all()
    assert np.median(np.abs(weight / exact - 1)) < 0.1
    assert weight[0] == pytest.approx(exact[0], rel=0.1)
    alike = aan_weights(np.ones((16_000, 3)), y, a, temperature=0.3, tolerance=0.1)
    np.testing.assert_allclose(alike, aan_weights(z, y, a, temperature=float("inf")), rtol=1e-4)


def test_totals_of_ones_own_and_strength_hold_over_centroids_too():
    z, y, a = crowd()
    totals = {(0, 0): 5, (0, 1): 10, (1, 0): 20, (1, 1): 7}
    weight = aan_weights(z, y, a, temperature=0.2, balance=totals, tolerance=0.1)
    for (label, group), total in totals.items():
        assert weight[(y == label) & (a == group)].sum() == pytest.approx(total)
    full = aan_weights(z, y, a, temperature=0.2, tolerance=0.1)
    half = aan_weights(z, y, a, temperature=0.2, tolerance=0.1, strength=0.5)
    np.testing.assert_allclose(half, 0.5 + 0.5 * full)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("tolerance", [0, -1, float("nan"), "low"])
def test_a_tolerance_that_means_nothing_is_an_error(tolerance):
    z, y, a = crowd(100)
    with pytest.raises(ValueError, match="The 'tolerance' parameter of aan_weights"):
        aan_weights(z, y, a, tolerance=tolerance)


def test_a_tolerance_is_cheaper_the_more_rows_there_are(monkeypatch):
    cells = [[range(10**6), range(10**6, 2 * 10**6)]]
    assert products(cells, 256) < centroids.exact_products(cells) / 500
    few = [[range(300), range(300, 600)]]
    assert products(few, 128) > centroids.exact_products(few) / 2
    # Every product of the estimate is one that is computed.
    seen = []
    z, y, a = crowd(attributes=3)
    real = torch.Tensor.exp_
    monkeypatch.setattr(torch.Tensor, "exp_", lambda tensor: (seen.append(tensor.numel()), real(tensor))[1])
    aan_weights(z, y, a, temperature=0.3, tolerance=1.0)
    order = by_cell(*(torch.from_numpy(part) for part in (y, a)))
    classes = list(neighbour_cells(torch.from_numpy(y)[order], torch.from_numpy(a)[order]))
    assert sum(seen) < products(classes, 128)


def test_a_memory_map_is_approximated_as_the_array_is(tmp_path):
    z, y, a = crowd()
    np.save(tmp_path / "z.npy", z.astype(np.float16))
    mapped = np.load(tmp_path / "z.npy", mmap_mode="r")
    weight = aan_weights(mapped, y, a, temperature=0.3, tolerance=0.1)
    np.testing.assert_array_equal(weight, aan_weights(np.array(mapped), y, a, temperature=0.3, tolerance=0.1))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
@pytest.mark.exhaustive
def test_a_memory_map_of_four_times_the_memory_is_approximated(tmp_path):
    count, dimensions = 100_000, 512
    mapped = np.lib.format.open_memmap(tmp_path / "z.npy", "w+", "float32", (count, dimensions))
    some = np.random.default_rng(0).normal(size=(5000, dimensions))
    for start in range(0, count, len(some)):
        mapped[start : start + len(some)] = some
    mapped.flush()
    script = """
import sys
import numpy as np
from raan import aan_weights
z = np.load(sys.argv[1], mmap_mode="r")
label, attribute = np.random.default_rng(0).integers(0, 2, (2, len(z)))
aan_weights(np.eye(8, dtype=np.float32)[label[:6000]], label[:6000], attribute[:6000], tolerance=0.1)
with Peak():
    _, certificate = aan_weights(z, label, attribute, tolerance=1.0, return_certificate=True)
assert not certificate.exact
"""
    size = (tmp_path / "z.npy").stat().st_size / 2**20
    grown = grown_by(script, tmp_path / "z.npy")
    assert grown < size / 4, (grown, size)
