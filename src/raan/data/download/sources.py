"""Find a data file, or fetch it: the user's path, $RAAN_DATA, the cache, then its sources in turn."""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from raan.data.download.fetch import NotFetched, fetch
from raan.data.download.remote import Progress, RemoteFile, Source, Stream, Url, Wheel

__all__ = [
    "CorruptData",
    "DataUnavailable",
    "Progress",
    "RemoteFile",
    "Source",
    "Stream",
    "Url",
    "Wheel",
    "cache_folder",
    "find",
    "find_all",
    "places",
    "verify",
]


class DataUnavailable(FileNotFoundError):
    """A file is neither on this machine nor to be had from any of its sources."""


class CorruptData(ValueError):
    """A file was found, but its bytes are not the expected ones."""


def find(file: RemoteFile, path: str | Path | None = None, *, progress: Progress | None = None) -> Path:
    """Where the file is, verified, after fetching it into the cache if it is nowhere on this machine.

    The path is the file itself, under any name, or a folder that holds it.
    """
    return find_all((file,), path, progress=progress)[0]


def find_all(
    files: Sequence[RemoteFile], path: str | Path | None = None, *, progress: Progress | None = None
) -> tuple[Path, ...]:
    """Where each of the files is, as `find`; the path is their folder, or one of them in it."""
    given = None if path is None else Path(path).expanduser()
    if given is not None and given.is_file() and len(files) > 1:
        given = given.parent
    local = [_look(file, given) for file in files]
    missing = [file for file, where in zip(files, local, strict=True) if where is None]
    fetched = _fetch_all(missing, given, progress) if missing else {}
    return tuple(where or fetched[file] for file, where in zip(files, local, strict=True))


def cache_folder() -> Path:
    """The folder for fetched files: $RAAN_CACHE, or the one that the system keeps for caches."""
    return Path(os.environ.get("RAAN_CACHE") or platformdirs.user_cache_dir("raan")).expanduser()


def verify(file: RemoteFile, where: Path) -> Path:
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


def _look(file: RemoteFile, given: Path | None) -> Path | None:
    """The first place on this machine that has the file, verified there."""
    if given is not None and given.is_file():
        return verify(file, given)
    return next((verify(file, place) for place in places(file, given) if place.is_file()), None)


def places(file: RemoteFile, given: Path | None = None) -> list[Path]:
    """Where the file may be on this machine, in the order in which it is looked for."""
    shared = os.environ.get("RAAN_DATA")
    folders = [given, Path(shared).expanduser() if shared else None]
    names = (Path(file.dataset, file.name), Path(file.name))
    return [*(folder / name for folder in folders if folder for name in names), _cached(file)]


def _cached(file: RemoteFile) -> Path:
    return cache_folder() / file.dataset / file.name


def _fetch_all(
    files: Sequence[RemoteFile], given: Path | None, progress: Progress | None
) -> dict[RemoteFile, Path]:
    """Fetch the files into the cache, with a scratch folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="raan-") as scratch:
        return {file: _fetch(file, given, Path(scratch), progress) for file in files}


def _fetch(file: RemoteFile, given: Path | None, scratch: Path, progress: Progress | None) -> Path:
    """Fetch the file into the cache."""
    if not file.sources:
        raise _unavailable(file, given, ["nobody: it has no source to be fetched from"])
    try:
        fetch(file, _cached(file), scratch, progress)
    except NotFetched as error:
        raise _unavailable(file, given, error.answers) from error
    except OSError as error:
        raise _unavailable(file, given, [f"nobody: {_cached(file)} cannot be written: {error}"]) from error
    return _cached(file)


def _unavailable(file: RemoteFile, given: Path | None, answers: Sequence[str]) -> DataUnavailable:
    """The error that says what was tried, and how to help."""
    looked = [str(place) for place in places(file, given)]
    return DataUnavailable(
        "\n  ".join([f"{file.name} of the data set {file.dataset} was not found. Looked for at", *looked])
        + "\n  ".join(["\nand asked", *answers])
        + f"\nGet it by hand ({file.size:,} bytes, sha256 {file.sha256}) and put it at\n  {_cached(file)}\n"
        "or in a folder that you name by RAAN_DATA or by the path."
    )
