"""The commands that the docs show, run page by page where their files are at hand."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from commands import comments, faces, installed_raan, people

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(page):
    """The commands of a page in their order, without what is said beside them."""
    blocks = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", page.read_text(), re.M | re.S)
    shown = "\n".join(block for language, block in blocks if not language)
    return [line.partition(" #")[0].strip() for line in re.findall(r"^raan .*$", shown, re.M)]


def pages():
    """The pages with commands; one whose commands another has all of is run with that."""
    shown = {page: commands(page) for page in PAGES if commands(page)}
    return [
        page
        for page, mine in shown.items()
        if not any({*mine} < {*others} for other, others in shown.items() if other != page)
    ]


@pytest.fixture
def workplace(tmp_path):
    """A folder with the files that the docs speak of, and the committed results."""
    people(tmp_path / "people.csv")
    people(tmp_path / "new.csv", rows=300, seed=1)
    (tmp_path / "data").mkdir()
    for part in range(2):
        people(tmp_path / "data" / f"{part}.csv", rows=300, seed=2 + part)
    comments(tmp_path / "comments.csv")
    comments(tmp_path / "new-comments.csv", rows=300, seed=1)
    faces(tmp_path / "faces.csv", tmp_path / "faces")
    faces(tmp_path / "new-faces.csv", tmp_path / "faces", rows=40, seed=1)
    shutil.copytree(ROOT / "results", tmp_path / "results", ignore=shutil.ignore_patterns("*.lock", "*.parts"))
    return tmp_path


def marked(page):
    """Encoders take long to load: tests/cli/test_media.py shows the same within one process."""
    marks = [pytest.mark.exhaustive] if page.name == "text-and-images.md" else []
    return pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", [marked(page) for page in pages()])
def test_the_commands_of_a_page_run_in_their_order(page, workplace):
    for command in commands(page):
        shorter = command.replace("--minutes 5", "--minutes 0.1")
        done = installed_raan(*shlex.split(shorter)[1:], cwd=workplace)
        # 1 is what it says when a limit that the user declared is exceeded, or test rows contradict a promise.
        may_fail = (
            "--fail-above" in command
            or "--baseline" in command
            or command.startswith(("raan fit", "raan choose", "raan certify"))
        )
        assert done.returncode in ((0, 1) if may_fail else (0,)), (command, done.stderr)
        if command.startswith("raan report"):
            assert (workplace / "report.html").stat().st_size > 1e6
        if command.startswith("raan predict"):
            assert len((workplace / "predictions.csv").read_text().splitlines()) == 301
