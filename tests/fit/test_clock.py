from time import sleep

import pytest

from raan.fit.clock import Clock, OutOfTime


def test_a_clock_shows_its_progress_and_stops_work_at_its_end():
    shown = []
    clock = Clock(60, lambda *what: shown.append(what))
    clock.plan(10)
    clock.tick("a", 4)
    clock.interrupt()
    with pytest.raises(OutOfTime):
        clock.tick("b", 6)
    assert shown == [("a", 4, 10), ("b", 10, 10)]


def test_while_work_says_nothing_the_time_that_passes_is_shown_and_never_more_than_planned():
    shown = []
    clock = Clock(60, lambda *what: shown.append(what))
    clock.plan(10)
    with clock.work("fitting", 0.3):
        sleep(0.7)
    assert shown[0] == ("fitting", 0.0, 10)
    done = [seconds for _, seconds, _ in shown]
    assert len(done) > 2
    assert done == sorted(done)
    assert max(done) < 0.3
    assert clock.done == 0.3
