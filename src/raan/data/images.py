"""Image files in a folder or an archive, read on demand."""

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import UInt8

from raan.errors import MissingExtra

Size = tuple[int, int]  # height and width
SUFFIXES = (".jpg", ".jpeg", ".png")
MAX_PIXELS = 2**26  # a few bytes can encode any number of pixels; so many take 200 MB of memory


@runtime_checkable
class ImageFile(Protocol):
    """What an image is read from, such as a pathlib.Path; several threads may read at once."""

    def read_bytes(self) -> bytes:
        """Return the encoded image."""
        ...


@dataclass(frozen=True)
class Member:
    """An image inside an archive."""

    name: str
    archive: Path
    read_bytes: Callable[[], bytes]

    def __str__(self) -> str:
        return f"{self.archive}/{self.name}"


def open_images(path: str | Path) -> dict[str, ImageFile]:
    """List the images in a folder or an archive, by their bare names, sorted; other files are skipped.

    Args:
        path: a folder, which is searched with its subfolders, a zip archive or an uncompressed tar archive.

    Raises:
        FileNotFoundError: if nothing is at the path.
        ValueError: if there is no image, or two of one name, or if the archive cannot be read.
    """
    where = Path(path).expanduser()
    if not where.exists():
        raise FileNotFoundError(f"{where} does not exist; expected a folder of images, or a .tar or .zip of them")
    found: dict[str, ImageFile] = {}
    try:
        for full, file in _entries(where):
            name = PurePosixPath(full).name
            # Names that begin with a full stop are the file system's own, such as those in archives of macOS.
            if name.startswith(".") or not name.lower().endswith(SUFFIXES):
                continue
            if name in found:
                raise ValueError(f"{where} has {name} more than once, the second time as {full}")
            found[name] = file
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OverflowError, OSError) as error:
        raise ValueError(
            f"{where} cannot be read ({error}); expected a folder, a zip archive or an uncompressed tar archive"
        ) from error
    if not found:
        raise ValueError(f"{where} has no image: no file ends in {', '.join(SUFFIXES)}")
    return dict(sorted(found.items()))


def _entries(where: Path) -> Iterator[tuple[str, ImageFile]]:
    """Yield the files in a folder or an archive with their full names."""
    if where.is_dir():
        yield from ((path.name, path) for path in where.rglob("*") if path.is_file())
    elif zipfile.is_zipfile(where):
        archive = zipfile.ZipFile(where)  # it stays open; threads can read from it at once
        for info in archive.infolist():
            yield info.filename, Member(info.filename, where, partial(archive.read, info))
    else:
        with tarfile.open(where, "r:") as members:
            for member in members:
                if member.isfile():
                    read = partial(_read_range, where, member.offset_data, member.size)
                    yield member.name, Member(member.name, where, read)


def _read_range(path: Path, start: int, size: int) -> bytes:
    with path.open("rb") as stream:
        stream.seek(start)
        return stream.read(size)


def decode(file: ImageFile, size: Size) -> UInt8[np.ndarray, "3 height width"]:
    """Read an image in red, green and blue, scaled to cover the size and cropped around its centre.

    Raises:
        ValueError: if it cannot be read; the message names the file.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise MissingExtra("reading images", "image") from error
    try:
        with Image.open(io.BytesIO(file.read_bytes())) as image:
            if image.width * image.height > MAX_PIXELS:
                raise ValueError(f"it has {image.width:,} times {image.height:,} pixels")
            fitted = ImageOps.fit(image.convert("RGB"), size[::-1], Image.Resampling.BILINEAR)
    except Exception as error:  # damaged files and archives raise errors of many types
        raise ValueError(f"{file} cannot be read as an image: {error}") from error
    return np.asarray(fitted).transpose(2, 0, 1)


def read_pixels(
    files: Sequence[ImageFile], size: int | Size, *, threads: int | None = None
) -> UInt8[np.ndarray, "image 3 height width"]:
    """Read images as `decode` does, in several threads."""
    height, width = (size, size) if isinstance(size, int) else size
    if height < 1 or width < 1:
        raise ValueError(f"size is {size}; expected a height and a width of at least one pixel")
    array = np.empty((len(files), 3, height, width), np.uint8)
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        for row, image in enumerate(pool.map(lambda file: decode(file, (height, width)), files)):
            array[row] = image
    return array
