"""The page about a saved model as text; what a browser makes of it is tested in tests/browser."""

import json
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from outcomes import made_up
from raan.fairness.measures import AIMS
from raan.fairness.metrics import metrics
from raan.report.groups import compare, count_people
from raan.report.model_charts import TradeOffChart, importance_chart, score_charts
from raan.report.model_page import make_slider, model_page, write_model_page
from report.elements import Elements

HOSTILE = "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=1>$&%_#{}~^\\"
FAIR = Path("fair")


@pytest.fixture(scope="module")
def outcome():
    return made_up()


@pytest.fixture(scope="module")
def whole(outcome):
    return Elements(model_page(outcome, FAIR))


def test_headings_go_down_one_step_at_a_time_and_ids_are_there_once(whole):
    levels = [int(tag[1]) for tag, _ in whole.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(whole.all("caption")) == len(whole.all("table"))
    ids = [attributes["id"] for _, attributes in whole.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {each["href"][1:] for each in whole.all("a")} <= set(ids)


def test_the_page_asks_no_one_for_anything_and_handles_nothing_inline(whole):
    for tag, attributes in whole.tags:
        assert "src" not in attributes
        assert tag not in ("link", "iframe", "img")
        assert not [name for name in attributes if name.startswith("on")]


def test_the_page_is_small(tmp_path, outcome):
    write_model_page(outcome, tmp_path / "report.html", FAIR)
    assert (tmp_path / "report.html").stat().st_size < 500_000


def test_every_drawing_is_sound_xml_with_marks_in_it(outcome):
    charts = [
        *score_charts(outcome),
        importance_chart(outcome),
        *(TradeOffChart(outcome, a).chart for a in AIMS.values()),
    ]
    for chart in charts:
        root = ElementTree.fromstring(str(chart.svg))
        assert root.tag.endswith("svg")
        assert len(list(root.iter())) > 20
        assert chart.title
        assert chart.label


def test_no_name_becomes_an_element():
    names = ((f"{HOSTILE}0", f"{HOSTILE}1"), (f"{HOSTILE}a", f"{HOSTILE}b"))
    facts = dict.fromkeys(("label", "source", "method", "plain_method", "command"), HOSTILE)
    hostile = made_up(*names, **facts, attributes=(HOSTILE,), notes=(HOSTILE,), warnings=(HOSTILE,))
    elements = Elements(model_page(hostile, Path(HOSTILE)))
    assert elements.all("img") == []
    assert len(elements.all("script")) == 2


def test_the_slider_shows_what_choose_would_save(outcome):
    data = make_slider(outcome, FAIR).data
    for choice in outcome.choices:
        place = sorted({each.accuracy_drop for each in outcome.choices}).index(choice.accuracy_drop)
        guard = "free" if choice.worst_group_drop is None else "guard"
        answer = data["answers"][choice.aim][guard][place]
        assert answer["point"] == choice.point
        asked = f"--aim {AIMS[choice.aim].option} --accuracy-drop {100 * choice.accuracy_drop:g}"
        assert answer["command"] == f"raan choose fair --out NEW {asked}" + (
            " --no-guard" if guard == "free" else ""
        )
        cells = data["cells"][str(choice.point)]
        test = metrics(outcome.test[choice.point])
        assert cells[1][0] == f"{100 * float(test.accuracy):.1f}"
    assert data["start"][0] == "equalized_odds"
    json.dumps(data)


def test_the_markers_place_is_that_of_the_points_figures(outcome):
    chart = TradeOffChart(outcome, AIMS["worst_group"])
    found = metrics(outcome.held_out)
    by_accuracy = np.argsort(found.accuracy)
    across = [chart.place(int(point))[0] for point in by_accuracy]
    assert across == sorted(across)
    by_aim = np.argsort(found.worst_group_accuracy)
    assert [chart.place(int(point))[1] for point in by_aim] == sorted(
        (chart.place(int(point))[1] for point in by_aim), reverse=True
    )


def test_where_the_baseline_is_saved_nobody_gains():
    text = model_page(made_up(place=0), FAIR)
    assert "Nobody: the saved model is the plain one." in text
    assert "nothing was promised against it" in text
    assert "<title>Baseline kept: income in adult.csv, by sex</title>" in text


def test_people_are_counted_per_thousand_of_those_who_are_and_who_are_not(outcome):
    female, male = count_people(outcome)
    counts, plain = outcome.test[outcome.place], outcome.test[0]
    more = 1000 * (counts[1, 0, 1] - plain[1, 0, 1]) / plain[1, 0].sum()
    (gained, what), _ = female["moved"]
    assert (female["group"], gained.text) == ("Female", f"{more:.0f} more")
    assert what == "of 1,000 who are >50K are selected"
    assert gained.tone == "gain"
    wrongly = 1000 * (counts[0, 1, 1] - plain[0, 1, 1]) / plain[0, 1].sum()
    (alike, _), (lost, _) = male["moved"]
    assert (lost.text, lost.tone) == (f"{wrongly:.0f} more", "loss")
    assert (alike.text, alike.note[:13]) == ("as many", "within chance")


def test_values_that_say_nothing_alone_are_shown_with_their_column():
    shown = made_up(("0", "1"), ("0", "1"), label="hired")
    assert [each["group"] for each in compare(shown)[0]["groups"]] == ["sex = 0", "sex = 1"]
    assert count_people(shown)[0]["moved"][0][1] == "of 1,000 with hired = 1 are selected"


def test_of_more_than_two_classes_each_ones_recall_is_shown():
    shown = made_up(("low", "middle", "high"), ("a", "b"))
    titles = [rate["title"] for rate in compare(shown)]
    assert titles == ["recall of low", "recall of middle", "recall of high", "accuracy"]
    assert [what for _, what in count_people(shown)[0]["moved"]][2] == "of 1,000 who are high are predicted right"
    assert 'id="scores"' not in model_page(shown, FAIR)


def test_many_groups_are_all_there():
    groups = tuple(f"group {number}" for number in range(14))
    text = model_page(made_up(groups=groups, rows=40_000), FAIR)
    assert all(group in text for group in groups)
