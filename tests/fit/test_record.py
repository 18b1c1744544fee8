import numpy as np
import pytest

from outcomes import made_up
from raan.fairness.measures import Limit
from raan.fairness.rule import Rule
from raan.fit.card import model_card
from raan.fit.record import TO_FILL_IN, describe_record, selection_ratios


def test_ratios_are_of_the_shares_selected_on_test_rows():
    outcome = made_up()
    plain = outcome.test[0]
    share = plain[:, :2, 1].sum(0) / plain[:, :2].sum((0, 2))
    found = selection_ratios(outcome)
    assert found["plain"].value == pytest.approx(share.min() / share.max())
    assert found["plain"].low < found["plain"].value < found["plain"].high
    assert f"plain {found['plain'].as_number()}; saved" in describe_record(outcome)["Selection-rate ratio"]


LIMIT = Limit.read("demographic_parity", "at most", 0.05)


@pytest.mark.parametrize(
    ("rule", "words", "absent"),
    [
        (Rule("equalized_odds", 0.005, 0.0, margin=1.2816), ["0.5 points of accuracy", "no worse", "of 0.9,"], []),
        (Rule("equalized_odds", 0.01, None), ["1 point of accuracy", "of 0.5,"], ["worst-served"]),
        (Rule("equalized_odds", 0.01, 0.02, guard="groups"), ["every group at most 2 points below"], []),
        (Rule("accuracy", 1.0, None, limits=(LIMIT,)), ["demographic-parity gap at most 5.0 %"], ["lost against"]),
    ],
)
def test_what_was_tested_is_guaranteed_and_nothing_else(rule, words, absent):
    text = describe_record(made_up(rule=rule))["Guaranteed"]
    assert all(each in text for each in words)
    assert not any(each in text for each in absent)


def test_of_a_plain_model_nothing_is_guaranteed():
    assert describe_record(made_up(place=0))["Guaranteed"] == "Nothing: the plain model is saved."


def test_the_card_has_lines_to_fill_in_and_the_fingerprint():
    card = model_card(made_up(fingerprint="ab" * 32), "fair")
    assert all(f"- {name}: \\_" in card for name in TO_FILL_IN)
    assert f"SHA-256 {'ab' * 32}" in card
    assert "Fingerprint" not in model_card(made_up(), "fair")


def test_a_table_and_its_rows_in_another_order_have_one_fingerprint(rows):
    from raan.frontier.sketch import Sketch

    X, y = rows.features(rows.training), rows.label(rows.training)
    order = np.random.default_rng(0).permutation(len(y))
    assert Sketch.of(X, y).fingerprint == Sketch.of(X[order], y[order]).fingerprint
    assert Sketch.of(X, y).fingerprint != Sketch.of(X[1:], y[1:]).fingerprint
