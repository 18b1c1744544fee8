from dataclasses import replace

import numpy as np
import pytest

from raan.fit.card import model_card
from raan.fit.words import fairer, regime, title, verdict


def counts_of(*rights):
    """Of 1000 rows of each class, those right in group f and in group m, both classes alike."""
    counts = np.zeros((2, 3, 2))
    for group, right in enumerate(rights):
        for label in range(2):
            counts[label, group, label] = right
            counts[label, group, 1 - label] = 1000 - right
    return counts


def judged(outcome, plain, chosen, aim="equalized_odds"):
    """The outcome with these test rows; all switched rows are those that differ in number."""
    test = np.repeat(plain[None], len(outcome.test), axis=0)
    test[outcome.place] = chosen
    right = [np.stack([counts[y, :, y] for y in range(2)]) for counts in (plain, chosen)]
    switched = np.zeros((len(test), 2, 3))
    switched[outcome.place] = np.abs(right[0] - right[1])
    frontier = outcome.frontier.choose(aim=aim)
    assert frontier.frontier_.chosen_place
    test[frontier.frontier_.chosen_place] = chosen
    switched[frontier.frontier_.chosen_place] = switched[outcome.place]
    return replace(outcome, frontier=frontier, test=test, switched=switched)


def test_what_test_rows_confirm_is_called_fairer(outcome):
    kept = judged(outcome, counts_of(900, 700), counts_of(850, 740))
    assert kept.broken == ()
    assert fairer(kept)
    assert title(kept) == "hired in people.csv, fairer by sex"
    assert verdict(kept)[0].startswith("On test rows, ")


def test_an_aim_that_is_no_better_on_test_rows_is_not_fairer_and_everything_says_so(outcome):
    worse = judged(outcome, counts_of(900, 800), counts_of(900, 790))
    assert not fairer(worse)
    assert any("equalized-odds gap (sum) is 22.0 %, and the plain model's 20.0 %" in text for text in worse.broken)
    assert title(worse) == "Not fairer: hired in people.csv, by sex"
    assert verdict(worse)[0].startswith("Not fairer: on test rows the equalized-odds gap")
    assert "**Not fairer: on test rows" in model_card(worse, "o")


def test_an_allowance_overdrawn_beyond_its_standard_error_is_a_broken_promise(outcome):
    costly = judged(outcome, counts_of(900, 800), counts_of(800, 800))  # 5 points, where 3 were allowed
    assert fairer(costly)
    assert any("it loses 5.0 points of accuracy where 3 were allowed" in text for text in costly.broken)
    assert title(costly).startswith("a promise is broken: ")
    within = judged(outcome, counts_of(900, 800), counts_of(835, 800))  # 3.25 points: within its error
    assert within.broken == ()


def test_a_worst_group_below_plains_is_a_broken_promise_unless_the_floor_is_lifted(outcome):
    fallen = judged(outcome, counts_of(900, 750), counts_of(760, 700))
    assert any("accuracy 5.0 points below the plain model's" in text for text in fallen.broken)
    free = replace(fallen, frontier=fallen.frontier.choose(worst_group_drop=None, accuracy_drop=0.2))
    if free.place == fallen.place:
        assert not any("worst-served" in text for text in free.broken)


def test_the_plain_model_breaks_no_promise_and_is_told_as_such(outcome):
    none = replace(outcome, frontier=outcome.frontier.choose(accuracy_drop=0.0, at_most={"worst_group": 0.0}))
    assert not none.improved
    assert none.broken == ()
    assert verdict(none)[0].startswith("Not fairer: the plain model is saved")
    assert none.method == none.facts.plain_method


def test_the_regime_is_told_and_what_known_groups_would_buy(outcome):
    first, second = regime(outcome)
    assert "at prediction" in second
    assert first == "This model does not see sex: new rows need not state it."
    now = outcome.promise.metrics["demographic_parity_gap"].value
    for known, words in (
        (now - 0.01, "If sex were known at prediction"),
        (now + 0.01, "Knowing sex at prediction wo"),
    ):
        facts = replace(outcome.facts, known={"demographic_parity": known})
        (_, second) = regime(replace(outcome, facts=facts))
        assert second.startswith(words)
        assert f"the demographic-parity gap promised out of fold would be {100 * known:.1f}" in second
    sees = replace(outcome, facts=replace(outcome.facts, columns=("sex", "age")))
    assert regime(sees)[0].startswith("sex is an input of this model, as --keep-attribute asked")
    other = replace(outcome, frontier=outcome.frontier.choose(accuracy_drop=0.01))
    assert len(regime(other)) == 1  # it was not estimated for that allowance


@pytest.mark.parametrize("words", ["promised", "accuracy of f", "| accuracy lost |", "raan predict o", "a note"])
def test_the_card_tells_promise_figures_use_and_notes(outcome, words):
    assert words in model_card(outcome, "o")
