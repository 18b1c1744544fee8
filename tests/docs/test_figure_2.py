"""What is said of Figure 2, once more from the committed numbers."""

import json
from pathlib import Path
from statistics import fmean, stdev

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "decisions" / "04-gradient-of-the-affinity.md").read_text(encoding="utf-8")
DATA = {"RACE an input": "MEPS with RACE", "without RACE": "MEPS without RACE"}
METHODS = {"RL-RAAN": "RL-RAAN", "fixed affinities": "RL-RAAN (fixed affinities)"}
MEASURES = ("separability", "separability_on_the_map", "mixing")


@pytest.fixture(scope="module")
def found():
    content = json.loads((ROOT / "results" / "figure-2.json").read_text(encoding="utf-8"))
    return {(each["data"], each["learning_rate"], each["method"]): each for each in content["representations"]}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("rate", ["1e-3", "1e-4"])
@pytest.mark.parametrize("method", METHODS)
def test_the_table_has_the_paired_differences(found, data, rate, method):
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {data}, rate {rate}: {method} |")]
    plain, other = (found[DATA[data], float(rate), name] for name in ("Vanilla", METHODS[method]))
    for cell, measure in zip(line.strip("| ").split(" | ")[1:], MEASURES, strict=True):
        pairs = zip(plain[measure]["values"], other[measure]["values"], strict=True)
        shifts = [after - before for before, after in pairs]
        assert cell == f"{fmean(shifts):+.3f} ± {stdev(shifts) / len(shifts) ** 0.5:.3f}"


def test_with_race_and_the_larger_rate_rl_raan_segregates(found):
    plain, robust = (found["MEPS with RACE", 1e-3, name] for name in ("Vanilla", "RL-RAAN"))
    assert robust["separability"]["mean"] == pytest.approx(0.97, abs=0.005)
    assert plain["separability"]["mean"] == pytest.approx(0.83, abs=0.005)
    assert robust["mixing"]["mean"] < 0.26
    assert all(
        a > b for a, b in zip(robust["separability"]["values"], plain["separability"]["values"], strict=True)
    )


def test_balancing_alone_mixes_the_map_more_in_all_four_settings(found):
    for data in DATA.values():
        for rate in (1e-3, 1e-4):
            even, robust = (found[data, rate, name] for name in ("RL-Balancing only", "RL-RAAN"))
            assert even["separability_on_the_map"]["mean"] < robust["separability_on_the_map"]["mean"]


def test_fixed_affinities_at_the_smaller_rate(found):
    robust, fixed = (found["MEPS with RACE", 1e-4, name] for name in METHODS.values())
    for each, worst, gap in ((fixed, 49.0, 13.2), (robust, 44.9, 23.6)):
        assert round(100 * each["worst_group_accuracy"]["mean"], 1) == worst
        assert round(100 * each["equalized_odds_gap"]["mean"], 1) == gap
        assert round(100 * each["accuracy"]["mean"], 1) == 85.6
    costly, plain = (found["MEPS with RACE", 1e-3, name] for name in ("RL-RAAN (fixed affinities)", "Vanilla"))
    assert 0.03 < plain["accuracy"]["mean"] - costly["accuracy"]["mean"] < 0.05
