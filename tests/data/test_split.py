import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from raan.data import Split, split, stack
from raan.lab.datasets.adult import SPLIT


def lengths(parts: Split) -> list[int]:
    return [part.shape[-1] for part in parts]


@given(st.tuples(*[st.integers(0, 30)] * 3), st.integers(0, 30), st.integers(0, 1000))
def test_the_parts_have_their_sizes_and_share_no_row(sizes: tuple[int, int, int], spare: int, seed: int) -> None:
    rows = sum(sizes) + spare
    parts = split(rows, sizes, seed)
    assert tuple(lengths(parts)) == sizes
    drawn = torch.cat(parts).tolist()
    assert len(set(drawn)) == sum(sizes)
    assert set(drawn) <= set(range(rows))


def test_sizes_that_use_every_row_are_a_partition() -> None:
    assert torch.equal(torch.cat(split(45_222, SPLIT, 3)).sort().values, torch.arange(45_222))


def test_the_same_seed_draws_the_same_rows_and_another_seed_others() -> None:
    first, again, other = (split(100, (50, 20, 30), seed) for seed in (7, 7, 8))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first.train, other.train)


def test_the_rows_are_drawn_at_random_and_not_in_order() -> None:
    train = split(10_000, (5_000, 0, 0), 0).train.double()
    # The mean of half of the rows is within five of its standard errors of that of all.
    assert abs(train.mean() - 4_999.5) < 5 * 10_000 / np.sqrt(12 * 5_000) * np.sqrt(0.5)
    assert not torch.equal(train, train.sort().values)


def test_drawing_leaves_the_global_generators_alone() -> None:
    ours, theirs = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    split(100, (50, 20, 30), 0)
    assert torch.equal(torch.get_rng_state(), ours)
    assert np.array_equal(np.random.get_state()[1], theirs)  # noqa: NPY002


@pytest.mark.parametrize(
    ("fractions", "sizes"),
    [
        ((0.8, 0.1, 0.1), [81, 10, 10]),
        ((0.7, 0.2, 0.1), [71, 20, 10]),
        ((0.5, 0.25, 0.0), [50, 26, 0]),
        ((1.0, 0.0, 0.0), [101, 0, 0]),
    ],
)
def test_fractions_are_rounded_so_that_no_row_is_lost(
    fractions: tuple[float, float, float], sizes: list[int]
) -> None:
    assert lengths(split(101, fractions, 0)) == sizes


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((60, 30, 20), r"sizes \(60, 30, 20\) ask for 110 rows, but there are 100"),
        ((60, -1, 20), r"sizes are \(60, -1, 20\); expected numbers of rows that are not negative"),
        ((0.8, 0.2, 0.1), "expected none negative and a sum of at most 1"),
        ((0.8, -0.2, 0.1), "expected none negative and a sum of at most 1"),
        ((float("nan"), 0.2, 0.1), "expected none negative and a sum of at most 1"),
    ],
)
def test_impossible_sizes_are_refused(sizes: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split(100, sizes, 0)


def test_stacked_splits_have_a_leading_run_axis() -> None:
    splits = [split(100, (50, 20, 30), seed) for seed in range(4)]
    stacked = stack(splits)
    assert [tuple(part.shape) for part in stacked] == [(4, 50), (4, 20), (4, 30)]
    for run, alone in enumerate(splits):
        assert all(torch.equal(many[run], one) for many, one in zip(stacked, alone, strict=True))


def test_splits_of_different_sizes_are_not_stacked() -> None:
    with pytest.raises(ValueError, match=r"different sizes .*\[\(5, 2, 3\), \(6, 2, 2\)\]"):
        stack([split(10, (6, 2, 2), 0), split(10, (5, 2, 3), 0)])


def test_no_splits_are_not_stacked() -> None:
    with pytest.raises(ValueError, match="no splits to stack"):
        stack([])
