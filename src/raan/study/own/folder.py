"""The folder that `raan fit` writes: whole, or not at all."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def check(out: Path, force: bool) -> None:
    """Raise an error unless the folder can be written, long before there is something to write."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: expected the name of a folder that is new or empty")
    if out.exists() and any(out.iterdir()) and not force:
        raise ValueError(f"{out} is not empty: name another folder by --out, or replace this one by --force")
    parent = out.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"{parent} cannot be written to: name another folder by --out")


@contextmanager
def written_whole(out: Path) -> Iterator[Path]:
    """A folder beside `out` to write into, which takes its place once all is written; what was there goes."""
    parent = out.absolute().parent
    part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=parent))
    try:
        yield part
        part.chmod(0o777 & ~_umask())
        _replace(part, out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _replace(part: Path, out: Path) -> None:
    """Put the new folder in the place of the old one, which is moved aside first: a folder is not overwritten."""
    old = part.with_suffix(".old")
    with suppress(FileNotFoundError):
        out.rename(old)
    part.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(value: object, path: Path) -> None:
    """Write plain values."""
    path.write_text(json.dumps(value, ensure_ascii=False, allow_nan=False), encoding="utf-8")
