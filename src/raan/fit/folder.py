"""The folder that `raan fit` writes: whole, or not at all."""

import json
import os
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


def write_json(value: object, path: Path) -> None:
    """Write plain values."""
    path.write_text(json.dumps(value, ensure_ascii=False, allow_nan=False), encoding="utf-8")
