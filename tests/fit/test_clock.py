from time import sleep

from raan.fit.clock import Clock


def test_an_interruption_ends_the_time_and_is_no_error():
    clock = Clock(60)
    assert 59 < clock.left <= 60
    with clock.limit():
        raise KeyboardInterrupt
    assert clock.interrupted
    assert clock.left == 0


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
    with clock.work("writing", 1):
        pass
    assert shown[-1] == ("writing", 0.3, 10)
