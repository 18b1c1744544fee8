import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import raan.neighbourhood.stream as stream
from problems import problem
from raan import aan_weights
from raan.neighbourhood.balance import anchor_weights
from raan.neighbourhood.estimator import InnerEstimate, stochastic_objective
from reference import neighbourhood as loops

BALANCES = ["group", "sample", "independence"]
CAN_WARN = pytest.mark.filterwarnings("ignore:.*keep weight 1")


@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("temperature", [0.0, 0.1, 0.5, 1.9, float("inf")])
@pytest.mark.parametrize(("classes", "attributes"), [(2, 2), (2, 4), (4, 2), (3, 3)])
def test_weights_agree_with_the_definition_written_out(balance, temperature, classes, attributes):
    p = problem(rows=40, classes=classes, attributes=attributes)
    weights = aan_weights(*p.arrays()[:3], temperature=temperature, balance=balance)
    np.testing.assert_allclose(weights, loops.sample_weights(*p.arrays()[:3], temperature, balance), rtol=1e-9)


@pytest.mark.parametrize("balance", ["group", "sample"])
@pytest.mark.parametrize("spread", [1.0, 0.02])
def test_float32_at_temperature_1e_3_agrees_with_float64_loops_to_1e_4(balance, spread):
    # A small spread puts all directions within a degree: the similarities differ in their last digits only.
    p = problem(rows=120, dim=16)
    embedding = (1 + spread * p.embedding).float()
    weights = aan_weights(embedding.numpy(), p.label, p.attribute, temperature=1e-3, balance=balance)
    expected = loops.sample_weights(embedding.numpy(), *p.arrays()[1:3], 1e-3, balance)
    np.testing.assert_allclose(weights, expected, atol=1e-4)


def test_blocks_change_nothing(monkeypatch):
    p = problem(rows=60, classes=2, attributes=3)
    whole = aan_weights(*p.arrays()[:3])
    monkeypatch.setattr(stream, "BLOCK", 7)
    np.testing.assert_allclose(aan_weights(*p.arrays()[:3]), whole, rtol=1e-12)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 4), st.floats(0, 10), st.floats(0, 1))
def test_weights_have_mean_one_and_the_balance_they_promise(seed, classes, attributes, temperature, strength):
    p = problem(seed, rows=40, classes=classes, attributes=attributes)
    label, attribute = p.label.numpy(), p.attribute.numpy()
    for balance in BALANCES:
        weights = aan_weights(p.embedding.numpy(), label, attribute, temperature=temperature, balance=balance)
        assert weights.mean() == pytest.approx(1)
        assert (weights >= 0).all()
        part = aan_weights(
            p.embedding.numpy(), label, attribute, temperature=temperature, balance=balance, strength=strength
        )
        np.testing.assert_allclose(part, (1 - strength) + strength * weights)
        if balance == "independence":
            for c in range(classes):
                for a in range(attributes):
                    total = weights[(label == c) & (attribute == a)].sum()
                    assert total == pytest.approx((label == c).sum() * (attribute == a).sum() / 40)


def test_two_attribute_values_exchange_their_totals_under_sample_and_equal_them_under_group():
    p = problem(rows=50, classes=2, attributes=2)
    label, attribute = p.label.numpy(), p.attribute.numpy()
    for c in (0, 1):
        for a in (0, 1):
            cell, other = (label == c) & (attribute == a), (label == c) & (attribute != a)
            assert aan_weights(*p.arrays()[:3], balance="sample")[cell].sum() == pytest.approx(other.sum())
            assert aan_weights(*p.arrays()[:3], balance="group")[cell].sum() == pytest.approx(50 / 4)


def test_a_mapping_gives_each_cell_the_total_it_names():
    p = problem(rows=40, classes=2, attributes=2)
    names = np.array(["no", "yes"])[p.label], np.array(["f", "m"])[p.attribute]
    totals = {("no", "f"): 5, ("no", "m"): 10, ("yes", "f"): 20, ("yes", "m"): 5}
    weights = aan_weights(p.embedding.numpy(), *names, balance=totals)
    for (c, a), total in totals.items():
        assert weights[(names[0] == c) & (names[1] == a)].sum() == pytest.approx(total)
    codes = {(0, 0): 5, (0, 1): 10, (1, 0): 20, (1, 1): 5}
    np.testing.assert_allclose(weights, loops.sample_weights(*p.arrays()[:3], 0.5, "mapping", codes))


@CAN_WARN
@pytest.mark.parametrize("balance", BALANCES)
def test_samples_without_possible_neighbours_keep_weight_one_and_touch_no_one(balance):
    p = problem(rows=40)
    label, attribute = p.label.numpy().copy(), p.attribute.numpy().astype(object)
    label[:3], attribute[:3] = 9, 0  # a class seen with one attribute value only
    attribute[3:8] = [None, np.nan, pd.NA, float("nan"), None]
    weights = aan_weights(p.embedding.numpy(), label, attribute, balance=balance)
    codes = np.array([-1 if pd.isna(value) else value for value in attribute])
    assert (weights[:8] == 1).all()
    np.testing.assert_allclose(weights, loops.sample_weights(p.embedding.numpy(), label, codes, 0.5, balance))


def test_one_warning_counts_the_samples_that_keep_weight_one():
    p = problem(rows=40)
    label, attribute = p.label.numpy().copy(), p.attribute.numpy().astype(float)
    label[:3], attribute[:3], attribute[3:8] = 9, 0, np.nan
    with pytest.warns(
        UserWarning, match=r"8 of 40 samples keep weight 1: 5 of unknown attribute, 3 of a class"
    ) as seen:
        aan_weights(p.embedding.numpy(), label, attribute)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aan_weights(*p.arrays()[:3])


@CAN_WARN
def test_one_attribute_value_alone_is_plain_training():
    p = problem(rows=20)
    assert (aan_weights(p.embedding.numpy(), p.label.numpy(), np.zeros(20)) == 1).all()


def test_numpy_pandas_polars_torch_and_lists_give_the_same_weights():
    p = problem(rows=30, dtype=torch.float32)
    embedding, label, attribute, _ = p.arrays()
    names = np.array(["a", "b", "c"])[attribute]
    expected = aan_weights(embedding, label, attribute)
    frame = pd.DataFrame(embedding, columns=[f"z{k}" for k in range(5)])
    for same in (
        aan_weights(frame, pd.Series(label), pd.Series(names)),
        aan_weights(pl.from_pandas(frame), pl.Series(label), pl.Series(names)),
        aan_weights(embedding.tolist(), label.tolist(), names.tolist()),
        aan_weights(embedding.astype(np.float64), label, names),
    ):
        assert isinstance(same, np.ndarray)
        np.testing.assert_allclose(same, expected, rtol=1e-5)
    weights = aan_weights(p.embedding, p.label, p.attribute)
    assert isinstance(weights, torch.Tensor)
    assert weights.dtype == torch.float32
    np.testing.assert_allclose(weights.numpy(), expected, rtol=1e-5)


def test_a_memory_mapped_embedding_is_read_and_left_alone(tmp_path):
    p = problem(rows=30, dtype=torch.float32)
    np.save(tmp_path / "z.npy", p.embedding.numpy())
    mapped = np.load(tmp_path / "z.npy", mmap_mode="r")
    np.testing.assert_array_equal(aan_weights(mapped, p.label, p.attribute), aan_weights(*p.arrays()[:3]))


def test_whole_numbers_are_an_embedding_too():
    p = problem(rows=30)
    whole = (10 * p.embedding).round().long()
    torch.testing.assert_close(
        aan_weights(whole, p.label, p.attribute), aan_weights(whole.float(), p.label, p.attribute)
    )


@pytest.mark.parametrize(
    "text", [np.array([["a"], ["b"]]), np.array([[None], [object()]]), pd.DataFrame({"x": ["a", "b"]})]
)
def test_an_embedding_that_is_not_numbers_is_an_error(text):
    with pytest.raises(TypeError, match=r"embedding holds values of type .*; expected numbers: encode categories"):
        aan_weights(text, [0, 1], [0, 1])


def test_arguments_are_left_as_they_were():
    p = problem(rows=30)
    before = [part.clone() for part in p]
    aan_weights(p.embedding, p.label, p.attribute, balance="independence", strength=0.5)
    for part, copy in zip(p, before, strict=True):
        assert torch.equal(part, copy)


def test_several_columns_are_crossed():
    p = problem(rows=40, attributes=4)
    crossed = np.stack([p.attribute.numpy() // 2, p.attribute.numpy() % 2], axis=1)
    np.testing.assert_allclose(aan_weights(p.embedding.numpy(), p.label, crossed), aan_weights(*p.arrays()[:3]))


def test_progress_wraps_the_blocks_of_both_passes():
    seen = []
    p = problem(rows=30)
    aan_weights(*p.arrays()[:3], progress=lambda blocks: (seen.append(len(blocks)), blocks)[1])
    assert len(seen) == 2
    assert seen[0] == seen[1] > 0


@pytest.mark.parametrize("balance", ["group", "sample"])
def test_head_only_scraans_average_weights_converge_to_the_exact_ones(balance):
    p = problem(rows=60, classes=2, attributes=2)
    exact = aan_weights(p.embedding, p.label, p.attribute, balance=balance)
    anchor = anchor_weights(p.label, p.attribute, balance)
    average, total = InnerEstimate.unknown(60, dtype=torch.float64), torch.zeros(60, dtype=torch.float64)
    rng = np.random.default_rng(0)
    steps, batch = 3000, 30
    for step in range(steps):
        rows = torch.tensor(rng.permutation(60)[:batch])
        loss = p.loss[rows].requires_grad_()
        here = InnerEstimate(*(part[rows] for part in average))
        result = stochastic_objective(
            p.embedding[rows],
            p.label[rows],
            p.attribute[rows],
            loss,
            here,
            anchor[rows],
            0.5,
            1 / (1 + step / 20),
        )
        assert not result.skipped.any()
        total[rows] += torch.autograd.grad(result.term.sum(), loss)[0]
        average = InnerEstimate(
            *(part.index_copy(0, rows, new) for part, new in zip(average, result.average, strict=True))
        )
    realised = total * 60 / (steps * batch)
    assert (realised - exact).abs().max() < 0.1
    assert (realised - exact).abs().mean() < 0.03
    assert (exact - 1).abs().mean() > 0.1  # the weights it converges to are not just ones


BAD = {
    "embedding has shape (40,); expected [samples, dimensions]": dict(embedding=np.zeros(40)),
    "embedding holds NaN or inf, first in row 3": dict(
        embedding=np.where(np.isin(np.arange(40), [3, 5])[:, None], np.nan, np.ones((40, 2)))
    ),
    "The 'temperature' parameter of aan_weights must be a float in the range [0": dict(temperature=-0.1),
    "Got nan instead": dict(temperature=float("nan")),
    "The 'strength' parameter of aan_weights": dict(strength=1.5),
    "The 'balance' parameter of aan_weights": dict(balance="groups"),
    "balance names no total for the cells ('0', '1'), ('0', '2')": dict(balance={(0, 0): 1.0}),
    "label": dict(label=np.full(40, -1)),
    "sensitive_features": dict(sensitive_features=np.zeros(39)),
}


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_an_error_that_names_it(message):
    p = problem(rows=40)
    arguments = dict(embedding=p.embedding.numpy(), label=p.label, sensitive_features=p.attribute) | BAD[message]
    with pytest.raises(ValueError, match=re.escape(message)):
        aan_weights(**arguments)


@pytest.mark.parametrize(("dtype", "most"), [(np.float32, 30), (np.float64, 300)])
@pytest.mark.parametrize("temperature", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_only_directions_count_at_every_finite_scale(dtype, most, temperature, kind):
    p = problem(rows=40, classes=2, attributes=3)
    embedding = p.embedding.numpy().astype(dtype)
    expected = aan_weights(embedding, p.label, p.attribute, temperature=temperature)
    for exponent in (-most, -most // 2, -12, 12, 19, most // 2, most):
        scaled = embedding * dtype(10.0**exponent)
        given = torch.tensor(scaled) if kind == "torch" else scaled
        weights = np.asarray(aan_weights(given, p.label, p.attribute, temperature=temperature))
        np.testing.assert_allclose(weights, expected, atol=1e-4 if dtype is np.float32 else 1e-10)


def test_rows_that_run_backwards_in_memory_are_weighed_as_any_others():
    p = problem(rows=40)
    embedding, label, attribute = p.arrays()[:3]
    for view in (np.s_[::-1], np.s_[::2]):
        expected = aan_weights(embedding[view].copy(), label[view].copy(), attribute[view].copy())
        np.testing.assert_array_equal(aan_weights(embedding[view], label[view], attribute[view]), expected)
    np.testing.assert_array_equal(
        aan_weights(embedding[:, ::-1], label, attribute), aan_weights(embedding[:, ::-1].copy(), label, attribute)
    )
