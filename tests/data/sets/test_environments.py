"""Environments are balanced, disjoint, of one size, and switch as often as they were asked to."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from raan.data import Table, environments
from raan.lab.datasets.environments import SWITCH_PROBABILITIES

cell_counts = st.tuples(*[st.integers(0, 60)] * 4)
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=4)


def rows_of(counts: tuple[int, ...], unknown: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels and attributes with so many rows of each (label, attribute) cell, mixed up."""
    label = np.repeat([0, 0, 1, 1, 0, 1], [*counts, unknown, unknown])
    attribute = np.repeat([0, 1, 0, 1, -1, -1], [*counts, unknown, unknown])
    order = np.random.default_rng(0).permutation(len(label))
    return torch.from_numpy(label[order]), torch.from_numpy(attribute[order])


def switched(label: torch.Tensor, attribute: torch.Tensor, z: int) -> float:
    """p(a = z | y = 1 - z), counted."""
    given = [a for y, a in zip(label.tolist(), attribute.tolist(), strict=True) if y == 1 - z]
    return given.count(z) / len(given)


def largest_size(counts: tuple[int, ...], asked: list[float]) -> int:
    """The largest even size for which the cells suffice, by trying one after the other."""
    size = 0
    while True:
        needed = [0, 0, 0, 0]
        for p in asked:
            half = size // 2 + 1
            flipped = math.floor(p * half + 0.5)
            for cell, rows in enumerate((half - flipped, flipped, flipped, half - flipped)):
                needed[cell] += rows
        if any(need > have for need, have in zip(needed, counts, strict=True)):
            return size
        size += 2


@given(cell_counts, probabilities, st.integers(0, 1_000))
def test_environments_are_disjoint_balanced_and_switch_as_asked(
    counts: tuple[int, ...], asked: list[float], seed: int
) -> None:
    assume(largest_size(counts, asked) > 0)
    label, attribute = rows_of(counts, unknown=3)
    drawn = environments(label, attribute, asked, seed=seed)
    assert drawn.rows.shape == (len(asked), drawn.size)
    assert len(set(drawn.rows.flatten().tolist())) == drawn.rows.numel()
    for rows, p in zip(drawn.rows, asked, strict=True):
        assert int(label[rows].sum()) == int(attribute[rows].sum()) == drawn.size // 2
        for z in (0, 1):
            assert abs(switched(label[rows], attribute[rows], z) - p) <= 1 / drawn.size + 1e-9


@given(cell_counts, probabilities)
def test_the_size_is_the_largest_that_the_cells_allow(counts: tuple[int, ...], asked: list[float]) -> None:
    largest = largest_size(counts, asked)
    label, attribute = rows_of(counts, unknown=1)
    if largest:
        assert environments(label, attribute, asked).size == largest
    with pytest.raises(ValueError, match=rf"the largest possible size is {largest:,}$"):
        environments(label, attribute, asked, size=largest + 2)


def test_the_papers_probabilities_are_met_exactly_where_the_size_divides() -> None:
    label, attribute = rows_of((1_000, 1_000, 1_000, 1_000))
    drawn = environments(label, attribute, size=200)
    assert drawn.switch_probability == SWITCH_PROBABILITIES == (0.1, 0.2, 0.9)
    for rows, p in zip(drawn.rows, (0.1, 0.2, 0.9), strict=True):
        cells = [int(((label[rows] == y) & (attribute[rows] == a)).sum()) for y, a in product((0, 1), (0, 1))]
        assert cells == [round(100 * (1 - p)), round(100 * p), round(100 * p), round(100 * (1 - p))]


def test_the_seed_decides_the_draw_and_the_global_generators_do_not() -> None:
    label, attribute = rows_of((90, 90, 90, 90))
    ours, theirs = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (environments(label, attribute, size=40, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.rows, again.rows)
    assert not torch.equal(first.rows, other.rows)
    assert torch.equal(torch.get_rng_state(), ours)
    assert np.array_equal(np.random.get_state()[1], theirs)  # noqa: NPY002


def test_the_rows_of_an_environment_are_in_no_order() -> None:
    label, attribute = rows_of((900, 900, 900, 900))
    rows = environments(label, attribute).rows[0]
    first_half = label[rows[: len(rows) // 2]].double().mean().item()
    assert first_half == pytest.approx(0.5, abs=0.1)


def test_the_rows_in_environments_make_a_table_that_names_them() -> None:
    label, attribute = rows_of((30, 30, 30, 30))
    whole = Table.of(torch.arange(120.0)[:, None], label, attribute)
    drawn = environments(label, attribute, size=20)
    table = drawn.take(whole)
    assert table.features[:, 0].tolist() == drawn.rows.flatten().tolist()
    assert table.environment is not None
    assert table.environment.tolist() == [0] * 20 + [1] * 20 + [2] * 20
    assert torch.equal(table.label, label[drawn.rows.flatten()])
    assert table.class_names == whole.class_names


def test_cells_that_are_too_small_are_named_with_what_is_needed() -> None:
    label, attribute = rows_of((500, 100, 500, 500))
    message = (
        r"^3 environments of 200 rows need 120 rows of label 0 and attribute 1 \(there are 100\); "
        r"the largest possible size is 166$"
    )
    with pytest.raises(ValueError, match=message):
        environments(label, attribute, size=200)


def test_an_empty_cell_is_named_where_the_size_was_left_open() -> None:
    label, attribute = rows_of((50, 0, 50, 50))
    with pytest.raises(ValueError, match=r"need 1 rows of label 0 and attribute 1 \(there are 0\); .* size is 0"):
        environments(label, attribute)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"label": torch.tensor([0, 1, 2, 1])}, r"label is 2 in row 2; expected one of \(0, 1\)"),
        ({"label": torch.tensor([0, -1, 0, 1])}, r"label is -1 in row 1"),
        ({"attribute": torch.tensor([0, 1, 0, 3])}, r"attribute is 3 in row 3; expected one of \(-1, 0, 1\)"),
        ({"attribute": torch.tensor([0, 1, 0])}, "label has 4 rows and attribute 3"),
        ({"switch_probability": (0.1, 1.2)}, r"switch_probability is \(0.1, 1.2\); expected probabilities"),
        ({"switch_probability": ()}, r"switch_probability is \(\); expected probabilities, at least one"),
        ({"switch_probability": (math.nan,)}, r"switch_probability is \(nan,\)"),
        ({"size": 7}, "size is 7; expected an even number of rows"),
        ({"size": 0}, "size is 0; expected an even number of rows"),
    ],
)
def test_arguments_that_make_no_environment_are_refused(changed: dict[str, object], message: str) -> None:
    arguments = {"label": torch.tensor([0, 1, 0, 1]), "attribute": torch.tensor([0, 1, 1, 0])} | changed
    with pytest.raises(ValueError, match=message):
        environments(**arguments)  # type: ignore[arg-type]
