"""The page about a saved model as text; what a browser makes of it is tested in tests/browser."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import plotly.graph_objects as graph
import pytest
from sklearn.linear_model import LogisticRegression

from raan import FairFrontier
from raan.fairness.aims import AIMS
from raan.fairness.bootstrap import Estimate
from raan.fairness.rule import Rule
from raan.report.content import Content
from raan.report.kept import broken, kept_table, loss_on_test
from raan.report.model_page import model_page, write_model_page
from raan.report.served import compare, count_people
from raan.report.slider import make_slider
from report.elements import Elements, texts
from report.records import as_records, explanation, study
from report.saved_models import made_up, of_frontier

HOSTILE = "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=1>$&%_#{}~^\\"


@pytest.fixture(scope="module")
def saved():
    return made_up()


@pytest.fixture(scope="module")
def whole(saved):
    runs = study(("Vanilla", "RAAN"), ("adam",), seeds=2, candidates=2)
    return Elements(model_page(saved, Content("All runs", as_records(runs), explanation())))


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


def test_every_figure_is_one_that_plotly_knows_those_of_the_slider_too(whole):
    figures, slid = json.loads(whole.scripts[0]), json.loads(whole.scripts[1])
    assert {"trade-off", "scores-1", "scores-2", "importance-1", "part-1-trade-off-1"} <= figures.keys()
    assert slid["figures"].keys() == AIMS.keys()
    for figure in (*figures.values(), *slid["figures"].values()):
        graph.Figure({"data": figure["data"], "layout": figure["layout"]})


def test_no_name_becomes_an_element_on_the_page_or_in_plotlys_texts():
    names = {"classes": (f"{HOSTILE}0", f"{HOSTILE}1"), "groups": (f"{HOSTILE}a", f"{HOSTILE}b")}
    told = dict.fromkeys(("title", "method", "choose_command", "command", "label", "attribute"), HOSTILE)
    elements = Elements(model_page(made_up(**names, **told, notes=[HOSTILE], regime=[HOSTILE], verdict=[HOSTILE])))
    assert elements.all("img") == []
    assert len(elements.all("script")) == 4
    for script in elements.scripts[:2]:
        for text in texts(json.loads(script)):
            shown = text.replace(f"{HOSTILE} --aim", "")  # the command goes into the page as text, not to Plotly
            assert set(re.findall(r"<[^>]*>", shown)) <= {"<b>", "</b>", "<br>"}


def test_a_model_that_is_not_fairer_is_called_so_in_the_title():
    text = model_page(made_up(fairer=False, verdict=["Not fairer: the gap grew."]))
    assert "<title>Not fairer: income in adult.csv by sex</title>" in text
    assert "<h1>Not fairer: income in adult.csv by sex</h1>" in text
    assert 'class="verdict contradicted"' in text
    assert 'class="verdict contradicted"' not in model_page(made_up())


def test_where_the_plain_model_is_saved_nobody_gains():
    assert "Nobody: the saved model is the plain one." in model_page(made_up(chosen=0))


def test_people_are_counted_per_thousand_of_those_who_are_and_who_are_not(saved):
    female, male = count_people(saved)
    counts, plain = saved.test[saved.chosen], saved.test[saved.plain]
    more = 1000 * (counts[1, 0, 1] - plain[1, 0, 1]) / plain[1, 0].sum()
    assert (female.group, female.moved[0].number) == ("Female", f"{more:.0f} more")
    assert female.moved[0].what == "of 1,000 who are >50K are selected"
    assert female.moved[0].tone == "gain"
    wrongly = 1000 * (counts[0, 1, 1] - plain[0, 1, 1]) / plain[0, 1].sum()
    assert (male.moved[1].number, male.moved[1].tone) == (f"{wrongly:.0f} more", "loss")
    assert (male.moved[0].number, male.moved[0].sure[:13]) == ("as many", "within chance")


def test_values_that_say_nothing_alone_are_told_with_their_column():
    shown = made_up(("0", "1"), ("0", "1"), label="hired")
    assert [told.group for told in compare(shown)[0].groups] == ["sex = 0", "sex = 1"]
    assert count_people(shown)[0].moved[0].what == "of 1,000 with hired = 1 are selected"
    assert compare(made_up(("0", "1"), ("0", "1"), label="", attribute=""))[0].groups[1].group == "group 1"


def test_of_more_than_two_classes_each_ones_recall_is_told():
    shown = made_up(("low", "middle", "high"), ("a", "b"), scores={})
    assert [rate.title for rate in compare(shown)] == [
        "recall of low",
        "recall of middle",
        "recall of high",
        "accuracy",
    ]
    assert [moved.what for moved in count_people(shown)[0].moved][2] == "of 1,000 who are high are predicted right"
    assert 'id="scores"' not in model_page(shown)


def test_a_promise_is_kept_short_within_chance_or_broken(saved):
    def verdict(changed, row):
        return {cells[0].text: cells[-1].text for cells in kept_table(changed).rows}[row]

    gap = "equalized-odds gap (sum), the aim"
    assert verdict(saved, gap) == "✓ kept"
    for low, promised, high, expected in (
        (0.01, 0.01, 0.01, "✗ broken"),
        (-1.0, 0.01, 1.0, "≈ short, within chance"),
        (0.9, 0.9, 0.9, "✓ kept"),
    ):
        promise = {"equalized_odds_gap": (Estimate(promised, low, high),) * 2}
        changed = made_up(fairer=False, promise=promise)
        assert verdict(changed, gap) == expected
        assert (gap in broken(kept_table(changed))) == (expected == "✗ broken")
    assert "Test rows break 2 promises: accuracy lost (points); floor" in model_page(made_up(fairer=False))


def test_the_accuracy_lost_on_test_rows_is_held_against_the_allowance(saved):
    plain, chosen = (saved.test[place] for place in (saved.plain, saved.chosen))
    right = [counts[[0, 1], :, [0, 1]].sum() / counts.sum() for counts in (plain, chosen)]
    assert loss_on_test(saved).value == pytest.approx(right[0] - right[1])


def test_the_slider_holds_every_choice_with_its_command_and_starts_at_the_rule(saved):
    slider = make_slider(saved)
    assert slider.start == ("equalized_odds", 2, True)
    for choice in saved.choices:
        place = slider.allowances.index(choice.accuracy_drop)
        floor = "free" if choice.worst_group_drop is None else "floor"
        answer = slider.data["answers"][choice.aim][floor][place]
        assert answer["point"] == choice.point
        assert answer["command"].endswith(" --no-floor") == (floor == "free")
        assert f" --accuracy-drop {100 * choice.accuracy_drop:g}" in answer["command"]
        assert len(slider.data["cells"][str(choice.point)]) == 3 * 5 + 2 * 4


def test_without_choices_there_is_no_slider_and_without_a_floor_no_way_to_lift_it(saved):
    assert make_slider(made_up(choices=[])) is None
    assert 'id="slider"' not in model_page(made_up(choices=[]))
    kept = [choice for choice in saved.choices if choice.worst_group_drop is not None]
    assert make_slider(made_up(choices=kept)).floors == [True]
    assert re.search(r'id="floor" checked disabled', model_page(made_up(choices=kept)))


def test_of_several_floors_the_slider_keeps_the_rules_own(saved):
    others = [replace(choice, worst_group_drop=0.02, point=1) for choice in saved.choices[::2]]
    assert make_slider(made_up(choices=[*saved.choices, *others])).data == make_slider(saved).data


def test_limits_are_told_as_such():
    rule = Rule("accuracy", 1.0, 0.0, limits=(("demographic_parity", 0.05),))
    assert "to be the most accurate with at most demographic-parity gap 5.0 %" in model_page(made_up(rule=rule))


def test_a_group_without_test_rows_is_drawn_as_nothing(tmp_path):
    base = made_up()
    test, switched = base.test.copy(), base.test_switched.copy()
    test[:, :, 0], switched[:, :, 0] = 0, 0
    write_model_page(made_up(test=test, test_switched=switched), tmp_path / "new" / "report.html")
    assert "no test rows" in (tmp_path / "new" / "report.html").read_text()


def test_a_page_of_a_fitted_frontier_is_drawn():
    rng = np.random.default_rng(0)
    group = rng.choice(["f", "m"], 3000)
    y = np.where(rng.random(3000) < np.where(group == "m", 0.6, 0.3), "yes", "no")
    X = np.c_[(y == "yes") + rng.normal(0, 1, 3000), (group == "m") + rng.normal(0, 0.5, 3000)]
    fair = FairFrontier(LogisticRegression()).fit(X[:2000], y[:2000], sensitive_features=group[:2000])
    told = {"title": "t", "method": "m", "label": "y", "attribute": "g", "allowances": (0.0, 0.005)}
    saved = of_frontier(fair, X[2000:], y[2000:], group[2000:], ("x", "z"), **told)
    assert saved.test.sum((1, 2, 3)).tolist() == [1000.0] * len(saved.test)
    page = model_page(saved)
    assert "of 1,000 with y = yes are selected" in page
    assert page.count('class="served"') == 1
