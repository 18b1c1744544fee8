"""What all commands share: where they print, how they show progress, and how errors reach the user."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

console = Console()
"""Results go to standard output; rich drops colours and boxes' glitter by itself when that is not a terminal."""

errors = Console(stderr=True)
"""Errors, warnings and progress go to standard error, so that results can be piped."""

EXPECTED = (ValueError, TypeError, OSError, ImportError)
"""What the doors raise when the user's input is wrong or an extra is missing: shown as a paragraph."""


def run(app: Callable[[], Any]) -> None:
    """Run a command; an expected error is one paragraph and exit code 2, its traceback only with --debug."""
    try:
        app()
    except EXPECTED as error:
        if "--debug" in sys.argv:
            raise
        errors.print("[bold red]error:[/] ", end="")
        errors.print(str(error), markup=False, highlight=False)
        sys.exit(2)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar with the share done and the time left, on standard error."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=errors, transient=True) as bar:
        yield bar
