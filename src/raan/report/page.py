"""The report as one page that needs nothing else: no network, no files beside it."""

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from raan.io.files import write_text
from raan.report.charts import COLOURS, DARK_COLOURS, GLYPHS, as_file, colour, marker
from raan.report.content import Content
from raan.report.outline import outline
from raan.text import replace_controls


def write_page(content: Content, path: str | Path) -> None:
    """Write the page, whole or not at all; its folder is made where it is missing."""
    write_text(path, page(content))


def page(content: Content) -> str:
    """Return the page's HTML.

    The template escapes everything that it is given. Beyond that, the page's own policy lets the browser run the
    script whose hash it names and nothing else, and lets it ask no one for anything.
    """
    whole = outline(content)
    legend = {name: (number, colour(number), GLYPHS[marker(number)]) for name, number in whole.numbers.items()}
    return render("page.html.jinja", whole.title, whole=whole, legend=legend)


def write_figures(content: Content, folder: str | Path) -> list[Path]:
    """Write every figure of a report as SVG, with the page's own drawings; return the files."""
    written: dict[str, Path] = {}
    for name, charts in outline(content).figures:
        if charts:
            # Names of data sets may differ in letters alone that a file's name does not have.
            stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "figure"
            tries = (stem if place == 1 else f"{stem}-{place}" for place in count(1))
            path = Path(folder) / f"{next(each for each in tries if each not in written)}.svg"
            write_text(path, as_file(charts))
            written[path.stem] = path
    return list(written.values())


def render(template: str, title: str, kind: str = "", slid: Any = None, **parts: Any) -> str:
    """Return a page by its template, with what a slider shows, `slid`.

    A kind of page may have a style of its own, beside what all pages have.
    """
    script = _resource("page.js")
    environment = Environment(
        loader=PackageLoader("raan", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_show,
    )
    environment.filters["bound"] = _bound
    # The colours of the methods are variables of the page, for light and for dark screens.
    light, dark = (
        "".join(f"--method-{number}:{value};" for number, value in enumerate(values))
        for values in (COLOURS, DARK_COLOURS)
    )
    colours = f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    # The browser may run this script, and has no access to the network.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    return environment.get_template(template).render(
        title=title,
        kind=kind,
        style=Markup(_resource("page.css") + (_resource(f"{kind}.css") if kind else "") + colours),
        script=Markup(script),
        policy=policy,
        slid=None if slid is None else Markup(_json(slid)),
        **parts,
    )


def _show(value: Any) -> Any:
    """Replace control characters in all text that a template shows; markup is the page's own."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else replace_controls(value)


def _bound(text: str) -> str:
    """Return the text with numbers kept on one line with what they count: 43.2 %, 220 rows, p = 0.024."""
    return re.sub(r"(?<=\d) (?=%|rows?\b)|(?<=\bp) |(?<=\bp [=<]) ", "\u00a0", text)


def _resource(name: str) -> str:
    return files("raan.report").joinpath(name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    """JSON that no HTML parser can mistake for an end of the script it stands in."""
    text = json.dumps(_finite(value), allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _finite(value: Any) -> Any:
    """Replace nan and infinity by null, since JSON has neither, and control characters in texts."""
    if isinstance(value, str):
        return replace_controls(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
