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
