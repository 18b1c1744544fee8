"""A lock on a file that ends with its process, however sudden that end, on POSIX and on Windows."""

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    BEYOND = 1 << 62  # a byte that no file has: Windows keeps others from reading the bytes that are locked

    def _try(stream: FileIO) -> bool:
        end = stream.tell()
        stream.seek(BEYOND)
        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
            return True
        except OSError:
            return False
        finally:
            stream.seek(end)
else:
    import fcntl

    def _try(stream: FileIO) -> bool:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False


PAUSE = 0.05  # seconds between two attempts

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""What file systems say that know no locks, such as some of the network."""


class Locked(OSError):
    """Another process holds the lock."""


@contextmanager
def lock(
    path: str | os.PathLike[str], *, wait: bool = False, keep: bool = True, needed: bool = True
) -> Iterator[FileIO]:
    """The file, made if need be, open to read and append, and locked until the end of the block.

    While another process holds it: `Locked`, or with `wait` the time until it lets go. Without `keep` the file, if
    it still has that name, is removed in the end. Where it is not `needed`, a file system without locks will do.
    """
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    stream = _lock(file, wait, needed)
    try:
        yield stream
    finally:
        try:
            if not keep:
                release(stream)
                file.unlink(missing_ok=True)  # still locked: who waits for it sees that it is gone, and makes anew
        finally:
            stream.close()


def release(stream: FileIO) -> None:
    """Close the stream on Windows, which cannot rename or remove open files; elsewhere it keeps its lock."""
    if os.name == "nt":
        stream.close()


def _lock(file: Path, wait: bool, needed: bool) -> FileIO:
    while True:
        stream = FileIO(file, "a+")
        try:
            taken = _try(stream)
            if taken and _is_at(stream, file):
                return stream
        except OSError as error:
            if not needed and error.errno in NO_LOCKS:
                return stream
            stream.close()
            raise
        stream.close()
        if not taken and not wait:
            raise Locked(f"{file} is in use by another process")
        if not taken:
            time.sleep(PAUSE)


def _is_at(stream: FileIO, file: Path) -> bool:
    """Whether this is still the file at the path: whoever held the lock may have renamed or removed it."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), file.stat())
    except FileNotFoundError:
        return False
