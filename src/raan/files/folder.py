"""A fitted model as a folder: tensors in safetensors, scikit-learn's parts in skops, the rest in one JSON file.

The JSON file names the others by their content, with their checksums, and is the last to be written: until it is
replaced, in one step, the folder holds the old model, and after that the new one.
"""

import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from raan._version import __version__
from raan.errors import MissingExtra, needing
from raan.files.plain import Room, digest, from_json, is_sealed, seal, to_json
from raan.files.write import write_bytes

MANIFEST = "raan-model.json"
FORMAT = "raan model"
VERSION = 1
LARGEST_MANIFEST = 2**25
"""Bytes: a list of empty lists of that length takes some 700 MB to read, and no model states so much."""

ROOM, ROOM_PER_BYTE = 2**24, 64
"""The bytes that the arrays of a manifest may take, and how many more for each byte of it."""

UNCHECKED = 2**26
"""Data files up to so many bytes may have holes: a larger one that is mostly holes is no model."""

HARMLESS = ("sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",)
"""Types of scikit-learn's own that skops has not listed yet: arrays of numbers, and no code of the file's."""

_DATA = re.compile(r"[a-z]+-[0-9a-f]{16}\.(safetensors|skops)")
"""The names of data files; nothing else in a folder is ever read or removed."""

_PART = re.compile(r"\.(.+)\.[0-9a-f]+\.part")
"""What a save that was cut short may leave, by `write_bytes`."""


class CorruptModel(ValueError):
    """A folder that holds no model that can be read; the message names the file."""


class Parts(NamedTuple):
    """What a model is made of, by how it is kept."""

    plain: dict[str, Any]
    tensors: bytes = b""  # in the format of safetensors; whoever packed them unpacks them
    estimators: Mapping[str, Any] = MappingProxyType({})  # scikit-learn's objects, named by lower-case letters


Loader = Callable[[Parts, Any], Any]
"""Puts a model together from its parts and the encoder that the caller gave, or None."""


def save(model: Any, folder: str | os.PathLike[str], *, kind: type, to_parts: Callable[[Any], Parts]) -> None:
    """Write the model into a folder; a crash at any moment leaves the model that was there before.

    The model is of the kind itself, not of a class derived from it, which would come back as something else. One
    process at a time may save into a folder.
    """
    if type(model) is not kind:
        raise TypeError(f"a {type(model).__name__} cannot be saved; expected a {kind.__name__}")
    parts = to_parts(model)
    content = to_json(parts.plain, kind.__name__)
    data = {part: (suffix, packed) for part, suffix, packed in _pack(parts)}
    path = _make(folder)
    files = {part: _write_data(path, part, *packed) for part, packed in data.items()}
    manifest = {"format": FORMAT, "version": VERSION, "kind": kind.__name__, "raan": __version__}
    manifest |= {"files": files, "content": content}
    sealed = seal(manifest)
    if len(sealed) > LARGEST_MANIFEST:
        raise ValueError(
            f"{kind.__name__} has {len(sealed):,} bytes beside its tensors, too many to be read again"
        )
    write_bytes(path / MANIFEST, sealed)
    _remove_others(path, {file["name"] for file in files.values()})


def load(
    folder: str | os.PathLike[str],
    loaders: Mapping[str, Loader],
    *,
    encoder: Any = None,
    trusted: Sequence[str] = (),
) -> Any:
    """The model that `save` wrote, put together by the loader of its kind; nothing in the folder can run code.

    `raan.load` is this with the loaders of every kind of model.
    """
    path = Path(folder)
    manifest = _read_manifest(path, loaders)
    with blame(path / MANIFEST):
        data = {part: _read_data(path, part, file) for part, file in manifest["files"].items()}
        plain = from_json(manifest["content"], Room(ROOM + ROOM_PER_BYTE * (path / MANIFEST).stat().st_size))
    tensors = b""
    estimators = {}
    for part, (file, packed) in data.items():
        if file.suffix == ".safetensors":
            tensors = _check_tensors(file, packed)
        else:
            estimators[part] = _estimator(file, packed, trusted)
    with needing("this model, which holds networks,"):
        return loaders[manifest["kind"]](Parts(plain, tensors, estimators), encoder)


@contextmanager
def blame(file: Path | str) -> Iterator[None]:
    """Turn whatever goes wrong within into a CorruptModel that names the file."""
    try:
        yield
    except (CorruptModel, MissingExtra):
        raise
    except Exception as error:  # a file that someone else made may break a reader in any way
        raise CorruptModel(f"{file} cannot be read: {type(error).__name__}: {error}") from error


def _pack(parts: Parts) -> Iterator[tuple[str, str, bytes]]:
    """Each data file to write: the part's name, the suffix, the bytes."""
    if parts.tensors:
        yield "tensors", ".safetensors", parts.tensors
    for name, estimator in parts.estimators.items():
        yield name, ".skops", _skops().dumps(estimator)


def _make(folder: str | os.PathLike[str]) -> Path:
    """Make the folder, unless it is there."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; expected the name of a folder to save into")
    path.mkdir(parents=True, exist_ok=True)
    return path


def _write_data(folder: Path, part: str, suffix: str, data: bytes) -> dict[str, Any]:
    """Write a data file under a name that its content gives it; the entry of the manifest for it."""
    sha256 = digest(data)
    name = f"{part}-{sha256[:16]}{suffix}"
    write_bytes(folder / name, data)
    return {"name": name, "sha256": sha256, "bytes": len(data)}


def _remove_others(folder: Path, kept: set[str]) -> None:
    """Remove the data files of the model that was here before, and what crashed saves have left."""
    for file in folder.iterdir():
        part = _PART.fullmatch(file.name)
        written = part.group(1) if part else file.name
        if file.name not in kept and (_DATA.fullmatch(written) or (part and written == MANIFEST)):
            file.unlink(missing_ok=True)


def _read_manifest(folder: Path, known: Collection[str]) -> dict[str, Any]:
    """The JSON file, if this version wrote it, not a letter of it has changed and the kind is a known one."""
    file = folder / MANIFEST
    if not file.is_file():
        raise CorruptModel(f"{file} does not exist: {folder} holds no model of raan")
    with blame(file):
        if file.stat().st_size > LARGEST_MANIFEST:
            raise CorruptModel(f"{file} is larger than any manifest that raan writes")
        written = file.read_bytes()
        manifest = json.loads(written, parse_constant=_refuse)
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise CorruptModel(f"{file} is not a model of raan: its format is not {FORMAT!r}")
        _check_version(file, manifest.get("version"))
        if not is_sealed(written, manifest):
            raise CorruptModel(f"{file} is damaged: its content does not have the checksum that it states")
        if manifest.get("kind") not in known:
            raise CorruptModel(
                f"{file} holds a model of kind {manifest.get('kind')!r}; this version reads {', '.join(known)}"
            )
    return manifest


def _check_version(file: Path, found: Any) -> None:
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise CorruptModel(f"{file} states the format version {found!r}; expected a whole number from 1")
    if found > VERSION:
        raise CorruptModel(
            f"{file} is of format version {found}, from a newer raan; this one reads up to {VERSION}: upgrade"
        )


def _read_data(folder: Path, part: str, stated: Any) -> tuple[Path, bytes]:
    """A data file and its bytes, if they are what the manifest states."""
    name, size, sha256 = stated["name"], stated["bytes"], stated["sha256"]
    if not isinstance(name, str) or not _DATA.fullmatch(name):
        raise CorruptModel(f"{folder / MANIFEST} names the file {name!r}, which raan never writes")
    file = folder / name
    if not file.is_file():
        raise CorruptModel(f"{file} is missing")
    found = file.stat().st_size
    if found != size:
        raise CorruptModel(f"{file} has {found:,} bytes where {size} were written: it is truncated or damaged")
    _check_solid(file)
    data = file.read_bytes()
    if digest(data) != sha256:
        raise CorruptModel(f"{file} is damaged: its content does not have the checksum in {MANIFEST}")
    return file, data


def _check_solid(file: Path) -> None:
    """An error for a large file that is mostly holes: it takes no disk, and would take all memory."""
    found = file.stat()
    on_disk = 512 * getattr(found, "st_blocks", found.st_size)
    if found.st_size > UNCHECKED and on_disk < found.st_size / 2:
        raise CorruptModel(f"{file} states {found.st_size:,} bytes and has {on_disk:,}: it is no file of raan's")


def _check_tensors(file: Path, data: bytes) -> bytes:
    """The bytes, if they are tensors in the format of safetensors."""
    with needing("this model, which holds networks,"):
        from safetensors import deserialize
    with blame(file):
        deserialize(data)  # type: ignore[no-untyped-call]
    return data


def _estimator(file: Path, data: bytes, trusted: Sequence[str]) -> Any:
    """A part of scikit-learn's, if every type in it is known to be harmless or vouched for."""
    skops = _skops()
    with blame(file):
        _check_packed(file, data)
        vouched = {*HARMLESS, *trusted}
        unknown = sorted(set(skops.get_untrusted_types(data=data)) - vouched)
        if unknown:
            raise CorruptModel(
                f"{file} holds types that skops does not know to be harmless: {', '.join(unknown)}. If you "
                f"trust those who made it: load(..., trusted={unknown})"
            )
        return skops.loads(data, trusted=sorted(vouched))


class _Bridge:
    """An importer that has scikit-learn's bridge to torch seem absent."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if re.fullmatch(r"sklearn\.externals\.array_api_compat\.torch(\..*)?", name):
            raise ModuleNotFoundError(f"{name} is not imported for skops", name=name)


def _skops() -> Any:
    """skops, imported without torch, which it does not need.

    To list scikit-learn's estimators it imports all packages of scikit-learn, the bridge to torch among them: two
    seconds more for every command that reads or writes a model. Those that cannot be imported it passes over.
    """
    sys.meta_path.insert(0, _Bridge)
    try:
        import skops.io

        return skops.io
    finally:
        sys.meta_path.remove(_Bridge)


def _check_packed(file: Path, data: bytes) -> None:
    """An error for an archive that would be more once unpacked: skops packs without compressing."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > len(data):
            raise CorruptModel(f"{file} holds more than its {len(data):,} bytes: raan never writes it compressed")


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")
