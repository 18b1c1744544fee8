"""A time budget: how much of it is left, and how much of the planned work is done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

Show = Callable[[str, float, float], None]
"""Shows what is being done, how many seconds of planned work are done, and how many are planned."""


PULSE = 0.2
"""Seconds between two looks at work that reports nothing."""


class Clock:
    """The seconds left for learning. An interruption by the user ends them at once."""

    def __init__(self, seconds: float, show: Show = lambda what, done, planned: None) -> None:
        self._end = monotonic() + seconds
        self._show = show
        self._done = self._planned = 0.0
        self.interrupted = False

    @property
    def left(self) -> float:
        """Remaining seconds, at least 0."""
        return 0.0 if self.interrupted else max(0.0, self._end - monotonic())

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Let work go on to its end, or until the user interrupts it, which is no error."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True

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
