"""The folder that `raan fit` writes: whole, or not at all."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

WRITTEN = ("results.jsonl", "model/raan-model.json")
"""A folder with neither of these was not written by `raan fit`, and is never replaced."""


def check(out: Path, force: bool) -> None:
    """Raise an error unless the folder can be written, long before there is something to write."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: expected the name of a folder that is new or empty")
    if Path.cwd().is_relative_to(out.resolve()):
        raise ValueError(f"{out} is the folder you are in, or holds it: name another folder by --out")
    if out.is_mount():
        raise ValueError(f"{out} is where a disk is mounted, and cannot be replaced: name a folder in it by --out")
    if out.exists() and any(out.iterdir()):
        if not _written(out):
            raise ValueError(
                f"{out} is not empty, and no folder that `raan fit` wrote, so it is not replaced: "
                "name another folder by --out"
            )
        if not force:
            raise ValueError(f"{out} is not empty: name another folder by --out, or replace this one by --force")
    parent = out.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"{parent} cannot be written to: name another folder by --out")


def _written(out: Path) -> bool:
    """Whether the folder looks like one that `raan fit` wrote."""
    return any((out / name).is_file() for name in WRITTEN)


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
