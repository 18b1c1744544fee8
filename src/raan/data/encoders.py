"""The encoders of a user's own texts and images: found by name, told apart by their bytes, run once for each item.

A name that a saved model states is looked up where it came from, and never taken for a folder on this machine.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor, nn

from raan.data.download.remote import Progress
from raan.data.embed import (
    CENTRE,
    MINILM,
    SPREAD,
    TOGETHER,
    embed_distinct,
    embed_once,
    file_digest,
    find_model,
    fingerprint,
    load_encoder,
    load_lite0,
    packaged_weights,
)
from raan.data.images import Images, Size, decode
from raan.errors import InputError, Message, Option
from raan.tables.media import Encoder

LITE0 = "efficientnet-lite0"
LITE0_SIZE: Size = (224, 224)
"""Height and width that EfficientNet-lite0 was trained for; an image is scaled to cover it and cropped around its
centre."""

IMAGES_AT_ONCE = 64
"""Images that are embedded before they are on disk."""

HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """A sentence-transformers model: what is remembered of it, and how it is loaded."""

    about: Encoder
    load: Callable[[], Callable[[list[str]], Float32[np.ndarray, "text feature"]]]


@dataclass(frozen=True, eq=False)
class ImageEncoder:
    """A network for images: what is remembered of it, the size it takes, and how it is loaded.

    What is loaded takes red, green and blue from 0 to 255.
    """

    about: Encoder
    size: Size
    load: Callable[[], Callable[[Float32[Tensor, "image 3 height width"]], Float32[Tensor, "image feature"]]]


# Texts.


def find_text_encoder(name: str | None, fitted: Encoder | None = None) -> TextEncoder:
    """The encoder of that name, by default the packaged one, or the one that a model was fitted with."""
    if fitted is None:
        return _text_encoder(name or MINILM, revision=None, may_be_folder=True)
    if name is None and fitted.source == "folder":
        raise _name_it("text_encoder", fitted)
    found = _text_encoder(name or fitted.name, fitted.revision or None, may_be_folder=name is not None)
    _check_same("text_encoder", found.about, fitted)
    return found


def _text_encoder(name: str, revision: str | None, may_be_folder: bool) -> TextEncoder:
    where = Path(find_model(name))
    if name == MINILM:
        return TextEncoder(Encoder("text", MINILM, "package", _of_folder(where)), partial(_load_texts, str(where)))
    if may_be_folder and where.is_dir():
        about = Encoder("text", where.resolve().name, "folder", _of_folder(where))
        return TextEncoder(about, partial(_load_texts, str(where)))
    if not HUB_NAME.fullmatch(name) or where.is_dir():
        raise InputError(Option("text_encoder"), f"is {name!r}", _EXPECTED_TEXT)
    commit = revision or _commit(name)
    about = Encoder("text", name, "hub", hashlib.sha256(f"{name}@{commit}".encode()).hexdigest(), commit)
    return TextEncoder(about, partial(_load_texts, name, commit))


_EXPECTED_TEXT = "the name of a sentence-transformers model, or a folder that holds one"


def _load_texts(name: str, revision: str | None = None) -> Any:
    try:
        return load_encoder(name) if revision is None else load_encoder(name, revision)
    except (OSError, ValueError, KeyError, TypeError) as error:
        said = str(error).strip().split("\n")[0]
        came = f"is {name!r}, which cannot be loaded ({type(error).__name__}: {said[:300]})"
        raise InputError(Option("text_encoder"), came, _EXPECTED_TEXT) from error


def _commit(name: str) -> str:
    """The revision of a hub's model on this machine; it is downloaded if it is not there."""
    found = _cached_commit(name)
    if found is None:
        _load_texts(name)
        found = _cached_commit(name)
    return found or "main"


def _cached_commit(name: str) -> str | None:
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    for file in ("modules.json", "config.json"):
        path = try_to_load_from_cache(name, file)
        if isinstance(path, str):
            return Path(path).parent.name
    return None


def embed_texts(
    texts: Sequence[str], encoder: TextEncoder, progress: Progress | None = None
) -> Float32[np.ndarray, "text feature"]:
    """The vector of each text, in their order; what was embedded before is read from the project's cache."""
    return embed_distinct(texts, encoder.about.fingerprint[:32], encoder.load, progress=progress).numpy()


# Images.


def find_image_encoder(name: str | None, fitted: Encoder | None = None) -> ImageEncoder:
    """The network of that name, by default the packaged one, or the one that a model was fitted with."""
    if fitted is None:
        return _image_encoder(name or LITE0)
    if name is None and fitted.source == "timm" and not HUB_NAME.fullmatch(fitted.name):
        raise _name_it("image_encoder", fitted)  # timm's names with a colon may be folders
    found = _image_encoder(name or fitted.name)
    _check_same("image_encoder", found.about, fitted)
    return found


def _image_encoder(name: str) -> ImageEncoder:
    if name == LITE0:
        weights = packaged_weights()
        about = Encoder("image", LITE0, "package", hashlib.sha256(file_digest(weights)).hexdigest())
        return ImageEncoder(about, LITE0_SIZE, partial(_load_lite0, weights))
    return find_timm(name)


def _load_lite0(weights: Path) -> Callable[[Tensor], Tensor]:
    network = load_lite0(weights)
    return lambda shown: network.extract_features((shown - CENTRE) / SPREAD).mean((2, 3))


@cache
def find_timm(name: str) -> ImageEncoder:
    """A network of timm's, without its last layer, with the size and the colours that it was trained for."""
    try:
        import timm
    except (ImportError, RuntimeError, AttributeError) as error:  # the latter two where torchvision does not fit
        raise InputError(
            Option("image_encoder"),
            f"is {name!r}, which is looked for in timm, and that cannot be imported ({error})",
            f"timm to be installed, or {LITE0!r}, which raan[image] brings",
            "pip install timm",
        ) from error
    try:
        network = timm.create_model(name, pretrained=True, num_classes=0).eval()
    except (RuntimeError, ValueError, OSError) as error:
        said = str(error).strip().split("\n")[0][:300]
        came = f"is {name!r}, which timm cannot load ({said})"
        raise InputError(Option("image_encoder"), came, "the name of a pretrained model of timm's") from error
    config = timm.data.resolve_model_data_config(network)
    _, height, width = config["input_size"]
    centre, spread = (255 * torch.tensor(config[key]).view(3, 1, 1) for key in ("mean", "std"))
    about = Encoder("image", name, "timm", _of_module(name, network))
    return ImageEncoder(about, (height, width), lambda: lambda shown: network((shown - centre) / spread))


def embed_images(
    files: Sequence[Path], encoder: ImageEncoder, progress: Progress | None = None
) -> tuple[Float32[np.ndarray, "image feature"], dict[int, str]]:
    """The vector of each image file, and what is wrong with those that have none, by their place.

    Files are known by their bytes: one that was embedded before, wherever it lay, is read from the cache.
    """
    keys = [file_digest(file).hex() for file in files]
    distinct = dict(zip(keys, files, strict=True))
    wrong: dict[str, str] = {}
    height, width = encoder.size
    vectors = embed_once(
        list(distinct),
        hashlib.sha256(f"{encoder.about.fingerprint} {height} {width}".encode()).hexdigest()[:32],
        lambda: _encode_files(encoder, distinct, wrong),
        batch_size=IMAGES_AT_ONCE,
        progress=progress,
    ).numpy()
    row = {key: number for number, key in enumerate(distinct)}
    faults = {place: wrong[key] for place, key in enumerate(keys) if key in wrong}
    return vectors[[row[key] for key in keys]], faults


def _encode_files(
    encoder: ImageEncoder, files: dict[str, Path], wrong: dict[str, str]
) -> Callable[[list[str]], Float32[np.ndarray, "image feature"]]:
    """The network's vectors of files by their keys; nan for those that are wrong, which is noted."""
    network = encoder.load()

    @torch.no_grad()
    def encode(keys: list[str]) -> Float32[np.ndarray, "image feature"]:
        shown = np.zeros((len(keys), 3, *encoder.size), np.uint8)
        for place, key in enumerate(keys):
            try:
                shown[place] = _read(files[key], encoder.size)
            except ValueError as error:
                wrong[key] = f"cannot be read as an image ({error.__cause__ or error})"
        parts = torch.split(torch.from_numpy(shown), TOGETHER)
        vectors = torch.cat([network(part.float()) for part in parts]).numpy().astype(np.float32)
        vectors[[key in wrong for key in keys]] = np.nan
        return vectors

    return encode


def _read(file: Path, size: Size) -> np.ndarray:
    images = Images(file.parent, {file.name: file.stat().st_size}, lambda name: file.read_bytes())
    return decode(images, file.name, size)


# What both share.


def _check_same(option: str, found: Encoder, fitted: Encoder) -> None:
    """An error for an encoder that is not the one that the model was fitted with."""
    if found.fingerprint != fitted.fingerprint:
        raise InputError(
            Option(option),
            f"is {found}, of fingerprint {found.fingerprint[:12]}",
            f"the encoder that the model was fitted with, {fitted}, of fingerprint {fitted.fingerprint[:12]}",
            "its numbers would mean something else: get that version, or fit the model anew",
        )


def _name_it(option: str, fitted: Encoder) -> InputError:
    return InputError(
        Option(option),
        f"is not given, and the model was fitted with {fitted.name!r}, a folder of one's own",
        Message("that folder by ", Option(option)),
        "a name in a file is not taken for a folder on this machine",
    )


@cache
def _of_folder(folder: Path) -> str:
    return fingerprint(str(folder))


def _of_module(name: str, network: nn.Module) -> str:
    """A hash of a network's name and numbers."""
    digest = hashlib.sha256(name.encode())
    for key, value in network.state_dict().items():
        digest.update(f"{key}\n".encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
