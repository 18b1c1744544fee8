from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from raan.data.batches import Sampling, batches, draw_rounds
from training_tables import small_table


def drawn(table, train, seeds, batch_size=20, epoch=0, sampling=Sampling.BALANCED):
    return list(batches(table, train, seeds, batch_size=batch_size, epoch=epoch, sampling=sampling))


def biased_table(classes=2, attributes=2):
    """A table whose cells are of very different sizes, some attributes unknown."""
    table = small_table(classes=classes, attributes=attributes)
    attribute = torch.where(torch.rand(240, generator=torch.Generator().manual_seed(5)) < 0.7, 0, table.attribute)
    return replace(table, attribute=torch.where(torch.arange(240) % 11 == 0, -1, attribute))


def test_a_shuffled_epoch_has_every_row_once():
    table, train = small_table(), torch.arange(230).expand(2, -1)
    rows = torch.cat([batch.row for batch in drawn(table, train, [0, 1], sampling=Sampling.SHUFFLED)], dim=1)
    for run in range(2):
        assert sorted(rows[run].tolist()) == list(range(230))


@pytest.mark.parametrize(("classes", "attributes"), [(2, 2), (3, 4)])
@pytest.mark.parametrize("batch_size", [20, 24, 33])
def test_balanced_batches_have_as_many_rows_of_every_cell(classes, attributes, batch_size):
    table, train = biased_table(classes, attributes), torch.arange(230).expand(2, -1)
    several = drawn(table, train, [0, 1], batch_size)
    plain = drawn(table, train, [0, 1], batch_size, sampling=Sampling.SHUFFLED)
    assert [batch.row.shape for batch in several] == [batch.row.shape for batch in plain]
    for batch in several:
        for run in range(2):
            cells = Counter(zip(batch.label[run].tolist(), batch.attribute[run].tolist(), strict=True))
            counts = [cells[c, a] for c in range(classes) for a in range(attributes)]
            assert max(counts) - min(counts) <= 1
            assert sum(counts) == batch.row.shape[1]  # nobody of unknown attribute
        assert torch.equal(batch.label, table.label[batch.row])


@settings(max_examples=60, deadline=None)
@given(members=st.integers(1, 12), share=st.integers(1, 9), number=st.integers(1, 8), seed=st.integers(0, 1000))
def test_a_cell_is_reshuffled_when_used_up_and_repeats_no_row_in_a_batch_without_need(
    members, share, number, seed
):
    batch = np.repeat(np.arange(number), share)
    rows = draw_rounds(np.arange(100, 100 + members), batch, np.random.default_rng(seed))
    counts = Counter(rows.tolist())
    assert set(counts) <= set(range(100, 100 + members))
    for first in range(0, len(rows) - members + 1, members):
        assert len(set(rows[first : first + members].tolist())) == members  # round after round, each row once
    for which in range(number):
        here = Counter(rows[batch == which].tolist())
        assert max(here.values()) <= -(-share // members) + (share % members > 0 and members < share)
        if share <= members:
            assert max(here.values()) == 1


def test_a_run_draws_the_same_balanced_batches_alone_and_in_a_pack_and_others_in_the_next_epoch():
    table = biased_table()
    train = torch.stack([torch.randperm(240, generator=torch.Generator().manual_seed(s))[:200] for s in range(3)])
    together = drawn(table, train, [5, 6, 7])
    alone = drawn(table, train[1:2], [6])
    later = drawn(table, train, [5, 6, 7], epoch=1)
    for batch, other, next_one in zip(together, alone, later, strict=True):
        assert torch.equal(batch.row[1:2], other.row)
        assert not torch.equal(batch.row, next_one.row)


def test_rows_outside_training_are_never_drawn():
    table, train = biased_table(), torch.arange(0, 240, 2)[None]
    assert all((batch.row % 2 == 0).all() for batch in drawn(table, train, [0]))


@pytest.mark.usefixtures("as_users_call")
def test_balanced_batches_without_attributes_are_an_error():
    table = replace(small_table(), attribute=torch.full((240,), -1))
    with pytest.raises(ValueError, match="balanced batches need the attribute; no training row's attribute"):
        drawn(table, torch.arange(200)[None], [0])


def test_batches_carry_the_environment_where_the_table_has_one():
    table, train = small_table(), torch.arange(200)[None]
    assert drawn(table, train, [0])[0].environment is None
    environment = torch.arange(240) % 3
    batch = drawn(replace(table, environment=environment), train, [0])[0]
    assert torch.equal(batch.environment, environment[batch.row])
