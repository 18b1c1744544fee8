import numpy as np
import pytest

from fitted_runs import run_of, settled
from raan.cli.fit import write
from raan.fit.clock import Clock
from raan.fit.fit import Wish, fit
from raan.fit.records import explain, records
from raan.fit.runs import Pick, choose, picks_of
from raan.report.reading import read
from raan.report.words import headline, sureness
from raan.results.explanation import weights_of
from raan.results.summary import comparisons


def test_boosting_is_what_the_methods_over_boosting_are_held_against(loaded):
    boosting = run_of("Boosting", (80, 60))
    found = settled(loaded, run_of("AANReweighting", (80, 60), (75, 64)), boosting)
    (comparison,) = comparisons(list(records(found)), found.wish.rule)
    reading = read(comparison)
    assert (reading.against, reading.rivals) == ("Boosting", ("AANReweighting",))
    assert headline(reading).startswith("AANReweighting narrows the")
    same = settled(loaded, boosting, run_of("AANReweighting", (80, 60)))
    (same,) = comparisons(list(records(same)), found.wish.rule)
    assert "is ahead" not in sureness(read(same))  # its chosen point is plain boosting
    (alone,) = comparisons(list(records(settled(loaded, boosting))), found.wish.rule)
    assert headline(read(alone)).startswith("Boosting reaches")


def test_the_report_begins_with_the_verdict_and_explains_no_weights_that_no_one_gave(loaded, tmp_path):
    found = fit(loaded, Wish(seconds=0), Clock(0))
    write(found, tmp_path, "hired", ["sex"], "people.csv", tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert 0 < page.index("Saved: Boosting, a plain model.") < page.index("Boosting reaches")
    assert "Whom RAAN weighed more" not in page
    assert explain(found)["weights"] == []


def test_the_weights_that_are_explained_have_the_strength_they_were_trained_with(loaded, trained):
    found = settled(loaded, *trained)
    raan = [run for run in trained if run.method == "RAAN"]
    weights = explain(found)["weights"]
    assert [each["balance"] for each in weights] == ["group", "sample"]
    for each in weights:
        runs = [run for run in raan if run.hyperparameters["balance"] == each["balance"]]
        chosen = found.best_of(runs) or Pick(runs[0], 0)
        assert each["strength"] == chosen.run.hyperparameters["strength"]
        train = loaded.split.train
        embedding = chosen.run.classifier(chosen.point).embed(loaded.table.features[train].numpy())
        full = weights_of(loaded.table, embedding, train, None, each["balance"])
        for cell, whole in zip(each["cells"], full["cells"], strict=True):
            assert cell["mean"] - 1 == pytest.approx(each["strength"] * (whole["mean"] - 1), abs=2e-4)


def test_the_explanation_names_the_rule_and_the_model_that_is_saved(loaded, trained):
    found = settled(loaded, *trained, drop=0.1)
    explained = explain(found)
    assert explained["rule"] == {"aim": "equalized_odds", "accuracy_drop": 0.1}
    saved, plain = explained["saved"], explained["plain"]
    (record,) = (each for each in records(found) if each.run == saved["run"])
    assert (record.method, saved["method"], saved["point"]) == (*2 * [found.chosen.method], found.chosen.point)
    assert np.array_equal(record.counts("test")[saved["point"]], found.chosen.test_counts)
    assert saved["hyperparameters"] == found.chosen.run.hyperparameters
    assert saved["test"]["accuracy"] == pytest.approx(float(found.chosen.test.accuracy), abs=1e-6)
    assert plain["validation"]["accuracy"] == max(
        round(float(pick.validation.accuracy), 6) for pick in picks_of(run for run in trained if run.plain)
    )


def test_the_best_of_some_runs_is_the_saved_one_if_that_is_theirs(loaded, trained):
    found = settled(loaded, *trained, drop=0.1)
    own = [run for run in trained if run.method == found.chosen.method]
    assert found.best_of(own) == found.chosen
    others = [run for run in trained if run.method != found.chosen.method]
    assert found.best_of(others) == choose(found.rule, others, found.plain)


def test_the_part_of_the_saved_model_speaks_of_its_method(loaded):
    boosting = run_of("Boosting", (80, 60))
    fairer = run_of("AANReweighting", (80, 60), (74, 65), (70, 70))
    found = settled(loaded, boosting, fairer, run_of("Other", (80, 60), (72, 71)), drop=0.05)
    runs = list(records(found))
    for saved in ("AANReweighting", "Other"):
        (reading,) = (read(each, saved) for each in comparisons(runs, found.wish.rule))
        assert reading.headlined == saved
        assert headline(reading).startswith(f"{saved} narrows the")
