"""ResNet-18: the published weights' names and shapes, and the same numbers as an implementation of others."""

import re

import pytest
import torch
from torch import nn

from reproduce.resnet import resnet18

# As in torchvision's file: each convolution, its shape, and the BatchNorm that follows it.
PUBLISHED = """
conv1 64 3 7 7 bn1
layer1.0.conv1 64 64 3 3 layer1.0.bn1
layer1.0.conv2 64 64 3 3 layer1.0.bn2
layer1.1.conv1 64 64 3 3 layer1.1.bn1
layer1.1.conv2 64 64 3 3 layer1.1.bn2
layer2.0.conv1 128 64 3 3 layer2.0.bn1
layer2.0.conv2 128 128 3 3 layer2.0.bn2
layer2.0.downsample.0 128 64 1 1 layer2.0.downsample.1
layer2.1.conv1 128 128 3 3 layer2.1.bn1
layer2.1.conv2 128 128 3 3 layer2.1.bn2
layer3.0.conv1 256 128 3 3 layer3.0.bn1
layer3.0.conv2 256 256 3 3 layer3.0.bn2
layer3.0.downsample.0 256 128 1 1 layer3.0.downsample.1
layer3.1.conv1 256 256 3 3 layer3.1.bn1
layer3.1.conv2 256 256 3 3 layer3.1.bn2
layer4.0.conv1 512 256 3 3 layer4.0.bn1
layer4.0.conv2 512 512 3 3 layer4.0.bn2
layer4.0.downsample.0 512 256 1 1 layer4.0.downsample.1
layer4.1.conv1 512 512 3 3 layer4.1.bn1
layer4.1.conv2 512 512 3 3 layer4.1.bn2
"""


def published(classes=1000):
    """A state dict with the names, shapes and types of torchvision's, at random values."""
    draw = torch.Generator().manual_seed(0)
    content = {}
    for line in PUBLISHED.split("\n")[1:-1]:
        convolution, *shape, norm = line.split()
        width, fan_in = int(shape[0]), torch.tensor([int(size) for size in shape[1:]]).prod()
        content[f"{convolution}.weight"] = torch.randn(*map(int, shape), generator=draw) / fan_in.sqrt()
        for name in ("weight", "running_var"):
            content[f"{norm}.{name}"] = 0.5 + torch.rand(width, generator=draw)
        for name in ("bias", "running_mean"):
            content[f"{norm}.{name}"] = torch.randn(width, generator=draw) / 4
        content[f"{norm}.num_batches_tracked"] = torch.tensor(7)
    content["fc.weight"] = torch.randn(classes, 512, generator=draw) / 20
    content["fc.bias"] = torch.randn(classes, generator=draw)
    return content


def test_names_shapes_and_types_are_those_of_the_published_weights():
    expected = {name: (tensor.shape, tensor.dtype) for name, tensor in published().items()}
    found = {name: (tensor.shape, tensor.dtype) for name, tensor in resnet18().state_dict().items()}
    assert found == expected
    assert len(found) == 122
    assert sum(each.numel() for each in resnet18().parameters()) == 11_689_512  # as its publishers count


def test_a_published_state_dict_loads_strictly_and_the_embedding_is_what_its_last_layer_sees():
    content = published(classes=3)
    net = resnet18(3)
    net.load_state_dict(content, strict=True)
    encoder = resnet18(None)
    encoder.load_state_dict({name: each for name, each in content.items() if not name.startswith("fc.")})
    image = torch.randn(2, 3, 48, 40, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        embedding = encoder.eval()(image)
        torch.testing.assert_close(
            net.eval()(image), embedding @ content["fc.weight"].T + content["fc.bias"], rtol=1e-4, atol=1e-4
        )
    assert embedding.shape == (2, 512)


@pytest.mark.parametrize("size", [(64, 64), (48, 40), (33, 57)], ids=str)
def test_it_computes_what_the_implementation_of_others_does(size):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.ResNetModel(
        transformers.ResNetConfig(
            layer_type="basic", depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], embedding_size=64
        )
    )
    content = {_their_name(name): each for name, each in published().items() if not name.startswith("fc.")}
    theirs.load_state_dict(content, strict=True)
    ours = resnet18(None)
    ours.load_state_dict({name: each for name, each in published().items() if not name.startswith("fc.")})
    image = torch.randn(2, 3, *size, generator=torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        expected = theirs.eval().double()(image).pooler_output.flatten(1)
        torch.testing.assert_close(ours.eval().double()(image), expected)


def _their_name(name):
    """The name in transformers of a tensor of ours."""
    name = re.sub(r"^conv1", "embedder.embedder.convolution", name)
    name = re.sub(r"^bn1", "embedder.embedder.normalization", name)
    name = re.sub(r"^layer(\d)\.(\d)", lambda at: f"encoder.stages.{int(at[1]) - 1}.layers.{at[2]}", name)
    name = re.sub(r"conv([12])\.", lambda at: f"layer.{int(at[1]) - 1}.convolution.", name)
    name = re.sub(r"bn([12])\.", lambda at: f"layer.{int(at[1]) - 1}.normalization.", name)
    return name.replace("downsample.0", "shortcut.convolution").replace("downsample.1", "shortcut.normalization")


def test_a_seed_settles_the_start_and_leaves_the_global_generator_alone():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, second, other = resnet18(2, 0), resnet18(2, 0), resnet18(2, 1)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(first.conv1.weight, second.conv1.weight)
    assert not torch.equal(first.conv1.weight, other.conv1.weight)


def test_in_training_mode_batch_norm_learns_its_statistics():
    net = resnet18(2, 0).train()
    image = 3 + torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    for _ in range(200):
        nn.functional.relu(net.bn1(net.conv1(image)))
    inner = net.conv1(image)
    torch.testing.assert_close(net.bn1.running_mean, inner.mean((0, 2, 3)), rtol=1e-3, atol=1e-3)
