"""Files of data sets: found here, or fetched, resumed and verified."""

import errno
import hashlib
import os
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from io import FileIO
from pathlib import Path
from urllib.error import HTTPError

import platformdirs

from raan.data.download.remote import Progress, RemoteFile, Source, TooSlow
from raan.io.files import check_space, lock, scratch

CHUNK = 1 << 16
ATTEMPTS = 10  # at one source, as long as each brings more of the file
FAILURES = (OSError, HTTPException, zipfile.BadZipFile, zlib.error)  # what a source may raise
FULL = (errno.ENOSPC, errno.EDQUOT)
NOTHING_THERE = 416  # the status for a range after the last byte


def write_all(stream: FileIO, content: bytes) -> None:
    """Write all of the content: a disk that is nearly full takes a part of it, and fails at the next."""
    rest = memoryview(content)
    while rest:
        rest = rest[stream.write(rest) :]


class NotFetched(Exception):
    """No source gave the file; what each of them answered."""

    def __init__(self, answers: list[str]) -> None:
        super().__init__("\n".join(answers))
        self.answers = answers


class WrongBytes(OSError):
    """What has come is not the file."""


def fetch(file: RemoteFile, target: Path, scratch: Path, progress: Progress | None = None) -> None:
    """Put the file at the target, from the first source that has it.

    What has come is kept beside the target in a file whose name ends in .part, also if this process is
    killed. Of several processes that fetch the file at once, one does and the others wait for it.
    """
    # By checksum, so that versions of a file do not meet.
    part = target.with_name(f"{target.name}.{file.sha256[:8]}.part")
    with lock(part.with_suffix(".lock"), wait=True):
        if target.is_file():  # another process was quicker
            part.unlink(missing_ok=True)
            return
        try:
            with FileIO(part, "a+") as stream:
                _Copy(file, stream, scratch, progress).fill()
            os.replace(part, target)
        finally:
            if part.exists() and not part.stat().st_size:
                part.unlink()


@dataclass(frozen=True)
class _Copy:
    """What has come of a file, in a stream that is locked."""

    file: RemoteFile
    stream: FileIO
    scratch: Path
    progress: Progress | None

    @property
    def size(self) -> int:
        return os.fstat(self.stream.fileno()).st_size

    def fill(self) -> None:
        """Bring the copy to the whole file, by the first source that can."""
        answers = []
        for source in self.file.sources:
            try:
                check_space(Path(self.stream.name), self.file.size - self.size)
                return self._fill_from(source)
            except FAILURES as error:
                answers.append(f"{source}: {type(error).__name__}: {error}")
                if _is_full(error):
                    self.stream.truncate(0)  # the beginning of a file is not worth the last of the disk
                    break
        raise NotFetched(answers)

    def _fill_from(self, source: Source) -> None:
        """Bring the copy to the whole file by one source; from the start, if what was there does not fit."""
        resumed = self.size > 0
        try:
            self._draw(source)
            self._verify()
        except WrongBytes:
            self.stream.truncate(0)
            if not resumed:
                raise
            self._fill_from(source)

    def _draw(self, source: Source) -> None:
        """Append until the copy is as long as the file; while each attempt brings more, try again."""
        for attempt in range(ATTEMPTS):
            before = self.size
            try:
                self._append(source)
                return
            except FAILURES as error:
                last = attempt == ATTEMPTS - 1
                if last or self.size <= before or _is_full(error) or isinstance(error, WrongBytes | TooSlow):
                    raise

    def _append(self, source: Source) -> None:
        """Append what the source sends after what is there; one byte too many is enough to stop."""
        size = self.size
        if size >= self.file.size:  # an earlier attempt came to the end, and was cut off before it could verify
            return
        try:
            with source.open(self.scratch, size) as (body, size):
                self.stream.truncate(size)
                while size <= self.file.size and (chunk := body.read(CHUNK)):
                    write_all(self.stream, chunk)
                    size += len(chunk)
                    if self.progress:
                        self.progress(size, self.file.size)
        except HTTPError as error:
            if error.code == NOTHING_THERE:
                raise WrongBytes(f"has no bytes after {self.size:,}") from error
            raise
        if size < self.file.size:
            raise OSError(f"sent {size:,} of the expected {self.file.size:,} bytes")

    def _verify(self) -> None:
        """Raise WrongBytes unless the copy is the file."""
        if self.size > self.file.size:
            raise WrongBytes(f"sent more than the expected {self.file.size:,} bytes")
        self.stream.seek(0)
        sha256 = hashlib.file_digest(self.stream, "sha256").hexdigest()
        if sha256 != self.file.sha256:
            raise WrongBytes(f"sent other bytes, of sha256 {sha256}")


def _is_full(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in FULL


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
