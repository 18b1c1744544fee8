"""The report in a real browser: Chromium without a window, driven by selenium."""

import base64

import pytest

from browser.driving import HOSTILE, becomes, press, requests, show
from raan.report.content import Content
from raan.report.page import write_page
from report.records import as_records, explanation, line, study

WIDTHS = (400, 1600)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A whole report: two styles, four methods, an explanation."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    content = Content(
        "Table 2", as_records(study()), explanation(), notes=["A note."], command="raan report " * 20
    )
    write_page(content, path)
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A report in which every name tries to run."""
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    names = {"classes": (f"{HOSTILE}0", f"{HOSTILE}1"), "attributes": (f"{HOSTILE}a", f"{HOSTILE}b")}
    told = {"data": HOSTILE, "style": HOSTILE, "study": HOSTILE, "names": (HOSTILE, "t", "b"), **names}
    lines = [
        line(method, seed, candidate, **told)
        for method in ("Vanilla", HOSTILE)
        for seed in range(2)
        for candidate in range(2)
    ]
    explained = explanation(HOSTILE, **names, feature=HOSTILE, name=HOSTILE)
    explained["weights"][0] |= {"method": HOSTILE, "balance": HOSTILE}
    write_page(Content(HOSTILE, as_records(lines), explained, notes=[HOSTILE], command=HOSTILE), path)
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_draws_everything_without_an_error_or_a_request(browser, report, width, scheme):
    show(browser, report, width, scheme=scheme)
    assert browser.execute_script("return document.querySelectorAll('.chart .drawing').length") >= 16
    assert browser.get_log("browser") == []
    assert requests(browser) == {report.as_uri()}
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    ink = browser.execute_script("return getComputedStyle(document.querySelector('.chart text')).fill")
    dark_ground, dark_ink = (sum(map(int, colour[4:-1].split(","))) < 384 for colour in (background, ink))
    assert (dark_ground, dark_ink) == ((scheme == "dark"), (scheme == "light"))


def test_the_figures_follow_when_the_reader_changes_the_scheme(browser, report):
    show(browser, report)
    colour = "getComputedStyle(document.querySelector('.drawing [data-method]')).fill"
    before = browser.execute_script(f"return {colour}")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    becomes(browser, colour, "rgb(163, 171, 184)")
    assert before == "rgb(107, 114, 128)"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("which", ["report", "hostile"])
def test_the_page_never_scrolls_sideways(browser, request, which, width):
    show(browser, request.getfixturevalue(which), width)
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    sticking_out = browser.execute_script(
        "return [...document.querySelectorAll('.chart')].filter((each) => "
        "each.getBoundingClientRect().right > innerWidth || "
        "each.querySelector('.drawing').getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert sticking_out == 0


def hints(browser, method):
    """What the marks of a method show where the reader points at them, in the first figure."""
    marks = f"document.querySelector('.drawing').querySelectorAll('[data-method=\"{method}\"] title')"
    return browser.execute_script(f"return [...{marks}].map((each) => each.textContent)")


def test_pointing_at_a_seeds_point_says_method_hyperparameters_and_seed(browser, report):
    show(browser, report)
    shown = " ".join(hints(browser, 2))
    assert "RL-RAAN, seed " in shown
    assert "learning_rate = " in shown
    assert "worst-group accuracy" in shown


def test_a_method_is_hidden_and_shown_in_all_figures_by_its_button(browser, report):
    show(browser, report)
    button = browser.find_elements("css selector", ".legend button")[1]
    method = button.get_attribute("data-method")
    hidden = (
        "return ['{m}', 'other'].map((which) => [...document.querySelectorAll('.drawing [data-method]')].filter("
        "(each) => (each.dataset.method === '{m}') === (which === '{m}')).map("
        "(each) => getComputedStyle(each).display === 'none')).map((all) => new Set(all)).map((all) => [...all])"
    ).replace("{m}", method)
    browser.execute_script("arguments[0].click()", button)
    assert button.get_attribute("aria-pressed") == "false"
    assert browser.execute_script(hidden) == [[True], [False]]
    browser.execute_script("arguments[0].click()", button)
    assert browser.execute_script(hidden) == [[False], [False]]


def test_no_name_runs_and_every_name_is_shown_as_it_is(browser, hostile):
    show(browser, hostile)
    shown = " ".join(hints(browser, 1))
    assert "<script>window.hacked=1</script>" in shown
    assert "%{x}{{7*7}}" in shown
    assert browser.execute_script("return window.hacked") is None
    assert browser.find_elements("css selector", "img, [href^='javascript'], [*|href^='javascript']") == []
    assert browser.get_log("browser") == []
    assert browser.find_element("tag name", "h1").text == HOSTILE
    assert browser.title == HOSTILE


def test_the_policy_stops_a_script_that_gets_in_all_the_same(browser, report):
    show(browser, report)
    browser.execute_script(
        "const script = document.createElement('script'); script.textContent = 'window.hacked = 1';"
        "document.body.append(script); document.body.insertAdjacentHTML('beforeend', "
        "'<img src=https://example.org/x.png onerror=\"window.hacked = 1\">')"
    )
    assert browser.execute_script("return window.hacked") is None
    complaints = [entry["message"] for entry in browser.get_log("browser")]
    assert complaints
    assert all("Content Security Policy" in message for message in complaints)


def test_the_keyboard_reaches_the_skip_link_first_then_buttons_and_details(browser, report):
    show(browser, report)
    browser.get(report.as_uri())  # anew: Tab goes on from where a page was scrolled to
    press(browser, "Tab")
    becomes(browser, "document.activeElement.innerText", "Skip to the results")
    becomes(browser, "document.activeElement.getBoundingClientRect().y >= 0", True)  # it comes into view
    press(browser, "Enter")
    becomes(browser, "document.activeElement.id", "main")
    reached = set()
    for _ in range(40):
        press(browser, "Tab")
        reached.add(browser.execute_script("return document.activeElement.tagName"))
        becomes(browser, "getComputedStyle(document.activeElement).outlineStyle", "solid")
        if "SUMMARY" in reached:
            break
    assert {"A", "BUTTON", "SUMMARY", "DIV"} <= reached  # links, legends, numbers, tables that scroll
    press(browser, "Enter")
    becomes(browser, "document.activeElement.parentElement.open", True)


def test_every_control_and_figure_has_a_name_for_screen_readers(browser, report):
    show(browser, report)
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    shown = [
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"]
    ]
    landmarks = {"main", "navigation", "banner", "contentinfo"}
    assert landmarks | {"heading", "table", "rowheader", "columnheader", "image"} <= {role for role, _ in shown}
    for role in ("button", "link", "image", "table", "heading", "navigation", "DisclosureTriangle"):
        assert all(name.strip() for found, name in shown if found == role), role


def test_it_prints_light_with_its_figures_from_a_dark_screen(browser, report):
    show(browser, report, scheme="dark")
    ink = "getComputedStyle(document.querySelector('.chart text')).fill"
    assert browser.execute_script(f"return {ink}") in ("rgb(231, 234, 240)", "rgb(155, 165, 180)")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    becomes(browser, f"['rgb(27, 31, 39)', 'rgb(91, 100, 114)'].includes({ink})", True)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    pdf = base64.b64decode(printed["data"])
    assert pdf.startswith(b"%PDF")
    assert 5 <= pdf.count(b"/Type /Page\n") <= 30
