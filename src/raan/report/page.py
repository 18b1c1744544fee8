"""The report as one page that needs nothing else: no network, no files beside it."""

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from raan.files.write import write_text
from raan.report.charts import Chart
from raan.report.content import Content
from raan.report.outline import Outline, outline
from raan.report.palette import COLOURS, DARK_COLOURS, GLYPHS, colour, marker

PLOTLY = "plotly-cartesian.min.js"
"""What draws the charts: plotly.js 4.1.1 as published (npm: plotly.js-cartesian-dist-min), with plane charts only.
It is a third of the whole library, and so are the pages; and plotly's package, 70 MB, is not needed for it."""


def write_page(content: Content, path: str | Path) -> None:
    """Write the page, whole or not at all; its folder is made where it is missing."""
    write_text(path, page(content))


def page(content: Content) -> str:
    """The page's HTML.

    The template escapes everything that it is given. Beyond that, the page's own policy lets the browser run the
    two scripts whose hashes it names and nothing else, and lets it ask no one for anything.
    """
    whole = outline(content)
    return render("page.html.jinja", whole.title, whole.charts, **study_parts(content, whole))


def study_parts(content: Content, whole: Outline) -> dict[str, Any]:
    """What the template of a study's parts is given."""
    legend = {name: (number, colour(number), GLYPHS[marker(number)]) for name, number in whole.numbers.items()}
    return {"whole": whole, "verdict": content.verdict, "legend": legend}


def render(
    template: str, title: str, charts: Mapping[str, Chart], kind: str = "", slid: Any = None, **parts: Any
) -> str:
    """A page by its template, with the charts by their ids and what a slider shows, `slid`.

    A kind of page may have a style of its own, beside what all pages have.
    """
    scripts = [_resource(PLOTLY), _resource("page.js")]
    return _template(template).render(
        title=title,
        kind=kind,
        style=Markup(_resource("page.css") + (_resource(f"{kind}.css") if kind else "") + _colours()),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
        figures=Markup(_json({name: {"data": each.data, "layout": each.layout} for name, each in charts.items()})),
        slid=None if slid is None else Markup(_json(slid)),
        **parts,
    )


def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("raan", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["bound"] = _bound
    return environment.get_template(name)


def _bound(text: str) -> str:
    """The text with numbers kept on one line with what they count: 43.2 %, 220 rows, p = 0.024."""
    return re.sub(r"(?<=\d) (?=%|rows?\b)|(?<=\bp) |(?<=\bp [=<]) ", "\u00a0", text)


def _resource(name: str) -> str:
    return files("raan.report").joinpath(name).read_text(encoding="utf-8")


def _policy(scripts: Sequence[str]) -> str:
    """What the browser may do: run these scripts, show what they draw; no network."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _colours() -> str:
    """The methods' colours as variables of the page, by light and by dark."""
    light, dark = (
        "".join(f"--method-{number}:{value};" for number, value in enumerate(values))
        for values in (COLOURS, DARK_COLOURS)
    )
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root:not([data-printing]){{{dark}}}}}"


def _json(value: Any) -> str:
    """JSON that no HTML parser can mistake for an end of the script it stands in."""
    text = json.dumps(_finite(value), allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _finite(value: Any) -> Any:
    """The value with null for nan and infinity, which JSON does not know: nothing is drawn there."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
