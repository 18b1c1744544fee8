import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from raan.data.split import Parts, stratified_split


def draw(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels and attributes of which some cells are rare, and some attributes unknown."""
    generator = np.random.default_rng(seed)
    label = (generator.random(rows) < 0.2).astype(np.int64)
    return label, generator.choice([-1, 0, 1, 2], size=rows, p=[0.05, 0.6, 0.3, 0.05])


@settings(max_examples=50, deadline=None)
@given(st.tuples(*[st.integers(0, 40)] * 3), st.integers(1, 40), st.integers(0, 1000))
def test_the_parts_have_their_sizes_and_share_no_row(sizes: tuple[int, int, int], spare: int, seed: int) -> None:
    rows = sum(sizes) + spare
    parts = stratified_split(*draw(rows, seed), sizes, seed)
    assert tuple(map(len, parts)) == sizes
    drawn = np.concatenate(parts).tolist()
    assert len(set(drawn)) == sum(sizes)
    assert set(drawn) <= set(range(rows))


@pytest.mark.parametrize("seed", range(5))
def test_every_cell_has_its_share_of_each_part(seed: int) -> None:
    label, attribute = draw(1000, seed)
    parts = stratified_split(label, attribute, (0.6, 0.2, 0.2), seed)
    for share, part in zip((0.6, 0.2, 0.2), parts, strict=True):
        for y, a in {*zip(label.tolist(), attribute.tolist(), strict=True)}:
            cell = (label == y) & (attribute == a)
            assert abs(cell[part].sum() - share * cell.sum()) <= 2


def equal(one: Parts, other: Parts) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_the_seed_decides_and_the_global_generators_do_not() -> None:
    label, attribute = draw(200)
    ours, theirs = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (stratified_split(label, attribute, (0.6, 0.2, 0.2), seed) for seed in (1, 1, 2))
    assert equal(first, again)
    assert not equal(first, other)
    assert torch.equal(torch.get_rng_state(), ours)
    assert np.array_equal(np.random.get_state()[1], theirs)  # noqa: NPY002


def test_every_row_of_a_cell_is_as_likely_to_train() -> None:
    label, attribute = np.arange(10) % 2, np.zeros(10, dtype=np.int64)
    times = np.zeros(10)
    for seed in range(1000):
        times[stratified_split(label, attribute, (4, 3, 3), seed).train] += 1
    assert np.all(np.abs(times - 400) < 5 * np.sqrt(1000 * 0.4 * 0.6))


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="ask for 110 rows, but there are 100"):
        stratified_split(*draw(100), (60, 30, 20), 0)
