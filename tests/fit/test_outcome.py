import json
from dataclasses import replace

import numpy as np
import pytest

from outcomes import counts_of, made_up, with_test
from raan.fairness.promise import Status
from raan.fit.card import model_card
from raan.fit.families import choose_with_warnings
from raan.fit.outcome import FILE, Outcome
from raan.fit.words import inputs, title, verdict
from raan.frontier.choice import Choice


def test_an_outcome_is_itself_after_a_file(outcome, tmp_path):
    outcome.save(tmp_path)
    again = Outcome.load(tmp_path)
    assert (again.facts, again.rule, again.place) == (outcome.facts, outcome.rule, outcome.place)
    assert again.choices == outcome.choices
    assert np.array_equal(again.test, outcome.test)
    assert np.array_equal(again.points.expected, outcome.points.expected)
    assert json.dumps(again.to_dict()) == json.dumps(outcome.to_dict())
    assert [str(claim) for claim in again.verdict.claims] == [str(claim) for claim in outcome.verdict.claims]


def test_a_folder_without_one_says_what_it_lacks(tmp_path):
    with pytest.raises(ValueError, match="expected one that `raan fit` wrote"):
        Outcome.load(tmp_path)
    (tmp_path / "results.jsonl").write_text("{}")
    with pytest.raises(ValueError, match=f"no {FILE}; it is of raan 0.2, so fit the model again"):
        Outcome.load(tmp_path)


def test_the_choices_are_those_that_choose_makes(fitted):
    outcome, frontier = fitted.outcome, fitted.model.classifier
    for choice in outcome.choices:
        if choice.accuracy_drop in (0.005, 0.03):
            options = choice._asdict()
            del options["point"]
            chosen, _ = choose_with_warnings(frontier, **options)
            assert chosen.frontier_.chosen_place == choice.point
            assert outcome.choose(chosen).place == choice.point


def test_the_choices_keep_the_baseline_where_choose_does(monkeypatch):
    assert any(choice.point for choice in made_up().choices)
    monkeypatch.setattr("raan.fit.outcome.choose", lambda points, rule: Choice(0))  # as where rows support none
    assert not any(choice.point for choice in made_up().choices)


def test_what_test_rows_say_is_in_the_title_and_the_headline():
    outcome = made_up()
    kept = with_test(outcome, counts_of(900, 700), counts_of(880, 725))
    against = {claim.key: claim.status for claim in kept.verdict.claims}
    assert {against[key] for key in ("accuracy_budget", "worst_group_guard", "aim")} == {Status.KEPT}
    costly = with_test(outcome, counts_of(900, 800), counts_of(800, 800))
    assert costly.contradicted
    assert title(costly) == "Contradicted: income in adult.csv, by sex"
    assert "accuracy lost at most 0.5 points, short by 4.5 points" in " ".join(verdict(costly))
    assert "**Contradicted: on" in model_card(costly, "o")


def test_the_baseline_promises_nothing_and_is_called_so():
    none = made_up(place=0)
    assert not none.improved
    assert not none.verdict.claims
    assert verdict(none)[0].startswith("Baseline kept: the plain model is saved")
    assert none.method == none.facts.plain_method
    assert "What test rows say of the promise" not in model_card(none, "o")


def test_inputs_are_stated_and_what_known_groups_would_change(outcome):
    first, second = inputs(outcome)
    assert first == "This model does not see sex: new rows need not state it."
    now = outcome.promise.metrics["demographic_parity_gap"].value
    for known, words in (
        (now - 0.01, "If sex were known at prediction"),
        (now + 0.01, "Knowing sex at prediction wo"),
    ):
        facts = replace(outcome.facts, known={"demographic_parity": known})
        (_, second) = inputs(replace(outcome, facts=facts))
        assert second.startswith(words)
        assert f"expected on held-out rows would be {100 * known:.1f}" in second
    sees = replace(outcome, facts=replace(outcome.facts, columns=("sex", "age")))
    assert inputs(sees)[0].startswith("sex is an input of this model, as --keep-attribute asked")
    other = replace(outcome, rule=replace(outcome.rule, accuracy_drop=0.01))
    assert len(inputs(other)) == 1  # it was not estimated for that budget


@pytest.mark.parametrize("words", ["Expected for new", "accuracy of f", "| accuracy lost |", "raan predict o"])
def test_the_card_has_promise_figures_and_use(outcome, words):
    assert words in model_card(outcome, "o")
