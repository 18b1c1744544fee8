"""What the site needs beyond the pages: links that leave docs/ lead into the repository; notebooks are pages."""

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File

sys.path.append(str(Path(__file__).parents[1]))
from docs.notebooks import TUTORIALS, to_markdown

WRITTEN_AT_THE_ROOT = ("changelog.md", "contributing.md")
"""Pages that include a file of the repository's root, whose links start there."""


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """The files, with a page for each notebook."""
    for path in sorted(TUTORIALS.glob("*.ipynb")):
        text = to_markdown(nbformat.read(path, as_version=4), path.stem)
        files.append(File.generated(config, f"tutorials/{path.stem}.md", content=text))
    return files


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The page with the values of default arguments where signatures name constants."""
    if not page.file.src_uri.startswith("api/"):
        return html
    from raan.fairness import counts, rule

    values = {name: getattr(rule, name) for name in ("ACCURACY_DROP", "CONFIDENCE")}
    values |= {name: getattr(counts, name) for name in ("MIN_CHOSEN", "MIN_MEASURED")}
    return re.sub(rf"(?<=>)({'|'.join(values)})(?=<)", lambda match: str(values[match[1]]), html)


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """The page with its links as they must be where it stands."""
    home = page.file.src_uri
    folder = "docs" if home not in WRITTEN_AT_THE_ROOT else ""
    base = posixpath.join(folder, posixpath.dirname(home)) if folder else ""

    def lead(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        place = posixpath.normpath(posixpath.join(base, target))
        if place.startswith("docs/tutorials/"):
            place = place.replace(".ipynb", ".md")
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
