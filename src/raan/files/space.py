"""Whether a disk has room, asked before there is something to write."""

import errno
import os
import shutil
from pathlib import Path


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
