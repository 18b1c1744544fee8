import json
import re

import pandas as pd
import pytest

from commands import people, raan, said
from raan import audit

COLUMNS = ("--label", "hired", "--prediction", "said", "--attribute", "sex")


@pytest.fixture
def table(tmp_path):
    frame = pd.read_csv(people(tmp_path / "people.csv"), dtype=str, keep_default_na=False)
    frame["said"] = (frame["score"].astype(float) > 0).map({True: "yes", False: "no"})
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_the_table_and_the_reading_are_the_audits(table):
    frame = pd.read_csv(table, dtype=str)
    found = audit(frame["hired"], frame["said"], frame["sex"])
    result = raan("audit", table, *COLUMNS)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{found}\n\n{found.reading}\n"


def test_json_is_the_audit_for_programs(table):
    frame = pd.read_csv(table, dtype=str)
    result = raan("audit", table, *COLUMNS, "--json")
    assert json.loads(result.stdout) == audit(frame["hired"], frame["said"], frame["sex"]).to_dict()


def test_a_limit_that_is_exceeded_is_exit_code_1_and_says_so(table):
    passed = raan("audit", table, *COLUMNS, "--fail-above", 199, "--quiet")
    assert (passed.returncode, passed.stdout, passed.stderr) == (0, "", "")
    for limit in ("1", "1%", "1pp"):
        failed = raan("audit", table, *COLUMNS, "--fail-above", limit, "--metric", "demographic-parity", "--quiet")
        assert failed.returncode == 1
        assert re.search(r"FAIL: demographic-parity is \d+\.\d\d points; --fail-above is 1 points", said(failed))


def test_a_limit_in_the_wrong_unit_is_refused(table):
    share = raan("audit", table, *COLUMNS, "--fail-above", 0.1)
    assert share.returncode == 2
    assert "0.1 is ambiguous" in said(share)
    assert "Write 10 for 10 points, or 0.1pp" in said(share)
    assert raan("audit", table, *COLUMNS, "--fail-above", "0.1pp", "--quiet").returncode == 1
    never = raan("audit", table, *COLUMNS, "--fail-above", 100, "--metric", "demographic-parity")
    assert never.returncode == 2
    assert "it cannot fail" in said(never)


def test_what_is_undefined_fails_a_limit(table):
    frame = pd.read_csv(table, dtype=str)
    frame[frame["sex"] == "f"].to_csv(table, index=False)
    result = raan("audit", table, *COLUMNS, "--fail-above", 1)
    assert result.returncode == 1
    assert "equalized-odds is undefined" in said(result)


def test_unknown_attributes_are_counted(table):
    frame = pd.read_csv(table, dtype=str)
    frame.loc[:9, "sex"] = "?"
    frame.to_csv(table, index=False)
    assert "Unknown attribute: 10 samples" in raan("audit", table, *COLUMNS).stdout


def test_a_wrong_column_names_the_nearest(table):
    result = raan("audit", table, "--label", "hired", "--prediction", "sayd", "--attribute", "sex")
    assert result.returncode == 2
    assert "--prediction names the column 'sayd', which people.csv does not have; expected one of " in said(result)
    assert "is it 'said'?" in said(result)


def test_a_missing_prediction_is_told_by_its_line(table):
    lines = table.read_text().splitlines()
    lines[41] = lines[41].rsplit(",", 1)[0] + ","
    table.write_text("\n".join(lines) + "\n")
    result = raan("audit", table, *COLUMNS)
    assert result.returncode == 2
    assert "line 42: the prediction 'said' is missing, as in 1 of 1,200 rows" in said(result)


def test_probabilities_are_no_predictions(table):
    frame = pd.read_csv(table, dtype=str)
    frame.assign(said=[f"{row / 2000:.4f}" for row in range(1, len(frame) + 1)]).to_csv(table, index=False)
    result = raan("audit", table, *COLUMNS)
    assert result.returncode == 2
    assert "--prediction holds '0.0" in said(result)
    assert "more values that --label never has; expected classes; are these probabilities or scores?" in said(
        result
    )


def test_classes_spelt_differently_are_matched_with_a_note(table):
    frame = pd.read_csv(table, dtype=str)
    expected = audit(frame["hired"], frame["said"], frame["sex"])
    frame.assign(hired=frame["hired"] == "yes", said=(frame["said"] == "yes") * 1).to_csv(table, index=False)
    found = json.loads(raan("audit", table, *COLUMNS, "--json").stdout)
    assert found["accuracy"]["value"] == expected.accuracy.value
    (note,) = found["notes"]
    rows = (frame["said"] == "no").sum()
    assert f"classes otherwise than labels do; they were matched: '0' ({rows} rows) as 'False', '1' (" in note


def test_classes_that_have_nothing_in_common_are_refused_with_both_spellings(table):
    frame = pd.read_csv(table, dtype=str)
    frame.assign(said=frame["said"].map({"yes": "ja", "no": "nein"})).to_csv(table, index=False)
    result = raan("audit", table, *COLUMNS)
    assert result.returncode == 2
    assert "--prediction has the classes 'ja', 'nein'; expected some of those of --label, 'no', 'yes'" in said(
        result
    )


def test_a_small_group_is_left_out_of_what_is_limited_and_named(table):
    frame = pd.read_csv(table, dtype=str)
    frame.loc[:6, "sex"] = "x"
    frame.to_csv(table, index=False)
    result = raan("audit", table, *COLUMNS, "--fail-above", 150)
    assert result.returncode == 0, said(result)
    assert "with fewer than 10 samples of some class: 'x'." in result.stdout
    assert json.loads(raan("audit", table, *COLUMNS, "--min-count", 1, "--json").stdout)["left_out"] == []


def test_an_attribute_of_many_numbers_is_binned_with_a_note(table):
    result = raan("audit", table, *COLUMNS[:4], "--attribute", "age", "sex")
    assert result.returncode == 0, said(result)
    assert "The attribute 'age' has 62 different numbers, and is binned: 18-39 (" in result.stdout
    assert "60+ × m" in result.stdout


def test_a_wrong_label_leaves_the_names_of_the_users_columns(table):
    frame = pd.read_csv(table, dtype=str)
    frame.rename(columns={"hired": "y_true", "said": "y_pred"}).to_csv(table, index=False)
    result = raan("audit", table, "--label", "hired", "--prediction", "y_pred", "--attribute", "sex")
    assert result.returncode == 2
    assert "--label names the column 'hired', which people.csv does not have; expected one of " in said(result)
    assert "score, sex, y_true, y_pred" in said(result)


def test_a_thousand_classes_are_refused(table):
    frame = pd.read_csv(table, dtype=str)
    frame.assign(hired=frame["id"], said=frame["id"]).to_csv(table, index=False)
    result = raan("audit", table, *COLUMNS)
    assert result.returncode == 2
    assert "--label and --prediction hold 1,200 classes, and there are 2 groups; expected 200 classes" in said(
        result
    )
