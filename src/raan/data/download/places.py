"""Where a user's own copy of a data set lies, for files that go by several names or cannot be fetched."""

import os
from collections.abc import Sequence
from pathlib import Path

from raan.data.download.sources import DataUnavailable, cache_folder


def look(dataset: str, names: Sequence[str], path: str | Path | None = None) -> Path | None:
    """The first of the names that exists; a path that is a file is taken as it is, under any name.

    A folder that is given is the only one looked in. Without a path they are $RAAN_DATA and the cache.
    """
    given = None if path is None else Path(path).expanduser()
    if given is not None and not given.exists():
        raise FileNotFoundError(f"{given} does not exist: expected a folder with {_either(names)}, or the file")
    if given is not None and given.is_file():
        return given
    places = (folder / name for folder in _folders(dataset, given) for name in names)
    return next((place for place in places if place.exists()), None)


def require(dataset: str, names: Sequence[str], path: str | Path | None, advice: str) -> Path:
    """As `look`, or the error that says where it was looked for and what to do."""
    found = look(dataset, names, path)
    if found is not None:
        return found
    folders = (str(folder) for folder in _folders(dataset, None if path is None else Path(path).expanduser()))
    raise DataUnavailable(
        "\n  ".join([f"{_either(names)} of the data set {dataset} was not found. Looked in", *folders])
        + f"\n{advice}\nPut it there, or name its folder by RAAN_DATA or by the path."
    )


def _folders(dataset: str, given: Path | None) -> list[Path]:
    """The folders to look in, the one that counts most first."""
    shared = os.environ.get("RAAN_DATA")
    roots = [given] if given else [*([Path(shared).expanduser()] if shared else []), cache_folder()]
    return [folder for root in roots for folder in (root / dataset, root)]


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)
