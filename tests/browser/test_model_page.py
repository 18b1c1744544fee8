"""The page about a saved model in a real browser: the slider first of all."""

import base64
import shlex
from pathlib import Path

import pytest

from browser.driving import HOSTILE, becomes, press, requests, show
from outcomes import made_up
from raan.fairness.measures import AIMS
from raan.report.model_charts import TradeOffChart
from raan.report.model_page import write_model_page

WIDTHS = (400, 1280)
COMMAND = "document.getElementById('command').textContent"
MARKER = "document.querySelector('figure[data-aim]:not([hidden]) .here').getAttribute('transform')"
CHOOSE = "raan choose fair --out NEW"
FIGURES = "[...document.querySelectorAll('[data-cell]')].map((each) => each.textContent.trim())"


@pytest.fixture(scope="module")
def outcome():
    return made_up()


@pytest.fixture(scope="module")
def page(tmp_path_factory, outcome):
    path = tmp_path_factory.mktemp("model") / "report.html"
    write_model_page(outcome, path, Path("fair"))
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, outcome):
    """A page in which every name tries to run."""
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    groups = tuple(f"{HOSTILE}{letter}" for letter in "abcd")
    facts = dict.fromkeys(("label", "source", "method", "plain_method", "command"), HOSTILE)
    made = made_up(
        (f"{HOSTILE}0", f"{HOSTILE}1"),
        groups,
        **facts,
        attributes=(HOSTILE,),
        notes=(HOSTILE,),
        warnings=(HOSTILE,),
    )
    write_model_page(made, path, Path(HOSTILE))
    return path


def choose(browser, aim, place, guard=True):
    """Set the controls as a reader would, by clicks and by the slider's own event."""
    browser.execute_script(
        """
        const [aim, place, guard] = arguments;
        document.querySelector(`input[name=aim][value=${aim}]`).click();
        const allowance = document.getElementById("allowance");
        allowance.value = place;
        allowance.dispatchEvent(new Event("input", {bubbles: true}));
        if (document.getElementById("guard").checked !== guard) document.getElementById("guard").click();
        """,
        aim,
        place,
        guard,
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_draws_everything_without_an_error_or_a_request_and_never_scrolls_sideways(
    browser, page, width, scheme
):
    show(browser, page, width, 800, scheme)
    assert browser.execute_script("return document.querySelectorAll('.chart .drawing').length") >= 4
    assert browser.get_log("browser") == []
    assert requests(browser) == {page.as_uri()}
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) < 384) == (scheme == "dark")


def test_verdict_and_both_tables_of_groups_are_on_the_first_screen(browser, page):
    show(browser, page, 1280, 800)
    browser.execute_script("scrollTo({top: 0, behavior: 'instant'})")
    for part in (".verdict", ".compared", ".people"):
        bottom = browser.execute_script(f"return document.querySelector('{part}').getBoundingClientRect().bottom")
        assert 0 < bottom <= 800, part


def test_the_slider_starts_at_the_rule_and_moves_tables_marker_and_command(browser, page, outcome):
    show(browser, page, 1280)
    assert browser.execute_script(f"return {COMMAND}") == f"{CHOOSE} --aim equalized-odds --accuracy-drop 0.5"
    before = browser.execute_script(f"return [{FIGURES}, {MARKER}]")
    choose(browser, "worst_group", 4)
    becomes(browser, COMMAND, f"{CHOOSE} --aim worst-group --accuracy-drop 2")
    after = browser.execute_script(f"return [{FIGURES}, {MARKER}]")
    assert after[0] != before[0]
    assert after[1] != before[1]
    point = next(
        each.point
        for each in outcome.choices
        if (each.aim, each.accuracy_drop, each.worst_group_drop) == ("worst_group", 0.02, 0.0)
    )
    counts = outcome.held_out[point]
    worst = (counts[[0, 1], :, [0, 1]] / counts.sum(-1))[:, :-1].min()
    x, y = TradeOffChart(outcome, AIMS["worst_group"]).place(point)
    assert after[1] == f"translate({x:g} {y:g})"
    assert after[0][3] == f"{100 * worst:.1f}"  # worst group, on held-out rows
    shown = browser.find_elements("css selector", "figure[data-aim]:not([hidden]) h3")
    assert [each.text.partition(":")[0] for each in shown] == ["Worst-group accuracy against accuracy"]


def test_without_the_guard_the_command_says_so(browser, page):
    show(browser, page, 1280)
    choose(browser, "demographic_parity", 1, guard=False)
    becomes(browser, COMMAND, f"{CHOOSE} --aim demographic-parity --accuracy-drop 0.25 --no-guard")
    said = browser.execute_script("return document.getElementById('said').textContent")
    assert said.startswith(("On test rows", "This is"))
    assert browser.find_element("id", "meaning").text == "All groups are selected alike."
    browser.execute_script("document.getElementById('back').click()")
    becomes(browser, COMMAND, f"{CHOOSE} --aim equalized-odds --accuracy-drop 0.5")


def test_the_slider_is_worked_by_the_keyboard_alone_and_says_what_it_does(browser, page):
    show(browser, page, 1280)
    browser.execute_script("document.querySelector('input[name=aim]:checked').focus()")
    press(browser, "ArrowRight")  # the next of the aims
    becomes(browser, COMMAND, f"{CHOOSE} --aim equal-opportunity --accuracy-drop 0.5")
    press(browser, "Tab")
    becomes(browser, "document.activeElement.id", "allowance")
    press(browser, "ArrowRight")
    becomes(browser, COMMAND, f"{CHOOSE} --aim equal-opportunity --accuracy-drop 1")
    becomes(browser, "document.activeElement.getAttribute('aria-valuetext')", "up to 1 point of accuracy")
    press(browser, "End")
    becomes(browser, COMMAND, f"{CHOOSE} --aim equal-opportunity --accuracy-drop 4")
    press(browser, "Tab")
    press(browser, " ")
    becomes(browser, COMMAND, f"{CHOOSE} --aim equal-opportunity --accuracy-drop 4 --no-guard")
    press(browser, "Tab")
    becomes(browser, "document.activeElement.tagName", "PRE")
    press(browser, "Tab")
    becomes(browser, "document.activeElement.id", "copy")
    press(browser, "Enter")
    becomes(browser, "['Copied', 'Selected'].includes(document.getElementById('copy').textContent)", True)


def test_every_control_and_figure_has_a_name_for_screen_readers(browser, page):
    show(browser, page, 1280)
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    shown = [
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"]
    ]
    assert {"radio", "slider", "checkbox", "status", "table", "image"} <= {role for role, _ in shown}
    for role in ("radio", "slider", "checkbox", "button", "image", "table", "heading", "DisclosureTriangle"):
        assert all(name.strip() for found, name in shown if found == role), role


@pytest.mark.parametrize("width", WIDTHS)
def test_no_name_runs_and_every_name_is_shown_as_it_is(browser, hostile, width):
    show(browser, hostile, width)
    titles = "[...document.querySelectorAll('#scores title')].map((each) => each.textContent).join()"
    assert "<script>window.hacked=1</script>" in browser.execute_script(f"return {titles}")
    choose(browser, "worst_group", 3, guard=False)
    asked = "--out NEW --aim worst-group --accuracy-drop 1 --no-guard"
    becomes(browser, COMMAND, f"raan choose {shlex.quote(HOSTILE)} {asked}")
    assert browser.execute_script("return window.hacked") is None
    assert browser.find_elements("css selector", "img, [href^='javascript'], [*|href^='javascript']") == []
    assert browser.get_log("browser") == []
    assert HOSTILE in browser.find_element("tag name", "h1").text
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_it_prints_light_with_its_figures(browser, page):
    show(browser, page, 1280, scheme="dark")
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    pdf = base64.b64decode(printed["data"])
    assert pdf.startswith(b"%PDF")
    assert 2 <= pdf.count(b"/Type /Page\n") <= 9
