"""A time budget: how much of it is left, and word of what is being done with it."""

from collections.abc import Callable
from time import monotonic

Told = Callable[[str, float, float], None]
"""Told what is being done, how many seconds of planned work are done, and how many are planned."""


class OutOfTime(Exception):
    """The time for a piece of work is over; what it has found so far is kept by whoever catches this."""


class Clock:
    """The seconds left for learning. An interruption by the user ends them at once."""

    def __init__(self, seconds: float, told: Told = lambda what, done, planned: None) -> None:
        self._end = monotonic() + seconds
        self._told = told
        self._done = self._planned = 0.0
        self.interrupted = False

    @property
    def left(self) -> float:
        """Seconds until the end, none of them negative."""
        return 0.0 if self.interrupted else max(0.0, self._end - monotonic())

    def interrupt(self) -> None:
        """Let no further work begin."""
        self.interrupted = True

    def plan(self, seconds: float) -> None:
        """Say how many seconds of work are planned, for whoever shows how much of it is done."""
        self._planned = seconds

    def tick(self, what: str, seconds: float = 0.0) -> None:
        """Say that so many planned seconds of a piece of work are done; raise OutOfTime at the end."""
        self._done += seconds
        self._told(what, self._done, self._planned)
        if not self.left:
            raise OutOfTime(what)
