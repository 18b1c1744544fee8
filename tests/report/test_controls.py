"""Escape sequences in names reach neither the pages, nor the figures, nor the tables, nor the card."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from outcomes import made_up
from raan.fit.card import model_card
from raan.report.content import Content
from raan.report.model_page import model_page
from raan.report.outline import latex_report, markdown_report
from raan.report.page import page, write_figures
from raan.text import replace_controls
from report.records import as_records, explanation, line

NAME = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202ereversed\ud800"
SHOWN = "\ufffd[31mred\ufffd]0;title\ufffd\ufffd2J\ufffdreversed\ufffd"
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def content():
    names = {"classes": (f"{NAME}0", f"{NAME}1"), "attributes": (f"{NAME}a", f"{NAME}b")}
    told = {"data": NAME, "style": NAME, "study": NAME, "names": (NAME, "t", "b"), **names}
    lines = [line(method, seed, **told) for method in ("Vanilla", NAME) for seed in range(2)]
    explained = explanation(NAME, **names, feature=NAME, name=NAME)
    return Content(NAME, as_records(lines), explained, notes=[NAME], command=NAME)


@pytest.fixture(scope="module")
def outcome():
    facts = dict.fromkeys(("label", "source", "method", "plain_method", "command"), NAME)
    names = ((f"{NAME}0", f"{NAME}1"), (f"{NAME}a", f"{NAME}b"))
    return made_up(*names, **facts, attributes=(NAME,), notes=(NAME,), warnings=(NAME,))


def test_controls_are_replaced_one_by_one_and_other_text_stays():
    assert replace_controls(NAME) == SHOWN
    kept = "naïve 職業 👩\u200d🔬 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\ta\r\nb"
    assert replace_controls(kept) == kept


@pytest.mark.parametrize("write", [page, markdown_report, latex_report])
def test_no_control_reaches_the_report_of_a_study(content, write):
    text = write(content)
    assert not CONTROL.search(text)
    assert "reversed" in text
    assert "\ufffd" in text


def test_no_control_reaches_the_figures(content, tmp_path):
    for path in write_figures(content, tmp_path):
        assert not CONTROL.search(path.read_text(encoding="utf-8"))
        ElementTree.parse(path)


@pytest.mark.parametrize("write", [model_page, lambda outcome, folder: model_card(outcome, str(folder))])
def test_no_control_reaches_the_page_and_the_card_of_a_model(outcome, write):
    text = write(outcome, Path(NAME))
    assert not CONTROL.search(text)
    assert not re.search(r"\\u00(?:[01]|7f|[89])", text)  # nor in the data of the slider
    assert SHOWN in text
