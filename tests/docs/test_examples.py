import re
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


TOGETHER = ("README.md", "coming-from-fairlearn.md")
"""Pages whose blocks build on each other, as a reader would type them."""


def examples(page):
    """The page's code blocks, those in tabs too."""
    found = re.findall(r"^( *)```python\n(.*?)^\1```", page.read_text(), flags=re.M | re.S)
    blocks = [dedent(code) for _, code in found]
    return ["\n".join(blocks)] if page.name in TOGETHER and blocks else blocks


EXAMPLES = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
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
@pytest.mark.parametrize("code", EXAMPLES)
def test_every_example_of_the_docs_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {"__name__": "example"})


@pytest.mark.parametrize(("page", "target"), LINKS)
def test_every_link_within_the_docs_leads_somewhere(page, target):
    assert (page.parent / target).exists()
