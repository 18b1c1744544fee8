"""A page's parts as JSON and back; what does not fit is told."""

import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest

from raan.errors import InputError
from raan.report.model_page import from_dict, model_page, to_dict
from raan.report.saved import Saved
from report.saved_models import made_up


@pytest.fixture(scope="module")
def saved():
    return made_up(points=12)


@pytest.fixture
def stored(saved):
    return json.loads(json.dumps(to_dict(saved), allow_nan=False))


def test_what_is_read_is_what_was_written_and_draws_the_same_page(saved, stored):
    read = from_dict(stored)
    assert to_dict(read) == stored
    for field in fields(Saved):
        ours, theirs = getattr(saved, field.name), getattr(read, field.name)
        if isinstance(ours, np.ndarray):
            assert np.array_equal(ours, theirs)
    assert read.rule == saved.rule
    assert read.promise == saved.promise
    assert model_page(read) == model_page(saved)


def test_an_undefined_number_is_null_and_comes_back_undefined(saved):
    lost = replace(saved.importance[0], by_group=(math.nan, 0.25))
    stored = json.loads(
        json.dumps(to_dict(replace(saved, importance=[lost], test_switched=None)), allow_nan=False)
    )
    assert stored["importance"][0]["by_group"] == [None, 0.25]
    read = from_dict(stored)
    assert math.isnan(read.importance[0].by_group[0])
    assert read.test_switched is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "format is 2: expected 1"),
        ({"title": 3}, "title is 3: expected text"),
        ({"verdict": "fairer"}, "verdict is a str: expected a list"),
        ({"verdict": []}, "a verdict at least"),
        ({"fairer": "yes"}, "fairer is 'yes': expected true or false"),
        ({"groups": ["Female"]}, r"held_out has shape \(12, 2, 3, 2\): expected counts of shape \(12, 2, 2, 2\)"),
        ({"test": [[1, 2], [3]]}, "test is no array"),
        ({"test": [[None]]}, "test holds undefined numbers"),
        ({"chosen": 12}, "chosen is point 12: expected one of 12"),
        ({"plain": 0.5}, "plain is 0.5: expected a whole number"),
        ({"rule": {"aim": "none such"}}, "rule is no rule"),
        ({"rule": {"dial": 1}}, "rule is no rule"),
        ({"choices": [{"aim": "worst_group"}]}, r"choices\[0\] has aim: expected aim, accuracy_drop"),
        ({"promise": {"beauty": [{"value": 1, "low": 1, "high": 1}] * 2}}, "promise is of beauty"),
        ({"promise": {"accuracy": []}}, r"promise\['accuracy'\] holds 0 estimates: expected two"),
        ({"accuracy_loss": {"value": "much", "low": 0, "high": 1}}, "accuracy_loss.value is 'much'"),
        ({"scores": {"plain": [{"group": "a"}]}}, r"scores\['plain'\]\[0\] has group: expected"),
        ({"importance": [{"column": "age", "overall": 1, "by_group": [1]}]}, "importance has 1 groups for age"),
        ({"notes": [1]}, "notes is 1: expected text"),
    ],
)
def test_what_cannot_be_used_is_named(stored, change, said):
    with pytest.raises(InputError, match=said):
        from_dict({**stored, **change})


def test_a_missing_part_and_another_kind_of_file_are_told(stored):
    stored.pop("choices")
    with pytest.raises(InputError, match="the page lacks choices"):
        from_dict(stored)
    with pytest.raises(InputError, match="the page is a list: expected a dictionary"):
        from_dict([])


def test_a_choice_of_an_unknown_aim_is_refused(stored):
    stored["choices"][0]["aim"] = "beauty"
    with pytest.raises(InputError, match="aim is 'beauty'"):
        from_dict(stored)


def test_a_page_is_not_drawn_of_parts_that_do_not_fit(saved):
    with pytest.raises(InputError, match="test holds a point without rows"):
        model_page(replace(saved, test=0 * saved.test))
    with pytest.raises(InputError, match="chosen is point 99"):
        model_page(replace(saved, chosen=99))
