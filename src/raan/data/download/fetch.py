"""Fetch a file: whole and verified or not at all, going on where an earlier attempt was cut off."""

import errno
import hashlib
import os
import zipfile
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from io import FileIO
from pathlib import Path
from urllib.error import HTTPError

from raan.data.download.remote import Progress, RemoteFile, Source, TooSlow
from raan.files.lock import lock, release
from raan.files.space import check_space
from raan.files.write import write_all

CHUNK = 1 << 16
ATTEMPTS = 10  # at one source, as long as each brings more of the file
FAILURES = (OSError, HTTPException, zipfile.BadZipFile, zlib.error)  # what a source may raise
FULL = (errno.ENOSPC, errno.EDQUOT)
NOTHING_THERE = 416  # the status for a range after the last byte


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
    with lock(part, wait=True) as stream:
        copy = _Copy(file, stream, scratch, progress)
        try:
            if target.is_file():  # another process was quicker
                stream.truncate(0)
            else:
                copy.fill()
                release(stream)
                os.replace(part, target)
        finally:
            if not stream.closed and copy.size == 0:
                release(stream)
                part.unlink(missing_ok=True)


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
