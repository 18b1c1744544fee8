"""Unpack an archive that nobody vouches for: plain files below one folder, and no more than expected."""

import lzma
import os
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

from raan.data.download.remote import Stream

CHUNK = 1 << 20
BYTES = 20 * 10**9
FILES = 1_000_000
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, RuntimeError, OSError)


class UnsafeArchive(ValueError):
    """An archive holds what is not unpacked: a path elsewhere, a link, a device, or too much."""


class _Member(NamedTuple):
    """Something in an archive: its stream if it is a file, else what it is."""

    name: str
    kind: str
    stream: Stream | None = None


def unpack(archive: str | Path, target: str | Path, *, most_bytes: int = BYTES, most_files: int = FILES) -> Path:
    """Unpack a zip or tar archive into a new folder, whole or not at all.

    Only files and folders are unpacked, without their owners and permissions. Anything that would be
    written elsewhere, that is no plain file, that comes twice, or that exceeds the bounds is an error.
    """
    path, folder = Path(archive), Path(target)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists: expected a folder that is new or empty to unpack {path} into")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=folder.parent) as scratch:
        whole = Path(scratch) / "whole"
        whole.mkdir()
        try:
            _unpack(path, whole, most_bytes, most_files)
        except DAMAGE as error:
            raise ValueError(f"{path} cannot be unpacked: {type(error).__name__}: {error}") from error
        os.replace(whole, folder)
    return folder


def _unpack(path: Path, folder: Path, most_bytes: int, most_files: int) -> None:
    """Write the archive's files below the folder, counting what is written: what it says may be a lie."""
    left = most_bytes
    for count, member in enumerate(_members(path), 1):
        where = folder / _inside(path, member.name)
        if count > most_files:
            raise UnsafeArchive(f"{path} holds more than {most_files:,} files")
        if member.kind == "folder":
            where.mkdir(parents=True, exist_ok=True)
        elif member.stream is None:
            raise UnsafeArchive(f"{path}: {member.name!r} is a {member.kind}, expected files and folders only")
        else:
            left -= _copy(path, member.name, member.stream, where, left)


def _copy(path: Path, name: str, stream: Stream, where: Path, left: int) -> int:
    """Write one file that is not there yet, and say how many bytes it has; no more than are left."""
    where.parent.mkdir(parents=True, exist_ok=True)
    if where.exists():
        raise UnsafeArchive(f"{path}: {name!r} comes twice")
    size = 0
    with where.open("xb") as copy:
        while chunk := stream.read(CHUNK):
            size += len(chunk)
            if size > left:
                raise UnsafeArchive(f"{path} holds more than the bytes allowed: stopped within {name!r}")
            copy.write(chunk)
    return size


def _inside(path: Path, name: str) -> PurePosixPath:
    """The member's path, if it leads nowhere but down, on this system and on others."""
    plain = PurePosixPath(name.replace("\\", "/"))
    if not name or "\0" in name or plain.is_absolute() or PureWindowsPath(name).drive or ".." in plain.parts:
        raise UnsafeArchive(f"{path}: {name!r} leads out of the folder that it is unpacked into")
    return plain


def _members(path: Path) -> Iterator[_Member]:
    """What the archive holds, one after the other."""
    if zipfile.is_zipfile(path):
        return _zip_members(path)
    if tarfile.is_tarfile(path):
        return _tar_members(path)
    raise ValueError(f"{path} is neither a zip nor a tar archive")


def _zip_members(path: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16  # 0 where the archive was not made on Unix
            if info.is_dir():
                yield _Member(info.filename, "folder")
            elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
                with archive.open(info) as stream:
                    yield _Member(info.filename, "file", stream)
            else:
                yield _Member(info.filename, "link" if stat.S_ISLNK(mode) else "device")


def _tar_members(path: Path) -> Iterator[_Member]:
    with tarfile.open(path) as archive:
        for info in archive:
            if info.isdir():
                yield _Member(info.name, "folder")
            elif info.isfile():
                yield _Member(info.name, "file", archive.extractfile(info))
            else:
                yield _Member(info.name, "link" if info.issym() or info.islnk() else "device")
