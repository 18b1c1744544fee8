"""What is known of each data set: its task, terms, pitfalls and files, as descriptions.toml lists them.

This module needs no torch, so `raan data` and the reports of results work in a light installation.
"""

import gzip
import hashlib
import tomllib
import zlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from raan.data.download import DataFile, Progress, find, locate, require

State = Literal["here", "can be fetched", "put it there"]


@dataclass(frozen=True)
class Description:
    """The task, terms and files of a data set, and known mistakes in its use."""

    name: str  # as in `raan data` and in study files
    title: str
    keep_attribute: bool  # whether the sensitive attribute is among the features by default
    task: str = ""  # what the label states, and of whom
    attribute: str = ""  # what the attribute is, who assigned it, and which values it takes
    licence: str = ""
    citation: str = ""
    cautions: tuple[str, ...] = ()
    files: tuple[DataFile, ...] = ()


def _read(name: str, entry: dict[str, Any]) -> Description:
    """Make a description of an entry of the TOML file; its files share the data set's name and advice."""
    shared = {"dataset": name, "advice": entry.pop("advice", "")}
    listed = tuple(DataFile(**_freeze({**shared, **file})) for file in entry.pop("files", ()))
    return Description(name, files=listed, **_freeze(entry))


def _freeze(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


DESCRIPTIONS: dict[str, Description] = {
    name: _read(name, entry)
    for name, entry in tomllib.loads(
        files("raan.lab.datasets").joinpath("descriptions.toml").read_text(encoding="utf-8")
    ).items()
}
"""Every data set that a study can name."""

CATALOGUE: dict[str, Description] = {name: each for name, each in DESCRIPTIONS.items() if each.files}
"""The published data sets, which `raan data` lists."""


class Finding(NamedTuple):
    """The result of checking a file: its place, whether its content is the published one (None: unknown)."""

    path: Path
    sound: bool | None
    note: str


def look_up(name: str) -> Description:
    """Return the description of a published data set."""
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}; expected one of {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def state(description: Description) -> State:
    """Return whether all files are on this machine, can be downloaded, or have to be obtained by hand."""
    lacking = [file for file in description.files if locate(file) is None]
    if not lacking:
        return "here"
    return "can be fetched" if all(file.urls for file in lacking) else "put it there"


def fetch(file: DataFile, progress: Progress | None = None) -> Path:
    """Return where the file is, after downloading it if possible.

    Raises:
        DataUnavailable: if it is nowhere; the message explains how to obtain it.
    """
    if file.urls and locate(file) is None:
        return find(file, progress=progress)
    return require(file)


def check(file: DataFile) -> Finding:
    """Check whether the file is on this machine and, where its checksum is known, as published."""
    path = locate(file)
    if path is None:
        return Finding(file.target, False, "not here; it can be fetched" if file.urls else "not here")
    if not file.sha256 or path.name in file.substitutes:
        return Finding(path, None, "here; its checksum is not known")
    packed = path.suffix == ".gz" and not file.name.endswith(".gz")
    try:
        with gzip.open(path) if packed else path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except (EOFError, OSError, zlib.error) as error:
        return Finding(path, False, f"cannot be read: {error}")
    if found == file.sha256:
        return Finding(path, True, "here, and as published")
    return Finding(path, False, f"not as published: its sha256 is {found}; expected {file.sha256}")
