"""Every data set that the library knows: what it needs, where that is, and whether it is sound."""

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from raan.data.download.find import cache_folder, find, look, require
from raan.data.download.remote import Progress, RemoteFile
from raan.data.sets.about import About
from raan.data.sets.adult import ABOUT as ADULT
from raan.data.sets.celeba import ABOUT as CELEBA
from raan.data.sets.celeba import ADVICE as CELEBA_ADVICE
from raan.data.sets.celeba import ATTRIBUTE_NAMES, IMAGE_NAMES, PARTITION_NAMES
from raan.data.sets.civil_comments import ABOUT as CIVIL_COMMENTS
from raan.data.sets.civil_comments import ADVICE as CIVIL_COMMENTS_ADVICE
from raan.data.sets.civil_comments import NAMES as CIVIL_COMMENTS_NAMES
from raan.data.sets.measuring_hate_speech import ABOUT as MEASURING_HATE_SPEECH
from raan.data.sets.measuring_hate_speech import ADVICE as MEASURING_HATE_SPEECH_ADVICE
from raan.data.sets.measuring_hate_speech import NAMES as MEASURING_HATE_SPEECH_NAMES
from raan.data.sets.meps import ABOUT as MEPS

State = Literal["here", "can be fetched", "put it there"]

CATALOGUE: dict[str, About] = {
    about.name: about for about in (ADULT, MEPS, CELEBA, CIVIL_COMMENTS, MEASURING_HATE_SPEECH)
}


@dataclass(frozen=True)
class Need:
    """A file or folder that a data set is read from: the names it may go by, and what is known of it."""

    folder: str  # below $RAAN_DATA or the cache
    names: tuple[str, ...]
    file: RemoteFile | None = None
    instead: tuple[str, ...] = ()  # names of what will do as well, but has other bytes
    advice: str = ""  # how to get it, where it cannot be fetched

    @property
    def here(self) -> Path | None:
        """Where it is, if it is on this machine."""
        return look(self.folder, (*self.names, *self.instead))

    @property
    def put(self) -> Path:
        """Where to put it."""
        return cache_folder() / self.folder / self.names[0]

    @property
    def can_be_fetched(self) -> bool:
        """Whether anybody offers it."""
        return self.file is not None and bool(self.file.sources)


def _packed(*names: str) -> tuple[str, ...]:
    """The names of files as they are, and gzipped."""
    return tuple(name + ending for name in names for ending in ("", ".gz"))


READ_FROM: dict[str, tuple[Need, ...]] = {
    "meps": tuple(Need("meps", _packed(file.name, f"rnf_{file.name}"), file) for file in MEPS.files),
    "celeba": (
        Need("celeba", ATTRIBUTE_NAMES, CELEBA.files[0], advice=CELEBA_ADVICE),
        Need("celeba", PARTITION_NAMES, CELEBA.files[1], advice=CELEBA_ADVICE),
        Need("celeba", IMAGE_NAMES, advice=CELEBA_ADVICE),
    ),
    "civil_comments": (Need("civil_comments", _packed(*CIVIL_COMMENTS_NAMES), advice=CIVIL_COMMENTS_ADVICE),),
    "measuring_hate_speech": (
        Need(
            "text",
            (MEASURING_HATE_SPEECH.files[0].name,),
            MEASURING_HATE_SPEECH.files[0],
            instead=MEASURING_HATE_SPEECH_NAMES,
            advice=MEASURING_HATE_SPEECH_ADVICE,
        ),
    ),
}
"""What is needed where that is not just the files, each under its own name."""


class Finding(NamedTuple):
    """What is known of a file that is here: whether its bytes are the published ones, if those are known."""

    path: Path
    sound: bool | None
    said: str


def named(name: str) -> About:
    """The data set of this name."""
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}: expected one of {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def needs(about: About) -> tuple[Need, ...]:
    """What a data set is read from: its files, under any of the names that its loader takes."""
    files = tuple(Need(file.dataset, (file.name,), file) for file in about.files)
    return READ_FROM.get(about.name, files)


def state(about: About) -> State:
    """Whether the data set is on this machine, could be fetched, or has to be got by hand."""
    lacking = [need for need in needs(about) if need.here is None]
    if not lacking:
        return "here"
    return "can be fetched" if all(need.can_be_fetched for need in lacking) else "put it there"


def fetch(need: Need, progress: Progress | None = None) -> Path:
    """Where it is, after fetching it if it is nowhere; or the error that says how to get it by hand."""
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
    except (EOFError, OSError) as error:
        return Finding(path, False, f"cannot be read: {error}")
    if found == file.sha256:
        return Finding(path, True, "here, and as published")
    return Finding(path, False, f"not as published: its sha256 is {found}, expected {file.sha256}")
