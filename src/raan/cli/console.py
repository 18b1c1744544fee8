"""What all commands share: where they print, how they show progress, and how errors reach the user.

Exit codes: 0 done, 1 a declared limit was exceeded, 2 wrong input, 130 interrupted, 143 terminated.
"""

import json
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.segment import Segment
from rich.text import Text
from typer.core import TyperCommand

from raan.errors import in_shell, spell
from raan.text import escape_controls, replace_controls


class SafeConsole(Console):
    """A console that shows control characters in users' text as U+FFFD, which the terminal does not obey."""

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
        """Render as rich does, and replace control characters in all text; rich's own sequences are no text."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else replace_controls(text), style, control)


console = SafeConsole()
"""Results go to standard output; rich drops colours and boxes' glitter by itself when that is not a terminal."""

errors = SafeConsole(stderr=True)
"""Errors, warnings and progress go to standard error, so that results can be piped."""

EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError)
"""What the library raises when the input is wrong or too much, or an extra is missing: shown as a paragraph."""

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""How a process is asked to end, other than by Ctrl-C: by `kill`, the system's end or a closed terminal."""


def run(app: Callable[[], Any]) -> None:
    """Run a command; an expected error is one paragraph and exit code 2, its traceback only with --debug."""
    with _heed_signals():
        try:
            app()
        except EXPECTED as error:
            if "--debug" in sys.argv:
                raise
            text = spell(error, in_shell())
            if isinstance(error, OSError) and error.filename is not None and error.strerror:
                text = f"{error.filename}: {error.strerror}"  # without the number, and without a second name
            _announce("error:", "bold red", text or type(error).__name__)
            sys.exit(2)


class Terminated(KeyboardInterrupt):
    """The process was asked to end: whatever cleans up after Ctrl-C does so after this."""


@contextmanager
def _heed_signals() -> Iterator[None]:
    """Treat the signals that ask for an end like Ctrl-C; the exit code is then 128 and the signal's number.

    One that the process was started to ignore, as `nohup` does, is ignored.
    """
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        raise Terminated(f"signal {number}")

    here = threading.current_thread() is threading.main_thread()  # Python handles signals nowhere else
    heeded = [number for number in ENDING if here and signal.getsignal(number) is signal.SIG_DFL]
    for number in heeded:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)
        if received:
            sys.exit(128 + received[0])


class CommandError(ValueError):
    """An error in the command's own words."""


@contextmanager
def naming(renamed: Mapping[str, str]) -> Iterator[None]:
    """Errors from within call parameters as the command does: `y_true` is its --label, if so renamed."""
    try:
        yield
    except EXPECTED as error:
        raise CommandError(spell(error, in_shell(renamed))) from error


def write_json(value: Any) -> None:
    """Write one line of JSON to standard output, its control characters escaped."""
    sys.stdout.write(escape_controls(json.dumps(value, ensure_ascii=False)) + "\n")


def note(text: str) -> None:
    """Say something that the user should know, on standard error."""
    _announce("note:", "bold yellow", spell(text, in_shell()))


def _announce(word: str, style: str, text: str) -> None:
    """Print a word in a style, then text, as one paragraph: the terminal's width is for both together."""
    paragraph = Text.assemble((word, style), " ", text)
    errors.print(paragraph, highlight=False, soft_wrap=not errors.is_terminal)


@contextmanager
def warnings_as_notes(quiet: bool = False) -> Iterator[None]:
    """Show the warnings of raan itself from within as notes, each once; those of others, and all if quiet, not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", module=r"raan\.", category=UserWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(each.message) for each in caught if not quiet):
                note(text)


PANELS = {
    name: panel
    for panel, names in {
        "Required": "label attribute out",
        "What is fair": "aim accuracy_drop performance cost max_drop positive worst_group_drop guard no_floor "
        "confidence at_most at_least",
        "Folders of files": "engine address workers",
        "Texts and images": "text image image_folder text_encoder image_encoder",
        "Training and output": "minutes seed force as_json quiet strict help",
        "Data": "test ignore weight person control category missing max_rows keep_attribute delimiter encoding "
        "decimal merge_spellings",
    }.items()
    for name in names.split()
}
"""Under which heading `--help` shows an option; others are under "Options"."""


class SeveralValues(TyperCommand):
    """A command whose repeatable options take several values at once: `--attribute sex race`.

    Words after such an option's value are more of its values, once all of the command's arguments are there. Its
    help shows the options by topic.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, each option with its panel; flags have no value to name."""
        params: list[Any] = super().get_params(ctx)
        for param in params:
            if param.param_type_name == "option":
                panel = PANELS.get(str(param.name))
                param.rich_help_panel = panel if panel != "Required" or param.required else None
                param.metavar = " " if param.is_flag else param.metavar
        return params

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments with the option before each of its values, as they would be parsed anyway."""
        return super().parse_args(ctx, _spread(args, list(self.params)))


def _spread(args: list[str], params: list[Any]) -> list[str]:
    """The arguments with a repeatable option before each of its values."""
    options = {name: param for param in params for name in param.opts if param.param_type_name == "option"}
    lacking = sum(param.param_type_name == "argument" for param in params)
    spread: list[str] = []
    repeated, waiting = None, False  # the option whose values these may be, and whether its first is still to come
    for word in args:
        if waiting:
            waiting = False
        elif word.startswith("-") and word != "-":
            param = options.get(word)
            waiting = param is not None and not param.is_flag
            repeated = word if waiting and param is not None and param.multiple else None
        elif lacking:
            lacking, repeated = lacking - 1, None
        elif repeated:
            spread.append(repeated)
        spread.append(word)
    return spread


def waiting(what: str, quiet: bool = False) -> AbstractContextManager[object]:
    """Say what is being done, on standard error, while imports and files take their time; nothing if quiet."""
    return nullcontext() if quiet else errors.status(Text(what))


BAR = 24
"""Characters of a bar: what is done, how much of it and both times fit beside it into 80 columns."""


class _Counted(ProgressColumn):
    """How many of how many are done; nothing where neither is known."""

    def render(self, task: Task) -> Text:
        return Text("" if task.total is None else f"{task.completed:,.0f}/{task.total:,.0f}")


class _Times(ProgressColumn):
    """How long it has taken, and how long it may still take, by a plan or else by the pace so far."""

    max_refresh = 0.5

    def __init__(self, planned: bool = False) -> None:
        super().__init__()
        self.planned = planned

    def render(self, task: Task) -> Text:
        times = _minutes(task.elapsed or 0)
        if self.planned:
            left, most = task.remaining, "at most "  # the plan is a limit, and the work may end before it
        else:
            left, most = task.time_remaining, ""
        return Text(times if not left or task.total is None else f"{times}, {most}{_minutes(left)} left")


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress]:
    """A bar with the share done and the time left, on standard error; none where it is to be quiet."""
    columns = (
        TextColumn("{task.description}", markup=False),  # names are the user's, brackets and all
        BarColumn(BAR),
        _Counted(),
        _Times(),
    )
    with Progress(*columns, console=errors, transient=True, disable=quiet) as bar:
        yield bar


def show_columns(bar: Progress) -> Callable[[str, int, int], None]:
    """What shows how many values of which column are embedded, each column on a line of its own."""
    tasks: dict[str, Any] = {}

    def show(column: str, done: int, total: int) -> None:
        if column not in tasks:
            tasks[column] = bar.add_task(f"embedding {column}", total=total)
        if total - done and bar.tasks[tasks[column]].finished:  # the next part of a file
            bar.reset(tasks[column], total=total)
        bar.update(tasks[column], completed=done, total=total)

    return show


@contextmanager
def time_bar(quiet: bool) -> Iterator[Callable[[str, float, float], None]]:
    """A bar for work that is planned in seconds: it receives what is done, how much of it, and the total."""
    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(BAR), _Times(planned=True))
    with Progress(*columns, console=errors, transient=True, disable=quiet) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, planned: bar.update(
            task, description=what, completed=done, total=max(planned, done) or None
        )
