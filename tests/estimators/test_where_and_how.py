"""Where a classifier is trained (device), how exactly (precision), and who chooses the point (validation rows)."""

import numpy as np
import pytest
import torch
from torch import nn

from crowd import crowd
from pretend_device import pretended
from raan import RAANClassifier, load
from raan.errors import InputError, InputTypeError
from raan.training.checkpoint import Checkpoint
from reproduce.resnet import resnet18

pytestmark = pytest.mark.usefixtures("as_users_call")


def quick(**parameters):
    defaults = {"hidden_layer_sizes": (8,), "head_layer_sizes": (6,), "epochs": 2, "random_state": 0}
    return RAANClassifier(**defaults | parameters)


def encoder():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))


@pytest.fixture
def people():
    X, y, a = crowd(200)
    return X[:, :5].astype(np.float32), y, a


@pytest.mark.parametrize("kind", ["layers", "head of layers", "fixed encoder", "trained encoder"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_a_fit_on_another_device_has_the_bits_of_one_on_the_cpu(people, kind, weighted, tmp_path):
    X, y, a = people
    parts = {"scope": "head" if "head" in kind or "fixed" in kind else "model", "dropout": 0.2}
    module = encoder() if "encoder" in kind else None
    given = {"sensitive_features": a, "sample_weight": np.linspace(0, 1, 200) if weighted else None}
    expected = quick(encoder=module, **parts).fit(X, y, **given)
    with pretended() as device:
        found = quick(encoder=module, device=device, checkpoint=tmp_path / "fit.pt", **parts).fit(X, y, **given)
        probability = found.predict_proba(X)
        if module is not None:
            assert {each.device for each in found.encoder_.state_dict().values()} == {device}
        found.save(tmp_path / "model")
    assert found.model_.parameters.device.type == "cpu"
    np.testing.assert_array_equal(found.model_.parameters, expected.model_.parameters)
    np.testing.assert_array_equal(found.frontier_.counts, expected.frontier_.counts)
    np.testing.assert_array_equal(probability, expected.predict_proba(X))
    again = load(tmp_path / "model", encoder=module)
    assert again.device == "auto"
    np.testing.assert_array_equal(again.predict_proba(X), probability)


def interrupt(model, X, y, a):
    """A fit that ends after two epochs of stage two, as if its process had died."""
    kept = Checkpoint.keep

    def keep(self, stage):
        write, written = kept(self, stage), []

        def stop(finish):
            write(finish)
            written.append(stage)
            if written == ["raan", "raan"]:
                raise KeyboardInterrupt

        return stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "keep", keep)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y, sensitive_features=a)


def test_a_checkpoint_of_one_device_goes_on_on_another(people, tmp_path):
    X, y, a = people
    file = tmp_path / "fit.pt"
    expected = quick(epochs=3).fit(X, y, sensitive_features=a).model_.parameters
    with pretended() as device:
        interrupt(quick(epochs=3, checkpoint=file, device=device), X, y, a)
    assert file.exists()
    found = quick(epochs=3, checkpoint=file).fit(X, y, sensitive_features=a)
    np.testing.assert_array_equal(found.model_.parameters, expected)
    interrupt(quick(epochs=3, checkpoint=file), X, y, a)
    with pretended() as device:
        found = quick(epochs=3, checkpoint=file, device=device).fit(X, y, sensitive_features=a)
    np.testing.assert_array_equal(found.model_.parameters, expected)
    assert not file.exists()


@pytest.mark.parametrize("precision", [None, "bf16"])
def test_an_encoder_that_is_trained_goes_on_from_its_checkpoint_to_the_same_bits(people, tmp_path, precision):
    X, y, a = people
    settings = {"encoder": encoder(), "scope": "model", "epochs": 3, "precision": precision}
    expected = quick(**settings).fit(X, y, sensitive_features=a)
    interrupt(quick(checkpoint=tmp_path / "fit.pt", **settings), X, y, a)
    found = quick(checkpoint=tmp_path / "fit.pt", **settings).fit(X, y, sensitive_features=a)
    assert all(map(torch.equal, found.encoder_.state_dict().values(), expected.encoder_.state_dict().values()))
    assert not torch.equal(found.encoder_[0].weight, settings["encoder"][0].weight)
    np.testing.assert_array_equal(found.model_.parameters, expected.model_.parameters)
    np.testing.assert_array_equal(found.frontier_.counts, expected.frontier_.counts)


@pytest.mark.parametrize("device", ["cuda:7", "nowhere", 3.5, None])
def test_a_device_that_is_not_there_is_an_error(people, device):
    X, y, a = people
    with pytest.raises(InputError, match=r"device is .*, which torch cannot use here"):
        quick(device=device).fit(X, y, sensitive_features=a)


@pytest.mark.parametrize("scope", ["head", "model"])
@pytest.mark.parametrize("module", [False, True], ids=["layers", "encoder"])
def test_bf16_computes_layers_in_half_and_keeps_numbers_in_full(people, scope, module, tmp_path):
    X, y, a = people
    seen = []

    class Watched(nn.Linear):
        def forward(self, samples):
            output = super().forward(samples)
            seen.append(output.dtype)
            return output

    torch.manual_seed(0)
    watched = Watched(5, 4) if module else None
    model = quick(encoder=watched, scope=scope, precision="bf16").fit(X.astype(float), y, sensitive_features=a)
    assert set(seen) == ({torch.bfloat16} if module else set())
    assert model.model_.parameters.dtype == torch.float32
    probability = model.predict_proba(X.astype(float))
    full = quick(encoder=watched, scope=scope).fit(X, y, sensitive_features=a).predict_proba(X)
    assert not np.array_equal(probability, full)
    np.testing.assert_allclose(probability, full, atol=0.05)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model", encoder=watched).predict_proba(X.astype(float)), probability
    )


def test_a_precision_that_there_is_not_is_an_error(people):
    X, y, a = people
    with pytest.raises(ValueError, match="The 'precision' parameter of RAANClassifier must be"):
        quick(precision="fp8").fit(X, y, sensitive_features=a)


def test_validation_rows_that_are_given_choose_the_point_and_all_others_train(people):
    X, y, a = people
    held = X[150:], y[150:], a[150:]
    model = quick(validation_fraction=0).fit(X[:150], y[:150], sensitive_features=a[:150], validation=held)
    counts = model.frontier_.counts
    assert (counts.sum((1, 2, 3)) == 50).all()
    for label, name in enumerate(model.classes_):
        for group, attribute in enumerate(model.groups_):
            rows = (held[1] == name) & (held[2].astype(str) == attribute)
            assert (counts[:, label, group].sum(-1) == rows.sum()).all()
    last = quick(aim=None, validation_fraction=0)
    one = last.fit(X[:150], y[:150], sensitive_features=a[:150]).model_.parameters
    two = last.fit(X[:150], y[:150], sensitive_features=a[:150], validation=held).model_.parameters
    np.testing.assert_array_equal(one, two)  # they choose, and do nothing else
    chosen = model.frontier_.chosen.counts
    predicted = model.predict(held[0])
    assert chosen[..., 1].sum() == (predicted == model.classes_[1]).sum()


@pytest.mark.parametrize("scope", ["head", "model"])
def test_validation_rows_go_through_the_encoder_and_keep_their_order_of_groups(people, scope):
    X, y, a = people
    names = np.where(np.asarray(a).astype(str) == str(a[0]), "zed", "amy")
    held = X[150:][::-1], y[150:][::-1], names[150:][::-1]
    model = quick(encoder=encoder(), scope=scope)
    model.fit(X[:150], y[:150], sensitive_features=names[:150], validation=held, sample_weight=np.ones(150))
    assert (model.frontier_.counts.sum((1, 2, 3)) == 50).all()
    np.testing.assert_array_equal(
        model.frontier_.counts[0].sum((0, 2))[:2], [(names[150:] == name).sum() for name in model.groups_]
    )


def test_validation_rows_that_do_not_fit_are_errors(people):
    X, y, a = people
    fit = lambda *validation: quick().fit(X, y, sensitive_features=a, validation=validation)  # noqa: E731
    with pytest.raises(InputTypeError, match="validation is a tuple of 2; expected a tuple of three"):
        fit(X, y)
    with pytest.raises(InputError, match="validation has 'new', which no training row has"):
        fit(X[:4], y[:4], ["new", *a[1:4].astype(str)])
    with pytest.raises(InputError, match="validation has 9, which no training row has"):
        fit(X[:4], [9, *y[1:4]], a[:4])
    with pytest.raises(ValueError, match=r"validation: .*numbers of rows differ: X has 4, y has 3"):
        fit(X[:4], y[:3], a[:4])
    with pytest.raises(ValueError, match=r"validation: .*has 2 features, but RAANClassifier is expecting 5"):
        fit(X[:4, :2], y[:4], a[:4])


@pytest.mark.exhaustive
def test_a_resnet_is_trained_through_in_bf16():
    rng = np.random.default_rng(0)
    a, y = rng.integers(0, 2, 80), rng.integers(0, 2, 80)
    images = rng.normal(size=(80, 3, 32, 32)).astype(np.float32) + y[:, None, None, None]
    model = RAANClassifier(
        encoder=resnet18(None, 0), head_layer_sizes=(), epochs=1, precision="bf16", random_state=0
    )
    model.fit(images, y, sensitive_features=a)
    assert model.embed(images).shape == (80, 512)
