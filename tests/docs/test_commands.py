"""The commands that the docs show exist, with every option that they show."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from raan.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = sorted(
    {
        line.partition(" #")[0].strip()
        for page in PAGES
        for line in re.findall(r"^raan .*$", page.read_text(), re.M)
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_docs_is_understood(command):
    name, *words = shlex.split(command)[1:]
    get_command(app).commands[name].make_context(name, words)


def test_the_report_of_the_committed_results_is_one_command(tmp_path):
    if not (ROOT / "results" / "table-2.jsonl.gz").exists():
        pytest.skip("results/table-2.jsonl.gz is not there")
    command = [sys.executable, "-m", "raan", "report", "studies/table-2.toml", "--out", tmp_path / "report.html"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "worst-served group" in done.stdout
    assert (tmp_path / "report.html").stat().st_size > 1e6
