"""Find a data file: in the path given, in $RAAN_DATA, in the cache; or fetch it into the cache."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from raan.data.download.fetch import NotFetched, fetch
from raan.data.download.remote import Progress, RemoteFile
from raan.files.scratch import scratch

Given = str | Path | None


class DataUnavailable(FileNotFoundError):
    """A file is neither on this machine nor to be had from any of its sources."""


class CorruptData(ValueError):
    """A file was found, but its bytes are not the expected ones."""


def cache_folder() -> Path:
    """The folder for fetched files: $RAAN_CACHE, or the one that the system keeps for caches."""
    return Path(os.environ.get("RAAN_CACHE") or platformdirs.user_cache_dir("raan")).expanduser()


# Files that go by several names, or that have to be got by hand.


def look(dataset: str, names: Sequence[str], path: Given = None) -> Path | None:
    """The first of the names that exists; a path that is a file is taken as it is, under any name.

    A folder that is given is the only one looked in. Without a path they are $RAAN_DATA and the cache.
    """
    given = _expand(path)
    if given is not None and not given.exists():
        raise FileNotFoundError(f"{given} does not exist: expected a folder with {_either(names)}, or the file")
    if given is not None and given.is_file():
        return given
    places = (folder / name for folder in _folders_for(dataset, given) for name in names)
    return next((place for place in places if place.exists()), None)


def require(dataset: str, names: Sequence[str], path: Given, advice: str) -> Path:
    """The place that `look` finds, or the error that names where it looked and what to do."""
    found = look(dataset, names, path)
    if found is not None:
        return found
    looked = map(str, _folders_for(dataset, _expand(path)))
    raise DataUnavailable(
        "\n  ".join([f"{_either(names)} of the data set {dataset} was not found. Looked in", *looked])
        + f"\n{advice}\nPut it there, or name its folder by RAAN_DATA or by the path."
    )


# Files of known bytes, which may be fetched.


def find(file: RemoteFile, path: Given = None, *, progress: Progress | None = None) -> Path:
    """Where the file is, verified, after fetching it into the cache if it is nowhere on this machine.

    The path is the file itself, under any name, or a folder that holds it.
    """
    return find_all((file,), path, progress=progress)[0]


def find_all(
    files: Sequence[RemoteFile], path: Given = None, *, progress: Progress | None = None
) -> tuple[Path, ...]:
    """Where each of the files is, as `find`; the path is their folder, or one of them in it."""
    given = _expand(path)
    if given is not None and given.is_file() and len(files) > 1:
        given = given.parent
    with scratch() as folder:
        local = [_local(file, given) for file in files]
        return tuple(
            where or _fetch(file, given, folder, progress) for file, where in zip(files, local, strict=True)
        )


def _local(file: RemoteFile, given: Path | None) -> Path | None:
    """The first place on this machine that has the file, verified there."""
    places = [given] if given is not None and given.is_file() else _places(file, given)
    return next((_verify(file, place) for place in places if place.is_file()), None)


def _verify(file: RemoteFile, where: Path) -> Path:
    """The path, if the bytes there are the file's."""
    with where.open("rb") as stream:
        found, size = hashlib.file_digest(stream, "sha256").hexdigest(), os.fstat(stream.fileno()).st_size
    if found != file.sha256:
        raise CorruptData(
            f"{where} is not the expected {file.name}: it has {size:,} bytes (expected {file.size:,}) "
            f"and sha256 {found} (expected {file.sha256}). "
            "Delete it to have it fetched anew, or give the path of another copy."
        )
    return where


def _fetch(file: RemoteFile, given: Path | None, folder: Path, progress: Progress | None) -> Path:
    """Fetch the file into the cache."""
    target = _target(file)
    if not file.sources:
        raise _unavailable(file, given, ["nobody: it has no source to be fetched from"])
    try:
        fetch(file, target, folder, progress)
    except NotFetched as error:
        raise _unavailable(file, given, error.answers) from error
    except OSError as error:
        raise _unavailable(file, given, [f"nobody: {target} cannot be written: {error}"]) from error
    return target


def _unavailable(file: RemoteFile, given: Path | None, answers: Sequence[str]) -> DataUnavailable:
    """The error that states what was tried, and how to help."""
    looked = map(str, _places(file, given))
    return DataUnavailable(
        "\n  ".join([f"{file.name} of the data set {file.dataset} was not found. Looked for at", *looked])
        + "\n  ".join(["\nand asked", *answers])
        + f"\nGet it by hand ({file.size:,} bytes, sha256 {file.sha256}) and put it at\n  {_target(file)}\n"
        "or in a folder that you name by RAAN_DATA or by the path."
    )


# The places.


def _places(file: RemoteFile, given: Path | None) -> list[Path]:
    """Where a file that can be fetched may be: a folder that is given and lacks it does not keep us from it."""
    return [folder / file.name for folder in _folders(file.dataset, given, *_roots())]


def _folders_for(dataset: str, given: Path | None) -> list[Path]:
    """Where a file that has to be got by hand may be: in the folder given, or else in ours."""
    return _folders(dataset, given) if given else _folders(dataset, *_roots())


def _folders(dataset: str, *roots: Path | None) -> list[Path]:
    """The folders to look in: below each of the roots the data set's own, and the root itself."""
    return [folder for root in roots if root for folder in (root / dataset, root)]


def _roots() -> tuple[Path | None, Path]:
    return _expand(os.environ.get("RAAN_DATA") or None), cache_folder()


def _target(file: RemoteFile) -> Path:
    return cache_folder() / file.dataset / file.name


def _expand(path: Given) -> Path | None:
    return None if path is None else Path(path).expanduser()


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)
