"""Sums over all pairs, streamed: against the loops, at every temperature's own way of computing them."""

import sys
import time

import numpy as np
import pytest
import torch

import raan.neighbourhood.stream as rows
import raan.neighbourhood.stream as stream
from memory import grown_by
from problems import problem
from raan import aan_weights
from raan.neighbourhood.balance import anchor_weights
from raan.neighbourhood.stream import exact_weights
from reference import neighbourhood as loops


@pytest.mark.parametrize("balance", ["group", "sample"])
@pytest.mark.parametrize("attributes", [2, 3])
@pytest.mark.filterwarnings("ignore:4 of 40 samples keep weight 1")
def test_at_temperature_inf_the_weights_are_a_closed_form_of_the_cells(balance, attributes):
    p = problem(rows=40, classes=3, attributes=attributes)
    attribute = p.attribute.numpy().astype(object)
    attribute[:4] = None
    weight = aan_weights(
        p.embedding.numpy(), p.label.numpy(), attribute, temperature=float("inf"), balance=balance
    )
    codes = np.where([each is None for each in attribute], -1, p.attribute.numpy())
    expected = loops.sample_weights(p.embedding.numpy(), p.label.numpy(), codes, float("inf"), balance)
    np.testing.assert_allclose(weight[4:], expected[4:], rtol=1e-12)
    assert (weight[:4] == 1).all()


def test_temperature_inf_takes_a_million_rows_in_under_a_second():
    rng = np.random.default_rng(0)
    label, attribute = rng.integers(0, 2, 10**6), rng.integers(0, 3, 10**6)
    embedding = np.zeros((10**6, 2), dtype=np.float32)
    aan_weights(embedding[:100], label[:100], attribute[:100], temperature=float("inf"))
    begun = time.process_time()
    weight = aan_weights(embedding, label, attribute, temperature=float("inf"))
    assert time.process_time() - begun < 1
    assert weight.mean() == pytest.approx(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_quick_way_and_the_careful_way_agree_where_they_meet(dtype, monkeypatch):
    p = problem(rows=80, classes=2, attributes=3, dim=8, dtype=dtype)
    anchor = anchor_weights(p.label, p.attribute, "group")
    arguments = p.embedding, p.label, p.attribute, anchor, stream.WARM
    quick = exact_weights(*arguments)
    monkeypatch.setattr(stream, "WARM", 1.0)
    torch.testing.assert_close(
        quick, exact_weights(*arguments), rtol=1e-4 if dtype == torch.float32 else 1e-11, atol=0
    )


@pytest.mark.parametrize("spread", [1.0, 0.02])
@pytest.mark.parametrize("temperature", [0.025, 0.03, 0.1])
def test_the_quick_way_in_float32_agrees_with_float64_loops(temperature, spread):
    p = problem(rows=120, dim=16)
    embedding = (1 + spread * p.embedding).float().numpy()
    weights = aan_weights(embedding, p.label, p.attribute, temperature=temperature)
    expected = loops.sample_weights(embedding, *p.arrays()[1:3], temperature, "group")
    np.testing.assert_allclose(weights, expected, rtol=1e-4)


def test_opposite_directions_at_the_lowest_temperature_of_the_quick_way_stay_finite():
    far = np.array([[1.0, 0], [-1, 0]], dtype=np.float32)
    both = np.concatenate([far, far])  # of each class one row of each attribute value, one opposite to the other
    weights = aan_weights(both, [0, 0, 1, 1], [0, 1, 0, 1], temperature=stream.WARM)
    np.testing.assert_allclose(weights, 1, rtol=1e-6)
    # And with a neighbour at the same place, which takes all.
    more = np.concatenate([both, far[:1]])
    weights = aan_weights(more, [0, 0, 1, 1, 0], [0, 1, 0, 1, 1], temperature=stream.WARM, balance="sample")
    np.testing.assert_allclose(weights, [2, 0, 1, 1, 1], atol=1e-6)


def test_panels_and_parts_change_nothing(monkeypatch):
    p = problem(rows=60, classes=2, attributes=3)
    whole = [aan_weights(*p.arrays()[:3], temperature=temperature) for temperature in (0.01, 0.5)]
    monkeypatch.setattr(stream, "BLOCK", 3)
    monkeypatch.setattr(rows, "PART", 8)
    monkeypatch.setattr(rows.Directions, "panel", 7)
    for temperature, expected in zip((0.01, 0.5), whole, strict=True):
        np.testing.assert_allclose(aan_weights(*p.arrays()[:3], temperature=temperature), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ">f8", np.int8, bool])
def test_any_numbers_in_a_memory_map_are_weighed_as_in_memory(tmp_path, kind):
    p = problem(rows=40)
    numbers = (3 * p.embedding.numpy()).astype(kind)
    np.save(tmp_path / "z.npy", numbers)
    mapped = np.load(tmp_path / "z.npy", mmap_mode="r")
    precise = np.float64 if kind is np.float64 else np.float32
    expected = aan_weights(numbers.astype(precise), p.label, p.attribute)
    np.testing.assert_array_equal(aan_weights(mapped, p.label, p.attribute), expected)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
@pytest.mark.parametrize("kind", ["float32", pytest.param("float16", marks=pytest.mark.exhaustive)])
def test_a_memory_map_of_four_times_the_memory_is_weighed(tmp_path, kind):
    count, dimensions = 6400 * (2 if kind == "float16" else 1), 8192
    mapped = np.lib.format.open_memmap(tmp_path / "z.npy", "w+", kind, (count, dimensions))
    some = np.random.default_rng(0).normal(size=(800, dimensions))
    for start in range(0, count, 800):
        mapped[start : start + 800] = some
    mapped.flush()
    script = """
import sys
import numpy as np
from raan import aan_weights
z = np.load(sys.argv[1], mmap_mode="r")
label, attribute = np.random.default_rng(0).integers(0, 2, (2, len(z)))
aan_weights(np.ones((3000, 8), dtype=np.float32), label[:3000], attribute[:3000])
with Peak():
    aan_weights(z, label, attribute)
"""
    size = (tmp_path / "z.npy").stat().st_size / 2**20
    assert grown_by(script, tmp_path / "z.npy") < size / 4
