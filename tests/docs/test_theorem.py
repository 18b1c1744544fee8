"""What is said of the theorem, from the committed slopes."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found():
    return json.loads((ROOT / "results" / "theorem.json").read_text(encoding="utf-8"))


def curve(found, style, rows, constant):
    return next(
        each
        for each in found["curves"]
        if (each["style"], each["rows"], each["constant"]) == (style, rows, constant)
    )


def test_the_longest_paths_have_more_than_a_hundred_thousand_steps(found):
    assert {each["style"] for each in found["curves"]} == {"sgd", "amsgrad"}
    assert all(each["steps"][-1] == 131_072 for each in found["curves"] if each["rows"] == 100)


@pytest.mark.parametrize("rows", [100, 200, 400])
def test_with_the_theorems_rate_local_slopes_steepen_and_have_not_reached_it(found, rows):
    local = [each["mean"] for each in curve(found, "sgd", rows, 1)["local_slopes"]]
    assert local == pytest.approx(sorted(local, reverse=True), abs=0.006)
    assert local[0] - local[-1] > 0.05
    assert min(local) > -0.4


def test_the_slopes_that_the_page_names(found):
    local = [round(each["mean"], 2) for each in curve(found, "sgd", 100, 1)["local_slopes"]]
    assert (local[0], local[-1]) == (-0.28, -0.37)
    fast = [each["mean"] for each in curve(found, "sgd", 100, 10)["local_slopes"]]
    assert fast[0] < -0.4
    assert round(fast[-1], 2) == -0.33
    told = curve(found, "sgd", 200, 10)
    means = dict(zip(told["steps"], (each["mean"] for each in told["squared_norm"]), strict=True))
    assert means[2048] < means[8192] < means[32768]


def test_the_power_of_n(found):
    powers = [each["slope"] for each in found["sizes"] if (each["style"], each["constant"]) == ("sgd", 1)]
    assert (round(powers[0]["mean"], 2), round(powers[-1]["mean"], 2)) == (0.50, 0.62)
    assert all(each["interval"][0] > 0.4 for each in powers)
