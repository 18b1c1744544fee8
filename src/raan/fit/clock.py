"""A time budget: how much of it is left, and how much of the planned work is done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

Show = Callable[[str, float, float], None]
"""Shows what is being done, how many seconds of planned work are done, and how many are planned."""


PULSE = 0.2
"""Seconds between two looks at work that reports nothing."""


class OutOfTime(Exception):
    """The time for a piece of work is over; what it has found so far is kept by whoever catches this."""


class Clock:
    """The seconds left for learning. An interruption by the user ends them at once."""

    def __init__(self, seconds: float, show: Show = lambda what, done, planned: None) -> None:
        self._end = monotonic() + seconds
        self._show = show
        self._done = self._planned = 0.0
        self.interrupted = False

    @property
    def left(self) -> float:
        """Seconds until the end, none of them negative."""
        return 0.0 if self.interrupted else max(0.0, self._end - monotonic())

    @property
    def done(self) -> float:
        """Seconds of planned work that are done."""
        return self._done

    def interrupt(self) -> None:
        """Let no further work begin."""
        self.interrupted = True

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Let work go on to its end, to the end of the time, or until the user interrupts it; none is an error."""
        try:
            yield
        except OutOfTime:
            pass
        except KeyboardInterrupt:
            self.interrupt()

    def plan(self, seconds: float) -> None:
        """Set how many seconds of work are planned, for whoever shows how much of it is done."""
        self._planned = seconds

    @contextmanager
    def work(self, what: str, seconds: float) -> Iterator[None]:
        """Show the time pass while a piece of work goes on that is planned to take so long, and says nothing."""
        ended, begun, before = Event(), monotonic(), self._done

        def watch() -> None:
            while not ended.wait(PULSE):
                self._show(what, before + min(monotonic() - begun, 0.95 * seconds), self._planned)

        self._show(what, before, self._planned)
        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()
            self._done = before + seconds

    def tick(self, what: str, seconds: float = 0.0) -> None:
        """Count so many planned seconds of a piece of work as done; raise OutOfTime at the end."""
        self._done += seconds
        self._show(what, self._done, self._planned)
        if not self.left:
            raise OutOfTime(what)
