from dataclasses import replace

import pytest

from fitted_runs import run_of, settled
from raan.fit.card import model_card
from raan.fit.runs import Pick
from raan.fit.words import sentence, verdict


@pytest.mark.parametrize("rights", [(84, 74), (84, 73.98)])
def test_a_model_as_fair_and_more_accurate_is_not_called_plain(loaded, rights):
    found = settled(loaded, run_of("Vanilla", (80, 70)), run_of("RAAN", (80, 70), rights))
    assert found.chosen.method == "RAAN"
    assert not found.improved
    words, card = sentence(found), model_card(found, "hired", ["sex"], "a.csv", "o")
    assert "RAAN is about as good for the aim as Vanilla, and more accurate: so it is saved. On test rows" in words
    assert "RAAN is about as good for that as the plain model, and more accurate." in card
    assert "plain model is saved" not in words
    assert "this is a plain model" not in card
    assert "may have been luck" not in words
    worse = replace(found.chosen.run, test=run_of("RAAN", (80, 70), (79, 70)).test)
    assert "may have been luck" in sentence(replace(found, settled=found.settled._replace(chosen=Pick(worse, 1))))


@pytest.mark.parametrize("runs", [[], [("RAAN", (80, 70))]])
def test_where_no_fairer_model_was_trained_none_is_said_to_have_done_worse(loaded, runs):
    found = settled(loaded, run_of("Boosting", (80, 70)), *(run_of(*run) for run in runs))
    words, card = sentence(found), model_card(found, "hired", ["sex"], "a.csv", "o")
    for text in (words, card):
        assert "No model that knows of groups was trained in the time" in text
        assert "did better" not in text


def test_the_verdict_names_the_saved_model_whatever_the_parts_name(loaded):
    boosting, fairer = run_of("Boosting", (80, 60)), run_of("AANReweighting", (80, 60), (75, 64))
    found = settled(loaded, boosting, run_of("Vanilla", (90, 85)), fairer)
    assert verdict(found)[0].startswith("Saved: Vanilla, a plain model. No model that knows of groups did better")
    found = settled(loaded, boosting, fairer)
    assert verdict(found)[0].startswith("Saved: AANReweighting. On test rows, AANReweighting takes the")
    assert "over all of its starts" in verdict(found)[-1]
