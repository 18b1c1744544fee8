import numpy as np

from fitted_runs import run_of, settled
from raan.fairness.counts import count
from raan.fairness.rule import TIE, Rule
from raan.fit.card import model_card
from raan.fit.runs import Pick, Run, choose, most_accurate
from raan.fit.words import sentence


def test_every_methods_classifier_predicts_what_its_run_counted(loaded, trained):
    assert {run.method for run in trained} == {"Vanilla", "RAAN", "RL-RAAN", "Boosting", "AANReweighting"}
    table = loaded.table
    for run in trained:
        for rows, counted in ((loaded.split.validation, run.validation), (loaded.split.test, run.test)):
            for point in (0, len(run.step) - 1):
                predicted = run.classifier(point).predict(table.features[rows].numpy())
                again = count(
                    table.label[rows].numpy(), table.attribute[rows].numpy(), np.asarray(predicted), 2, 2
                )
                assert np.array_equal(again, counted[point]), (run.method, point)


def test_the_rule_takes_the_best_for_the_aim_within_the_allowance_of_the_best_plain_model():
    vanilla, boosting = run_of("Vanilla", (80, 70)), run_of("Boosting", (90, 76))
    fairer = run_of("RAAN", (80, 70), (86, 79), (82, 82), (70, 70))
    reference = most_accurate([vanilla, boosting, fairer])
    assert reference == Pick(boosting, 0)
    runs = [vanilla, boosting, fairer]
    for drop, point in ((0.006, 1), (0.02, 2)):
        assert choose(Rule("worst_group", drop, tie=TIE), runs, reference) == Pick(fairer, point)
    assert choose(Rule("equalized_odds", 0.2, tie=TIE), runs, reference) == Pick(fairer, 2)
    assert choose(Rule("equalized_odds", 0.0, tie=TIE), runs, reference) == Pick(boosting, 0)


def test_gaps_within_the_noise_are_alike_and_the_more_accurate_point_is_taken():
    run = run_of("RAAN", (90, 89), (80, 80))
    assert choose(Rule("equalized_odds", 1.0, tie=TIE), [run], Pick(run, 0)) == Pick(run, 1)
    assert choose(Rule("equalized_odds", 1.0, noise=0.3, tie=TIE), [run], Pick(run, 0)) == Pick(run, 0)


def test_a_point_where_the_aim_is_undefined_is_never_chosen():
    run = run_of("RAAN", (90, 80))
    empty = Run("RAAN", 0, {}, (0,), run.validation.copy(), run.test, lambda point: None)
    empty.validation[:, :, 1] = 0
    assert choose(Rule("worst_group", 1.0, tie=TIE), [empty], Pick(run, 0)) is None
    assert choose(Rule("worst_group", 1.0, tie=TIE), [empty, run], Pick(run, 0)) == Pick(run, 0)


def test_a_plain_model_that_is_saved_is_the_most_accurate_one(loaded):
    even = run_of("Vanilla", (90, 70), (79, 79))  # the second is fairer by luck: nothing made it so
    found = settled(loaded, even, run_of("RAAN", (90, 70), (89, 70)))
    assert choose(Rule("equalized_odds", 0.05, tie=TIE), found.runs, found.plain) == Pick(even, 1)
    assert found.chosen == found.plain == Pick(even, 0)
    assert "so the plain model that is most accurate there is saved (Vanilla)" in sentence(found)
    assert "**this is a plain model**" in model_card(found, "hired", ["sex"], "a.csv", "o")


def test_the_plain_start_of_a_fairer_method_is_a_plain_model(loaded):
    fairer = run_of("RAAN", (79, 79), (60, 60))
    found = settled(loaded, run_of("Vanilla", (90, 70)), fairer)
    assert choose(Rule("equalized_odds", 0.05, tie=TIE), found.runs, found.plain) == Pick(fairer, 0)
    assert found.chosen == found.plain
