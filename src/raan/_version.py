"""The version of raan, here and nowhere else, and those of what its numbers may depend on."""

import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

__version__ = "0.2.0"


@lru_cache
def versions(*more: str) -> dict[str, str]:
    """The versions of what the numbers may depend on, as far as it is installed."""
    found = {name: _version(name) for name in ("torch", "numpy", *more)}
    installed = {name: number for name, number in found.items() if number}
    return {"raan": __version__, **installed, "python": platform.python_version()}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
