"""Every data set that the library knows. A new one is a file of its own and a line in DATA."""

import gzip
import hashlib
import zlib
from pathlib import Path
from typing import Literal, NamedTuple

from raan.data.download.find import find, require
from raan.data.download.remote import Progress, RemoteFile
from raan.lab.datasets import adult, celeba, civil_comments, measuring_hate_speech, meps, own_table, toy
from raan.lab.datasets.dataset import About, DataSet, Need

DATA: dict[str, DataSet] = {
    each.DATASET.name: each.DATASET
    for each in (adult, meps, celeba, civil_comments, measuring_hate_speech, toy, own_table)
}
"""What a study may name."""

CATALOGUE: dict[str, About] = {name: each.about for name, each in DATA.items() if each.about}
"""The published ones, which `raan data` lists."""

State = Literal["here", "can be fetched", "put it there"]


class Finding(NamedTuple):
    """What is known of a file that is here: whether its bytes are the published ones, if those are known."""

    path: Path
    sound: bool | None
    note: str


def look_up(name: str) -> About:
    """The data set of this name."""
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}: expected one of {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def state(about: About) -> State:
    """Whether the data set is on this machine, could be fetched, or has to be got by hand."""
    lacking = [need for need in about.needs if need.here is None]
    if not lacking:
        return "here"
    return "can be fetched" if all(need.can_be_fetched for need in lacking) else "put it there"


def fetch(need: Need, progress: Progress | None = None) -> Path:
    """Where it is, after fetching it if it is nowhere; or the error that explains how to get it by hand."""
    if need.here is None and need.file is not None and need.can_be_fetched:
        return find(need.file, progress=progress)
    return require(need.folder, (*need.names, *need.instead), None, need.advice)


def check(need: Need) -> Finding:
    """Whether it is here and, where its bytes are known, as it was published."""
    where = need.here
    if where is None:
        return Finding(need.put, False, "not here; it can be fetched" if need.can_be_fetched else "not here")
    if need.file is None or (where.name in need.instead and where.name not in need.names):
        return Finding(where, None, "here; what its bytes should be is not known")
    return _compare(where, need.file)


def _compare(path: Path, file: RemoteFile) -> Finding:
    """Whether the file, unpacked where it is packed and the published one is not, is the published one."""
    packed = path.suffix == ".gz" and not file.name.endswith(".gz")
    try:
        with gzip.open(path) if packed else path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except (EOFError, OSError, zlib.error) as error:
        return Finding(path, False, f"cannot be read: {error}")
    if found == file.sha256:
        return Finding(path, True, "here, and as published")
    return Finding(path, False, f"not as published: its sha256 is {found}, expected {file.sha256}")
