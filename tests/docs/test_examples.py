import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def examples(page):
    """The page's code blocks; the README's build on each other, as a reader would type them."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.M | re.S)
    return ["\n".join(blocks)] if page.name == "README.md" and blocks else blocks


EXAMPLES = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    for number, code in enumerate(examples(page))
]
LINKS = [
    pytest.param(page, target, id=f"{page.relative_to(ROOT)}: {target}")
    for page in PAGES
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text())
]


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
