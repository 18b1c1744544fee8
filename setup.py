"""The description for the package index: the README with absolute links. All else is in pyproject.toml."""

import re
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
FORGE = "https://github.com/raan-project/raan"


def absolute(text: str, version: str) -> str:
    """The README with links into the repository at that version; pictures as the files themselves."""
    pages, files = f"{FORGE}/blob/v{version}/", f"{FORGE}/raw/v{version}/"

    def full(link: re.Match[str]) -> str:
        mark, words, target = link.groups()
        return f"{mark}[{words}]({files if mark else pages}{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)", full, text)


def version() -> str:
    """The version, read without importing the package."""
    found = re.search(r'__version__ = "(.+)"', (HERE / "src/raan/_version.py").read_text(encoding="utf-8"))
    assert found
    return found.group(1)


setup(
    long_description=absolute((HERE / "README.md").read_text(encoding="utf-8"), version()),
    long_description_content_type="text/markdown",
)
