"""Write a file whole or not at all: whoever looks, and whenever, sees the old content or the new."""

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path

from raan.files.lock import lock, release


def check_space(place: Path, needed: int) -> None:
    """Raise an OSError that names the place if the disk below it has fewer bytes left; it may not exist yet."""
    there = next(folder for folder in (place, *place.absolute().parents) if folder.exists())
    total, free = room(there)
    if total and free < needed:  # some network folders report 0 of 0
        raise OSError(errno.ENOSPC, f"{needed:,} bytes are needed, the disk has {free:,} free", str(place))


def room(place: Path) -> tuple[int, int]:
    """The bytes that the disk has, and those that this user may still write: some are kept for root."""
    if not hasattr(os, "statvfs"):
        disk = shutil.disk_usage(place)
        return disk.total, disk.free
    found = os.statvfs(place)
    free = found.f_bfree if os.geteuid() == 0 else found.f_bavail
    return found.f_blocks * found.f_frsize, free * found.f_frsize


PREFIX = "raan-"

MARK = "raan-scratch.lock"
"""The file in each that its process holds the lock of; a folder without it is not ours to remove."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, removed in the end; those that killed processes have left are removed first."""
    _sweep_temporary(Path(tempfile.gettempdir()))
    with ExitStack() as held:
        yield _make(held)


def _make(held: ExitStack) -> Path:
    """A new folder with its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        with suppress(FileNotFoundError):  # swept away before the lock was taken
            held.enter_context(lock(folder / MARK, wait=True, needed=False))
            return folder


def _sweep_temporary(place: Path) -> None:
    """Remove the folders of this user whose lock nobody holds."""
    for mark in place.glob(f"{PREFIX}*/{MARK}"):
        with suppress(OSError):
            # In a folder that all may write to, another's mark could be a link to anywhere.
            if mark.parent.lstat().st_uid == _user() and not mark.is_symlink():
                with lock(mark):
                    shutil.rmtree(mark.parent, ignore_errors=True)


def _user() -> int:
    """Whose process this is; Windows has no such number, and files there are of user 0."""
    return os.getuid() if hasattr(os, "getuid") else 0


LONGEST = 120
"""Names of more bytes are not repeated in those of the files beside them: file systems allow 143 or 255 in all."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Put the content at the path in one step; a crash at any moment leaves what was there before."""
    with write_whole(path) as part:
        part.write_bytes(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Put the text, in UTF-8, at the path in one step."""
    write_bytes(path, text.encode())


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; if the block ends without an error, that file becomes the target.

    A regular file is replaced in one step, its bytes on disk before that, and a link is followed; into a pipe or a
    device the bytes are copied when all are there. An error removes what was written; what a kill left is removed
    by the next that writes the target.
    """
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        with _write_through(Path(path), mode) as part:
            yield part
        return
    target = Path(os.path.realpath(path))
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "is not to be written to", str(path))
    part = beside(target)
    with _naming(target, part):
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        check_space(target, 1)  # before whoever writes has worked for it
        # Locked for as long as this process lives, so that others can tell it from what a kill left.
        with lock(part, wait=True, keep=False, needed=False) as stream:
            yield part
            os.fsync(stream.fileno())
            if mode is not None:
                part.chmod(stat.S_IMODE(mode))
            release(stream)
            os.replace(part, target)
            sync_folder(target.parent)


def write_all(stream: FileIO, content: bytes) -> None:
    """Write all of the content: a disk that is nearly full takes a part of it, and fails at the next."""
    rest = memoryview(content)
    while rest:
        rest = rest[stream.write(rest) :]


def beside(target: Path) -> Path:
    """A hidden name of its own in the target's folder, for what is to take its place."""
    return target.with_name(f"{hidden(target)}.{secrets.token_hex(4)}.part")


def hidden(target: Path) -> str:
    """How the names of the files begin that stand beside the target for a while."""
    name = os.fsencode(target.name)
    return f".{target.name}" if len(name) <= LONGEST else f".{hashlib.sha256(name).hexdigest()[:32]}"


def left_beside(target: Path) -> Iterator[Path]:
    """What has a name of `beside` the target: of writers that are at work, or that were killed."""
    parts = re.compile(re.escape(hidden(target)) + r"\.[0-9a-f]{8}\.(part|old)")
    for name in os.listdir(target.parent):
        if parts.fullmatch(name):
            yield target.with_name(name)


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable, where the system can open folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _mode(path: str | os.PathLike[str]) -> int | None:
    """The kind and the permissions of what stands at the path, links followed; None for nothing."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _sweep(target: Path) -> None:
    """Remove the files that killed writers of the target have left: nobody holds their lock."""
    for part in left_beside(target):
        with suppress(OSError), lock(part, keep=False):
            pass


@contextmanager
def _write_through(path: Path, mode: int) -> Iterator[Path]:
    """A file elsewhere whose bytes go to the pipe or the device, which stays what it is."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder: expected the name of a file")
    if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
        raise OSError(f"{path} is neither a file, nor a pipe, nor a terminal: expected the name of a file")
    with scratch() as folder:
        part = folder / "part"
        part.touch()
        yield part
        with part.open("rb") as whole, path.open("wb") as end:
            shutil.copyfileobj(whole, end)


@contextmanager
def _naming(target: Path, part: Path) -> Iterator[None]:
    """Errors of the system speak of the target, not of what stands beside it for a while."""
    try:
        yield
    except OSError as error:
        nameless = error.filename is None and error.errno in FULL
        if nameless or error.filename in (str(part), part):
            error.filename, error.filename2 = str(target), None
        raise
