"""The tables' numbers, against numpy over the lines of the results file."""

import numpy as np
import pytest
from scipy import stats

from raan.fairness.rule import Rule
from raan.lab.results.summary import expected, spend
from raan.report.content import Content
from raan.report.outline import comparisons_of
from raan.report.sheets import (
    budget_table,
    chosen_table,
    differences_table,
    feature_table,
    group_table,
    information_table,
    key_table,
    loss_table,
    subset_table,
    weight_table,
)
from report.records import as_records, explanation, line, study


@pytest.fixture(scope="module")
def comparison():
    return comparisons_of(Content("", as_records(study(styles=("adam",)))))[0]


def column(sheet, name):
    return {row[0].text: row[sheet.header.index(name)] for row in sheet.rows}


def test_levels_are_mean_deviation_and_interval_and_the_best_is_bold(comparison):
    cells = column(key_table(comparison), "worst group %")
    values = {name: 100 * choice.test.worst_group_accuracy for name, choice in comparison.chosen.items()}
    for name, value in values.items():
        assert cells[name].text == f"{value.mean():.1f} ± {value.std(ddof=1):.1f}"
        low, high = stats.t.interval(0.95, 4, value.mean(), stats.sem(value))
        assert cells[name].note == f"{low:.1f} to {high:.1f}"
    values["plain training"] = 100 * comparison.start.test.worst_group_accuracy
    best = max(values, key=lambda name: values[name].mean())
    assert [name for name, cell in cells.items() if cell.best] == [best]
    right = {name: choice.test.accuracy.mean() for name, choice in comparison.chosen.items()}
    assert comparison.start.test.accuracy.mean() > max(right.values())  # plain training is the most accurate here
    assert [name for name, cell in column(key_table(comparison), "accuracy %").items() if cell.best] == [
        "plain training"
    ]
    gaps = column(key_table(comparison), "EO gap %")
    choices = {"plain training": comparison.start, **comparison.chosen}
    least = min(choices, key=lambda name: choices[name].test.equalized_odds_gap.mean().item())
    assert [name for name, cell in gaps.items() if cell.best] == [least]


@pytest.mark.parametrize(
    ("metric", "title"), [("worst_group_accuracy", "worst group %"), ("equalized_odds_gap", "EO gap %")]
)
def test_a_figure_of_the_paper_is_shown_beside_the_measure_it_is_of(comparison, metric, title):
    paper = {("meps", "adam", "RL-RAAN", metric): (43.2, 1.1), ("meps", "sgd", "RAAN", metric): (1, 1)}
    for aim in ("worst_group", "equalized_odds", "demographic_parity"):
        other = comparisons_of(Content("", as_records(study(styles=("adam",))), rule=Rule(aim)))[0]
        sheet = key_table(other, paper)
        printed = [name for name in sheet.header if name.endswith("in the paper")]
        assert printed == [f"{title} in the paper"]
        assert sheet.header[sheet.header.index(printed[0]) - 1] == title
        shown = {name: cell.text for name, cell in column(sheet, printed[0]).items()}
        assert shown == {**dict.fromkeys(shown, "–"), "RL-RAAN": "43.2 ± 1.1"}
    assert "paper" not in "".join(key_table(comparison).header)


def test_differences_are_paired_against_vanilla_and_against_the_best_other(comparison):
    sheet = differences_table(comparison)
    value = {name: 100 * choice.test.worst_group_accuracy for name, choice in comparison.chosen.items()}
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


def test_beside_each_p_value_stands_the_one_corrected_for_the_number_of_rivals(comparison):
    sheet = differences_table(comparison)
    value = {name: choice.test.worst_group_accuracy for name, choice in comparison.chosen.items()}
    for row in sheet.rows[1:]:
        name = row[0].text
        against_vanilla = {
            each: stats.ttest_rel(value[each], value["Vanilla"]).pvalue for each in comparison.others
        }
        against_all = {each: stats.ttest_rel(value[name], value[each]).pvalue for each in value if each != name}
        rival = row[5].note.rpartition("against ")[2]
        for cell, tested, which in ((row[2], against_vanilla, name), (row[6], against_all, rival)):
            smaller = sorted(tested.values()).index(tested[which])
            corrected = max(
                min(1, (3 - rank) * p) for rank, p in enumerate(sorted(tested.values())[: smaller + 1])
            )
            assert cell.note == (f"{corrected:.3f}" if corrected >= 0.001 else "< 0.001")


def test_what_was_lost_on_test_rows_stands_beside_what_was_on_validation_rows(comparison):
    cells = column(key_table(comparison), "lost (on validation rows)")
    assert cells["plain training"].text == "–"
    for name, choice in comparison.chosen.items():
        for shown, part in ((cells[name].text, "test"), (cells[name].note, "validation")):
            by_hand = 100 * (getattr(comparison.start, part).accuracy - getattr(choice, part).accuracy).mean()
            assert float(shown.replace("−", "-")) == pytest.approx(by_hand, abs=0.005001)


def test_the_regime_is_told_where_it_is_known(comparison):
    assert "attribute" not in key_table(comparison).caption
    lines = study(("Vanilla", "RAAN"), ("adam",), seeds=2, candidates=2)
    for name, said in (("adult", "; the attribute is a feature"), ("celeba", "; the attribute is not a feature")):
        known = [{**each, "configuration": {**each["configuration"], "data": {"name": name}}} for each in lines]
        (told,) = comparisons_of(Content("", as_records(known)))
        assert key_table(told).caption.endswith(said)
        assert loss_table(told).caption.endswith(said)


def test_fewer_configurations_are_shown_where_budgets_differ():
    lines = study(("Vanilla",), ("adam",), seeds=2, candidates=2) + study(
        ("RAAN",), ("adam",), seeds=2, candidates=4
    )
    (comparison,) = comparisons_of(Content("", as_records(lines)))
    sheet = subset_table(comparison)
    assert sheet.header == ("method", "3 configurations", "all")
    rows = {row[0].text: row[1:] for row in sheet.rows}
    assert rows["Vanilla"][0].text == "–"
    mean = expected(comparison.methods["RAAN"], comparison.rule, comparison.aim, 3)
    assert rows["RAAN"][0].text == f"{100 * mean:.1f}"
    assert (rows["RAAN"][1].note, rows["Vanilla"][1].note) == ("4", "2")
    (alike,) = comparisons_of(Content("", as_records(study(styles=("adam",), seeds=2))))
    assert subset_table(alike) is None


def test_the_aim_is_read_at_the_same_loss_of_accuracy_where_the_rule_minds_it(comparison):
    rows = {row[0].text: row[1:] for row in loss_table(comparison).rows}
    for method, paths in comparison.methods.items():
        curve = spend(paths, comparison.rule, comparison.aim)
        for cell, loss in zip(rows[method], (0.005, 0.01, 0.02), strict=False):
            assert cell.text == (f"{100 * curve.at(loss):.1f}" if curve.lost.max() >= loss else "–")
    (careless,) = comparisons_of(
        Content("", as_records(study(("RAAN",), ("adam",), seeds=2)), rule=Rule("worst_group", 1.0))
    )
    assert loss_table(careless) is None


def test_groups_are_told_with_their_change(comparison):
    sheet = group_table(comparison)
    assert sheet.header[3] == "yes · Female (220 rows)"
    by_hand = 100 * comparison.chosen["RAAN"].group[:, 1, 0]
    change = by_hand - 100 * comparison.baseline.group[:, 1, 0]
    cell = column(sheet, sheet.header[3])["RAAN"]
    assert cell.text == f"{by_hand.mean():.1f}"
    assert cell.note.startswith(f"{change.mean():+.1f}; ")
    assert column(sheet, sheet.header[3])["Vanilla"].note == ""


def test_the_chosen_configurations_and_the_budget_are_told(comparison):
    sheet = chosen_table(comparison)
    assert len(sheet.rows) == 20
    choice = comparison.chosen["Vanilla"]
    rate = 1e-3 / 3 ** choice.candidate[0].item()
    assert [cell.text for cell in sheet.rows[0][:4]] == [
        "Vanilla",
        "0",
        f"learning_rate = {rate:.4g}",
        f"{89 * choice.point[0].item():,}",
    ]
    assert [cell.text for cell in budget_table(comparison).rows[1]] == [
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
    (comparison,) = comparisons_of(Content("", as_records(lines)))
    assert "over 2 to 3 seeds" in key_table(comparison).caption
    assert np.isfinite(comparison.chosen["RAAN"].test.accuracy).all()
