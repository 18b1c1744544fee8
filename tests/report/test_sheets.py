"""The tables' numbers, against numpy over the lines of the results file."""

import numpy as np
import pytest
from scipy import stats

from raan.report.content import Content
from raan.report.outline import readings_of
from raan.report.sheets import (
    budget_table,
    chosen_table,
    differences_table,
    feature_table,
    group_table,
    information_table,
    key_table,
    weight_table,
)
from report.records import as_records, explanation, line, study


@pytest.fixture(scope="module")
def reading():
    return readings_of(Content("", as_records(study(styles=("adam",)))))[0]


def column(sheet, name):
    return {row[0].text: row[sheet.header.index(name)] for row in sheet.rows}


def test_levels_are_mean_deviation_and_interval_and_the_best_is_bold(reading):
    cells = column(key_table(reading), "worst group %")
    values = {name: 100 * choice.test.worst_group_accuracy for name, choice in reading.chosen.items()}
    for name, value in values.items():
        assert cells[name].text == f"{value.mean():.1f} ± {value.std(ddof=1):.1f}"
        low, high = stats.t.interval(0.95, 4, value.mean(), stats.sem(value))
        assert cells[name].note == f"{low:.1f} to {high:.1f}"
    values["plain training"] = 100 * reading.start.test.worst_group_accuracy
    best = max(values, key=lambda name: values[name].mean())
    assert [name for name, cell in cells.items() if cell.best] == [best]
    right = {name: choice.test.accuracy.mean() for name, choice in reading.chosen.items()}
    assert reading.start.test.accuracy.mean() > max(right.values())  # plain training is the most accurate here
    assert [name for name, cell in column(key_table(reading), "accuracy %").items() if cell.best] == [
        "plain training"
    ]
    gaps = column(key_table(reading), "EO gap %")
    choices = {"plain training": reading.start, **reading.chosen}
    least = min(choices, key=lambda name: choices[name].test.equalized_odds_gap.mean().item())
    assert [name for name, cell in gaps.items() if cell.best] == [least]


def test_the_papers_number_stands_beside_ours(reading):
    sheet = key_table(reading, {("meps", "adam", "RL-RAAN"): (43.2, 1.1), ("meps", "sgd", "RAAN"): (1, 1)})
    assert sheet.header[2:4] == ("worst group %", "worst group % in the paper")
    shown = {name: cell.text for name, cell in column(sheet, "worst group % in the paper").items()}
    assert shown == {**dict.fromkeys(shown, "–"), "RL-RAAN": "43.2 ± 1.1"}
    assert "paper" not in "".join(key_table(reading).header)


def test_differences_are_paired_against_vanilla_and_against_the_best_other(reading):
    sheet = differences_table(reading)
    value = {name: 100 * choice.test.worst_group_accuracy for name, choice in reading.chosen.items()}
    ranked = sorted(value, key=lambda name: -value[name].mean())
    for row in sheet.rows:
        name = row[0].text
        rival = ranked[1] if name == ranked[0] else ranked[0]
        assert row[5].text.replace("−", "-") == f"{(value[name] - value[rival]).mean():+.1f}"
        assert row[5].note.endswith(f"against {rival}")
        if name == "Vanilla":
            assert [cell.text for cell in row[1:5]] == ["–"] * 4
            continue
        test = stats.ttest_rel(value[name], value["Vanilla"])
        assert row[1].text.replace("−", "-") == f"{(value[name] - value['Vanilla']).mean():+.1f}"
        assert row[2].text == (f"{test.pvalue:.3f}" if test.pvalue >= 0.001 else "< 0.001")
        low, high = test.confidence_interval()
        assert row[1].tone == ("gain" if low > 0 else "loss" if high < 0 else "")


def test_groups_are_told_with_their_change(reading):
    sheet = group_table(reading)
    assert sheet.header[3] == "yes · Female (220 rows)"
    by_hand = 100 * reading.chosen["RAAN"].group[:, 1, 0]
    change = by_hand - 100 * reading.baseline.group[:, 1, 0]
    cell = column(sheet, sheet.header[3])["RAAN"]
    assert cell.text == f"{by_hand.mean():.1f}"
    assert cell.note.startswith(f"{change.mean():+.1f}; ")
    assert column(sheet, sheet.header[3])["Vanilla"].note == ""


def test_the_chosen_configurations_and_the_budget_are_told(reading):
    sheet = chosen_table(reading)
    assert len(sheet.rows) == 20
    choice = reading.chosen["Vanilla"]
    rate = 1e-3 / 3 ** choice.candidate[0].item()
    assert [cell.text for cell in sheet.rows[0][:4]] == [
        "Vanilla",
        "0",
        f"learning_rate = {rate:.4g}",
        f"{89 * choice.point[0].item():,}",
    ]
    assert [cell.text for cell in budget_table(reading).rows[1]] == [
        "RAAN",
        "3",
        "5",
        "0",
        "learning_rate: 0.001, 0.0003333, 0.0001111",
    ]


def test_what_each_method_knew_is_its_own_word_and_of_an_unknown_one_the_runs():
    names = {"Vanilla": "Vanilla", "Mine": "RL-RAAN", "New": "New", "Boosting": "Boosting"}
    sheet = information_table({name: (known, {"dial": 3}) for name, known in names.items()})
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in sheet.rows}
    assert rows["Vanilla"] == ["nothing", "none", "none", "none"]
    assert rows["Mine"] == ["encoder and head", "attribute", "none", "none"]
    assert rows["Boosting"] == rows["Vanilla"]
    assert rows["New"] == ["not known here; settings: dial = 3", "–", "–", "–"]


def test_the_weights_and_the_features_are_told():
    entry = explanation()["weights"][0]
    assert [cell.text for cell in weight_table(entry).rows[2]][:3] == ["yes · Female", "220", "3.10"]
    assert [cell.text for cell in feature_table(entry).rows[0]] == ["hours-per-week", "40.2", "43.1", "+0.62"]


def test_a_method_with_fewer_seeds_is_told_in_the_caption():
    lines = study(("Vanilla",), ("adam",), seeds=3, candidates=1) + [line("RAAN", seed) for seed in range(2)]
    (reading,) = readings_of(Content("", as_records(lines)))
    assert "over 2 to 3 seeds" in key_table(reading).caption
    assert np.isfinite(reading.chosen["RAAN"].test.accuracy).all()
