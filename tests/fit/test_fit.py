from raan.fit.clock import Clock
from raan.fit.fit import Wish, fit


def test_without_time_there_is_plain_boosting_and_what_was_left_out_is_noted(loaded):
    found = fit(loaded, Wish(seconds=0), Clock(0))
    assert [run.method for run in found.runs] == ["Boosting"]
    assert found.chosen == found.plain
    assert not found.improved
    assert sum("was not trained" in note for note in found.notes) == 4


def test_an_interruption_keeps_the_points_that_are_there(loaded):
    def show(what, done, planned):
        if what == "Vanilla" and done:
            raise KeyboardInterrupt

    found = fit(loaded, Wish(seconds=30), Clock(30, show))
    assert {run.method for run in found.runs} >= {"Boosting", "Vanilla"}
    assert "RL-RAAN" not in {run.method for run in found.runs}
    assert any("interrupted" in note for note in found.notes)
