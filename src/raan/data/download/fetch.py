"""Fetch a file: whole and verified or not at all, going on where an earlier attempt was cut off."""

import errno
import hashlib
import os
import shutil
import sys
import zipfile
import zlib
from http.client import HTTPException
from io import FileIO
from pathlib import Path
from urllib.error import HTTPError

from raan.data.download.remote import Progress, RemoteFile, Source
from raan.files.lock import lock

CHUNK = 1 << 16
ATTEMPTS = 10  # at one source, as long as each brings more of the file
FAILURES = (OSError, HTTPException, zipfile.BadZipFile, zlib.error)  # how a source can let us down
FULL = (errno.ENOSPC, errno.EDQUOT)
NOTHING_THERE = 416  # how a server answers who asks for bytes after the last


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
    with lock(part, wait=True) as copy:
        try:
            if target.is_file():  # another process was quicker
                copy.truncate(0)
            else:
                _fill(file, copy, scratch, progress)
                _release(copy)
                os.replace(part, target)
        finally:
            if not copy.closed and _size(copy) == 0:
                _release(copy)
                part.unlink(missing_ok=True)


def _fill(file: RemoteFile, copy: FileIO, scratch: Path, progress: Progress | None) -> None:
    """Bring the copy to the whole file, by the first source that can."""
    answers = []
    for source in file.sources:
        try:
            _check_space(file, copy)
            return _fill_from(source, file, copy, scratch, progress)
        except FAILURES as error:
            answers.append(f"{source}: {type(error).__name__}: {error}")
            if _is_full(error):
                copy.truncate(0)  # the disk has better uses than the beginning of a file
                break
    raise NotFetched(answers)


def _fill_from(source: Source, file: RemoteFile, copy: FileIO, scratch: Path, progress: Progress | None) -> None:
    """Bring the copy to the whole file by one source; if what was there before does not fit, from the start."""
    resumed = _size(copy) > 0
    try:
        _draw(source, file, copy, scratch, progress)
        _verify(file, copy)
    except WrongBytes:
        copy.truncate(0)
        if not resumed:
            raise
        _fill_from(source, file, copy, scratch, progress)


def _draw(source: Source, file: RemoteFile, copy: FileIO, scratch: Path, progress: Progress | None) -> None:
    """Append to the copy until it is as long as the file; while each attempt brings more, try again."""
    for attempt in range(ATTEMPTS):
        before = _size(copy)
        try:
            _append(source, file, copy, scratch, progress)
            return
        except FAILURES as error:
            last = attempt == ATTEMPTS - 1
            if last or _size(copy) <= before or _is_full(error) or isinstance(error, WrongBytes):
                raise


def _append(source: Source, file: RemoteFile, copy: FileIO, scratch: Path, progress: Progress | None) -> None:
    """Append what the source sends after what is there; one byte too many is enough to stop."""
    size = _size(copy)
    if size >= file.size:  # an earlier attempt came to the end, and was cut off before it could verify
        return
    try:
        with source.open(scratch, size) as (stream, size):
            copy.truncate(size)
            while size <= file.size and (chunk := stream.read(CHUNK)):
                write_all(copy, chunk)
                size += len(chunk)
                if progress:
                    progress(size, file.size)
    except HTTPError as error:
        if error.code == NOTHING_THERE:
            raise WrongBytes(f"has no bytes after {_size(copy):,}") from error
        raise
    if size < file.size:
        raise OSError(f"sent {size:,} of the expected {file.size:,} bytes")


def write_all(copy: FileIO, chunk: bytes) -> None:
    """Write all of the chunk: a disk that is nearly full takes a part of it, and fails at the next."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[copy.write(rest) :]


def _verify(file: RemoteFile, copy: FileIO) -> None:
    """Raise WrongBytes unless the copy is the file."""
    if _size(copy) > file.size:
        raise WrongBytes(f"sent more than the expected {file.size:,} bytes")
    copy.seek(0)
    sha256 = hashlib.file_digest(copy, "sha256").hexdigest()
    if sha256 != file.sha256:
        raise WrongBytes(f"sent other bytes, of sha256 {sha256}")


def _check_space(file: RemoteFile, copy: FileIO) -> None:
    """Raise an OSError at once where the disk would be full in the end."""
    disk = shutil.disk_usage(Path(copy.name).parent)
    needed = file.size - _size(copy)
    if disk.total and disk.free < needed:  # some network folders say 0 of 0
        raise OSError(errno.ENOSPC, f"{needed:,} bytes are needed, the disk has {disk.free:,} free", copy.name)


def _is_full(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in FULL


def _size(copy: FileIO) -> int:
    return os.fstat(copy.fileno()).st_size


def _release(copy: FileIO) -> None:
    """Close the copy on Windows, which cannot rename or remove open files; elsewhere it keeps its lock."""
    if sys.platform == "win32":
        copy.close()
