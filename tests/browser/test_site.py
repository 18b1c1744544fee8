"""The documentation's site, as `make docs` builds it, in a real browser over real HTTP."""

import functools
import http.server
import re
import threading
import time
from importlib import import_module
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest

CSS = "css selector"

SITE = Path(__file__).parents[2] / "build" / "site"

if not (SITE / "index.html").is_file():
    pytest.skip("the site is not built: `make docs` does that", allow_module_level=True)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        """Say nothing."""


@pytest.fixture(scope="module")
def address():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def look(browser, address, width=1200, scheme="light"):
    """Open a page in a window of this width."""
    window = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(address)


def test_the_search_finds_a_door(browser, address):
    look(browser, address)
    field = browser.find_element(CSS, "input.md-search__input")
    browser.execute_script("arguments[0].focus()", field)
    field.send_keys("FairFrontier")
    deadline = time.monotonic() + 30
    while not (found := browser.find_elements(CSS, ".md-search-result__link")):
        assert time.monotonic() < deadline, "the search found nothing"
        time.sleep(0.1)
    assert any("fair-frontier" in each.get_attribute("href") for each in found)


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("page", ["", "gallery/", "guides/coming-from-fairlearn/", "api/estimators/"])
def test_a_page_is_as_wide_as_the_window(browser, address, page, width):
    look(browser, address + page, width)
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth + 1")


def test_who_likes_it_dark_gets_it_dark(browser, address):
    colour = "return getComputedStyle(document.body).backgroundColor"
    shades = []
    for scheme in ("light", "dark"):
        look(browser, address, scheme=scheme)
        browser.execute_script("localStorage.clear()")
        browser.refresh()
        shades.append(browser.execute_script(colour))
    assert shades[0] != shades[1]


def pages():
    return [page for page in SITE.rglob("*.html") if page.name != "404.html"]


def test_no_link_within_the_site_is_broken():
    broken = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        here = "http://site/" + page.relative_to(SITE).as_posix().removesuffix("index.html")
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            place = urldefrag(urljoin(here, target))[0]
            if place.startswith("http://site/"):
                path = SITE / place.removeprefix("http://site/")
                if not (path.is_file() or (path / "index.html").is_file()):
                    broken.append((str(page.relative_to(SITE)), target))
    assert broken == []


def test_nothing_is_loaded_from_elsewhere():
    loads = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]+(?:src|href)="(https?://[^"]+)"')
    assert [found for page in pages() for found in loads.findall(page.read_text(encoding="utf-8"))] == []


def test_the_reference_has_every_public_name():
    reference = "".join(page.read_text(encoding="utf-8") for page in (SITE / "api").rglob("*.html"))
    shown = {path.rpartition(".")[2] for path in re.findall(r'id="(raan\.[\w.]+)"', reference)}
    modules = ("", ".data", ".fairness", ".integrations.transformers", ".methods", ".metrics", ".nn", ".optim")
    names = {name for module in modules for name in import_module(f"raan{module}").__all__ if name[0] != "_"}
    assert sorted(names - shown) == []
