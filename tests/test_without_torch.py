"""What reads, measures and reports runs where torch cannot be imported; each test is a process of its own."""

import subprocess
import sys

import pytest

from report.records import study, write

ROOMS = (
    "raan",
    "raan.errors",
    "raan.fairness",
    "raan.files",
    "raan.metrics",
    "raan.report.figures",
    "raan.report.inputs",
    "raan.report.page",
    "raan.report.text",
    "raan.reweighting",
    "raan.results.explanation",
    "raan.results.journal",
    "raan.results.records",
    "raan.results.summary",
    "raan.studies",
    "raan.tabular.frame",
    "raan.tabular.reading",
)


BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Blocked())
"""


def without_torch(script, *arguments, cwd=None):
    """Run the script in a process in which importing torch fails."""
    command = [sys.executable, "-c", BLOCK + script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_the_numpy_floor_imports(room):
    done = without_torch(f"import {room}")
    assert done.returncode == 0, done.stderr


def test_results_are_reported_as_a_page_and_as_tables(tmp_path):
    results = write(study(("Vanilla", "RAAN"), ("adam",), seeds=2, candidates=1), tmp_path / "runs.jsonl")
    command = "from raan.cli import main; sys.argv = ['raan', 'report', *sys.argv[1:]]; main()"
    for options in (("--out", "page.html", "--figures", "drawn"), ("--format", "md", "--out", "tables.md")):
        done = without_torch(command, results, *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").stat().st_size > 1e6
    assert list((tmp_path / "drawn").glob("*.png"))
    assert "torch is not installed" in (tmp_path / "tables.md").read_text()
