"""The page as text; what a browser makes of it is tested in tests/browser."""

import base64
import hashlib
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from raan.fairness.measures import AIMS
from raan.report.content import Content
from raan.report.outline import outline
from raan.report.page import page, write_page
from report.elements import Elements
from report.records import as_records, explanation, line, study

HOSTILE = "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=1>$&%_#{}~^\\"


@pytest.fixture(scope="module")
def whole():
    content = Content("Table 2", as_records(study()), explanation(), command="raan report x.jsonl")
    return Elements(page(content))


@pytest.fixture(scope="module")
def hostile():
    names = {"classes": (HOSTILE + "0", HOSTILE + "1"), "attributes": (HOSTILE + "a", HOSTILE + "b")}
    told = {"data": HOSTILE, "style": HOSTILE, "study": HOSTILE, "names": (HOSTILE, "t", "b"), **names}
    lines = [
        line(method, seed, candidate, **told)
        for method in ("Vanilla", HOSTILE)
        for seed in range(2)
        for candidate in range(2)
    ]
    lines = [{**each, "versions": {HOSTILE: HOSTILE}, "data_hash": HOSTILE} for each in lines]
    explained = explanation(HOSTILE, **names, feature=HOSTILE, name=HOSTILE)
    explained["weights"][0] |= {"method": HOSTILE, "balance": HOSTILE}
    return Content(HOSTILE, as_records(lines), explained, notes=[HOSTILE], command=HOSTILE)


def test_the_page_asks_no_one_for_anything(whole):
    for tag, attributes in whole.tags:
        assert "src" not in attributes
        assert tag not in ("link", "iframe", "img")
        assert attributes.get("href", "#").startswith("#")


def test_the_policy_allows_the_script_of_the_page_and_no_network(whole):
    policy = next(each["content"] for each in whole.all("meta") if "http-equiv" in each)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    digests = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in whole.scripts}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == digests
    assert len(digests) == 1


def test_every_figure_is_drawn_once_and_has_words_for_who_cannot_see_it(whole):
    places = [each for each in whole.all("div") if each.get("class") == "chart"]
    assert len(places) == 2 * (len(AIMS) + 3) + 4
    assert len([each for each in whole.all("svg") if each.get("class") == "drawing"]) == len(places)
    for place in places:
        assert place["role"] == "img"
        assert len(place["aria-label"]) > 20


def test_headings_go_down_one_step_at_a_time_and_tables_have_captions_and_scopes(whole):
    levels = [int(tag[1]) for tag, _ in whole.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(whole.all("caption")) == len(whole.all("table"))
    assert all(each["scope"] in ("row", "col") for each in whole.all("th"))
    ids = [attributes["id"] for _, attributes in whole.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {each["href"][1:] for each in whole.all("a")} <= set(ids)


def test_no_name_becomes_an_element(hostile):
    elements = Elements(page(hostile))
    assert elements.all("img") == []
    assert len(elements.all("script")) == 1
    names = {name for _, attributes in elements.tags for name in attributes}
    assert not [name for name in names if name.startswith("on")]


def test_no_name_becomes_an_element_in_a_drawing(hostile):
    for _, charts in outline(hostile).figures:
        for chart in charts:
            tags = {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(str(chart.svg)).iter()}
            assert tags <= {"svg", "g", "path", "circle", "rect", "text", "title"}


def test_sections_are_there_only_where_there_is_something_to_say(tmp_path):
    write_page(Content("", as_records([line("Vanilla")])), tmp_path / "new" / "report.html")
    elements = Elements((tmp_path / "new" / "report.html").read_text())
    sections = {each.get("id") for each in elements.all("section")}
    assert sections == {None, "part-1", "information", "reproduce"}


def test_an_undefined_number_is_not_drawn():
    empty = [0] * 12
    lines = [{**line(method), "test": [empty] * 21} for method in ("Vanilla", "RAAN")]
    (_, charts), *_ = outline(Content("", as_records(lines))).figures
    for chart in charts:
        assert "nan" not in str(chart.svg)
        assert "data-method" not in str(chart.svg)


def test_no_runs_and_no_complete_seed_are_errors():
    with pytest.raises(ValueError, match="there are no runs to report"):
        page(Content("", []))
    with pytest.raises(ValueError, match=r"2 runs and no method with a seed .* let the study go on"):
        page(Content("", as_records([line("RAAN", 0, 0), line("RAAN", 1, 1)])))
