import re
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


README = ROOT / "README.md"

GUIDES = ROOT / "docs" / "guides"
TOGETHER = (README, GUIDES / "coming-from-fairlearn.md", GUIDES / "recipes.md", GUIDES / "your-goal.md")
"""Pages whose blocks build on each other, as a reader would type them."""


def examples(page):
    """The page's code blocks, those in tabs too."""
    found = re.findall(r"^( *)```python\n(.*?)^\1```", page.read_text(), flags=re.M | re.S)
    blocks = [dedent(code) for _, code in found]
    return ["\n".join(blocks)] if page in TOGETHER and blocks else blocks


def outputs(page):
    """What the page shows as printed by its examples, where they build on each other."""
    return re.findall(r"^```text\n(.*?)^```", page.read_text(), flags=re.M | re.S) if page in TOGETHER else []


EXAMPLES = [
    pytest.param(code, outputs(page), id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    if page != README
    for number, code in enumerate(examples(page))
]
LINKS = [
    pytest.param(page, target, id=f"{page.relative_to(ROOT)}: {target}")
    for page in PAGES
    for target in re.findall(r"\]\((?!http|data:)([^)#]+)", page.read_text())
]


@pytest.mark.filterwarnings("ignore:Setting a.*:DeprecationWarning")  # in fairlearn, with new versions of pandas
@pytest.mark.usefixtures("as_users_call")
@pytest.mark.filterwarnings("ignore:.*does not have many workers")  # Lightning's advice to readers with many cores
@pytest.mark.filterwarnings("ignore:The number of training batches")
@pytest.mark.filterwarnings("ignore:.*LeafSpec")  # Lightning's own use of torch
@pytest.mark.filterwarnings("ignore:.*pin_memory")
@pytest.mark.parametrize(("code", "shown"), EXAMPLES)
def test_every_example_of_the_docs_runs(code, shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out
    assert all(each in printed for each in shown)


@pytest.mark.usefixtures("as_users_call")
def test_the_readme_prints_what_it_shows(real_data, monkeypatch, capsys):
    """The same words, and numbers that differ by no more than another machine's rounding makes them."""
    monkeypatch.setenv("RAAN_DATA", str(real_data))
    (code,) = examples(README)
    exec(compile(code, "README", "exec"), {"__name__": "example"})
    shown = "".join(outputs(README))
    number, printed = r"-?\d+\.\d+", capsys.readouterr().out
    assert re.sub(number, "", printed).split() == re.sub(number, "", shown).split()
    found, expected = ([float(each) for each in re.findall(number, text)] for text in (printed, shown))
    assert len(expected) > 20
    assert found == pytest.approx(expected, abs=0.3)


@pytest.mark.parametrize(("page", "target"), LINKS)
def test_every_link_within_the_docs_leads_somewhere(page, target):
    assert (page.parent / target).exists()
