"""What a terminal of 80 columns shows: paragraphs broken between words, and bars that say which time is which."""

import io
import json
import re

import pytest
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from commands import people, raan, said
from raan.cli import app, console
from raan.cli.console import SafeConsole, write_json


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


class TestControlCharacters:
    """Those in users' text reach neither the terminal nor the JSON unescaped."""

    def test_in_tables_text_and_markup(self):
        stream = io.StringIO()
        console = SafeConsole(file=stream, force_terminal=True, width=60, color_system="standard")
        table = Table("head")
        table.add_row(Text("Ma\x1b[31mle"))
        console.print(table)
        console.print("[red]bold[/red]", "x\x9b2J", Text("\u202eabc"))
        shown = stream.getvalue()
        assert "Ma\ufffd[31ml" in shown
        assert "\x1b[31mbold" in shown  # rich's own
        assert not set("\x9b\u202e") & set(shown)

    def test_in_json(self, capsys):
        write_json({"name": "a\x1b\x9b\u202e\ud800é"})
        line = capsys.readouterr().out
        assert not set("\x1b\x9b\u202e") & set(line)
        assert "é" in line
        assert json.loads(line) == {"name": "a\x1b\x9b\u202e\ud800é"}

    def test_in_names_of_groups_at_fit_and_audit(self, tmp_path):
        table = people(tmp_path / "people.csv", rows=500, groups=("Fe\x1b[31mmale", "male"))
        options = ("--label", "hired", "--attribute", "sex", "--ignore", "id")
        fitted = raan("fit", table, *options, "--minutes", 0.05, "--out", tmp_path / "out")
        audited = raan("audit", table, *options[:4], "--prediction", "hired")
        assert fitted.returncode in (0, 1), said(fitted)
        for shown in (
            fitted.stdout,
            fitted.stderr,
            audited.stdout,
            (tmp_path / "out" / "model-card.md").read_text(),
        ):
            assert "\x1b" not in shown
        assert "Fe\ufffd[31mmale" in fitted.stdout


@pytest.mark.parametrize("command", ["fit", "predict", "choose"])
def test_a_file_in_the_way_of_a_folder_is_named(tmp_path, command):
    (tmp_path / "file").write_text("x")
    table = people(tmp_path / "people.csv", rows=200)
    words = {
        "fit": (table, "--label", "hired", "--attribute", "sex", "--out", tmp_path / "file" / "x"),
        "choose": (tmp_path, "--out", tmp_path / "file" / "x"),
        "predict": (tmp_path, table, "--out", tmp_path / "file" / "x.csv"),
    }
    result = raan(command, *words[command])
    assert result.returncode == 2
    assert "Errno" not in said(result)
    if command == "fit":
        assert f"{tmp_path / 'file'} is a file; expected a folder" in said(result)


@pytest.mark.parametrize("command", ["fit", "choose"])
def test_help_groups_the_options_and_cuts_nothing_off_in_80_columns(command):
    shown = raan(command, "--help", COLUMNS="80", TERM="dumb").stdout
    panels = re.findall(r"╭─ (.*?) ─+╮\n(.*?)╰", shown, flags=re.S)
    found = {title: re.findall(r"--([\w-]+)", text) for title, text in panels}
    assert [*found][:3] == ["Arguments", "Required", "What is fair"]
    assert "Options" not in found
    assert "out" in found["Required"]
    assert "accuracy-drop" in found["What is fair"]
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert f"Example: raan {command} " in shown
