"""What is said of the conditions under which runs were made."""

from dataclasses import replace

import pytest

from raan.results.records import read
from raan.results.regime import conditions, regime_of
from report.records import as_records, line


@pytest.mark.parametrize(
    ("data", "among"),
    [
        ({"name": "adult"}, True),
        ({"name": "meps", "keep_attribute": False}, False),
        ({"name": "table"}, False),
        ({"name": "table", "keep_attribute": True}, True),
        ({"name": "celeba"}, False),
        (None, None),
    ],
)
def test_whether_the_attribute_is_among_the_features_follows_from_the_data_asked_for(data, among):
    (record,) = as_records([line("Vanilla", 0)])
    assert regime_of(replace(record, configuration={"data": data} if data else {})) is among


def test_a_sentence_says_so_and_one_that_the_threshold_is_a_dial():
    (record,) = as_records([line("Vanilla", 0)])
    kept, left_out = (replace(record, configuration={"data": {"name": name}}) for name in ("adult", "toy"))
    assert list(conditions([kept])) == ["The attribute is among the features: every model sees it at prediction."]
    dialled = replace(left_out, threshold=[0.5] * len(record.step))
    said = list(conditions([left_out, dialled]))
    assert said[0] == "The attribute is not among the features: no model sees it at prediction."
    assert said[1].startswith("The decision threshold, one for all groups, is a dial of every method")
    assert list(conditions([replace(record, configuration={})])) == []
    assert list(conditions([kept, left_out])) == []


def test_the_committed_tables_of_the_paper_have_the_attribute_among_the_features_and_no_thresholds(request):
    records = read(request.config.rootpath / "results" / "table-2.jsonl.gz")[::500]
    assert {regime_of(record) for record in records} == {True}
    assert not any(record.threshold for record in records)
