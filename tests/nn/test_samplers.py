import pickle
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from raan.nn import GroupBatchSampler, IndexedDataset


class Person(NamedTuple):
    income: float
    age: int


class Made(Dataset):
    """Ten items, each what `make` gives for its number."""

    def __init__(self, make):
        self.make = make

    def __len__(self):
        return 10

    def __getitem__(self, index):
        return self.make(index)


def a_dict(i):
    return {"x": torch.tensor([float(i)]), "y": i % 2}


def a_tuple(i):
    return torch.tensor([float(i)]), i % 2


def a_list(i):
    return [float(i), i % 2]


def a_named_tuple(i):
    return Person(float(i), i % 2)


def a_tensor(i):
    return torch.tensor([float(i)])


KINDS = {
    "dict": (a_dict, lambda batch: (batch["x"][:, 0], batch["index"])),
    "tuple": (a_tuple, lambda batch: (batch[0][:, 0], batch[2])),
    "list": (a_list, lambda batch: (batch[0], batch[2])),
    "named tuple": (a_named_tuple, lambda batch: (batch.income, batch.index)),
    "tensor": (a_tensor, lambda batch: (batch[0][:, 0], batch[1])),
}


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_any_kind_of_item_carry_the_index(kind):
    make, parts = KINDS[kind]
    rows = []
    for batch in DataLoader(IndexedDataset(Made(make)), batch_size=4, shuffle=True):
        value, index = parts(batch)
        assert index.dtype == torch.int64
        assert torch.equal(value, index.to(value.dtype))
        rows += index.tolist()
    assert sorted(rows) == list(range(10))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_named_tuples_come_back_from_worker_processes():
    item = IndexedDataset(Made(a_named_tuple))[3]
    assert pickle.loads(pickle.dumps(item)) == item
    assert item._fields == ("income", "age", "index")
    loader = DataLoader(IndexedDataset(Made(a_named_tuple)), batch_size=5, num_workers=1)
    batches = list(loader)
    assert [batch.index.tolist() for batch in batches] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_a_subset_counts_its_own_rows_inside_and_the_wholes_outside():
    whole = TensorDataset(torch.arange(10.0))
    inside = IndexedDataset(Subset(whole, [7, 3, 5]))
    assert [tuple(map(int, inside[k])) for k in range(3)] == [(7, 0), (3, 1), (5, 2)]
    outside = Subset(IndexedDataset(whole), [7, 3, 5])
    assert [tuple(map(int, outside[k])) for k in range(3)] == [(7, 7), (3, 3), (5, 5)]
    for batch in DataLoader(inside, batch_size=3):
        assert [part.tolist() for part in batch] == [[7, 3, 5], [0, 1, 2]]
    for batch in DataLoader(outside, batch_size=3):
        assert [part.tolist() for part in batch] == [[7, 3, 5], [7, 3, 5]]


def test_concatenated_datasets_are_counted_through():
    parts = ConcatDataset([TensorDataset(torch.arange(3.0)), TensorDataset(torch.arange(10.0, 14.0))])
    dataset = IndexedDataset(parts)
    assert len(dataset) == 7
    assert [tuple(map(int, dataset[k])) for k in (2, 3, -1)] == [(2, 2), (10, 3), (13, 6)]


def test_iterating_ends_where_the_dataset_does():
    assert [int(index) for _, index in IndexedDataset(TensorDataset(torch.arange(4.0)))] == [0, 1, 2, 3]


def test_a_stream_has_no_rows_to_count():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(3))

    with pytest.raises(TypeError, match="dataset is a Stream; expected one with a length and numbered rows"):
        IndexedDataset(Stream())


def test_an_index_that_is_there_already_is_not_overwritten():
    with pytest.raises(ValueError, match='the items of the dataset have an "index" already: index, x'):
        IndexedDataset(Made(lambda i: {"index": -i, "x": i}))[0]


# GroupBatchSampler


def cell_counts(batch, label, attribute):
    return Counter((label[i], attribute[i]) for i in batch if attribute[i] is not None)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_batch_has_two_of_every_cell_and_every_epoch_every_row(data):
    classes, attributes = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 4))
    sizes = data.draw(st.lists(st.integers(1, 60), min_size=classes * attributes, max_size=classes * attributes))
    cells = [(f"c{k % classes}", f"a{k // classes}") for k in range(len(sizes))]
    people = [cell for cell, size in zip(cells, sizes, strict=True) for _ in range(size)]
    people += [("c0", None)] * data.draw(st.sampled_from([0, 3]))
    label, attribute = ([person[k] for person in people] for k in (0, 1))
    batch_size = 2 * len(cells) + data.draw(st.integers(1, 30))
    replicas = data.draw(st.integers(1, 3))
    samplers = [
        GroupBatchSampler(label, attribute, batch_size, 5, num_replicas=replicas, rank=rank)
        for rank in range(replicas)
    ]
    shares = [list(sampler) for sampler in samplers]
    assert (
        [len(share) for share in shares] == [len(sampler) for sampler in samplers] == [len(samplers[0])] * replicas
    )
    batches = [batch for share in shares for batch in share]
    assert max(map(len, batches)) <= batch_size
    assert max(map(len, batches)) - min(map(len, batches)) <= 1
    size_of = dict(zip(cells, sizes, strict=True))
    for batch in batches:
        found = cell_counts(batch, label, attribute)
        assert set(found) == set(cells)
        assert min(found.values()) >= 2
        for cell in cells:
            different = len({i for i in batch if (label[i], attribute[i]) == cell})
            assert different >= min(2, size_of[cell])
    drawn = Counter(i for batch in batches for i in batch)
    assert set(drawn) == set(range(len(people)))
    of_cell = cell_counts(list(drawn.elements()), label, attribute)
    for cell in cells:
        if size_of[cell] >= 2 * len(batches):
            assert of_cell[cell] == size_of[cell]  # no row twice where the cell is large enough
    expected = [of_cell[person] / size_of[person] if person[1] else 1 for person in people]
    np.testing.assert_allclose(samplers[0].rate, np.array(expected) / np.mean(expected))


def columns(rows=120):
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, rows), rng.choice(["a", "b"], rows, p=[0.9, 0.1])


def test_the_order_depends_on_the_seed_and_the_epoch_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    sampler = GroupBatchSampler(*columns(), 16, seed=3)
    first, second = list(sampler), list(sampler)
    assert first != second
    again = GroupBatchSampler(*columns(), 16, seed=3)
    again.set_epoch(1)
    assert list(again) == second
    again.set_epoch(0)
    assert list(again) == first
    assert list(GroupBatchSampler(*columns(), 16, seed=4)) != first
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002


def test_ranks_share_an_epoch_without_overlap_in_large_cells():
    label, attribute = np.arange(400) % 2, np.arange(400) // 2 % 2  # four cells of a hundred
    shares = [
        [i for batch in GroupBatchSampler(label, attribute, 20, num_replicas=2, rank=rank) for i in batch]
        for rank in (0, 1)
    ]
    assert sorted(shares[0] + shares[1]) == list(range(400))
    assert set(shares[0]).isdisjoint(shares[1])


def test_ranks_are_taken_from_torch_distributed(monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 3)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 2)
    mine = list(GroupBatchSampler(*columns(), 16))
    assert mine == list(GroupBatchSampler(*columns(), 16, num_replicas=3, rank=2))
    assert mine != list(GroupBatchSampler(*columns(), 16, num_replicas=3, rank=1))


def test_a_loader_takes_it_as_batch_sampler():
    label, attribute = columns()
    dataset = IndexedDataset(TensorDataset(torch.tensor(label)))
    loader = DataLoader(dataset, batch_sampler=GroupBatchSampler(label, attribute, 16))
    batches = list(loader)
    assert len(batches) == len(loader)
    for batch_label, index in batches:
        assert torch.equal(batch_label, torch.tensor(label)[index])
        assert min(cell_counts(index.tolist(), label, attribute).values()) >= 2


@pytest.mark.usefixtures("as_users_call")
def test_a_batch_size_is_a_whole_number():
    with pytest.raises(TypeError, match=r"batch_size is 16\.5; expected a whole number"):
        GroupBatchSampler(*columns(), 16.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (dict(batch_size=7), r"batch_size is 7; expected at least 8: two samples of each of the 4 cells of"),
        (
            dict(batch_size=8, unknown=True),
            "batch_size is 8; expected at least 9: .* and room for the rows of unknown",
        ),
        (dict(batch_size=8, num_replicas=2, rank=2), "rank is 2; expected 0 to 1, since num_replicas is 2"),
    ],
)
def test_what_cannot_be_promised_is_an_error(call, message):
    label, attribute = columns()
    attribute = attribute.astype(object)
    if call.pop("unknown", False):
        attribute[0] = None
    with pytest.raises(ValueError, match=message):
        GroupBatchSampler(label, attribute, **call)


def test_the_least_batch_size_is_two_of_each_cell():
    label, attribute = columns()
    for batch in GroupBatchSampler(label, attribute, 8):
        assert set(cell_counts(batch, label, attribute).values()) == {2}
