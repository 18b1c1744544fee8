"""Temporary folders that do not outlive their process for long: the next one removes those of the killed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from raan.files.lock import lock

PREFIX = "raan-"

MARK = "raan-scratch.lock"
"""The file in each that its process holds the lock of; a folder without it is not ours to remove."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, removed in the end; those that killed processes have left are removed first."""
    _sweep(Path(tempfile.gettempdir()))
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


def _sweep(place: Path) -> None:
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
