"""What the site needs beyond the pages: links that leave docs/ lead into the repository."""

import posixpath
import re
from typing import Any

WRITTEN_AT_THE_ROOT = ("changelog.md", "contributing.md")
"""Pages that include a file of the repository's root, whose links start there."""


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """The page with its links as they must be where it stands."""
    home = page.file.src_uri
    folder = "docs" if home not in WRITTEN_AT_THE_ROOT else ""
    base = posixpath.join(folder, posixpath.dirname(home)) if folder else ""

    def lead(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        place = posixpath.normpath(posixpath.join(base, target))
        if place.startswith("docs/"):
            here = posixpath.relpath(place.removeprefix("docs/"), posixpath.dirname(home) or ".")
            return f"]({here}{anchor})"
        return f"]({config.repo_url}/blob/main/{place}{anchor})"

    if not folder:
        markdown = _included(config, home)
    return re.sub(r"\]\((?!https?:|data:|#|mailto:)([^)#\s]+)(#[^)]*)?\)", lead, markdown)


def _included(config: Any, home: str) -> str:
    """The text of the file at the root that the page stands for."""
    root = posixpath.dirname(config.config_file_path)
    with open(posixpath.join(root, home.upper().replace(".MD", ".md")), encoding="utf-8") as stream:
        return stream.read()
