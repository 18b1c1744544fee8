import pytest

from raan.fit.clock import Clock, OutOfTime


def test_a_clock_tells_its_progress_and_stops_work_at_its_end():
    told = []
    clock = Clock(60, lambda *what: told.append(what))
    clock.plan(10)
    clock.tick("a", 4)
    clock.interrupt()
    with pytest.raises(OutOfTime):
        clock.tick("b", 6)
    assert told == [("a", 4, 10), ("b", 10, 10)]
