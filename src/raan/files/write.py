"""Write a file or a folder whole or not at all: whoever looks, and whenever, sees the old content or the new."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Put the content at the path in one step; a crash at any moment leaves what was there before."""
    with write_whole(path) as part:
        part.write_bytes(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Put the text, in UTF-8, at the path in one step."""
    write_bytes(path, text.encode())


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside the target to write to; if the block ends without an error, that file becomes the target.

    The bytes are on disk before the target is replaced. An error removes what was written.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _beside(target)
    try:
        yield part
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(part, target)
        _sync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def write_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder beside the target to fill; if the block ends without an error, it takes the place of the target.

    Whatever the target held is removed.
    """
    target = Path(path)
    part = _beside(target.absolute())
    part.mkdir(parents=True)
    try:
        yield part
        _replace_folder(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _beside(target: Path) -> Path:
    """A hidden name of its own in the target's folder."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")


def _replace_folder(part: Path, target: Path) -> None:
    """Move the old folder aside, since a folder cannot be overwritten, and the new one to its place."""
    old = part.with_suffix(".old")
    with suppress(FileNotFoundError):
        target.rename(old)
    part.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable, where the system can open folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
