import json
import math
import sys
import tracemalloc
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from raan import fairness, metrics
from raan.fairness import audit, audit_counts, count, interval, resample
from reference import fairness_loops as loops


def adult_like(samples=1500, seed=0):
    """Labels, predictions and a sex of which a few values are unknown; women are served worse."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["Female", "Male"], samples, p=[0.35, 0.65])
    label = rng.random(samples) < np.where(sex == "Male", 0.35, 0.2)
    right = rng.random(samples) < np.where(label, np.where(sex == "Male", 0.7, 0.5), 0.9)
    y_true, y_pred = (np.where(column, ">50K", "<=50K") for column in (label, right == label))
    return y_true, y_pred, np.where(rng.random(samples) < 0.01, None, sex)


def codes_of(y_true, y_pred, sex):
    label, prediction = ((column == ">50K").astype(int).tolist() for column in (y_true, y_pred))
    return label, [{"Female": 0, "Male": 1, None: -1}[value] for value in sex], prediction, 2, 2


def with_empty_cell():
    """40 samples of group a, 31 of b and 5 of c; class 1 is never seen with c."""
    y_true = [0, 1] * 20 + [0] * 30 + [1] + [0] * 5
    y_pred = [0, 1] * 19 + [1, 1] + [0] * 31 + [0] * 5
    return y_true, y_pred, ["a"] * 40 + ["b"] * 31 + ["c"] * 5


# The bootstrap


def test_a_resample_is_of_as_many_rows_and_of_the_same_cells():
    counts = np.array([[[5.0, 0.0], [2.0, 1.0]], [[0.0, 9.0], [4.0, 0.0]]])
    drawn = resample(counts, 200, np.random.default_rng(0))
    assert drawn.shape == (200, 2, 2, 2)
    assert (drawn.sum((1, 2, 3)) == 21).all()
    assert (drawn[:, counts == 0] == 0).all()
    assert drawn[:, counts > 0].std(0).min() > 0


def test_the_bootstrap_of_counts_agrees_with_a_bootstrap_of_rows():
    label, attribute, prediction, classes, attributes = codes_of(*adult_like(samples=400))
    rows = np.array([label, attribute, prediction])
    chosen = np.random.default_rng(1).integers(0, 400, (4000, 400))
    by_rows = fairness.count(*(column[chosen] for column in rows), classes, attributes)
    counts = fairness.count(*rows, classes, attributes)
    by_counts = resample(counts, 4000, np.random.default_rng(2))
    # Five standard errors of a mean and of a standard deviation over 4000 replicates.
    spread = by_rows.std(0)
    assert (abs(by_counts.mean(0) - by_rows.mean(0)) <= 5 * spread * math.sqrt(2 / 4000)).all()
    assert (abs(by_counts.std(0) - spread) <= 5 * spread * math.sqrt(1 / 4000)).all()
    for metric in (fairness.accuracy, fairness.equalized_odds_gap, fairness.worst_group_accuracy):
        drawn, expected = metric(by_counts), metric(by_rows)
        assert abs(drawn.mean() - expected.mean()) < 5 * expected.std() * math.sqrt(2 / 4000)
        assert abs(drawn.std() - expected.std()) < 0.1 * expected.std()


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        right = rng.binomial(300, 0.8)
        counts = np.zeros((2, 2, 2))
        counts[0, 0] = [right, 300 - right]
        low, high = interval(fairness.accuracy(resample(counts, 300, rng)), 0.9)
        covered += bool(low <= 0.8 <= high)
    assert 165 <= covered <= 192  # 180 expected, with a standard deviation of 4.2


def test_the_interval_takes_the_percentiles_of_defined_replicates():
    values = np.arange(101.0)
    low, high = interval(values, 0.9)
    assert (low.item(), high.item()) == pytest.approx((5, 95))
    padded = np.append(values, np.full(101, math.nan))
    assert [bound.item() for bound in interval(padded, 0.9)] == pytest.approx([5, 95])
    mostly_nan = np.append(padded, math.nan)
    assert all(np.isnan(bound) for bound in interval(mostly_nan, 0.9))


def test_every_column_of_replicates_has_its_own_interval():
    values = np.random.default_rng(0).random((50, 3, 2))
    low, high = interval(values, 0.5)
    assert low.shape == (3, 2)
    alone = interval(values[:, 2, 1], 0.5)
    assert (low[2, 1], high[2, 1]) == alone


# The numbers


def test_an_audit_holds_the_metrics_of_the_loops_within_their_intervals():
    columns = adult_like()
    found = audit(*columns)
    for name in ("accuracy", "worst_group_accuracy", "demographic_parity_gap", "equalized_odds_gap"):
        estimate = getattr(found, name)
        assert estimate.value == pytest.approx(getattr(loops, name)(*codes_of(*columns)), abs=1e-12)
        assert estimate.low < estimate.value < estimate.high
    assert (found.count, found.undefined, found.small) == (1500, (), ())
    assert found.unknown == sum(value is None for value in columns[2])


def test_there_is_a_row_for_every_class_with_every_group():
    columns = adult_like()
    label, attribute, *_ = codes_of(*columns)
    expected = loops.group_accuracy(*codes_of(*columns))
    cells = audit(*columns).cells
    assert [(cell.label, cell.group) for cell in cells] == [
        ("<=50K", "Female"),
        ("<=50K", "Male"),
        (">50K", "Female"),
        (">50K", "Male"),
    ]
    for place, cell in enumerate(cells):
        code = divmod(place, 2)
        assert cell.count == list(zip(label, attribute, strict=True)).count(code)
        assert cell.accuracy.value == pytest.approx(expected[code[0]][code[1]], abs=1e-12)
        assert cell.accuracy.low < cell.accuracy.value < cell.accuracy.high


def test_there_is_a_row_for_every_group_with_the_rates_of_the_last_of_two_classes():
    columns = adult_like()
    codes = codes_of(*columns)
    for place, group in enumerate(audit(*columns).groups):
        assert group.name == ("Female", "Male")[place]
        assert group.count == codes[1].count(place)
        assert group.accuracy.value == pytest.approx(loops.attribute_accuracy(*codes)[place], abs=1e-12)
        (rates,) = group.rates
        assert rates.label == ">50K"
        for name in ("selection_rate", "true_positive_rate", "false_positive_rate"):
            estimate = getattr(rates, name)
            assert estimate.value == pytest.approx(getattr(loops, name)(*codes)[place][1], abs=1e-12)
            assert estimate.low < estimate.value < estimate.high


def test_of_more_than_two_classes_each_has_its_rates():
    rng = np.random.default_rng(0)
    label, prediction = rng.integers(0, 3, (2, 300))
    attribute = rng.integers(0, 2, 300)
    codes = (label.tolist(), attribute.tolist(), prediction.tolist(), 3, 2)
    for place, group in enumerate(audit(label, prediction, attribute).groups):
        assert [rates.label for rates in group.rates] == ["0", "1", "2"]
        found = [rates.false_positive_rate.value for rates in group.rates]
        assert found == pytest.approx(loops.false_positive_rate(*codes)[place], abs=1e-12)


def test_a_wider_confidence_gives_a_wider_interval():
    narrow, wide = (audit(*adult_like(), confidence=level).accuracy for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_the_same_random_state_gives_the_same_audit_and_another_does_not():
    columns = adult_like(samples=300)
    assert audit(*columns, random_state=3) == audit(*columns, random_state=3)
    assert audit(*columns, random_state=3) == audit(*columns, random_state=np.random.default_rng(3))
    assert audit(*columns, random_state=3) != audit(*columns, random_state=4)


def test_lists_pandas_polars_and_torch_give_the_same_audit():
    y_true, y_pred, sex = with_empty_cell()
    expected = audit(y_true, y_pred, sex).to_dict()
    assert audit(torch.tensor(y_true), np.array(y_pred, dtype=float), tuple(sex)).to_dict() == expected
    assert audit(pd.Series(y_true), np.array(y_pred, dtype=bool), pd.Categorical(sex)).to_dict() == expected
    assert audit(pl.Series(y_true), pl.Series(y_pred), pl.Series(sex)).to_dict() == expected


def test_an_audit_cannot_be_changed():
    found = audit(*adult_like(samples=100), replicates=10)
    with pytest.raises(FrozenInstanceError):
        found.count = 1


# What is undefined, unknown or small


def with_small_group():
    """The samples of `adult_like` whose sex is known, and seven of a third group that is never served right."""
    y_true, y_pred, sex = adult_like()
    known = sex != None  # noqa: E711
    return (
        np.append(y_true[known], [">50K", ">50K", *["<=50K"] * 5]),
        np.append(y_pred[known], ["<=50K", "<=50K", *[">50K"] * 5]),
        np.append(sex[known], ["Other"] * 7),
    )


def test_a_group_too_small_to_judge_is_left_out_of_the_gaps_and_named():
    y_true, y_pred, sex = with_small_group()
    found, among_two = audit(y_true, y_pred, sex), audit(y_true[:-7], y_pred[:-7], sex[:-7])
    assert found.left_out == ("Other",)
    for name in ("demographic_parity_gap", "equalized_odds_gap", "worst_group_accuracy", "equal_opportunity_gap"):
        assert found.overall[name].value == among_two.overall[name].value
    assert found.accuracy.value == (y_true == y_pred).mean()  # of all samples
    assert [group.count for group in found.groups if group.name == "Other"] == [7]
    said = "with fewer than 10 samples of some class: 'Other'."
    assert said in str(found)
    assert said in found.reading
    assert "worst-served group is class '>50K' with attribute 'Female'" in found.reading
    assert found.to_dict()["left_out"] == ["Other"]


def test_every_group_is_judged_where_one_sample_of_each_class_is_enough():
    found = audit(*with_small_group(), min_count=1)
    assert found.left_out == ()
    assert found.worst_group_accuracy.value == 0
    assert found.demographic_parity_gap.value > 0.4


def test_gaps_are_undefined_with_the_reason_where_one_group_is_left():
    found = audit(*with_empty_cell())
    assert math.isnan(found.worst_group_accuracy.value) is False  # of the one group that is left
    assert math.isnan(found.equalized_odds_gap.value)
    assert math.isnan(found.demographic_parity_gap.low)
    assert found.left_out == ("b", "c")
    reason = "1 of 3 groups have 10 or more samples of every class, where a gap compares two (min_count is 10)"
    assert found.undefined == (reason,)


def test_nothing_but_the_accuracy_is_left_where_every_group_is_too_small():
    found = audit([0, 1], [0, 1], ["a", "b"], min_count=5)
    assert found.accuracy.value == 1
    assert all(math.isnan(value.value) for name, value in found.overall.items() if name != "accuracy")
    assert found.reading.startswith("Accuracy is 100.0%")
    assert "Undefined: worst-group accuracy, demographic-parity gap, equalized-odds gap" in found.reading
    assert "0 of 2 groups have 5 or more samples of every class" in found.reading


def test_a_class_that_is_never_true_leaves_no_group_out():
    y_true, y_pred = ["a", "b"] * 40, ["a", "z", "b", "b"] * 20
    found = audit(y_true, y_pred, ["u", "u", "v", "v"] * 20)
    assert found.left_out == ()
    assert found.undefined == ("no sample of class 'z' with a known attribute",)
    assert not math.isnan(found.demographic_parity_gap.value)


def test_small_groups_are_named_once_and_empty_cells_are_not_among_them():
    assert audit(*with_empty_cell()).small == (
        "group 'c' (5)",
        "class '0' of group 'a' (20)",
        "class '1' of group 'a' (20)",
        "class '1' of group 'b' (1)",
    )


def test_min_count_is_asked_of_the_data_and_not_of_each_replicate():
    y_true, y_pred, sex = [0, 1] * 40, [0, 1, 1, 1] * 20, ["a", "a", "b", "b"] * 20
    found = audit(y_true, y_pred, sex, min_count=20)  # every cell has exactly 20
    assert not found.undefined
    assert not math.isnan(found.equalized_odds_gap.low)
    strict = audit(y_true, y_pred, sex, min_count=21)
    assert math.isnan(strict.equalized_odds_gap.value)
    assert strict.left_out == ("a", "b")


def test_a_prediction_that_is_never_right_is_legal():
    found = audit(["a", "b", "a", "b"], ["a", "z", "b", "b"], ["u", "u", "v", "v"], min_count=1)
    assert found.accuracy.value == 0.5
    assert [cell.count for cell in found.cells if cell.label == "z"] == [0, 0]
    assert found.undefined == ("no sample of class 'z' with a known attribute",)
    assert found.groups[0].rates[2].selection_rate.value == 0.5


def test_several_columns_are_crossed():
    y_true, y_pred, sex = adult_like(samples=200)
    frame = pd.DataFrame({"race": ["Black", "White"] * 100, "sex": sex})
    names = [group.name for group in audit(y_true, y_pred, frame, replicates=10).groups]
    assert names == ["Black × Female", "Black × Male", "White × Female", "White × Male"]


# The words


def test_the_table_is_aligned_plain_text():
    y_true, y_pred, sex = with_empty_cell()
    lines = str(audit([*y_true, 0], [*y_pred, 0], [*sex, None])).splitlines()
    assert lines[0].startswith("Fairness audit of 77 samples: 2 classes, 3 groups (95% bootstrap intervals")
    assert lines[2].startswith("accuracy                   97.4% [ ")
    assert lines[4] == "demographic-parity gap    undefined"
    header, *rows = lines[lines.index("", 2) + 1 :][:4]
    titles = ["group", "count", "accuracy", "class", "selected", "true positives", "false positives"]
    assert header.split() == " ".join(titles).split()
    assert [row[:16] for row in rows] == ["a             40", "b             31", "c              5"]
    column = header.index("accuracy")
    assert all(row[column : column + 6].endswith("%") for row in rows)
    assert rows[2].split()[5:7] == ["1", "0.0%"]
    assert all(line == line.rstrip() for line in lines)
    assert "Unknown attribute: 1 sample, counted in the accuracy only." in lines
    assert lines[lines.index("Undefined metrics, for these reasons:") + 1].startswith("  1 of 3 groups have 10 or")
    assert lines[lines.index("Fewer than 30 samples, interpret with caution:") + 1] == "  group 'c' (5)"


@pytest.mark.parametrize("classes", [2, 3])
def test_where_the_table_of_groups_is_too_wide_its_rates_stand_below_one_another(classes):
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.integers(0, classes, (2, 600))
    found = audit(y_true, y_pred, rng.choice(["first", "second"], 600), replicates=20)
    assert found.to_text(120) == str(found)
    text = found.to_text(80)
    assert all(len(line) <= 80 for line in text.splitlines()[1:])
    for group in found.groups:
        for rates in group.rates:
            for each in (rates.selection_rate, rates.true_positive_rate, rates.false_positive_rate):
                assert str(each) in text


def test_a_group_of_many_classes_is_named_on_its_first_line_only():
    rng = np.random.default_rng(0)
    lines = str(audit(*rng.integers(0, 3, (2, 300)), ["a", "b"] * 150)).splitlines()
    top = lines.index("", 2) + 1
    rows = lines[top + 1 : top + 7]
    assert [row[:6].strip() for row in rows] == ["a", "", "", "b", "", ""]
    place = lines[top].index("class")
    assert [row[place] for row in rows] == ["0", "1", "2"] * 2


def test_the_table_of_a_sound_audit_has_no_notes():
    y_true, y_pred, sex = adult_like()
    known = sex != None  # noqa: E711
    text = str(audit(y_true[known], y_pred[known], sex[known]))
    assert "ndefined" not in text
    assert "nknown" not in text
    assert "care" not in text
    assert "nan" not in text


def test_a_value_without_an_interval_says_so():
    found = audit(
        [0, 1, 0, 1] * 30, [0, 1, 1, 1] * 30, ["a"] * 116 + ["b"] * 2 + ["c"] * 2, replicates=400, min_count=1
    )
    # With four cells of one sample each, most replicates miss one of them.
    assert not math.isnan(found.equalized_odds_gap.value)
    assert math.isnan(found.equalized_odds_gap.low)
    assert "equalized-odds gap (sum)  100.0% [no interval]" in str(found)
    assert "100.0 points (too few samples for an interval)" in found.reading


def test_the_reading_states_accuracy_the_worst_served_group_and_the_gaps():
    y_true, y_pred, sex = [0, 1] * 100, [0, 1] * 60 + [0, 0] * 40, ["a"] * 120 + ["b"] * 80
    found = audit(y_true, y_pred, sex)
    sentences = found.reading.split(". ")
    low, high = 100 * found.accuracy.low, 100 * found.accuracy.high
    assert sentences[0] == f"Accuracy is 80.0% (95% interval {low:.1f} to {high:.1f}) over 200 samples"
    assert sentences[1] == (
        "The worst-served group is class '1' with attribute 'b': "
        "its accuracy is 0.0% (95% interval 0.0 to 0.0) over 40 samples"
    )
    assert sentences[2].startswith("The demographic-parity gap is 50.0 points (95% interval ")
    assert sentences[2].endswith("): '1' is predicted for 50.0% of 'a' and 0.0% of 'b'")
    assert sentences[3].startswith("The equalized-odds gap, ")
    assert sentences[3].endswith("is 100.0 points (95% interval 100.0 to 100.0).")


def test_the_reading_says_what_could_not_be_computed_and_why():
    y_true, y_pred, sex = with_empty_cell()
    reading = audit([*y_true, 0], [*y_pred, 0], [*sex, None]).reading
    assert "Among the groups that can be measured, the worst-served group is class '0' with" in reading
    assert (
        "Undefined: demographic-parity gap, equalized-odds gap (sum), equal-opportunity gap. "
        "Why: 1 of 3 groups have 10 or more samples of every class, where a gap compares two (min_count is 10)."
    ) in reading
    assert "The attribute of 1 sample is unknown; these count in the accuracy only." in reading
    assert (
        "Fewer than 30 samples, to be interpreted with caution: group 'c' (5); class '0' of group 'a' (20)"
        in reading
    )
    assert "nan" not in reading


def test_the_reading_names_the_class_and_groups_that_make_the_parity_gap():
    y_true = [0, 1, 2] * 30
    y_pred = [0, 1, 2] * 10 + [2, 2, 2] * 10 + [0, 2, 1] * 10
    reading = audit(y_true, y_pred, ["a"] * 30 + ["b"] * 30 + ["c"] * 30, replicates=50).reading
    assert "): '2' is predicted for 100.0% of 'b' and 33.3% of 'a'." in reading


def test_the_reading_names_a_few_of_those_left_out_and_counts_the_rest():
    found = audit([0, 1] * 7, [0, 1] * 7, list("aabbccddeeffgg"), min_count=3, replicates=10)
    assert "samples of some class: 'a'; 'b'; 'c'; 'd'; 'e'; 2 more (see the table)." in found.reading


def test_the_dictionary_survives_json_with_none_for_what_is_undefined():
    found = audit(*with_empty_cell())
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain == found.to_dict()
    assert plain["equalized_odds_gap"] == {"value": None, "low": None, "high": None}
    assert plain["accuracy"]["value"] == found.accuracy.value
    assert plain["cells"][5] == {
        "label": "1",
        "group": "c",
        "count": 0,
        "accuracy": {"value": None, "low": None, "high": None},
    }
    assert plain["groups"][0]["rates"][0]["label"] == "1"
    assert plain["undefined"] == list(found.undefined)
    assert plain["small"] == list(found.small)


# Spelling


@pytest.mark.parametrize(
    ("labels", "predictions"),
    [
        (["0", "1"], ["False", "True"]),
        ([0, 1], ["false", "true"]),
        (["False", "True"], [0, 1]),
        (["no", "yes"], ["No", " YES "]),
        (["0", "1"], ["0.0", "1.0"]),
        (["a", "b"], ["A", "b"]),
    ],
)
def test_classes_that_differ_only_in_spelling_are_matched_with_a_note(labels, predictions):
    rng = np.random.default_rng(0)
    y, p, sex = rng.integers(0, 2, 200), rng.integers(0, 2, 200), ["f", "m"] * 100
    found = audit(np.array(labels)[y], np.array(predictions)[p], sex)
    expected = audit(y, p, sex)
    assert dict(found.overall) == dict(expected.overall)
    assert [cell.label for cell in found.cells] == [str(label) for label in labels for _ in range(2)]
    assert found.notes[0].startswith("Predictions spell classes otherwise than labels do; they were matched: ")
    assert f"{str(predictions[0])!r} ({(p == 0).sum()} rows) as {str(labels[0])!r}" in found.notes[0]
    assert found.notes[0] in str(found)
    assert found.notes[0] in found.reading
    assert metrics.accuracy(np.array(labels)[y], np.array(predictions)[p]) == expected.accuracy.value


def test_spellings_that_the_labels_tell_apart_are_not_matched():
    found = audit(["a", "A", "b"] * 20, ["a", "A", "B"] * 20, ["f", "m"] * 30, min_count=1)
    assert [note.split(": ")[0] for note in found.notes] == [
        "Predictions have classes that no label has",
        "The label has values that differ only by case or spaces, and count as different",
    ]
    assert found.accuracy.value == pytest.approx(2 / 3)


def test_columns_without_a_class_in_common_are_refused_with_both_spellings():
    message = "y_pred has the classes 'n', 'y'; expected some of those of y_true, '0', '1'; write both alike"
    columns = [0, 1] * 10, ["n", "y"] * 10
    with pytest.raises(ValueError, match=message):
        audit(*columns, ["f", "m"] * 10)
    with pytest.raises(ValueError, match=message):
        metrics.equalized_odds_gap(*columns, sensitive_features=["f", "m"] * 10)


def test_a_classifier_that_is_always_wrong_of_two_classes_is_measured():
    assert audit([0] * 20, [1] * 20, ["f", "m"] * 10).accuracy.value == 0


# Many classes


def test_the_memory_of_the_bootstrap_does_not_grow_with_the_replicates():
    rng = np.random.default_rng(0)
    columns = *rng.integers(0, 150, (2, 3000)), ["f", "m"] * 1500
    tracemalloc.start()
    audit(*columns, replicates=300, min_count=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6  # all 300 replicates at once, drawn and as floats, take 324 MB


def test_replicates_drawn_some_at_a_time_are_those_drawn_at_once(monkeypatch):
    at_once = audit(*adult_like(), replicates=50)
    monkeypatch.setattr(sys.modules["raan.fairness.audit"], "IN_MEMORY", 100)
    assert audit(*adult_like(), replicates=50) == at_once


def test_more_classes_than_anybody_reads_are_refused():
    with pytest.raises(
        ValueError, match=r"hold 1,000 classes, and there are 2 groups; expected 200 classes at most"
    ):
        audit(np.arange(1000), np.arange(1000), ["f", "m"] * 500)


# The doors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 95.0}, "confidence is 95.0; expected a share between 0 and 1, such as 0.95"),
        ({"confidence": 0.0}, "confidence is 0.0; expected a share between 0 and 1"),
        ({"replicates": 0}, "replicates is 0; expected at least 1"),
        ({"min_count": 0}, "min_count is 0; expected at least 1"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        audit([0, 1], [0, 1], ["a", "b"], **options)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0, 1], [0, 1, 1], ["a"]), "rows differ: y_true has 2, y_pred has 3, sensitive_features has 1"),
        (([0, 1], [0.2, 0.7], ["a", "b"]), "y_pred holds 0.2 at row 0; expected classes: numbers from 0 up or"),
        (([0, None], [0, 1], ["a", "b"]), "y_true is missing in 1 of 2 rows, first at row 1"),
        (([1, 1], [1, 1], ["a", "b"]), "y_true and y_pred hold one class only, '1'; expected at least two"),
        (([0, 1], [0, 1], [None, None]), "sensitive_features is unknown"),
    ],
)
def test_faulty_columns_are_refused_by_name(columns, message):
    with pytest.raises(ValueError, match=message):
        audit(*columns)


def test_the_audit_of_counts_is_the_audit_of_the_rows_that_were_counted():
    y_true, y_pred, sex = adult_like()
    *codes, classes, attributes = codes_of(y_true, y_pred, sex)
    counts = count(*map(np.array, codes), classes, attributes)
    assert audit_counts(counts, ["<=50K", ">50K"], ["Female", "Male"]) == audit(y_true, y_pred, sex)


def test_counts_of_another_shape_than_the_names_are_refused():
    with pytest.raises(
        ValueError, match=r"counts has shape \(2, 3, 2\); expected \(2, 4, 2\) for 2 classes and 3"
    ):
        audit_counts(np.ones((2, 3, 2)), ["no", "yes"], ["a", "b", "c"])


class TestSpellings:
    """Groups and classes that differ only by case or spaces are named, and merged only when asked."""

    y = np.array(["yes", "no"] * 100)
    groups = np.array(["Male", "male", "Female", "FEMALE "] * 50)

    def test_are_named_with_their_rows(self):
        found = audit(self.y, self.y, self.groups, replicates=10)
        assert len(found.groups) == 4
        (note,) = found.notes
        assert "'Male' (50 rows) and 'male' (50 rows)" in note
        assert note.endswith("to merge them, pass merge_spellings=True.")
        assert note in found.to_dict()["notes"]

    def test_are_merged_when_asked_under_the_spelling_of_most_rows(self):
        groups = np.where(np.arange(200) < 4, self.groups, np.char.strip(np.char.capitalize(self.groups)))
        predicted = np.where(np.arange(200) < 20, np.char.upper(self.y), self.y)
        truth = np.where(np.arange(200) == 0, "YES", self.y)
        found = audit(truth, predicted, groups, replicates=10, merge_spellings=True)
        assert [group.name for group in found.groups] == ["Female", "Male"]
        assert found.accuracy.value == 1
        assert not [note for note in found.notes if "differ only by case" in note]

    def test_predicted_classes_that_no_label_has_are_named_with_their_rows(self):
        predicted = np.where(np.arange(200) < 7, "maybe", self.y)
        notes = audit(self.y, predicted, np.arange(200) // 2 % 2, replicates=10).notes
        assert notes == ("Predictions have classes that no label has: 'maybe' (7 rows).",)


def test_names_with_control_characters_are_shown_without_them():
    y, groups = np.array([0, 1] * 100), np.array(["Ma\x1b[31mle", "Fe\x9bmale"] * 100)[np.arange(200) // 2 % 2]
    found = audit(y, y, groups, replicates=10)
    for text in (str(found), found.reading):
        assert not {"\x1b", "\x9b"} & set(text)
    assert "Ma\ufffd[31mle" in str(found)
    assert found.groups[1].name == "Ma\x1b[31mle"


# For notebooks


def test_the_frame_has_every_number_of_the_audit_with_its_interval():
    found = audit(*adult_like(), measures=["selection_rate.ratio"])
    frame = found.to_frame().set_index(["measure", "group", "label"])
    assert frame.index.is_unique
    assert len(frame) == len(found.overall) + sum(1 + 3 * len(g.rates) for g in found.groups) + len(found.cells)
    women, cell = found.groups[0], found.cells[0]
    expected = {
        ("selection_rate.ratio", "", ""): (found.overall["selection_rate.ratio"], found.count),
        ("true_positive_rate", "Female", ">50K"): (women.rates[0].true_positive_rate, women.count),
        ("accuracy", cell.group, cell.label): (cell.accuracy, cell.count),
    }
    for key, (estimate, samples) in expected.items():
        assert tuple(frame.loc[key]) == (estimate.value, estimate.low, estimate.high, samples)


def test_bars_are_as_high_as_the_groups_rates_and_have_their_intervals():
    found = audit(*adult_like())
    axes = found.plot()
    bars, women = [bar.get_height() for bar in axes.patches], found.groups[0]
    rates = women.rates[0]
    estimates = (women.accuracy, rates.selection_rate, rates.true_positive_rate, rates.false_positive_rate)
    assert bars[:4] == [100 * each.value for each in estimates]
    (whisker, *_) = axes.containers[0][2][0].get_segments()
    assert whisker[:, 1] == pytest.approx([100 * women.accuracy.low, 100 * women.accuracy.high])
    three = audit([0, 1, 2] * 30, [0, 1, 1] * 30, ["a", "b"] * 45).plot()
    assert "true positives\n(2)" in [tick.get_text() for tick in three.get_xticklabels()]


def test_a_prompt_shows_the_table_and_a_notebook_escapes_names():
    y_true, y_pred, sex = adult_like()
    found = audit(y_true, y_pred, np.where(sex == "Female", "<b>", sex), min_count=1)
    assert repr(found) == str(found)
    shown = found._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert str(found.accuracy).strip() in shown
