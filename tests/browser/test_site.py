"""The documentation's site, as `make docs` builds it, in a real browser over real HTTP."""

import functools
import http.server
import re
import threading
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from selenium.webdriver.common.by import By

import raan
from browser.driving import wait_until

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


def test_the_search_finds_a_door(driver, address):
    driver.set_window_size(1200, 900)
    driver.get(address)
    field = driver.find_element(By.CSS_SELECTOR, "input.md-search__input")
    driver.execute_script("arguments[0].focus()", field)
    field.send_keys("FairFrontier")
    found = wait_until(lambda: driver.find_elements(By.CSS_SELECTOR, ".md-search-result__link"))
    assert any("fair-frontier" in each.get_attribute("href") for each in found)


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("page", ["", "gallery/", "guides/coming-from-fairlearn/", "api/doors/"])
def test_a_page_is_as_wide_as_the_window(driver, address, page, width):
    driver.set_window_size(width, 900)
    driver.get(address + page)
    assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth + 1")


def test_there_is_a_dark_side(driver, address):
    driver.get(address)
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = driver.execute_script(colour)
    driver.execute_script("document.body.setAttribute('data-md-color-scheme', 'slate')")
    assert driver.execute_script(colour) != light


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
    modules = {
        "": raan,
        "metrics.": raan.metrics,
        "fairness.": raan.fairness,
        "data.": raan.data,
        "optim.": raan.optim,
    }
    names = {name for module in modules.values() for name in getattr(module, "__all__", ()) if name[0] != "_"}
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", reference)) == []
