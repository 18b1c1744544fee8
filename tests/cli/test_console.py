"""What a terminal of 80 columns shows: paragraphs broken between words, and bars that say which time is which."""

import io
import re

import pytest
from rich.console import Console
from rich.progress import Progress

from raan.cli import app, console


@pytest.fixture
def terminal(monkeypatch):
    """What is printed on standard error, as if that were a terminal of 80 columns without colours."""
    shown = io.StringIO()
    screen = Console(file=shown, width=80, force_terminal=True, color_system=None, legacy_windows=False)
    monkeypatch.setattr(console, "errors", screen)
    return shown


def test_a_note_is_one_paragraph_broken_between_words(terminal):
    words = "categories with fewer than ten rows, or beyond the hundred most frequent, are pooled as [other]"
    console.note(words)
    lines = terminal.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert " ".join(" ".join(lines).split()) == f"note: {words}"


def test_an_error_is_one_paragraph_broken_between_words(terminal):
    def fail():
        raise ValueError(20 * "certainly " + "[wrong]")

    with pytest.raises(SystemExit):
        console.run(fail)
    lines = terminal.getvalue().splitlines()
    assert [len(line) <= 80 for line in lines] == 3 * [True]
    assert " ".join(" ".join(lines).split()) == "error: " + 20 * "certainly " + "[wrong]"


def last_line(bar: Progress) -> str:
    """The line that the bar has come to."""
    shown = io.StringIO()
    Console(file=shown, width=80, color_system=None).print(bar.get_renderable())
    return shown.getvalue().rstrip()


def test_a_bar_of_planned_seconds_says_how_long_at_most(terminal, monkeypatch):
    bars = []

    class Kept(Progress):
        def __init__(self, *columns, **how):
            super().__init__(*columns, **how)
            bars.append(self)

    monkeypatch.setattr(console, "Progress", Kept)
    with console.time_bar(quiet=False) as show:
        show("logistic regression", 31, 290)
        line = last_line(bars[0])
    assert re.search(r"logistic regression .* 0:00, at most 4:19 left$", line)
    assert len(line) <= 80


def test_a_bar_of_counts_has_no_count_and_no_time_left_before_they_are_known(terminal):
    with console.progress_bar() as bar:
        task = bar.add_task("reading", total=None)
        assert re.fullmatch(r"reading \S+\s+0:00", last_line(bar))
        bar.update(task, description="embedding comment", total=200_000, completed=10)
        line = last_line(bar)
        assert "10/200,000" in line
        assert len(line) <= 80


def test_help_is_broken_where_the_terminal_ends_and_not_where_the_source_does():
    texts = [str(command.help) for command in app.registered_commands]
    assert any("\n\n" in text for text in texts)
    assert not [text for text in texts if "\n" in text.replace("\n\n", "")]
