import numpy as np

from raan.fit.records import describe_both, describe_promise, records
from raan.results.summary import comparisons


def test_each_family_has_its_plain_model_and_its_points_on_all_rows(fitted, rows):
    found = list(records(fitted))
    methods = [(each.style, each.method) for each in found]
    assert methods[:4] == [
        ("boosting", "Boosting"),
        ("boosting", "FairFrontier"),
        ("logistic", "Logistic"),
        ("logistic", "FairFrontier"),
    ]
    assert methods[4] == ("network", "Vanilla")
    assert {method for _, method in methods[5:]} == {"RAAN", "RL-RAAN"}
    for each in found:
        assert (each.counts("validation").sum((1, 2, 3)) == len(rows.training)).all()
        assert (each.counts("test").sum((1, 2, 3)) == len(rows.test)).all()
    assert len({each.run for each in found}) == len(found)


def test_the_records_can_be_compared_by_kind(fitted):
    compared = comparisons(list(records(fitted)))
    assert [each.style for each in compared] == ["boosting", "logistic", "network"]


def test_every_run_begins_at_the_plain_model_of_its_kind(fitted):
    starts = {each.style: set() for each in records(fitted)}
    for each in records(fitted):
        starts[each.style].add(tuple(each.test[0]))
    assert all(len(several) == 1 for several in starts.values())


def test_the_plain_and_the_saved_model_are_described_by_their_counts(fitted, outcome):
    both = describe_both(outcome)
    assert both["plain"]["point"] == 0
    assert both["chosen"]["point"] == outcome.place
    right = np.trace(outcome.test[outcome.place].sum(1)) / outcome.test[outcome.place].sum()
    assert both["chosen"]["test"]["accuracy"] == round(float(right), 6)
    assert len(describe_promise(outcome)["accuracy_loss"]) == 3
