"""Image files in a folder or an archive, read on demand by several threads."""

import io
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar

import numpy as np
from jaxtyping import UInt8

from raan.errors import MissingExtra

Entry = TypeVar("Entry")
Size = tuple[int, int]  # height and width

SUFFIXES = (".jpg", ".jpeg", ".png")

LARGEST = 2**28
"""Bytes of an image: an archive may state any number, and they would all be unpacked."""

MOST_PIXELS = 2**26
"""A few bytes can stand for any number of pixels: so many take 200 MB."""

UNREADABLE = (
    *(OSError, SyntaxError, ValueError, EOFError),  # a broken PNG is a SyntaxError to Pillow
    *(zipfile.BadZipFile, zlib.error, RuntimeError),  # encrypted, or packed in a way that is not known
    *(IndexError, struct.error, OverflowError),  # what damage of other kinds becomes there
    *(Warning,),  # of absurdly many pixels, where warnings are errors
)


@dataclass(frozen=True, eq=False)
class Images:
    """Image files by their bare names, sorted; any thread may read any of them."""

    where: Path
    bytes_of: Mapping[str, int]
    read: Callable[[str], bytes]

    @property
    def names(self) -> tuple[str, ...]:
        """The bare names of the files."""
        return tuple(self.bytes_of)


def open_images(path: str | Path) -> Images:
    """The images in the folder or the archive (.tar, .zip) at the path; files that are none are passed over."""
    where = Path(path).expanduser()
    if where.is_dir():
        return _open_folder(where)
    if not where.exists():
        raise FileNotFoundError(f"{where} does not exist: expected a folder of images, or a .tar or .zip of them")
    return _open_zip(where) if zipfile.is_zipfile(where) else _open_tar(where)


def pixels(
    images: Images, names: Sequence[str], size: int | Size, *, threads: int | None = None
) -> UInt8[np.ndarray, "image 3 height width"]:
    """The images named in red, green and blue, scaled to cover the size and cropped around their centre."""
    height, width = _height_width(size)
    array = np.empty((len(names), 3, height, width), np.uint8)

    def fill(row: int) -> None:
        array[row] = decode(images, names[row], (height, width))

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        for _ in pool.map(fill, range(len(names))):
            pass  # what a thread raised is raised here
    return array


def decode(images: Images, name: str, size: Size) -> UInt8[np.ndarray, "3 height width"]:
    """One image at the size, or an error that names the one that cannot be read."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise MissingExtra("reading images", "image") from error
    if images.bytes_of[name] > LARGEST:
        raise ValueError(f"{name} in {images.where} states {images.bytes_of[name]:,} bytes, too many for an image")
    try:
        with Image.open(io.BytesIO(images.read(name))) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ValueError(f"it has {image.width:,} times {image.height:,} pixels")
            fitted = ImageOps.fit(image.convert("RGB"), size[::-1], Image.Resampling.BILINEAR)
    except UNREADABLE as error:
        raise ValueError(f"{name} in {images.where} cannot be read as an image: {error}") from error
    return np.asarray(fitted).transpose(2, 0, 1)


def _height_width(size: int | Size) -> Size:
    height, width = (size, size) if isinstance(size, int) else size
    if height < 1 or width < 1:
        raise ValueError(f"size is {size}, expected a height and a width of at least one pixel")
    return height, width


# The kinds of places that hold images.


def _open_folder(where: Path) -> Images:
    files = _by_name(where, ((str(path.relative_to(where)), path) for path in where.rglob("*") if path.is_file()))
    return Images(where, {name: path.stat().st_size for name, path in files.items()}, partial(_read_file, files))


def _read_file(files: Mapping[str, Path], name: str) -> bytes:
    return files[name].read_bytes()


def _open_zip(where: Path) -> Images:
    try:
        archive = zipfile.ZipFile(where)  # it stays open, and lets threads read side by side
    except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
        raise ValueError(
            f"{where} is a broken zip archive ({error}): get it anew, or unpack it elsewhere"
        ) from error
    named = (member for member in archive.infolist() if member.filename and not member.is_dir())
    members = _by_name(where, ((member.filename, member) for member in named))
    return Images(
        where, {name: member.file_size for name, member in members.items()}, partial(_read_zip, archive, members)
    )


def _read_zip(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str) -> bytes:
    return archive.read(members[name])


def _open_tar(where: Path) -> Images:
    try:
        with tarfile.open(where, "r:") as archive:
            members = _by_name(where, ((member.name, member) for member in archive if member.isfile()))
    except (tarfile.TarError, EOFError, OverflowError) as error:
        raise ValueError(
            f"{where} is neither a folder, nor a zip archive, nor a tar archive that is not compressed: "
            "unpack it and give the folder"
        ) from error
    return Images(
        where, {name: member.size for name, member in members.items()}, partial(_read_tar, where, members)
    )


def _read_tar(where: Path, members: Mapping[str, tarfile.TarInfo], name: str) -> bytes:
    with where.open("rb") as stream:
        stream.seek(members[name].offset_data)
        return stream.read(members[name].size)


def _by_name(where: Path, entries: Iterable[tuple[str, Entry]]) -> dict[str, Entry]:
    """The images among the entries, by their bare names, sorted."""
    found: dict[str, Entry] = {}
    for full, entry in entries:
        name = PurePosixPath(full.replace(os.sep, "/")).name
        # Names that begin with a point are the file system's own, such as those that macOS packs along.
        if name.startswith(".") or not name.lower().endswith(SUFFIXES):
            continue
        if name in found:
            raise ValueError(f"{where} holds {name} more than once, the second time as {full}")
        found[name] = entry
    if not found:
        raise ValueError(f"{where} holds no image: no file ends in {', '.join(SUFFIXES)}")
    return dict(sorted(found.items()))
