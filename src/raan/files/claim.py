"""A folder that a long command is to write: claimed at the start, filled out of sight, put there in one step.

Nothing that raan did not write is ever replaced. Its own folders are known by a manifest that lists every file
with its checksum, not by a name.
"""

import ctypes
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from raan._version import __version__
from raan.errors import InputError, Message, Option
from raan.files.lock import Locked, lock
from raan.files.plain import is_sealed, seal
from raan.files.write import beside, check_space, hidden, left_beside, sync_folder, write_bytes

MANIFEST = "raan-folder.json"
FORMAT = "raan folder"
VERSION = 1
LARGEST_MANIFEST = 2**24

OUT = Option("out")
NEW = "the name of a folder that is new or empty"
ANOTHER = Message("name another folder by ", OUT)


class Occupied(OSError):
    """Something came to the place that was claimed; the message says where the new folder is kept."""


@contextmanager
def claim(path: str | os.PathLike[str], kind: str, *, force: bool = False, room: int = 0) -> Iterator[Path]:
    """A hidden folder to fill; if the block ends without an error, it stands at the path, with a manifest.

    The path is new, or an empty folder; with `force` also a folder of which raan wrote every file. That is looked
    at when the block begins and again when it ends: what came to be there meanwhile is not touched, and the new
    folder is kept beside it under the next free name. Another process that claims the same path is refused. What a
    killed one left is removed by the next that claims it. A disk without `room` for so many bytes is refused too.
    """
    target = Path(os.path.realpath(path))
    _check_place(target)
    check_space(target, room)
    with _alone(target):
        _recover(target)
        _check_content(target, force)
        part = beside(target)
        part.mkdir()
        try:
            yield part
            _write_manifest(part, kind)
            _publish(part, target, force)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _check_place(target: Path) -> None:
    """Raise an error unless a folder can stand there, long before there is something to write."""
    if target.exists() and not target.is_dir():
        raise InputError(OUT, f"is {target}, a file", NEW)
    if Path.cwd().is_relative_to(target):
        raise InputError(OUT, f"is {target}, the folder you are in, or one that holds it", NEW, ANOTHER)
    if target.is_mount():
        raise InputError(OUT, f"is {target}, where a disk is mounted", NEW, "name a folder in it")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(
            f"{target.parent} cannot be written to: expected a place where {target.name} can be made"
        )


def _check_content(target: Path, force: bool) -> None:
    """Raise an error if the target holds what is not to be replaced."""
    if not _is_filled(target):
        return
    if reason := why_foreign(target):
        raise InputError(OUT, f"is {target}, which is not empty and not replaced ({reason})", NEW, ANOTHER)
    if not force:
        advice = Message(ANOTHER, ", or replace this one by ", Option("force", python="force=True"))
        raise InputError(OUT, f"is {target}, which is not empty", NEW, advice)


def why_foreign(folder: Path) -> str:
    """What in the folder is not as raan wrote it, in words; nothing where it all is.

    A file of the manifest may be missing: whoever removed it does not miss it.
    """
    listed = _read_manifest(folder)
    if listed is None:
        return f"no {MANIFEST} says that raan wrote it"
    for file in _files(folder):
        name = file.relative_to(folder).as_posix()
        if name == MANIFEST:
            continue
        if name not in listed:
            return f"raan did not write {name} in it"
        if file.is_symlink() or listed[name] != _describe(file):
            return f"{name} in it has changed since raan wrote it"
    return ""


def _is_filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Be the only process that writes the target, for as long as this lives."""
    with ExitStack() as held:
        try:
            held.enter_context(lock(target.with_name(f"{hidden(target)}.lock"), keep=False, needed=False))
        except Locked:
            raise InputError(OUT, f"is {target}, which another process is about to write", NEW, ANOTHER) from None
        yield


def _recover(target: Path) -> None:
    """Remove what killed processes have left; a folder that one of them had moved aside goes back first."""
    for left in left_beside(target):
        if left.suffix == ".old" and not target.exists():
            left.rename(target)
        elif left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)


def _write_manifest(folder: Path, kind: str) -> None:
    """List every file with its checksum; all of them are on disk when this is there."""
    (folder / MANIFEST).unlink(missing_ok=True)  # of a folder that this one was copied from
    files = {}
    for file in _files(folder):
        with suppress(PermissionError), file.open("rb+") as stream:
            os.fsync(stream.fileno())
        files[file.relative_to(folder).as_posix()] = _describe(file)
    stated = {"format": FORMAT, "version": VERSION, "kind": kind, "raan": __version__, "files": files}
    write_bytes(folder / MANIFEST, seal(stated))


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """The files that the manifest lists; None if it is not one of ours, whole and unchanged."""
    file = folder / MANIFEST
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > LARGEST_MANIFEST:
            return None
        written = file.read_bytes()
        manifest = json.loads(written)
        listed = manifest["files"]
        known = manifest["format"] == FORMAT and manifest["version"] == VERSION and isinstance(listed, dict)
        return listed if known and is_sealed(written, manifest) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _files(folder: Path) -> Iterator[Path]:
    """Everything in the folder that is not a folder itself; links are not followed."""
    for where, folders, names in os.walk(folder):
        links = [name for name in folders if (Path(where) / name).is_symlink()]
        yield from (Path(where) / name for name in sorted([*names, *links]))


def _describe(file: Path) -> dict[str, Any]:
    """The checksum and the length of a file; of what is none, nothing that a manifest could hold."""
    if not file.is_file():
        return {}
    with file.open("rb") as stream:
        return {"sha256": hashlib.file_digest(stream, "sha256").hexdigest(), "bytes": file.stat().st_size}


def _publish(part: Path, target: Path, force: bool) -> None:
    """Put the new folder at the target, unless something has come there that may not be replaced."""
    try:
        if target.is_dir():
            part.chmod(target.stat().st_mode & 0o7777)
        if force and _is_filled(target):
            _replace(part, target)
        else:
            _rename_to_empty(part, target)
    except Occupied:
        raise
    except OSError as error:
        kept = _keep(part, target)
        raise Occupied(
            f"{target} was filled while its content was made, and is left as it is ({error.strerror or error}); "
            f"what was made is in {kept}"
        ) from error
    sync_folder(target.parent)


def _rename_to_empty(part: Path, target: Path) -> None:
    """Rename in one step: the system itself refuses if anything but an empty folder stands there."""
    if os.name == "nt" and target.is_dir():
        target.rmdir()  # Windows renames to no folder at all, be it empty
    part.rename(target)


def _replace(part: Path, target: Path) -> None:
    """Put the new folder in the place of one that raan wrote; what else has come there is never lost."""
    if reason := why_foreign(target):
        raise OSError(reason)
    old = part
    if not exchange(part, target):
        old = part.with_suffix(".old")
        target.rename(old)
        try:
            part.rename(target)
        except OSError:
            old.rename(target)
            raise
    if reason := why_foreign(old):  # written to between the look and the exchange
        raise Occupied(f"{target} is written; what it held before is in {_keep(old, target)}, since {reason}")
    shutil.rmtree(old, ignore_errors=True)


def _keep(folder: Path, target: Path) -> Path:
    """Give the folder the next free name after the target's, and a life of its own."""
    for number in count(2):
        kept = target.with_name(f"{target.name}-{number}")
        if not kept.exists() and not kept.is_symlink():
            return folder.rename(kept)
    raise AssertionError


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step, if the system can, which is Linux; whether it did."""
    if sys.platform != "linux":
        return False
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # an older C library
        return False
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), swap) == 0)
