"""Any nn.Module as the encoder: fixed and streamed, or trained along."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from torch import nn

from crowd import crowd
from raan import load
from raan.estimators import RAANClassifier
from raan.models.model import Stack
from raan.models.modules import SLICE, ModuleEncoder, embed


class Tokens(nn.Module):
    """Texts as numbers: the mean of their words' vectors; the number 0 is no word."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 6, padding_idx=0)

    def forward(self, tokens):
        return self.words(tokens).mean(1)


def bent(inputs=5, outputs=4):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(inputs, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, outputs)
    )


def quick(encoder, **settings):
    defaults = dict(scope="head", head_layer_sizes=(), epochs=2, random_state=0)
    return RAANClassifier(encoder=encoder, **defaults | settings)


def numbers(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in first | second)


@pytest.fixture
def people():
    X, y, a = crowd(200)
    return X.astype(np.float32), y, a


def test_a_fixed_encoder_embeds_each_sample_once_in_batches_without_gradient_in_eval_mode(people):
    X, y, a = people
    seen = []

    class Watched(nn.Linear):
        def forward(self, samples):
            seen.append((len(samples), torch.is_grad_enabled(), self.training))
            return super().forward(samples)

    model = quick(Watched(5, 4)).fit(X, y, sensitive_features=a)
    assert sum(size for size, *_ in seen) == 200
    assert {size for size, *_ in seen} == {SLICE, 200 % SLICE}
    assert {(gradient, training) for _, gradient, training in seen} == {(False, False)}
    seen.clear()
    model.predict(X)
    assert sum(size for size, *_ in seen) == 200


def test_head_only_over_an_encoder_is_head_only_over_its_embeddings(people):
    X, y, a = people
    encoder = bent()
    model = quick(encoder).fit(X, y, sensitive_features=a)
    Z = embed(encoder.eval(), X).numpy()
    over = RAANClassifier((), head_layer_sizes=(), epochs=2, random_state=0).fit(Z, y, sensitive_features=a)
    np.testing.assert_allclose(model.predict_proba(X), over.predict_proba(Z), rtol=1e-5)
    np.testing.assert_allclose(
        model.embed(X), (Z - Z[train_rows(y, a)].mean(0)) / Z[train_rows(y, a)].std(0), atol=1e-4
    )


def train_rows(y, a):
    from raan.estimators.network import divide

    return divide(y, a, np.arange(len(y)), 0.1, seed=0).train[0]


@pytest.mark.parametrize("scope", ["head", "model"])
def test_the_module_given_is_left_as_it_was(people, scope):
    X, y, a = people
    encoder = bent().train()
    before, state = numbers(encoder), torch.get_rng_state()
    model = quick(encoder, scope=scope).fit(X, y, sensitive_features=a)
    model.predict(X)
    assert same(numbers(encoder), before)
    assert encoder.training
    assert all(parameter.grad is None for parameter in encoder.parameters())
    assert torch.equal(torch.get_rng_state(), state)
    assert model.encoder is encoder
    expected = model.predict_proba(X)
    with torch.no_grad():
        encoder[0].weight.zero_()
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_with_scope_head_the_encoder_stays_bit_for_bit(people):
    X, y, a = people
    encoder = bent()
    model = quick(encoder, lr=0.1).fit(X, y, sensitive_features=a)
    assert same(numbers(model.encoder_), numbers(encoder))


def test_with_scope_model_the_encoder_is_trained_but_for_buffers_and_what_is_frozen(people):
    X, y, a = people
    encoder = bent()
    encoder[0].bias.requires_grad_(False)
    before = numbers(encoder)
    model = quick(encoder, scope="model", lr=1e-2).fit(X, y, sensitive_features=a)
    after = numbers(model.encoder_)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"0.weight", "1.weight", "1.bias", "4.weight", "4.bias"}


@pytest.mark.usefixtures("as_users_call")
def test_training_the_encoder_along_serves_where_a_fixed_one_is_blind(people):
    X, y, a = people
    blind = nn.Linear(5, 2)
    with torch.no_grad():
        blind.weight.zero_()[:, 4] = 1  # sees noise only
    settings = dict(epochs=60, lr=1e-2, aim=None)
    fixed = quick(blind, **settings).fit(X, y, sensitive_features=a)
    trained = quick(blind, scope="model", **settings).fit(X, y, sensitive_features=a)
    assert trained.score(X, y) > fixed.score(X, y) + 0.1


def test_a_module_in_a_model_is_the_stack_it_equals_gradient_included():
    module = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).double()
    stack, adapted = Stack((3, 5, 2)), ModuleEncoder(module, (3,))
    rng = np.random.default_rng(0)
    inputs = torch.from_numpy(rng.normal(size=(2, 7, 3)))
    parts = [torch.from_numpy(rng.normal(size=(2, size))).requires_grad_() for size in stack.sizes]
    # A stack keeps weights as [inputs, outputs], nn.Linear the other way round.
    turned = [
        part.view(2, *shape).transpose(1, 2).reshape(2, -1) if shape else part
        for part, shape in zip(parts, [(3, 5), None, (5, 2), None], strict=True)
    ]
    assert adapted.sizes == stack.sizes
    ours, theirs = adapted(turned, inputs), stack(parts, inputs)
    torch.testing.assert_close(ours, theirs)
    for one, other in zip(
        torch.autograd.grad(ours.square().sum(), parts),
        torch.autograd.grad(theirs.square().sum(), parts),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
    start = torch.from_numpy(adapted.draw(rng))
    torch.testing.assert_close(start, torch.cat([p.detach().flatten() for p in module.parameters()]))


def test_tied_weights_count_once():
    tied = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU(), nn.Linear(4, 4, bias=False))
    tied[2].weight = tied[0].weight
    encoder = ModuleEncoder(tied, (4,))
    assert encoder.sizes == [16]
    doubled = encoder([2 * tied[0].weight.detach().view(1, 16)], torch.ones(1, 3, 4))
    expected = (torch.ones(3, 4) @ (2 * tied[0].weight.T)).relu() @ (2 * tied[0].weight.T)
    torch.testing.assert_close(doubled[0], expected.detach())


@pytest.mark.parametrize("scope", ["head", "model"])
def test_images_of_any_shape(scope):
    _, y, a = crowd(120)
    images = np.random.default_rng(0).normal(size=(120, 3, 8, 8)).astype(np.float32)
    images[:, 0] += y[:, None, None]
    encoder = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1))  # [batch, 4, 1, 1]
    model = quick(encoder, scope=scope, epochs=20, lr=1e-2).fit(images, y, sensitive_features=a)
    assert model.embed(images).shape == (120, 4)
    assert model.score(images, y) > 0.9
    larger = np.concatenate([images, images], axis=3)  # pooled: other sizes do
    assert model.predict(larger).shape == (120,)


@pytest.mark.parametrize("scope", ["head", "model"])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8, torch.tensor])
def test_tokens_as_whole_numbers(scope, kind):
    _, y, a = crowd(120)
    tokens = np.random.default_rng(0).integers(1, 10, size=(120, 7))
    tokens[y == 1] += 10
    tokens = kind(tokens) if kind is torch.tensor else tokens.astype(kind)
    model = quick(Tokens(), scope=scope, epochs=30, lr=3e-2).fit(tokens, y, sensitive_features=a)
    assert model.score(tokens, y) > 0.9
    assert model.predict(tokens[:, :3]).shape == (120,)  # shorter texts


def test_tokens_that_a_float_cannot_tell_apart_are_refused():
    _, y, a = crowd(40)
    tokens = np.full((40, 3), 2**24 + 1)
    with pytest.raises(ValueError, match="X holds whole numbers above 16,777,216"):
        quick(nn.EmbeddingBag(2**24 + 2, 1), scope="model").fit(tokens, y, sensitive_features=a)


def private_memory():
    """Bytes of this process that are no file's."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("RssAnon:")[1].split()[0])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.usefixtures("as_users_call")
def test_a_memory_map_is_streamed_and_never_read_into_memory(tmp_path):
    _, y, a = crowd(256)
    X = np.memmap(tmp_path / "images", dtype=np.float32, mode="w+", shape=(256, 1024 * 1024 // 4))  # 256 MB
    X[:, 0] = y
    X.flush()
    X = np.memmap(tmp_path / "images", dtype=np.float32, mode="r", shape=X.shape)
    peaks = []

    class Looking(nn.Module):
        def forward(self, samples):
            peaks.append(private_memory())
            return samples[:, :2]

    before = private_memory()
    model = quick(Looking(), epochs=1).fit(X, y, sensitive_features=a)
    model.predict(X)
    assert len(peaks) == 8
    assert max(*peaks, private_memory()) - before < X.nbytes / 2  # a batch of 64 MB, and little else


def test_what_an_encoder_may_not_do_is_an_error_that_names_it(people):
    X, y, a = people

    class Odd(nn.Module):
        def __init__(self, make):
            super().__init__()
            self.make = make

        def forward(self, samples):
            return self.make(samples)

    for make, message in {
        (lambda x: (x, x)): "the encoder, .*Odd, gives a tuple; expected a tensor",
        (lambda x: x.sum()): r"gives torch.float32 \[\] for 64 samples",
        (lambda x: x[:3]): r"gives torch.float32 \[3, 5\] for 64 samples",
        (lambda x: x.long()): r"gives torch.int64 \[64, 5\]",
        (lambda x: x[:, :0]): r"gives torch.float32 \[64, 0\]",
        (lambda x: x @ torch.ones(7, 7)): r"cannot take samples \[64, 5\] of torch.float32: mat1 and mat2",
        (lambda x: [][0]): "cannot take samples .*: list index out of range",
        (lambda x: x / 0): "the encoder, .*Odd, gives nan or inf for some sample in X",
    }.items():
        with pytest.raises(ValueError, match=message):
            quick(Odd(make)).fit(X, y, sensitive_features=a)
    model = quick(nn.Linear(5, 2)).fit(X, y, sensitive_features=a)
    with pytest.raises(ValueError, match=r"Linear, cannot take samples \[64, 4\]"):
        model.predict(X[:, :4])


@pytest.mark.parametrize("samples", [np.array([["a", "b"]] * 40), np.ones(40), np.ones((40, 0)), [None] * 40])
def test_samples_that_are_no_numbers_are_refused(samples):
    _, y, a = crowd(40)
    with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
        quick(nn.Linear(2, 2)).fit(samples, y, sensitive_features=a)


def test_arrays_may_be_reversed_or_of_another_machine(people):
    X, y, a = people
    for scope in ("head", "model"):
        expected = quick(bent(), scope=scope).fit(X, y, sensitive_features=a).predict_proba(X)
        for odd in (X[::-1].copy()[::-1], X.astype(">f4"), X.astype(np.longdouble)):
            model = quick(bent(), scope=scope).fit(odd, y, sensitive_features=a)
            np.testing.assert_array_equal(model.predict_proba(odd), expected)


def test_a_frame_keeps_its_names_and_a_fit_without_an_encoder_leaves_no_trace(people, tmp_path):
    X, y, a = people
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = RAANClassifier((4,), epochs=1, random_state=0).fit(X, y, sensitive_features=a)
    model.set_params(encoder=bent(), scope="head").fit(frame, y, sensitive_features=a)
    assert not hasattr(model, "n_features_in_")
    assert list(model.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("edcba")])
    model.save(tmp_path)
    again = load(tmp_path, encoder=bent())
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_a_module_without_anything_to_train_serves_too(people):
    X, y, a = people
    for scope in ("head", "model"):
        model = quick(nn.Flatten(), scope=scope, epochs=30, lr=1e-2).fit(X, y, sensitive_features=a)
        assert model.score(X, y) > 0.75


def test_other_precisions(people):
    X, y, a = people
    exact = quick(bent().double()).fit(X, y, sensitive_features=a)
    assert exact.embed(X).dtype == np.float64
    for scope in ("head", "model"):
        half = quick(bent().bfloat16(), scope=scope).fit(X, y, sensitive_features=a)
        assert half.embed(X).dtype == np.float32


def test_clone_and_pickle_take_the_encoder_along(people):
    X, y, a = people
    model = quick(bent(), scope="model").fit(X, y, sensitive_features=a)
    twin = clone(model)
    assert twin.encoder is not model.encoder
    np.testing.assert_array_equal(twin.fit(X, y, sensitive_features=a).predict_proba(X), model.predict_proba(X))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
