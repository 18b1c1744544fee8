"""Progress bars for those who ask for them, and displays that are brought up to date in the background."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
"""Shown how many steps are done, and of how many."""

Bars = Callable[[str], Progress]
"""Opens a bar under a name."""

POLL = 0.5
"""Seconds between two calls of what `repeat` repeats."""


@contextmanager
def progress_bars(verbose: object) -> Iterator[Bars]:
    """Bars with the share done and the time left, on standard error; none unless `verbose`."""
    if not verbose:
        yield lambda name: lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Display

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Display(*columns, console=Console(stderr=True)) as display:

        def bar(name: str) -> Progress:
            task = display.add_task(name, total=None)
            return lambda done, total: display.update(task, completed=done, total=total)

        yield bar


@contextmanager
def repeat(show: Callable[[], None]) -> Iterator[None]:
    """Call a function again and again, in a thread of its own, until the block ends."""
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(POLL):
            show()

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
