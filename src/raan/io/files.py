"""Write files and folders so that they appear whole or not at all, and check what is read from others.

A file or a folder is written beside its place and moved there in one step. Model folders and output folders have
the same manifest: a JSON file that lists every file with its checksum.
"""

import glob
import hashlib
import io
import json
import math
import os
import secrets
import shutil
import stat
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from errno import EACCES, EDQUOT, EFBIG, ENOSPC
from itertools import count
from pathlib import Path
from typing import Any

import filelock
import numpy as np

from raan._version import __version__
from raan.errors import InputError, Message, MissingExtra, Option

AnyPath = str | os.PathLike[str]

MANIFEST = "raan-manifest.json"
FORMAT, VERSION = "raan folder", 2  # version 1 had the manifests raan-model.json and raan-folder.json

MAX_JSON = 2**24
"""The largest JSON file in bytes that is read: parsing takes up to twenty times as much memory."""

RATIO, SLACK = 64, 2**24
"""An archive may declare `RATIO` times its own bytes, and `SLACK` bytes more. Deflate reaches 1,000 times."""

STALE = 24 * 3600
"""The age in seconds after which the unfinished file of a killed process is removed by the next writer."""


class CorruptModel(ValueError):
    """A folder does not contain a model that can be read; the message names the file."""


class WrongEncoder(ValueError):
    """The `encoder` that was passed to `load` does not fit the saved model."""


class Locked(OSError):
    """Another process holds the lock."""


class Occupied(OSError):
    """Something was put in the place of a new folder while it was made; the message says where it is kept."""


# Files.


@contextmanager
def lock(path: AnyPath, *, wait: bool = False) -> Iterator[None]:
    """Hold a lock between processes until the end of the block; the death of the process releases it.

    Args:
        path: a file for the lock alone; it is made, and removed in the end.
        wait: whether to wait while another process holds the lock.

    Raises:
        Locked: another process holds the lock, and `wait` is False.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    held = filelock.FileLock(path, timeout=-1 if wait else 0, thread_local=False)
    try:
        held.acquire()
    except filelock.Timeout:
        raise Locked(f"{path} is in use by another process") from None
    try:
        yield
    finally:
        with suppress(OSError):  # filelock retries where a file was removed before its lock was taken
            os.unlink(path)
        held.release()


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a temporary folder that is removed at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="raan-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def check_space(place: Path, needed: int) -> None:
    """Raise an OSError that names the place if its disk has fewer bytes free; the place need not exist yet."""
    disk = shutil.disk_usage(next(folder for folder in (place, *place.absolute().parents) if folder.exists()))
    if disk.total and disk.free < needed:  # some network folders report 0 of 0
        raise OSError(ENOSPC, f"{needed:,} bytes are needed, the disk has {disk.free:,} free", str(place))


def write_bytes(path: AnyPath, content: bytes) -> None:
    """Write a file in one step; a crash at any moment leaves what was there before."""
    with write_whole(path) as part:
        part.write_bytes(content)


def write_text(path: AnyPath, text: str) -> None:
    """Write a file in UTF-8 in one step."""
    write_bytes(path, text.encode())


@contextmanager
def write_whole(path: AnyPath) -> Iterator[Path]:
    """Give a path to write to; when the block ends without an error, that file replaces the target in one step.

    Links are followed, and permissions are kept. An error removes what was written. To a pipe or a device the
    bytes are copied when all of them are there.
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{path} is a folder; expected the name of a file")
        if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
            raise OSError(f"{path} is neither a file, nor a pipe, nor a terminal; expected the name of a file")
        with scratch() as folder:
            part = folder / "part"
            part.touch()
            yield part
            with part.open("rb") as whole, open(path, "wb") as end:
                shutil.copyfileobj(whole, end)
        return
    target = Path(os.path.realpath(path))
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(EACCES, "The file is write-protected", str(path))
    part = _beside(target, f"{secrets.token_hex(4)}.part")
    _make_parent(target)
    try:
        for left in target.parent.glob(glob.escape(_beside(target, "").name) + "*.part"):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > STALE:
                    left.unlink()
        check_space(target, 1)  # before the caller has worked for it
        part.touch()
        yield part
        if mode is not None:
            part.chmod(stat.S_IMODE(mode))
        _sync(part)
        os.replace(part, target)
        _sync(target.parent)
    except OSError as error:
        full = error.filename is None and error.errno in (ENOSPC, EDQUOT, EFBIG)
        if full or error.filename in (str(part), part):  # the user knows the target only
            raise type(error)(error.errno, error.strerror, str(target)) from error
        raise
    finally:
        part.unlink(missing_ok=True)


def _make_parent(target: Path) -> None:
    """Make the folder that the target is to be in; a NotADirectoryError names a file that is in the way."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        file = next(place for place in target.parents if place.exists())
        raise NotADirectoryError(f"{file} is a file; expected a folder for {target.name}") from None


def _beside(target: Path, suffix: str) -> Path:
    """Return a hidden path in the target's folder, short enough for any file system."""
    return target.with_name(f".{target.name[:40]}-{digest(os.fsencode(target.name))[:8]}.{suffix}")


def _sync(path: Path) -> None:
    """Have the bytes of a file written to disk, or the names in a folder, where the system can."""
    with suppress(OSError if path.is_dir() else PermissionError):
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def digest(data: bytes) -> str:
    """Return the SHA-256 of the data in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


# Folders.


@contextmanager
def new_folder(path: AnyPath, kind: str, *, force: bool = False, needed: int = 0) -> Iterator[Path]:
    """Give a hidden folder to fill; if the block ends without an error, it is moved to the path, with a manifest.

    What raan did not write is never replaced: the path is checked when the block begins, before any work, and
    again when it ends.

    Args:
        path: a path that does not exist, or an empty folder.
        kind: what the manifest says that the folder contains.
        force: whether to replace a folder in which raan wrote every file.
        needed: how many bytes the disk must have free.

    Raises:
        InputError: the path cannot be used, or another process is about to write it.
        Occupied: something came to the path meanwhile; the new folder is kept beside it under the next free name.
    """
    target = Path(os.path.realpath(path))
    out, expected = Option("out"), "the name of a folder that is new or empty"
    another = Message("name another folder by ", out)
    if target.exists() and not target.is_dir():
        raise InputError(out, f"is {target}, a file", expected)
    if Path.cwd().is_relative_to(target):
        raise InputError(out, f"is {target}, the current folder, or one that contains it", expected, another)
    _make_parent(target)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{target.parent} cannot be written to; expected a place for {target.name}")
    os.path.lexists(target)  # an error for a name that is too long
    check_space(target, needed)
    part, old = _beside(target, "part"), _beside(target, "old")
    with ExitStack() as held:
        try:
            held.enter_context(lock(_beside(target, "lock")))
        except Locked:
            came = f"is {target}, which another process is about to write"
            raise InputError(out, came, expected, another) from None
        held.callback(shutil.rmtree, part, ignore_errors=True)
        if old.exists() and not target.exists():  # a process was killed between the two renames below
            old.rename(target)
        for left in (part, old):
            shutil.rmtree(left, ignore_errors=True)
        if _is_filled(target) and (reason := why_foreign(target)):
            raise InputError(
                out, f"is {target}, which is not empty and not replaced ({reason})", expected, another
            )
        if _is_filled(target) and not force:
            advice = Message(another, ", or replace this one by ", Option("force", python="force=True"))
            raise InputError(out, f"is {target}, which is not empty", expected, advice)
        part.mkdir()
        yield part
        (part / MANIFEST).unlink(missing_ok=True)  # of a folder that this one was copied from
        for file in _files(part):
            _sync(file)
        write_manifest(part, kind, {file.relative_to(part).as_posix(): describe(file) for file in _files(part)})
        _move_into_place(part, target, old, force)


def _move_into_place(part: Path, target: Path, old: Path, force: bool) -> None:
    """Move the new folder to the target, unless something is there by now that may not be replaced."""
    try:
        if target.is_dir():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        if force and _is_filled(target):
            if reason := why_foreign(target):
                raise OSError(reason)
            target.rename(old)
        elif target.is_dir():
            target.rmdir()  # fails for a folder that is not empty
        part.rename(target)
    except OSError as error:
        if old.exists():
            old.rename(target)
        names = (target.with_name(f"{target.name}-{number}") for number in count(2))
        kept = part.rename(next(name for name in names if not os.path.lexists(name)))
        raise Occupied(
            f"{target} was filled while its content was made, and is left as it is ({error.strerror or error}); "
            f"the new folder is {kept}"
        ) from error
    _sync(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def why_foreign(folder: Path) -> str:
    """Return what in the folder is not as raan wrote it, or "" if everything is. Files may be missing."""
    try:
        _, listed = read_manifest(folder)
    except CorruptModel:
        return f"no {MANIFEST} shows that raan wrote it"
    for file in _files(folder):
        name = file.relative_to(folder).as_posix()
        if name != MANIFEST and name not in listed:
            return f"raan did not write {name} in it"
        if name != MANIFEST and (file.is_symlink() or not file.is_file() or listed[name] != describe(file)):
            return f"{name} in it has changed since raan wrote it"
    return ""


def _is_filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _files(folder: Path) -> list[Path]:
    """Return everything in and below the folder that is not a folder itself; links are not followed."""
    return [
        Path(where) / name
        for where, folders, names in os.walk(folder)
        for name in sorted([*names, *(each for each in folders if os.path.islink(os.path.join(where, each)))])
    ]


def describe(file: Path) -> dict[str, Any]:
    """Return the size and the checksum of a file."""
    with file.open("rb") as stream:
        return {"bytes": file.stat().st_size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


def write_manifest(folder: Path, kind: str, files: dict[str, dict[str, Any]]) -> None:
    """List the files of a folder, with what `describe` returns for each."""
    manifest = {"format": FORMAT, "version": VERSION, "kind": kind, "raan": __version__, "files": files}
    write_bytes(folder / MANIFEST, json.dumps(manifest, indent=1).encode())


def read_manifest(folder: Path) -> tuple[str, dict[str, Any]]:
    """Return what a folder contains, and the files that its manifest lists."""
    file = folder / MANIFEST
    if not file.is_file() or file.is_symlink():
        if (folder / "raan-model.json").is_file():
            raise CorruptModel(
                f"{folder} was saved by an earlier version in a format that this one does not read: fit it "
                'again, or load it with raan 0.2 (pip install "raan<0.3")'
            )
        raise CorruptModel(f"{file} does not exist: {folder} contains no model of raan")
    with reraise_as_corrupt(file):
        if file.stat().st_size > MAX_JSON:
            raise ValueError(f"it is larger than {MAX_JSON:,} bytes")
        manifest = json.loads(file.read_bytes())
        if manifest["format"] != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        if manifest["version"] != VERSION:
            advice = "upgrade raan, or fit the model again"
            raise ValueError(f"its format version is {manifest['version']!r}; expected {VERSION}: {advice}")
        return str(manifest["kind"]), dict(manifest["files"])


# What others made.


@contextmanager
def reraise_as_corrupt(file: Path) -> Iterator[None]:
    """Turn any error within the block into a CorruptModel that names the file."""
    try:
        yield
    except (MissingExtra, WrongEncoder):
        raise
    except Exception as error:  # a file that someone else made may break a reader in any way
        if isinstance(error, CorruptModel) and str(file.parent) in str(error):
            raise
        what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise CorruptModel(f"{file} cannot be read: {what}") from error


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file or folder within a folder that others may have made.

    Raises:
        CorruptModel: it is a link, which may lead out of the folder.
    """
    path = folder / name
    if path.is_symlink():
        raise CorruptModel(f"{path} is a link; expected a file or a folder; copy the folder with its files")
    return path


def check_archive(source: Path | bytes) -> None:
    """Raise BadZipFile if a zip archive is damaged, or declares sizes far beyond the bytes that it has.

    The sizes are checked before anything is unpacked: those of the members, and those that numpy's headers state.
    """
    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            declared = sum(member.file_size for member in archive.infolist())
            if declared > RATIO * size + SLACK:
                raise zipfile.BadZipFile(f"its {size:,} bytes would unpack to {declared:,}")
            for member in archive.infolist():
                if member.filename.endswith(".npz"):
                    check_archive(archive.read(member))
                elif member.filename.endswith(".npy"):
                    with archive.open(member) as stream:
                        shape, _, dtype = read_header[np.lib.format.read_magic(stream)](stream)
                    if math.prod(shape) * dtype.itemsize > member.file_size:
                        raise zipfile.BadZipFile(f"{member.filename} states the shape {shape}, beyond its bytes")
            damaged = archive.testzip()
    except Exception as error:  # damage can break the reader in any way
        raise zipfile.BadZipFile(str(error)) from error
    if damaged is not None:
        raise zipfile.BadZipFile(f"{damaged} in it is damaged")
