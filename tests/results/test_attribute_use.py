"""Which tables of results hold the attribute among the features."""

import inspect
from dataclasses import replace

import pytest

from raan.lab.datasets.adult import adult
from raan.lab.datasets.catalogue import DATA
from raan.lab.datasets.meps import meps
from raan.lab.results.summary import KEPT, SENTENCES, describe_conditions, find_attribute_use
from raan.tables.load import from_frame
from report.records import as_records, line


def run_on(**options):
    return replace(as_records([line("RAAN")])[0], configuration={"data": options} if options else {})


@pytest.mark.parametrize(("name", "load"), [("adult", adult), ("meps", meps), ("table", from_frame)])
def test_what_is_assumed_of_a_data_set_is_its_loaders_default(name, load):
    assert inspect.signature(load).parameters["keep_attribute"].default is KEPT[name]


def test_only_data_sets_whose_columns_are_read_can_hold_the_attribute():
    assert {*KEPT} <= {*DATA}
    assert {name for name, each in DATA.items() if "keep_attribute" in each.options} == {"adult", "meps", "table"}
    assert not any(KEPT[name] for name in ("celeba", "civil_comments", "measuring_hate_speech"))


def test_the_runs_options_decide_and_the_default_stands_in():
    assert find_attribute_use([run_on(name="adult")]) == "input"
    assert find_attribute_use([run_on(name="adult", keep_attribute=False)]) == "unseen"
    assert find_attribute_use([run_on(name="table", keep_attribute=True)]) == "input"
    assert find_attribute_use([run_on(name="celeba")]) == "unseen"
    assert find_attribute_use([run_on(name="moons")]) is None
    assert find_attribute_use([run_on()]) is None


def test_runs_that_differ_in_it_have_none_in_common():
    seen, unseen = run_on(name="meps"), run_on(name="meps", keep_attribute=False)
    assert find_attribute_use([seen, seen]) == "input"
    assert find_attribute_use([seen, unseen]) is None
    assert SENTENCES[None] == ""


def test_a_sentence_says_so_and_one_that_the_threshold_is_a_dial():
    kept, left_out = run_on(name="adult"), run_on(name="celeba")
    assert describe_conditions([kept]) == [SENTENCES["input"]]
    dialled = replace(left_out, threshold=[0.5] * len(left_out.step))
    said = describe_conditions([left_out, dialled])
    assert said[0] == SENTENCES["unseen"]
    assert said[1].startswith("The decision threshold, one for all groups, is a hyperparameter of every method")
    assert describe_conditions([kept, left_out]) == []
    refitted = replace(dialled, hyperparameters={})  # no rate: its thresholds are its own
    assert describe_conditions([left_out, refitted]) == [SENTENCES["unseen"]]
